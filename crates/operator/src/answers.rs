//! Answers of a node.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::advice::Advice;
use whimbrel_platform::plain_text::with_short_words;

use super::agents::AgentsFound;
use super::devices::DevicesFound;
use super::events::{ConversationsFound, DeadLettersFound, EventsFound};
use super::minds::{MindInfo, StepLinesFound};
use super::nodes::{LinkInfo, MemberInfo, NodeInfo, SessionPortsInfo, WishInfo};
use super::output::OutputFound;
use super::programs::{ProgramText, ProgramsFound};
use super::security::{AuditFound, RefusalsFound, SecurityInfo};
use super::services::{ServicesFound, SubscriptionsFound, TopicInfo};
use super::society::{TotalsFound, TrafficFound};
use super::upkeep::{CodesFound, QuotasFound};

/// Answer of a node.
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
    /// To `audit`: some entries of the audit log.
    Audit(AuditFound),
    /// To `conversations`: some entries of the log of conversations.
    Conversations(ConversationsFound),
    /// To `services`.
    Services(ServicesFound),
    /// To `subscriptions`.
    Subscriptions(SubscriptionsFound),
    /// To `topics`.
    Topics {
        /// Topics and groups with members on this node or on nodes that it knows, by name.
        topics: Vec<TopicInfo>,
    },
    /// To `dead_letters`.
    DeadLetters(DeadLettersFound),
    /// To `output`.
    Output(OutputFound),
    /// To `events`.
    Events(EventsFound),
    /// To `programs`.
    Programs(ProgramsFound),
    /// To `program_text`.
    ProgramText(ProgramText),
    /// To `links`.
    Links {
        /// Links, one for each known node.
        links: Vec<LinkInfo>,
    },
    /// To `doors`.
    #[serde(rename = "doors")]
    SessionPorts(SessionPortsInfo),
    /// To `nodes`.
    Nodes {
        /// Members of the cluster, as the node that was asked sees them; none if it is of no cluster.
        nodes: Vec<MemberInfo>,
        /// Partitions that no node may serve, for people.
        #[serde(default)]
        vacant: Vec<String>,
        /// Partitions that are wanted on a node, after `move` of an agent of a cluster.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wishes: Vec<WishInfo>,
    },
    /// To `totals`.
    Totals(TotalsFound),
    /// To `traffic`.
    Traffic(TrafficFound),
    /// To `send` without waiting for a reply.
    Sent {
        /// Sender of the message.
        from: String,
    },
    /// To `send`: the reply to the message.
    Reply {
        /// ACL message in its JSON encoding.
        #[schemars(with = "super::message::MessageShape")]
        message: serde_json::Value,
    },
    /// To `spawn`.
    Spawned {
        /// Names of the new agents.
        agents: Vec<String>,
    },
    /// To `move` of a durable agent: all agents of its partition moved.
    Moved {
        /// Number of the partition.
        partition: u16,
        /// Number of agents in the partition.
        agents: u64,
    },
    /// To `kill` and `step` of all agents whose names match a pattern.
    Acted(BulkOutcome),
    /// To `mind`.
    Mind(Box<MindInfo>),
    /// To `step_lines`.
    StepLines(StepLinesFound),
    /// To `paused`.
    Paused {
        /// Names of the paused agents of this node, sorted.
        agents: Vec<String>,
        /// Number of paused agents.
        total: u64,
    },
    /// To `query`.
    Answers(QueryAnswers),
    /// To `perform`.
    Performed(PerformOutcome),
    /// To `load`.
    Loaded(LoadOutcome),
    /// To `advise`.
    Advice(Box<Advice>),
    /// To requests that were carried out, and have no other answer.
    Done,
    /// To requests that failed.
    Error(Refusal),
}

/// Answers to a formula.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueryAnswers {
    /// Answers in the order in which they were found. An answer has a value for each variable of the formula that has
    /// one. A formula without variables that holds has one answer without values.
    pub answers: Vec<Vec<VariableValue>>,
    /// True if there are more answers.
    #[serde(default)]
    pub more: bool,
}

/// Value of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariableValue {
    /// Name of the variable.
    pub name: String,
    /// Value, as a term of AgentSpeak.
    pub value: String,
}

/// Outcome of a plan body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PerformOutcome {
    /// Values of the variables in the body; none if it failed.
    #[serde(default)]
    pub values: Vec<VariableValue>,
    /// Failure of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<PerformFailure>,
}

/// Failure of a plan body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PerformFailure {
    /// Kind of the failure, as in `error(..)` of a failure event.
    pub error: String,
    /// Description of the failure.
    pub text: String,
    /// File of the failed step, if it is in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line of the failed step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Outcome of loading a program into an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadOutcome {
    /// Number of plans removed.
    pub removed: u64,
    /// Number of plans added.
    pub added: u64,
    /// Number of rules added.
    pub rules: u64,
    /// Number of beliefs added.
    pub beliefs: u64,
}

/// Outcome of an operation on all agents whose names match a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BulkOutcome {
    /// Number of agents for which the operation succeeded.
    pub done: u64,
    /// Names of some of these agents.
    pub agents: Vec<String>,
    /// Number of agents for which the operation failed.
    #[serde(default)]
    pub failed: u64,
    /// Reasons of some of the failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

impl BulkOutcome {
    /// Adds the outcome of another node, with at most `named_max` names and reasons in all.
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
    /// Returns the outcome of an act for the audit log: the reason of its failure, or the number of agents of a bulk
    /// operation.
    pub fn outcome(&self) -> Cow<'_, str> {
        match self {
            Self::Error(refusal) => Cow::Borrowed(&refusal.text),
            Self::Performed(PerformOutcome { failure: Some(failure), .. }) => Cow::Borrowed(&failure.text),
            Self::Acted(BulkOutcome { done, failed: 0, .. }) => Cow::Owned(format!("{done} agents")),
            Self::Acted(BulkOutcome { done, failed, .. }) => Cow::Owned(format!("{done} agents, {failed} failed")),
            _ => Cow::Borrowed(""),
        }
    }
}

/// Refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// Reason, for programs.
    pub reason: Reason,
    /// Reason, for people.
    pub text: String,
    /// Node to ask instead, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl Refusal {
    /// Makes a refusal that names no other node.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        // Names in it are as long as their writers chose.
        Self { reason, text: with_short_words(&text.into()).into_owned(), node: None }
    }
}

/// Reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The request cannot be read, or is of another version.
    BadRequest,
    /// No agent has this name.
    NoSuchAgent,
    /// The agent lives on another node.
    Elsewhere,
    /// The state of the agent does not permit the operation.
    BadState,
    /// No answer came in time.
    NoAnswer,
    /// The node has too many such requests.
    Busy,
    /// The node keeps no log of messages.
    NoLog,
    /// The cursor is beyond the end of the log.
    BadCursor,
    /// No live node has this name, or this node is of no cluster.
    NoSuchNode,
    /// The job cannot be done.
    BadJob,
    /// The client did not identify itself.
    Unauthorised,
    /// The client has no right to the operation.
    NotAllowed,
    /// No route has this path.
    NoSuchPath,
}
