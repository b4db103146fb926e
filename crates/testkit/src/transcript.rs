//! Transcripts of `conformance/session`, replayed in either framing, against any implementation of a node.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value as Json;
use whimbrel_platform::session::{FrameReader, FrameWriter, Framing, SessionFrame, SessionGrant};

/// Token in transcripts.
pub const TOKEN: &str = "open sesame";

/// Conversation between a client and a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// Purpose of the transcript.
    pub about: String,
    /// `json`, if the transcript can only be replayed in that framing.
    pub only: Option<String>,
    /// Abilities that the node needs: `port` to check tokens, `authority` to certify agents' keys, `movers` for those
    /// of the README.
    pub needs: Option<String>,
    grant: GrantData,
    steps: Vec<TranscriptStep>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantData {
    names: Vec<String>,
    window: u32,
    agents: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TranscriptStep {
    Client(Json),
    Node(Json),
    Closed(bool),
    Break(bool),
    WaitMs(u64),
    SilentMs(u64),
}

/// Implementation of a node, as a client sees it: frames without their lengths.
pub trait TranscriptNode {
    /// Connects.
    fn connect(&mut self);
    /// Writes a frame.
    fn write(&mut self, frame: Vec<u8>);
    /// Reads the next frame of the node; `None` if none comes soon, or the connection is closed.
    fn read(&mut self) -> Option<Vec<u8>>;
    /// Returns true if all received frames were read.
    fn is_silent(&mut self) -> bool;
    /// Returns true if the node closes the connection, now or soon.
    fn is_closed(&mut self) -> bool;
    /// Breaks the connection.
    fn break_off(&mut self);
    /// Lets time pass.
    fn wait_ms(&mut self, ms: u64);
}

impl Transcript {
    /// Reads all transcripts of a folder, by their file names.
    ///
    /// # Panics
    /// The transcripts cannot be read.
    #[allow(clippy::panic, reason = "a test that cannot be set up has failed")]
    pub fn read_all(folder: &Path) -> BTreeMap<String, Self> {
        let mut all = BTreeMap::new();
        let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in files.filter_map(|file| Some(file.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.ends_with(".json") || name == "frames.json" {
                continue;
            }
            let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            let transcript = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            all.insert(name, transcript);
        }
        all
    }

    /// Returns the grant of the client's token.
    pub fn grant(&self) -> SessionGrant {
        let grant = SessionGrant::new("tester", self.grant.names.clone());
        SessionGrant { window: self.grant.window, agents: self.grant.agents.unwrap_or(grant.agents), ..grant }
    }

    /// Returns true if the transcript can be replayed in this framing.
    pub fn is_for(&self, framing: Framing) -> bool {
        framing == Framing::Json || self.only.as_deref() != Some("json")
    }

    /// Replays the transcript.
    ///
    /// # Errors
    /// The first difference of the node's behaviour.
    pub fn replay(&self, framing: Framing, node: &mut dyn TranscriptNode) -> Result<(), String> {
        let mut replay = Replay { framing, node, connected: false, stand_for: BTreeMap::new() };
        for (index, step) in self.steps.iter().enumerate() {
            replay.step(step).map_err(|why| format!("step {} ({framing:?}): {why}", index + 1))?;
        }
        Ok(())
    }
}

struct Replay<'a> {
    framing: Framing,
    node: &'a mut dyn TranscriptNode,
    connected: bool,
    /// Values of the placeholders `$name`.
    stand_for: BTreeMap<String, Json>,
}

impl Replay<'_> {
    fn step(&mut self, step: &TranscriptStep) -> Result<(), String> {
        match step {
            TranscriptStep::Client(frame) => {
                if !std::mem::replace(&mut self.connected, true) {
                    self.node.connect();
                }
                let bytes = self.bytes_of(&self.filled(frame))?;
                self.node.write(bytes);
            }
            TranscriptStep::Node(expected) => return self.expect(expected),
            TranscriptStep::Closed(is_closed) => {
                self.connected = !is_closed;
                if self.node.is_closed() != *is_closed {
                    return Err(format!("closed is to be {is_closed}"));
                }
            }
            TranscriptStep::Break(breaks) => {
                self.connected = !breaks;
                self.node.break_off();
            }
            TranscriptStep::WaitMs(ms) => self.node.wait_ms(*ms),
            TranscriptStep::SilentMs(ms) => {
                self.node.wait_ms(*ms);
                while !self.node.is_silent()
                    && let Some(bytes) = self.node.read()
                {
                    let said = self.json_of(&bytes)?;
                    if !is_ack(&said) {
                        return Err(format!("the node says {said}"));
                    }
                }
            }
        }
        Ok(())
    }

    fn expect(&mut self, expected: &Json) -> Result<(), String> {
        loop {
            let Some(bytes) = self.node.read() else { return Err(format!("{expected} did not come")) };
            let said = self.json_of(&bytes)?;
            let mut stand_for = self.stand_for.clone();
            if fits(expected, &said, &mut stand_for) {
                self.stand_for = stand_for;
                return Ok(());
            }
            if !is_ack(&said) {
                return Err(format!("{expected} was to come, and {said} came"));
            }
        }
    }

    /// Replaces the placeholders `$name` in a frame.
    fn filled(&self, frame: &Json) -> Json {
        match frame {
            Json::String(text) if text.starts_with('$') => self.stand_for.get(text).unwrap_or(frame).clone(),
            Json::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Json::Object(members) => {
                Json::Object(members.iter().map(|(key, value)| (key.clone(), self.filled(value))).collect())
            }
            other => other.clone(),
        }
    }

    fn bytes_of(&self, json: &Json) -> Result<Vec<u8>, String> {
        let text = json.to_string().into_bytes();
        if self.framing == Framing::Json {
            return Ok(text);
        }
        let frame = FrameReader::new(Framing::Json, 0).read(&text).map_err(|error| error.to_string())?;
        written(&frame, Framing::Compact)
    }

    fn json_of(&self, bytes: &[u8]) -> Result<Json, String> {
        let frame = FrameReader::new(self.framing, 0).read(bytes).map_err(|error| error.to_string())?;
        let json = written(&frame, Framing::Json)?;
        serde_json::from_slice(&json).map_err(|error| error.to_string())
    }
}

fn is_ack(frame: &Json) -> bool {
    frame.get("type").is_some_and(|kind| kind == "ack")
}

fn written(frame: &SessionFrame, framing: Framing) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    FrameWriter::new(framing, 0, usize::MAX).write(frame, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Compares a received value with the expected one, and notes the values of placeholders `$name`.
fn fits(expected: &Json, came: &Json, stand_for: &mut BTreeMap<String, Json>) -> bool {
    match (expected, came) {
        (Json::String(text), _) if text == "*" => true,
        (Json::String(name), _) if name.starts_with('$') => {
            stand_for.entry(name.clone()).or_insert_with(|| came.clone()) == came
        }
        (Json::Object(expected), Json::Object(came)) => {
            expected.iter().all(|(key, value)| came.get(key).is_some_and(|other| fits(value, other, stand_for)))
        }
        (Json::Array(expected), Json::Array(came)) => {
            expected.len() == came.len() && expected.iter().zip(came).all(|(one, other)| fits(one, other, stand_for))
        }
        _ => expected == came,
    }
}
