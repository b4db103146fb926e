//! What can be asked of a node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::advice::Job;
use whimbrel_platform::ams::LifecycleStep;
use whimbrel_platform::inspection::DebugOrder;

use super::agents::AgentsWanted;
use super::events::{LogWanted, SniffWanted};
use super::services::{EntryWanted, ServicesWanted};

/// What can be asked of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Who the node is, and how it is doing. Answered by [`Answer::Node`].
    Node,
    /// Its agents. Answered by [`Answer::Agents`].
    Agents(AgentsWanted),
    /// The devices that take part. Answered by [`Answer::Devices`](super::Answer::Devices).
    Devices {
        /// How many at most.
        limit: usize,
    },
    /// The code that it has, and who runs it. Answered by [`Answer::Codes`](super::Answer::Codes).
    Codes,
    /// What its agents, and their owners, use of what they may. Answered by [`Answer::Quotas`](super::Answer::Quotas).
    Quotas {
        /// How many agents at most.
        limit: usize,
    },
    /// What it shows and trusts, and what it refused by reason. Answered by [`Answer::Security`](super::Answer::Security).
    Security,
    /// What it refused lately. Answered by [`Answer::Refusals`](super::Answer::Refusals).
    Refusals {
        /// How many at most.
        limit: usize,
    },
    /// What its audit log holds, from its end. Answered by [`Answer::Audit`](super::Answer::Audit).
    Audit {
        /// Where to go on: what an earlier answer said; from the end if there was none.
        #[serde(default)]
        before: Option<String>,
        /// How many at most.
        limit: usize,
    },
    /// What agents offer. Answered by [`Answer::Services`].
    Services(ServicesWanted),
    /// Register an agent of this node with the DF, whoever it is. Answered by [`Answer::Done`](super::Answer::Done).
    Register(Box<EntryWanted>),
    /// Put this in the place of what the entry of an agent of this node says. Answered by [`Answer::Done`](super::Answer::Done).
    Modify(Box<EntryWanted>),
    /// Take the entry of an agent of this node out of the DF. Answered by [`Answer::Done`](super::Answer::Done).
    Deregister {
        /// Its local name.
        agent: String,
    },
    /// The standing searches in its DF. Answered by [`Answer::Subscriptions`](super::Answer::Subscriptions).
    Subscriptions {
        /// How many at most.
        limit: usize,
    },
    /// The topics and groups that somebody is in. Answered by [`Answer::Topics`].
    Topics,
    /// Its newest dead letters. Answered by [`Answer::DeadLetters`].
    DeadLetters {
        /// Only those that one of these sent or was to get, by patterns as in [`AgentsWanted::name`]; any if empty.
        #[serde(default)]
        agents: Vec<String>,
        /// How many at most.
        limit: usize,
    },
    /// Its links to other nodes. Answered by [`Answer::Links`].
    Links,
    /// Where clients of sessions connect with it and no other node. Answered by [`Answer::Doors`](super::Answer::Doors).
    Doors,
    /// The nodes of its cluster. Answered by [`Answer::Nodes`].
    Nodes,
    /// How all nodes of the platform are doing. Answered by [`Answer::Totals`](super::Answer::Totals).
    Totals,
    /// Who wrote to whom. Answered by [`Answer::Traffic`](super::Answer::Traffic).
    Traffic {
        /// How many pairs at most.
        limit: usize,
        /// On all nodes of the platform, not on this one only.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        elsewhere: bool,
    },
    /// Have a node of its cluster hand over all partitions and take no more, or take its share again. Answered by
    /// [`Answer::Done`]; it happens afterwards.
    Drain {
        /// The node's name.
        node: String,
        /// Whether it is to drain.
        drains: bool,
    },
    /// Messages as they are sent. Answered by [`Event`]s, one a line, until the client closes the connection.
    Sniff(SniffWanted),
    /// What its log of conversations holds. Answered by [`LogLine`]s, the last one a [`Happening::Tick`], unless new ones are
    /// wanted for ever.
    Log(LogWanted),
    /// Some of what its log of conversations holds. Answered by [`Answer::Conversations`](super::Answer::Conversations).
    Conversations {
        /// What of it; new ones are not waited for.
        #[serde(default)]
        wanted: LogWanted,
        /// How many entries at most.
        limit: usize,
    },
    /// Send a message. Answered by [`Answer::Sent`] or [`Answer::Reply`].
    Send(Box<Sending>),
    /// Take an agent one step through its life, or all agents of this node whose names match a pattern. Answered by
    /// [`Answer::Done`]; by [`Answer::Acted`](super::Answer::Acted) for a pattern.
    Step {
        /// Local name of the agent, or a pattern as in [`AgentsWanted::name`] with `*` or `?`.
        agent: String,
        /// Which step.
        step: LifecycleStep,
    },
    /// Make agents of a program of the society's project, all or none. Answered by [`Answer::Spawned`](super::Answer::Spawned).
    Spawn(Box<Spawning>),
    /// Make an agent that goes on as another one of this node does. Answered by [`Answer::Done`]; it is there soon after.
    Clone {
        /// The original's local name.
        agent: String,
        /// The copy's.
        name: String,
    },
    /// End an agent, or all agents of this node whose names match a pattern. Answered by [`Answer::Done`]; by
    /// [`Answer::Acted`](super::Answer::Acted) for a pattern.
    Kill {
        /// Local name of the agent, or a pattern as in [`AgentsWanted::name`] with `*` or `?`.
        agent: String,
    },
    /// Have an agent of this node go on on another one, or on a device. Answered by [`Answer::Done`] when it does; by
    /// [`Answer::Moved`](super::Answer::Moved) if its partition went with it.
    Move {
        /// Its local name.
        agent: String,
        /// The node's name, or that of a device: of the agent that speaks for it. `*` takes back that a durable agent is wanted on a
        /// node: its partition may be on any again.
        to: String,
    },
    /// Call an agent home, wherever it is. Answered by [`Answer::Done`] when it is there.
    Recall {
        /// Its local name.
        agent: String,
    },
    /// Say whether an agent had better go to a node for a job, or ask there. Answered by [`Answer::Advice`].
    Advise {
        /// The node's name.
        to: String,
        /// The agent's local name, if there is one already.
        #[serde(default)]
        agent: Option<String>,
        /// What is to be done.
        job: Box<Job>,
    },
    /// What is in an agent of this node. Answered by [`Answer::Mind`](super::Answer::Mind).
    Mind {
        /// Its local name.
        agent: String,
        /// Whether it is to remember its cycles, for who asks again within ten seconds: then it goes on a little slower.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        follow: bool,
    },
    /// Pause an AgentSpeak agent, or have it go on. Answered by [`Answer::Done`](super::Answer::Done): a step is taken then, unless the
    /// agent has no turn for a second.
    Debug {
        /// Its local name.
        agent: String,
        /// What it is to do.
        order: DebugOrder,
    },
    /// Have an agent pause when a plan of it is chosen, or no more. Answered by [`Answer::Done`](super::Answer::Done).
    Breakpoint {
        /// Its local name.
        agent: String,
        /// The plan's label.
        plan: String,
        /// Whether it is to pause then.
        on: bool,
    },
    /// Have an agent believe something, or no more. Answered by [`Answer::Done`](super::Answer::Done).
    Believe {
        /// Its local name.
        agent: String,
        /// A literal. What is added is from `self` unless it names a source; what is removed goes whoever its sources are, unless it
        /// names one.
        belief: String,
        /// Whether it is added; else it is removed.
        add: bool,
    },
    /// Have an agent pursue a goal. Answered by [`Answer::Done`](super::Answer::Done).
    Pursue {
        /// Its local name.
        agent: String,
        /// A literal, with or without `!`.
        goal: String,
    },
    /// The same, asked of another node of the platform. Answered as there, or by [`Answer::Error`](super::Answer::Error) if it does not
    /// answer.
    At {
        /// The node's name.
        node: String,
        /// What is asked there; no [`At`](Self::At).
        ask: Box<Self>,
    },
    /// End the platform, on all nodes. Answered by [`Answer::Done`].
    Stop {
        /// The exit status of its processes.
        code: i32,
    },
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sending {
    /// The ACL message in its JSON encoding. If it has no sender, it is sent from `cli`.
    #[schemars(with = "super::message::MessageShape")]
    pub message: serde_json::Value,
    /// How long to wait for an answer; `None` for not at all.
    #[serde(default)]
    pub wait_ms: Option<u64>,
}

/// Agents to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spawning {
    /// The local name; of several the beginning of their names: `bidder1`, `bidder2` and so on.
    pub name: String,
    /// The program's file, as the society's project names it, or a path below its folder: `bidder.asl`, `counter.wasm`.
    pub program: String,
    /// How many: one if this is not said, and then the name is as it is.
    #[serde(default)]
    pub count: Option<u32>,
    /// What they believe at first beside what the program says, as in a project: `price(tea, 5), rich`.
    #[serde(default)]
    pub beliefs: Option<String>,
    /// What they pursue at first.
    #[serde(default)]
    pub goals: Option<String>,
}
