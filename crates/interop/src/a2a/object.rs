//! Objects of A2A: messages, parts, tasks, artifacts and updates. Their serde form is the JSON of version 1.0. Like the
//! JSON of all protocol buffers, it may also have members in snake case.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

/// JSON object: metadata of messages, parts and artifacts.
pub type JsonObject = serde_json::Map<String, Json>;

/// Piece of content.
#[derive(Clone, Debug, PartialEq)]
pub struct A2aPart {
    /// Content itself.
    pub content: PartContent,
    /// Media type of the content.
    pub media_type: Option<String>,
    /// Name of the content as a file.
    pub filename: Option<String>,
    /// Further facts about the part.
    pub metadata: Option<JsonObject>,
}

/// Content of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum PartContent {
    /// Text.
    Text(String),
    /// Bytes.
    Raw(Vec<u8>),
    /// Address of a file.
    Url(String),
    /// Any JSON value.
    Data(Json),
}

impl A2aPart {
    /// Makes a part of this content alone.
    pub fn of(content: PartContent) -> Self {
        Self { content, media_type: None, filename: None, metadata: None }
    }

    /// Bytes that the part takes, roughly.
    pub(super) fn footprint(&self) -> usize {
        let content = match &self.content {
            PartContent::Text(text) | PartContent::Url(text) => text.len(),
            PartContent::Raw(bytes) => bytes.len(),
            PartContent::Data(data) => footprint_of(data),
        };
        let metadata = self.metadata.as_ref().map_or(0, |metadata| metadata.values().map(footprint_of).sum());
        content + metadata + 64
    }
}

/// Bytes that a JSON value takes, roughly.
pub(super) fn footprint_of(json: &Json) -> usize {
    match json {
        Json::String(text) => 32 + text.len(),
        Json::Array(items) => 32 + items.iter().map(footprint_of).sum::<usize>(),
        Json::Object(members) => {
            32 + members.iter().map(|(key, value)| 48 + key.len() + footprint_of(value)).sum::<usize>()
        }
        _ => 32,
    }
}

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageRole {
    /// Client.
    #[serde(rename = "ROLE_USER")]
    User,
    /// Agent.
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

/// Message of a client or an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct A2aMessage {
    /// Identifier that the author chose.
    #[serde(alias = "message_id")]
    pub message_id: String,
    /// Context of the message: tasks that belong together.
    #[serde(default, alias = "context_id", skip_serializing_if = "Option::is_none", deserialize_with = "some_text")]
    pub context_id: Option<String>,
    /// Task of the message.
    #[serde(default, alias = "task_id", skip_serializing_if = "Option::is_none", deserialize_with = "some_text")]
    pub task_id: Option<String>,
    /// Author of the message.
    pub role: MessageRole,
    /// Content.
    pub parts: Vec<A2aPart>,
    /// Further facts; extensions have members under their URIs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// URIs of the extensions that the message uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks that the message is about.
    #[serde(default, alias = "reference_task_ids", skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<String>,
}

impl A2aMessage {
    /// Bytes that the message takes, roughly.
    pub(super) fn footprint(&self) -> usize {
        let metadata: usize = self.metadata.as_ref().map_or(0, |metadata| metadata.values().map(footprint_of).sum());
        256 + self.parts.iter().map(A2aPart::footprint).sum::<usize>() + metadata
    }
}

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskState {
    /// Received.
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    /// Taken on by the agent.
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    /// Done.
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    /// Attempted in vain.
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    /// Called off by the client.
    #[serde(rename = "TASK_STATE_CANCELED")]
    Canceled,
    /// Refused by the agent.
    #[serde(rename = "TASK_STATE_REJECTED")]
    Rejected,
    /// Waiting for the client's answer.
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED")]
    InputRequired,
    /// Waiting for the client's credentials.
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED")]
    AuthRequired,
}

impl TaskState {
    /// Returns true if the task is over.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Returns true if nothing more happens before the client acts.
    pub fn is_settled(self) -> bool {
        self.is_terminal() || matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// Returns the name of version 0.3.
    pub fn name_03(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Rejected => "rejected",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
        }
    }
}

/// State of a task since some moment, with what the agent says about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// State.
    pub state: TaskState,
    /// Message of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<A2aMessage>>,
    /// Moment, as in `2026-11-26T12:46:10.383Z`.
    pub timestamp: String,
}

/// Result of a task, or a part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct A2aArtifact {
    /// Identifier within the task.
    pub artifact_id: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Content.
    pub parts: Vec<A2aPart>,
    /// Further facts; extensions have members under their URIs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// URIs of the extensions that the artifact uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl A2aArtifact {
    /// Bytes that the artifact takes, roughly.
    pub(super) fn footprint(&self) -> usize {
        256 + self.parts.iter().map(A2aPart::footprint).sum::<usize>()
    }
}

/// Task: work of an agent for a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct A2aTask {
    /// Identifier that the server chose.
    pub id: String,
    /// Context of the task.
    pub context_id: String,
    /// State.
    pub status: TaskStatus,
    /// Results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Arc<A2aArtifact>>,
    /// Messages of both sides, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Arc<A2aMessage>>,
    /// Further facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl A2aTask {
    /// Drops all but the newest `count` messages of the history.
    #[must_use]
    pub fn with_history(mut self, count: Option<usize>) -> Self {
        if let Some(excess) = count.and_then(|count| self.history.len().checked_sub(count)) {
            self.history.drain(..excess);
        }
        self
    }
}

/// Change of a task's status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpdate {
    /// Task.
    pub task_id: String,
    /// Context of the task.
    pub context_id: String,
    /// New status.
    pub status: TaskStatus,
}

/// Result of a task, or a part of it, that is new.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactUpdate {
    /// Task.
    pub task_id: String,
    /// Context of the task.
    pub context_id: String,
    /// Result.
    pub artifact: Arc<A2aArtifact>,
    /// True if the parts continue those of the artifact with the same identifier.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
    /// True if nothing will be appended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last_chunk: bool,
}

/// Answer to a message, or an event of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskUpdate {
    /// Whole task.
    Task(A2aTask),
    /// Message instead of a task.
    Message(Arc<A2aMessage>),
    /// Change of the status.
    StatusUpdate(StatusUpdate),
    /// New result.
    ArtifactUpdate(ArtifactUpdate),
}

/// Reads an identifier; an empty one counts as absent, as in protocol buffers.
fn some_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

impl Serialize for A2aPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            PartContent::Text(text) => map.serialize_entry("text", text)?,
            PartContent::Raw(bytes) => map.serialize_entry("raw", &STANDARD.encode(bytes))?,
            PartContent::Url(url) => map.serialize_entry("url", url)?,
            PartContent::Data(data) => map.serialize_entry("data", data)?,
        }
        if let Some(media_type) = &self.media_type {
            map.serialize_entry("mediaType", media_type)?;
        }
        if let Some(filename) = &self.filename {
            map.serialize_entry("filename", filename)?;
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

/// Members of a part in JSON. `data` may be null.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartMembers {
    text: Option<String>,
    raw: Option<String>,
    url: Option<String>,
    #[serde(default, deserialize_with = "present")]
    data: Option<Json>,
    #[serde(default, alias = "media_type", deserialize_with = "some_text")]
    media_type: Option<String>,
    #[serde(default, deserialize_with = "some_text")]
    filename: Option<String>,
    metadata: Option<JsonObject>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for A2aPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PartMembers { text, raw, url, data, media_type, filename, metadata } =
            PartMembers::deserialize(deserializer)?;
        let content = match (text, raw, url, data) {
            (Some(text), None, None, None) => PartContent::Text(text),
            (None, Some(raw), None, None) => {
                PartContent::Raw(read_base64(&raw).ok_or_else(|| D::Error::custom("`raw` is no base64"))?)
            }
            (None, None, Some(url), None) => PartContent::Url(url),
            (None, None, None, Some(data)) => PartContent::Data(data),
            _ => return Err(D::Error::custom("a part has exactly one of `text`, `raw`, `url` and `data`")),
        };
        Ok(Self { content, media_type, filename, metadata })
    }
}

/// Decodes any of the forms of base64 that JSON of protocol buffers may have.
pub(super) fn read_base64(text: &str) -> Option<Vec<u8>> {
    [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].iter().find_map(|form| form.decode(text).ok())
}

/// Encodes bytes in base64.
pub(super) fn write_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
