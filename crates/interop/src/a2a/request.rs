//! Requests of A2A: operations, and how JSON-RPC says them in versions 1.0 and 0.3.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use whimbrel_platform::limits::{A2A_BODY_BYTES_MAX, A2A_ID_BYTES_MAX, A2A_JSON_LEVELS_MAX};

use super::error::{A2aError, A2aErrorKind, shortened};
use super::object::{A2aMessage, MessageRole, TaskState};
use super::shape03;
use crate::json::has_few_levels;

/// Version of the protocol that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Version 1.0.
    V1,
    /// Version 0.3.
    V03,
}

/// Operation that a client requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Message to the agent; answered by a stream of events if that is asked for.
    Send {
        /// Message, and how to answer it.
        params: Box<SendParams>,
        /// True if the answer is a stream.
        streams: bool,
    },
    /// State of a task.
    GetTask {
        /// Identifier of the task.
        id: String,
        /// Number of messages of its history.
        history_length: Option<usize>,
    },
    /// Tasks of the client.
    ListTasks(Box<TaskFilter>),
    /// End of a task.
    CancelTask {
        /// Identifier of the task.
        id: String,
    },
    /// Events of a task.
    Subscribe {
        /// Identifier of the task.
        id: String,
    },
    /// Anything about push notifications.
    Push,
    /// Card for known clients.
    ExtendedCard,
}

/// Message to an agent, and how to answer it.
#[derive(Clone, Debug, PartialEq)]
pub struct SendParams {
    /// Message.
    pub message: A2aMessage,
    /// Way of answering.
    pub configuration: SendConfiguration,
}

/// Way in which a client wants a message answered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SendConfiguration {
    /// Media types that the client takes.
    #[serde(alias = "accepted_output_modes")]
    pub accepted_output_modes: Vec<String>,
    /// Number of messages of the history.
    #[serde(alias = "history_length")]
    pub history_length: Option<usize>,
    /// True if the client does not wait for the end of the task.
    #[serde(alias = "return_immediately")]
    pub return_immediately: bool,
    /// Push notifications, which are refused.
    #[serde(alias = "taskPushNotificationConfig", alias = "task_push_notification_config")]
    pub push_notification_config: Option<Json>,
    /// False if the client does not wait, in version 0.3.
    pub(super) blocking: Option<bool>,
}

/// Filter of a list of tasks.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskFilter {
    /// Context of the tasks.
    #[serde(alias = "context_id")]
    pub context_id: Option<String>,
    /// State of the tasks.
    pub status: Option<TaskState>,
    /// Number of tasks of a page.
    #[serde(alias = "page_size")]
    pub page_size: Option<i64>,
    /// Page to continue after.
    #[serde(alias = "page_token")]
    pub page_token: Option<String>,
    /// Number of messages of each history.
    #[serde(alias = "history_length")]
    pub history_length: Option<i64>,
    /// Moment after which the status changed.
    #[serde(alias = "status_timestamp_after")]
    pub status_timestamp_after: Option<String>,
    /// True if artifacts are wanted.
    #[serde(alias = "include_artifacts")]
    pub include_artifacts: Option<bool>,
}

/// Call in JSON-RPC.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcCall {
    /// Identifier that the answer repeats.
    pub id: Json,
    /// Version in which to answer.
    pub dialect: Dialect,
    /// Requested operation, or why there is none.
    pub operation: Result<Operation, A2aError>,
}

#[derive(Deserialize)]
struct TaskParams {
    id: String,
    #[serde(default, rename = "historyLength", alias = "history_length")]
    history_length: Option<i64>,
}

/// Returns the version that a header `A2A-Version` names; without one, that of the method's name.
///
/// # Errors
/// [`A2aErrorKind::VersionNotSupported`].
pub fn version_of(header: Option<&str>) -> Result<Option<Dialect>, A2aError> {
    let Some(text) = header.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let mut numbers = text.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next(), numbers.next().is_none_or(|patch| patch.is_ok()), numbers.next()) {
        (Some(Ok(1)), None | Some(Ok(0)), true, None) => Ok(Some(Dialect::V1)),
        (Some(Ok(0)), Some(Ok(3)), true, None) => Ok(Some(Dialect::V03)),
        _ => {
            let text = format!("A2A version {} is not spoken here: use 1.0 or 0.3", shortened(text));
            Err(A2aError::new(A2aErrorKind::VersionNotSupported, text))
        }
    }
}

/// Parses JSON that is not too long and not nested too deep.
///
/// # Errors
/// [`A2aErrorKind::Parse`].
pub(super) fn parse(body: &[u8]) -> Result<Json, A2aError> {
    let bad = |text: String| A2aError::new(A2aErrorKind::Parse, text);
    if body.len() > A2A_BODY_BYTES_MAX {
        return Err(bad(format!("the body has {} bytes: at most {A2A_BODY_BYTES_MAX}", body.len())));
    }
    if !has_few_levels(body, A2A_JSON_LEVELS_MAX) {
        return Err(bad(format!("the JSON is nested too deep: at most {A2A_JSON_LEVELS_MAX} levels")));
    }
    serde_json::from_slice(body).map_err(|error| bad(format!("the body is no JSON: {error}")))
}

/// Reads a call in JSON-RPC. `version` is the header `A2A-Version`.
pub fn read_rpc(body: &[u8], version: Option<&str>) -> RpcCall {
    let failed = |id, error| RpcCall { id, dialect: Dialect::V1, operation: Err(error) };
    let bad = |text: &str| A2aError::new(A2aErrorKind::InvalidRequest, text);
    let members = match parse(body) {
        Ok(Json::Object(members)) => members,
        Ok(Json::Array(_)) => return failed(Json::Null, bad("batches are not supported: send one call each")),
        Ok(_) => return failed(Json::Null, bad("a call is a JSON object")),
        Err(error) => return failed(Json::Null, error),
    };
    let mut members = members;
    let id = members.remove("id").unwrap_or_default();
    if !matches!(&id, Json::String(_) | Json::Number(_) | Json::Null) {
        return failed(Json::Null, bad("`id` is a string or a number"));
    }
    if members.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return failed(id, bad("`jsonrpc` must be \"2.0\""));
    }
    let Some(Json::String(method)) = members.remove("method") else {
        return failed(id, bad("`method` must be a string"));
    };
    let params = members.remove("params").filter(|params| !params.is_null());
    let params = params.unwrap_or_else(|| Json::Object(serde_json::Map::new()));
    let named = version_of(version);
    let spoken = method_dialect(&method);
    let dialect = named.as_ref().ok().copied().flatten().or(spoken).unwrap_or(Dialect::V1);
    let operation = match (named, spoken) {
        (Err(error), _) => Err(error),
        (Ok(_), Some(spoken)) if spoken == dialect => read_params(&method, params, dialect),
        _ => Err(A2aError::new(A2aErrorKind::MethodNotFound, format!("unknown method {}", shortened(&method)))),
    };
    RpcCall { id, dialect, operation }
}

fn method_dialect(method: &str) -> Option<Dialect> {
    const V03: [&str; 10] = [
        "message/send",
        "message/stream",
        "tasks/get",
        "tasks/cancel",
        "tasks/resubscribe",
        "tasks/pushNotificationConfig/set",
        "tasks/pushNotificationConfig/get",
        "tasks/pushNotificationConfig/list",
        "tasks/pushNotificationConfig/delete",
        "agent/getAuthenticatedExtendedCard",
    ];
    const V1: [&str; 11] = [
        "SendMessage",
        "SendStreamingMessage",
        "GetTask",
        "ListTasks",
        "CancelTask",
        "SubscribeToTask",
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
        "GetExtendedAgentCard",
    ];
    match () {
        () if V1.contains(&method) => Some(Dialect::V1),
        () if V03.contains(&method) => Some(Dialect::V03),
        () => None,
    }
}

fn read_params(method: &str, params: Json, dialect: Dialect) -> Result<Operation, A2aError> {
    if !params.is_object() {
        return Err(A2aError::invalid("`params` is an object"));
    }
    let task =
        |params| read::<TaskParams>(params).and_then(|task| checked_id(task.id).map(|id| (id, task.history_length)));
    Ok(match method {
        "SendMessage" | "message/send" => send(params, dialect, false)?,
        "SendStreamingMessage" | "message/stream" => send(params, dialect, true)?,
        "GetTask" | "tasks/get" => {
            let (id, history_length) = task(params)?;
            Operation::GetTask { id, history_length: checked_length(history_length)? }
        }
        "ListTasks" => list(read(params)?)?,
        "CancelTask" | "tasks/cancel" => Operation::CancelTask { id: task(params)?.0 },
        "SubscribeToTask" | "tasks/resubscribe" => Operation::Subscribe { id: task(params)?.0 },
        "GetExtendedAgentCard" | "agent/getAuthenticatedExtendedCard" => Operation::ExtendedCard,
        _ => Operation::Push,
    })
}

pub(super) fn read<T: DeserializeOwned>(params: Json) -> Result<T, A2aError> {
    serde_json::from_value(params).map_err(|error| A2aError::invalid(format!("invalid parameters: {error}")))
}

/// Reads the message of a client.
pub(super) fn send(params: Json, dialect: Dialect, streams: bool) -> Result<Operation, A2aError> {
    let Json::Object(mut members) = params else { return Err(A2aError::invalid("`params` is an object")) };
    let message = members.remove("message").ok_or_else(|| A2aError::invalid("`message` is missing"))?;
    let message = match dialect {
        Dialect::V1 => read::<A2aMessage>(message)?,
        Dialect::V03 => shape03::read_message(message)?,
    };
    let configuration = members.remove("configuration").filter(|it| !it.is_null());
    let mut configuration: SendConfiguration = configuration.map(read).transpose()?.unwrap_or_default();
    if dialect == Dialect::V03 {
        configuration.return_immediately = configuration.blocking == Some(false);
    }
    configuration.blocking = None;
    if message.role != MessageRole::User {
        return Err(A2aError::invalid("the role of a client's message is the user's"));
    }
    if message.parts.is_empty() {
        return Err(A2aError::invalid("`parts` is empty: a message has one part at least"));
    }
    if message.message_id.is_empty() {
        return Err(A2aError::invalid("`messageId` is empty"));
    }
    for id in [Some(&message.message_id), message.context_id.as_ref(), message.task_id.as_ref()].into_iter().flatten() {
        if id.len() > A2A_ID_BYTES_MAX {
            return Err(A2aError::invalid(format!("an identifier has {} bytes: at most {A2A_ID_BYTES_MAX}", id.len())));
        }
    }
    Ok(Operation::Send { params: Box::new(SendParams { message, configuration }), streams })
}

/// Checks the filter of a list.
pub(super) fn list(filter: TaskFilter) -> Result<Operation, A2aError> {
    if filter.page_size.is_some_and(|size| !(1..=100).contains(&size)) {
        return Err(A2aError::invalid("`pageSize` is from 1 to 100"));
    }
    checked_length(filter.history_length)?;
    if let Some(after) = &filter.status_timestamp_after
        && !is_timestamp(after)
    {
        return Err(A2aError::invalid("`statusTimestampAfter` is a moment as 2026-11-26T12:46:10.383Z"));
    }
    Ok(Operation::ListTasks(Box::new(filter)))
}

/// Returns true for a moment in UTC whose text orders as time does.
fn is_timestamp(text: &str) -> bool {
    let shape = |(place, byte): (usize, u8)| match place {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        19.. => matches!(byte, b'.' | b'Z' | b'0'..=b'9'),
        _ => byte.is_ascii_digit(),
    };
    text.len() >= 20 && text.ends_with('Z') && text.bytes().enumerate().all(shape)
}

pub(super) fn checked_length(length: Option<i64>) -> Result<Option<usize>, A2aError> {
    let Some(length) = length else { return Ok(None) };
    usize::try_from(length).map(Some).map_err(|_| A2aError::invalid("`historyLength` is negative"))
}

pub(super) fn checked_id(id: String) -> Result<String, A2aError> {
    if id.is_empty() {
        return Err(A2aError::invalid("`id` is empty"));
    }
    // An identifier that is too long is no task's.
    if id.len() > A2A_ID_BYTES_MAX { Err(A2aError::no_task(&id)) } else { Ok(id) }
}
