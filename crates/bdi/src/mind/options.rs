//! Reasoning options of an agent.

use std::time::Duration;

use whimbrel_acl::{Symbol, Value};

/// Reasoning options of an agent, from its project entry.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ReasoningOptions {
    /// `intBels=sameFocus`: a belief change's event belongs to the intention that made it.
    pub same_focus: bool,
    /// `tro`: the last goal of a plan replaces the plan's frame if it is for the same predicate.
    pub tail_calls: bool,
    /// `events=requeue`: external events without a plan are put back instead of dropped.
    pub requeue: bool,
    /// `nrcbp`: cycles between two perceptions.
    pub perceive_every: u32,
    /// `verbose`.
    pub verbose: u8,
    /// Other options, which the program can read.
    pub user: Vec<(Symbol, Value)>,
}

impl ReasoningOptions {
    /// Returns true for `durability=volatile`: the agent begins anew with its process, even in a durable society.
    pub fn is_volatile(&self) -> bool {
        self.user.iter().any(|(key, value)| key.as_str() == "durability" && value.as_str() == Some("volatile"))
    }

    /// Returns the option `passivate`: the idle time in milliseconds after which the agent leaves memory, if it is
    /// set.
    pub fn passivate_after(&self) -> Option<Duration> {
        let (_, ms) = self.user.iter().find(|(key, _)| key.as_str() == "passivate")?;
        let ms = ms.as_i64().and_then(|ms| u64::try_from(ms).ok())?;
        Some(if ms == i64::MAX as u64 { Duration::MAX } else { Duration::from_millis(ms) })
    }
}

impl Default for ReasoningOptions {
    fn default() -> Self {
        Self { same_focus: true, tail_calls: true, requeue: false, perceive_every: 1, verbose: 1, user: Vec::new() }
    }
}
