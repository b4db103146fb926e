//! What is said on a live socket: messages of JSON, each with its `type`.

use serde::{Deserialize, Serialize};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::pulse::Pulse;
use crate::access::Role;
use whimbrel_operator::{
    AgentInfo, AgentsWanted, Answer, Event, LinkInfo, LogLine, LogWanted, MemberInfo, MindInfo, NodeInfo, Refusal,
    Request, SniffWanted,
};

/// What a client says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    /// First: who it is.
    Hello {
        /// By this token.
        token: String,
    },
    /// Something is to be answered once.
    Ask {
        /// The question's number, which the answer has, too.
        id: u64,
        /// What is asked.
        request: Box<Request>,
    },
    /// Something is to be told of again and again.
    Watch {
        /// The watch's number, which all that it tells has.
        id: u64,
        /// How often, in milliseconds.
        #[serde(default)]
        every_ms: Option<u64>,
        /// What.
        #[serde(flatten)]
        what: Box<What>,
    },
    /// A watch ends.
    Unwatch {
        /// Its number.
        id: u64,
    },
}

/// What can be watched.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// Nodes and links.
    Society,
    /// Agents.
    Agents {
        /// Which.
        wanted: AgentsWanted,
    },
    /// Messages, and what else happens.
    Events {
        /// What of it.
        #[serde(default)]
        wanted: SniffWanted,
    },
    /// The log of conversations.
    Log {
        /// What of it.
        #[serde(default)]
        wanted: LogWanted,
    },
    /// Who writes to whom.
    Traffic,
    /// How the node is.
    Health,
    /// Agents that come and go.
    Mobility,
    /// What is refused.
    Security,
    /// What is in an agent, whenever that changes.
    Mind {
        /// Its local name.
        agent: String,
    },
    /// What a request is answered, whenever that changes.
    Answer {
        /// The request.
        request: Request,
    },
}

/// What the node says.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Told<'a> {
    Welcome {
        role: Role,
        node: Box<NodeInfo>,
        features: Vec<&'static str>,
    },
    Error(Refusal),
    Answer {
        id: u64,
        answer: Box<Answer>,
    },
    Mind {
        id: u64,
        mind: Box<MindInfo>,
    },
    Refused {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        #[serde(flatten)]
        refusal: Refusal,
    },
    Society {
        id: u64,
        at_us: u64,
        node: &'a NodeInfo,
        nodes: &'a [MemberInfo],
        vacant: &'a [String],
        links: &'a [LinkInfo],
    },
    Agents {
        id: u64,
        total: u64,
        agents: Vec<AgentInfo>,
        silent: Vec<String>,
    },
    AgentsChanged {
        id: u64,
        total: u64,
        changed: Vec<AgentInfo>,
        gone: Vec<String>,
        /// Nodes that did not say how their agents are doing.
        silent: Vec<String>,
    },
    Events {
        id: u64,
        events: Vec<Event>,
    },
    Log {
        id: u64,
        lines: Vec<LogLine>,
    },
    Traffic {
        id: u64,
        at_us: u64,
        pairs: Vec<(String, String, u64)>,
        /// Messages that were not looked at.
        unseen: u64,
    },
    Health {
        id: u64,
        at_us: u64,
        #[serde(flatten)]
        pulse: Pulse,
    },
}

impl Told<'_> {
    /// As it is written.
    pub fn text(&self) -> Utf8Bytes {
        // Maps with keys that are no text are the only thing that could not be written; there are none.
        serde_json::to_string(self).unwrap_or_default().into()
    }
}

/// [`Told::Answer`], of an answer that is written already.
pub fn answer_text(id: u64, answer: &str) -> Utf8Bytes {
    format!(r#"{{"type":"answer","id":{id},"answer":{answer}}}"#).into()
}

/// The number of what cannot be read, if that can.
pub fn id_of(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Numbered {
        id: u64,
    }
    serde_json::from_str::<Numbered>(text).ok().map(|numbered| numbered.id)
}
