//! Rights and durations of requests: which of them change something, and which take long.

use serde_json::Value;
use whimbrel_platform::ams::LifecycleStep;
use whimbrel_platform::topics::Cast;

use super::{Request, Sending};

/// Receivers of a message that the audit log names.
const SENT_NAMED_MAX: usize = 4;

impl Request {
    /// Returns true for a request that changes nothing: viewers may send it.
    pub fn only_looks(&self) -> bool {
        match self {
            Self::Node
            | Self::Agents(_)
            | Self::Devices { .. }
            | Self::Codes
            | Self::Quotas { .. }
            | Self::Security
            | Self::Refusals { .. }
            | Self::Audit { .. }
            | Self::Services(_)
            | Self::Subscriptions { .. }
            | Self::Topics
            | Self::DeadLetters { .. }
            | Self::Output { .. }
            | Self::Events { .. }
            | Self::Programs
            | Self::ProgramText { .. }
            | Self::Links
            | Self::SessionPorts
            | Self::Nodes
            | Self::Totals
            | Self::Traffic { .. }
            | Self::Sniff(_)
            | Self::Log(_)
            | Self::Conversations { .. }
            | Self::Mind { .. }
            | Self::StepLines
            | Self::Paused { .. }
            | Self::Advise { .. } => true,
            Self::At { ask, .. } => ask.only_looks(),
            Self::Drain { .. }
            | Self::Register(_)
            | Self::Modify(_)
            | Self::Deregister { .. }
            | Self::Send(_)
            | Self::Step { .. }
            | Self::Spawn(_)
            | Self::Clone { .. }
            | Self::Kill { .. }
            | Self::Move { .. }
            | Self::Recall { .. }
            | Self::Debug { .. }
            | Self::Breakpoint { .. }
            | Self::LineBreakpoint { .. }
            | Self::Debugger(_)
            | Self::Believe { .. }
            | Self::Pursue { .. }
            | Self::Query { .. }
            | Self::Perform { .. }
            | Self::Load(_)
            | Self::Stop { .. } => false,
        }
    }

    /// Returns action and object of the request for the audit log; `None` if the request changes nothing.
    pub fn act(&self) -> Option<(&'static str, String)> {
        let act = match self {
            looks if looks.only_looks() => return None,
            Self::At { node, ask } => {
                let (action, object) = ask.act()?;
                return Some((action, format!("{object} on {node}")));
            }
            Self::Drain { node, drains } => (if *drains { "drain" } else { "undrain" }, node.clone()),
            Self::Register(entry) => ("register", entry.agent.clone()),
            Self::Modify(entry) => ("modify", entry.agent.clone()),
            Self::Deregister { agent } => ("deregister", agent.clone()),
            Self::Send(sending) => sent(sending),
            Self::Step { agent, step } => (word_of(*step), agent.clone()),
            Self::Spawn(spawning) => ("spawn", format!("{} of {}", spawning.name, spawning.program)),
            Self::Clone { agent, name } => ("clone", format!("{agent} as {name}")),
            Self::Kill { agent } => ("kill", agent.clone()),
            Self::Move { agent, to } => ("move", format!("{agent} to {to}")),
            Self::Recall { agent } => ("recall", agent.clone()),
            Self::Debug { agent, .. } => ("debug", agent.clone()),
            Self::Breakpoint { agent, plan, .. } => ("breakpoint", format!("{plan} of {agent}")),
            Self::LineBreakpoint { agent, file, line, .. } => ("breakpoint", format!("{file}:{line} of {agent}")),
            Self::Debugger(_) => ("debug", "*".to_owned()),
            Self::Believe { agent, add, .. } => (if *add { "believe" } else { "forget" }, agent.clone()),
            Self::Pursue { agent, .. } => ("pursue", agent.clone()),
            Self::Query { agent, .. } => ("query", agent.clone()),
            Self::Perform { agent, .. } => ("perform", agent.clone()),
            Self::Load(loading) => ("load", format!("{} into {}", loading.program, loading.agent)),
            Self::Stop { .. } => ("stop", "ams".to_owned()),
            _ => ("do", String::new()),
        };
        Some(act)
    }

    /// Returns true if a society that has ended cannot do what is asked: it acts on agents. What a request to another
    /// node needs, that node knows.
    pub fn needs_agents(&self) -> bool {
        !self.only_looks() && !matches!(self, Self::At { .. } | Self::Drain { .. } | Self::Stop { .. })
    }

    /// Returns true if the request waits for something that may take minutes: an agent's reply, a move, a program.
    pub fn waits(&self) -> bool {
        match self {
            Self::At { ask, .. } => ask.waits(),
            Self::Send(sending) => sending.wait_ms.is_some(),
            Self::Spawn(_)
            | Self::Move { .. }
            | Self::Recall { .. }
            | Self::Advise { .. }
            | Self::Query { .. }
            | Self::Perform { .. }
            | Self::Load(_) => true,
            _ => false,
        }
    }

    /// Returns true if another node may take longer for the request than for a look: it waits, or it ends agents.
    pub fn takes_long(&self) -> bool {
        match self {
            Self::At { ask, .. } => ask.takes_long(),
            Self::Kill { .. } => true,
            _ => self.waits(),
        }
    }

    /// Returns true if the request goes to other nodes, which may not answer.
    pub fn asks_elsewhere(&self) -> bool {
        match self {
            Self::At { .. } | Self::Totals | Self::Traffic { elsewhere: true, .. } => true,
            Self::Agents(wanted) => wanted.elsewhere_but.is_some(),
            Self::Services(wanted) => wanted.elsewhere_but.is_some(),
            _ => false,
        }
    }
}

const fn word_of(step: LifecycleStep) -> &'static str {
    match step {
        LifecycleStep::Start => "start",
        LifecycleStep::Suspend => "suspend",
        LifecycleStep::Resume => "resume",
        LifecycleStep::Wait => "wait",
        LifecycleStep::Wake => "wake",
        LifecycleStep::Depart => "depart",
        LifecycleStep::Arrive => "arrive",
    }
}

/// Returns action and object of a message that is sent: `publish` on topics, else `send`.
fn sent(sending: &Sending) -> (&'static str, String) {
    let to: Vec<&str> = match sending.message.get("receivers") {
        Some(Value::Array(all)) => all.iter().take(SENT_NAMED_MAX).map(name_of).collect(),
        Some(one) => vec![name_of(one)],
        None => Vec::new(),
    };
    let is_topic = to.iter().any(|name| name.starts_with(Cast::Broadcast.prefix()));
    (if is_topic { "publish" } else { "send" }, to.join(", "))
}

fn name_of(receiver: &Value) -> &str {
    receiver.as_str().or_else(|| receiver.get("name")?.as_str()).unwrap_or_default()
}
