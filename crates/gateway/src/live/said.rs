//! Messages of the live socket: JSON objects, each with its `type`.

use serde::{Deserialize, Serialize};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::pulse::Pulse;
use crate::access::Role;
use whimbrel_operator::{
    AgentInfo, AgentsWanted, Answer, LinkInfo, LogLine, LogWanted, MemberInfo, MindInfo, NodeEvent, NodeInfo,
    OutputFound, OutputWanted, Refusal, Request, SniffWanted,
};

/// Message of a client.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientFrame {
    /// First message: identifies the client.
    Hello {
        /// Token of the client.
        token: String,
    },
    /// Request that is answered once.
    Ask {
        /// Number of the request; the answer has it, too.
        id: u64,
        /// The request.
        request: Box<Request>,
    },
    /// Begins a watch, which sends updates again and again.
    Watch {
        /// Number of the watch; each of its updates has it.
        id: u64,
        /// Interval between updates, in milliseconds.
        #[serde(default)]
        every_ms: Option<u64>,
        /// Subject of the watch.
        #[serde(flatten)]
        what: Box<WatchSubject>,
    },
    /// A watch ends.
    Unwatch {
        /// Number of the watch.
        id: u64,
    },
}

/// Subject of a watch.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum WatchSubject {
    /// Nodes and links.
    Society,
    /// Agents.
    Agents {
        /// Filter of the agents.
        wanted: AgentsWanted,
    },
    /// Messages, and other events.
    Events {
        /// Filter of the events.
        #[serde(default)]
        wanted: SniffWanted,
    },
    /// The log of conversations.
    Log {
        /// Filter of the entries.
        #[serde(default)]
        wanted: LogWanted,
    },
    /// Lines that agents print, warnings and failures.
    Output {
        /// Filter of the lines.
        #[serde(default)]
        wanted: OutputWanted,
    },
    /// Pairs of agents that exchange messages.
    Traffic,
    /// Health of the node.
    Health,
    /// Agents that arrive and leave.
    Mobility,
    /// Refusals.
    Security,
    /// Inspection of an agent, whenever it changes.
    Mind {
        /// Local name of the agent.
        agent: String,
    },
    /// Answer to a request, whenever it changes.
    Answer {
        /// The request.
        request: Request,
    },
}

/// Message of the node.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum NodeFrame<'a> {
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
        /// Faults of the node, its links and its cluster, in words.
        wrong: &'a [String],
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
        /// Nodes that did not report on their agents.
        silent: Vec<String>,
    },
    Events {
        id: u64,
        events: Vec<NodeEvent>,
    },
    Log {
        id: u64,
        lines: Vec<LogLine>,
    },
    Output {
        id: u64,
        #[serde(flatten)]
        found: OutputFound,
    },
    /// Last message: the node stops.
    Ended {
        text: &'static str,
    },
    Traffic {
        id: u64,
        at_us: u64,
        pairs: Vec<(String, String, u64)>,
        /// Messages that were not counted by pair.
        unseen: u64,
    },
    Health {
        id: u64,
        at_us: u64,
        #[serde(flatten)]
        pulse: Pulse,
    },
}

impl NodeFrame<'_> {
    /// Encodes the message as JSON.
    pub fn text(&self) -> Utf8Bytes {
        // Only maps with keys that are no text fail to be written; there are none.
        serde_json::to_string(self).unwrap_or_default().into()
    }
}

/// Returns the text of [`NodeFrame::Answer`] for an answer that is encoded already.
pub fn answer_text(id: u64, answer: &str) -> Utf8Bytes {
    format!(r#"{{"type":"answer","id":{id},"answer":{answer}}}"#).into()
}

/// Returns the number of a message that cannot be read otherwise.
pub fn id_of(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct FrameNumber {
        id: u64,
    }
    serde_json::from_str::<FrameNumber>(text).ok().map(|numbered| numbered.id)
}
