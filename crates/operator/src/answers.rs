//! What a node answers.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::advice::Advice;

use super::agents::AgentsFound;
use super::devices::DevicesFound;
use super::events::{ConversationsFound, DeadLettersFound};
use super::minds::MindInfo;
use super::nodes::{DoorsInfo, LinkInfo, MemberInfo, NodeInfo, WishInfo};
use super::security::{AuditFound, RefusalsFound, SecurityInfo};
use super::services::{ServicesFound, SubscriptionsFound, TopicInfo};
use super::society::{TotalsFound, TrafficFound};
use super::upkeep::{CodesFound, QuotasFound};

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// To `node`.
    Node(Box<NodeInfo>),
    /// To `agents`.
    Agents(AgentsFound),
    /// To `devices`.
    Devices(DevicesFound),
    /// To `codes`.
    Codes(CodesFound),
    /// To `quotas`.
    Quotas(QuotasFound),
    /// To `security`.
    Security(SecurityInfo),
    /// To `refusals`.
    Refusals(RefusalsFound),
    /// Some of what its audit log holds.
    Audit(AuditFound),
    /// Some of what its log of conversations holds.
    Conversations(ConversationsFound),
    /// To `services`.
    Services(ServicesFound),
    /// To `subscriptions`.
    Subscriptions(SubscriptionsFound),
    /// To `topics`.
    Topics {
        /// Those that agents of this node are in, or of others that it knows, by name.
        topics: Vec<TopicInfo>,
    },
    /// To `dead_letters`.
    DeadLetters(DeadLettersFound),
    /// To `links`.
    Links {
        /// One for each node that this one knows.
        links: Vec<LinkInfo>,
    },
    /// To `doors`.
    Doors(DoorsInfo),
    /// To `nodes`.
    Nodes {
        /// As the node that was asked sees them; none if it is of no cluster.
        nodes: Vec<MemberInfo>,
        /// Which partitions are served by nobody because no node may have them, for people.
        #[serde(default)]
        vacant: Vec<String>,
        /// Which partitions are wanted on a node: `move` of an agent of a cluster.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wishes: Vec<WishInfo>,
    },
    /// To `totals`.
    Totals(TotalsFound),
    /// To `traffic`.
    Traffic(TrafficFound),
    /// To `send`, if nothing was to be waited for.
    Sent {
        /// Whom the message came from.
        from: String,
    },
    /// To `send`: the answer to the message.
    Reply {
        /// An ACL message in its JSON encoding.
        #[schemars(with = "super::message::MessageShape")]
        message: serde_json::Value,
    },
    /// To `spawn`.
    Spawned {
        /// The names of the agents that there are now.
        agents: Vec<String>,
    },
    /// To `move`, of an agent that is kept: it went with all agents of its partition.
    Moved {
        /// Which partition.
        partition: u16,
        /// How many agents of it live there now.
        agents: u64,
    },
    /// To `kill` and `step` of all agents whose names match a pattern.
    Acted(BulkOutcome),
    /// To `mind`.
    Mind(Box<MindInfo>),
    /// To `advise`.
    Advice(Box<Advice>),
    /// It is done.
    Done,
    /// It cannot be.
    Error(Refusal),
}

/// Outcome of an operation on all agents whose names match a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BulkOutcome {
    /// Agents for which it succeeded.
    pub done: u64,
    /// Names of some of these.
    pub agents: Vec<String>,
    /// Agents for which it failed.
    #[serde(default)]
    pub failed: u64,
    /// Reasons, for some of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

impl BulkOutcome {
    /// Adds the outcome of another node, with at most so many names and reasons in all.
    pub fn add(&mut self, other: Self, named_max: usize) {
        self.done += other.done;
        self.failed += other.failed;
        self.agents.extend(other.agents);
        self.errors.extend(other.errors);
        self.agents.truncate(named_max);
        self.errors.truncate(named_max);
    }
}

impl Answer {
    /// Outcome of an act for the audit log: why it failed, or the number of agents of a bulk operation.
    pub fn outcome(&self) -> Cow<'_, str> {
        match self {
            Self::Error(refusal) => Cow::Borrowed(&refusal.text),
            Self::Acted(BulkOutcome { done, failed: 0, .. }) => Cow::Owned(format!("{done} agents")),
            Self::Acted(BulkOutcome { done, failed, .. }) => Cow::Owned(format!("{done} agents, {failed} failed")),
            _ => Cow::Borrowed(""),
        }
    }
}

/// Why a node does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// For programs.
    pub reason: Reason,
    /// For people.
    pub text: String,
    /// The node to ask instead, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl Refusal {
    /// Nothing more to say than this.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self { reason, text: text.into(), node: None }
    }
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The request is none, or of another version.
    BadRequest,
    /// There is no such agent.
    NoSuchAgent,
    /// The agent lives on another node.
    Elsewhere,
    /// The agent is in no state for that.
    BadState,
    /// No answer came in time.
    NoAnswer,
    /// The node has no time for more of such requests.
    Busy,
    /// The node keeps no log of conversations.
    NoLog,
    /// The log has not come so far.
    BadCursor,
    /// No node that lives has this name, or this one is of no cluster.
    NoSuchNode,
    /// What is to be done cannot be.
    BadJob,
    /// Whoever asks did not show who it is.
    Unauthorised,
    /// Whoever asks may not have that done.
    NotAllowed,
    /// There is nothing at this path.
    NoSuchPath,
}
