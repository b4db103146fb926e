//! Requests to a node.

mod rights;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::advice::DocumentJob;
use whimbrel_platform::ams::LifecycleStep;
use whimbrel_platform::inspection::DebugOrder;

use super::agents::AgentsWanted;
use super::events::{LogWanted, SniffWanted};
use super::minds::DebuggerWanted;
use super::output::OutputWanted;
use super::services::{EntryWanted, ServicesWanted};

/// Request to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Facts about the node. Answered by [`Answer::Node`].
    Node,
    /// Agents of the node. Answered by [`Answer::Agents`].
    Agents(AgentsWanted),
    /// Devices that take part. Answered by [`Answer::Devices`](super::Answer::Devices).
    Devices {
        /// Maximal number of devices.
        limit: usize,
    },
    /// Code of the node, and the number of agents that run it. Answered by [`Answer::Codes`](super::Answer::Codes).
    Codes,
    /// Quotas of agents and owners, and their use. Answered by [`Answer::Quotas`](super::Answer::Quotas).
    Quotas {
        /// Maximal number of agents.
        limit: usize,
    },
    /// Certificates of the node, and counts of refusals. Answered by [`Answer::Security`](super::Answer::Security).
    Security,
    /// Recent refusals. Answered by [`Answer::Refusals`](super::Answer::Refusals).
    Refusals {
        /// Maximal number of refusals.
        limit: usize,
    },
    /// Entries of the audit log, the newest first. Answered by [`Answer::Audit`](super::Answer::Audit).
    Audit {
        /// Cursor of an earlier answer; the end of the log if missing.
        #[serde(default)]
        before: Option<String>,
        /// Maximal number of entries.
        limit: usize,
    },
    /// Services that agents offer. Answered by [`Answer::Services`].
    Services(ServicesWanted),
    /// Registers an agent of this node with the DF. Answered by [`Answer::Done`](super::Answer::Done).
    Register(Box<EntryWanted>),
    /// Replaces the directory entry of an agent of this node. Answered by [`Answer::Done`](super::Answer::Done).
    Modify(Box<EntryWanted>),
    /// Removes the directory entry of an agent of this node. Answered by [`Answer::Done`](super::Answer::Done).
    Deregister {
        /// Local name of the agent.
        agent: String,
    },
    /// Standing searches in the DF. Answered by [`Answer::Subscriptions`](super::Answer::Subscriptions).
    Subscriptions {
        /// Maximal number of searches.
        limit: usize,
    },
    /// Topics and groups that have members. Answered by [`Answer::Topics`].
    Topics,
    /// Newest dead letters. Answered by [`Answer::DeadLetters`].
    DeadLetters {
        /// Agents of which one is the sender or the receiver, as patterns of [`AgentsWanted::name`]; any if empty.
        #[serde(default)]
        agents: Vec<String>,
        /// Maximal number of dead letters.
        limit: usize,
    },
    /// Lines that agents printed, warnings and failures. Answered by [`Answer::Output`](super::Answer::Output).
    Output {
        /// Filter of the lines.
        #[serde(default)]
        wanted: OutputWanted,
        /// Maximal number of lines.
        limit: usize,
    },
    /// Recent events, which the node keeps while a client asks for them. Answered by
    /// [`Answer::Events`](super::Answer::Events).
    Events {
        /// Cursor: the `next` of an earlier answer; 0 for events from now on.
        #[serde(default)]
        since: u64,
        /// Filter of the events.
        #[serde(default)]
        wanted: SniffWanted,
    },
    /// Programs of the project. Answered by [`Answer::Programs`](super::Answer::Programs).
    Programs,
    /// Text of an agent's AgentSpeak program. Answered by [`Answer::ProgramText`](super::Answer::ProgramText).
    ProgramText {
        /// Local name of the agent.
        agent: String,
        /// Other file of the project than that of the agent's program, as plans name it.
        #[serde(default)]
        file: Option<String>,
    },
    /// Links to other nodes. Answered by [`Answer::Links`].
    Links,
    /// Ports for sessions with this node and no other. Answered by
    /// [`Answer::SessionPorts`](super::Answer::SessionPorts).
    #[serde(rename = "doors")]
    SessionPorts,
    /// Nodes of the cluster. Answered by [`Answer::Nodes`].
    Nodes,
    /// Facts about all nodes of the platform. Answered by [`Answer::Totals`](super::Answer::Totals).
    Totals,
    /// Counts of messages by pair of agents. Answered by [`Answer::Traffic`](super::Answer::Traffic).
    Traffic {
        /// Maximal number of pairs.
        limit: usize,
        /// True to count on all nodes of the platform, not on this one only.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        elsewhere: bool,
    },
    /// Has a node of the cluster hand over all partitions and take no more, or take its share again. Answered by
    /// [`Answer::Done`] before that has happened.
    Drain {
        /// Name of the node.
        node: String,
        /// True to drain the node.
        drains: bool,
    },
    /// Messages as they are sent. Answered by [`Event`]s, one a line, until the client closes the connection.
    Sniff(SniffWanted),
    /// Entries of the log of conversations. Answered by [`LogLine`]s; the last one is a [`Happening::Tick`], unless the
    /// client waits for new entries.
    Log(LogWanted),
    /// Some entries of the log of conversations. Answered by [`Answer::Conversations`](super::Answer::Conversations).
    Conversations {
        /// Filter of the entries; new ones are not waited for.
        #[serde(default)]
        wanted: LogWanted,
        /// Maximal number of entries.
        limit: usize,
    },
    /// Sends a message. Answered by [`Answer::Sent`] or [`Answer::Reply`].
    Send(Box<Sending>),
    /// Takes an agent, or all agents of this node whose names match a pattern, one step through the life cycle.
    /// Answered by [`Answer::Done`]; by [`Answer::Acted`](super::Answer::Acted) for a pattern.
    Step {
        /// Local name of the agent, or a pattern as in [`AgentsWanted::name`] with `*` or `?`.
        agent: String,
        /// The step.
        step: LifecycleStep,
    },
    /// Creates agents of a program of the society's project, all or none. Answered by
    /// [`Answer::Spawned`](super::Answer::Spawned).
    Spawn(Box<Spawning>),
    /// Creates a copy of an agent of this node that continues as the original does. Answered by [`Answer::Done`]; the
    /// copy exists soon after.
    Clone {
        /// Local name of the original.
        agent: String,
        /// Local name of the copy.
        name: String,
    },
    /// Kills an agent, or all agents of this node whose names match a pattern. Answered by [`Answer::Done`]; by
    /// [`Answer::Acted`](super::Answer::Acted) for a pattern.
    Kill {
        /// Local name of the agent, or a pattern as in [`AgentsWanted::name`] with `*` or `?`.
        agent: String,
    },
    /// Moves an agent of this node to another node, or to a device. Answered by [`Answer::Done`] when the agent
    /// continues there; by [`Answer::Moved`](super::Answer::Moved) if its whole partition moved.
    Move {
        /// Local name of the agent.
        agent: String,
        /// Name of the node, or of the device: of the agent that speaks for it. `*` withdraws the wish that a durable
        /// agent be on a certain node; any node may then serve its partition.
        to: String,
    },
    /// Calls an agent home from any node. Answered by [`Answer::Done`] when the agent is there.
    Recall {
        /// Local name of the agent.
        agent: String,
    },
    /// Compares for a job: moving an agent to a node, or asking from afar. Answered by [`Answer::Advice`].
    Advise {
        /// Name of the node.
        to: String,
        /// Local name of the agent, if it exists already.
        #[serde(default)]
        agent: Option<String>,
        /// The job.
        job: Box<DocumentJob>,
    },
    /// Inspection of an agent of this node. Answered by [`Answer::Mind`](super::Answer::Mind).
    Mind {
        /// Local name of the agent.
        agent: String,
        /// True to record the agent's cycles for clients that ask again within ten seconds. Recording slows the agent a
        /// little.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        follow: bool,
    },
    /// Pauses an AgentSpeak agent, has it take a step, or has it continue. Answered by
    /// [`Answer::Done`](super::Answer::Done): after a step, unless the agent has no turn for a second.
    Debug {
        /// Local name of the agent.
        agent: String,
        /// The order.
        order: DebugOrder,
    },
    /// Sets a breakpoint on a plan of an agent, or removes it: the agent pauses when it chooses the plan. Answered by
    /// [`Answer::Done`](super::Answer::Done).
    Breakpoint {
        /// Local name of the agent.
        agent: String,
        /// Label of the plan.
        plan: String,
        /// True to set the breakpoint.
        on: bool,
    },
    /// Sets a breakpoint on a line of an agent's program, or removes it: the agent pauses before each step of the line.
    /// Answered by [`Answer::Done`](super::Answer::Done).
    LineBreakpoint {
        /// Local name of the agent.
        agent: String,
        /// File of the program, as plans name it.
        file: String,
        /// Number of the line, from 1.
        line: u32,
        /// True to set the breakpoint.
        on: bool,
    },
    /// Has all AgentSpeak agents of this node pause at lines of their programs and at failures, also agents that are
    /// created later, for as long as the client keeps the connection open. Answered by
    /// [`Answer::Done`](super::Answer::Done) once all agents know it. When the last such client has gone, all paused
    /// agents continue.
    Debugger(DebuggerWanted),
    /// Programs that this node has, with the lines where breakpoints may be. Answered by
    /// [`Answer::StepLines`](super::Answer::StepLines).
    StepLines,
    /// Agents of this node that are paused. Answered by [`Answer::Paused`](super::Answer::Paused).
    Paused {
        /// Maximal number of names.
        limit: usize,
    },
    /// Adds a belief to an agent, or removes it. Answered by [`Answer::Done`](super::Answer::Done).
    Believe {
        /// Local name of the agent.
        agent: String,
        /// Literal of the belief. An added belief is from `self` unless the literal names a source. A removed belief
        /// loses all its sources, unless the literal names one.
        belief: String,
        /// True to add the belief, false to remove it.
        add: bool,
    },
    /// Has an agent pursue a goal. Answered by [`Answer::Done`](super::Answer::Done).
    Pursue {
        /// Local name of the agent.
        agent: String,
        /// Literal of the goal, with or without `!`.
        goal: String,
    },
    /// Finds answers to a formula in the mind of an AgentSpeak agent, in its next turn. Answered by
    /// [`Answer::Answers`](super::Answer::Answers).
    Query {
        /// Local name of the agent.
        agent: String,
        /// Formula, as in the context of a plan: `stock(X, N) & N > 3`.
        formula: String,
        /// Maximal number of answers.
        limit: usize,
    },
    /// Has an AgentSpeak agent perform a plan body as an intention of its own. Answered by
    /// [`Answer::Performed`](super::Answer::Performed) when the intention ends.
    Perform {
        /// Local name of the agent.
        agent: String,
        /// Plan body: `+price(tea, 3); !sell(tea)`.
        body: String,
        /// Longest time to wait for the end of the intention, which continues without a wait.
        wait_ms: u64,
    },
    /// Loads a program into a running AgentSpeak agent: plans and rules are exchanged, beliefs and goals stay. Answered
    /// by [`Answer::Loaded`](super::Answer::Loaded).
    Load(Box<Loading>),
    /// Passes a request to another node of the platform. Answered as there, or by
    /// [`Answer::Error`](super::Answer::Error) if that node does not answer.
    At {
        /// Name of the node.
        node: String,
        /// The request; not [`At`](Self::At).
        ask: Box<Self>,
    },
    /// Ends the platform, on all nodes. Answered by [`Answer::Done`].
    Stop {
        /// Exit status of the processes.
        code: i32,
    },
}

/// Message to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sending {
    /// ACL message in its JSON encoding. A message without a sender is sent from `cli`.
    #[schemars(with = "super::message::MessageShape")]
    pub message: serde_json::Value,
    /// Time to wait for a reply; `None` to wait for none.
    #[serde(default)]
    pub wait_ms: Option<u64>,
}

/// Agents to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spawning {
    /// Local name. Of several agents, the beginning of their names: `bidder1`, `bidder2` and so on.
    pub name: String,
    /// File of the program, as the society's project names it, or a path below its folder: `bidder.asl`,
    /// `counter.wasm`. With `source`, only a name.
    pub program: String,
    /// Text of an AgentSpeak program, instead of a file of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ProgramSource>,
    /// Number of agents. Without a number there is one, with the name as it is.
    #[serde(default)]
    pub count: Option<u32>,
    /// Initial beliefs beside those of the program, as in a project: `price(tea, 5), rich`.
    #[serde(default)]
    pub beliefs: Option<String>,
    /// Initial goals.
    #[serde(default)]
    pub goals: Option<String>,
}

/// Text of an AgentSpeak program, and of the files that it includes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramSource {
    /// Text of the program.
    pub text: String,
    /// Texts of included files, in the order in which the program includes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub includes: Vec<IncludedSource>,
}

/// File that a program includes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncludedSource {
    /// Path in the directive.
    pub path: String,
    /// Name of the file: equal names are one file. Empty if there is none.
    pub name: String,
    /// Text of the file.
    pub text: String,
}

/// Program to load into a running agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loading {
    /// Local name of the agent.
    pub agent: String,
    /// File of the program, as in [`Spawning::program`].
    pub program: String,
    /// Text of the program, instead of a file of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ProgramSource>,
    /// True to pursue the initial goals of the program.
    #[serde(default)]
    pub goals: bool,
}
