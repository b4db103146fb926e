//! Workload of agents: unfinished work, asked of many agents each second.

use serde::{Deserialize, Serialize};
use whimbrel_acl::Text;

/// Unfinished work of an agent, and its program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Number of unfinished intentions, and of events without one.
    pub intentions: u64,
    /// True while an operator has paused the agent.
    pub paused: bool,
    /// File of the program, if the agent has one.
    pub program: Option<Text>,
}

/// Activity of an agent, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentActivity {
    /// The agent has a turn, or will have one at a set time.
    Active,
    /// The agent has nothing to do until a message comes.
    Idle,
    /// The agent has unfinished intentions, and continues only if a message comes.
    Waits,
    /// An operator has paused the agent.
    Paused,
}

impl Workload {
    /// Returns the activity of an agent with this work. `has_turn` is true if its next turn needs no message.
    pub const fn activity(&self, has_turn: bool) -> AgentActivity {
        match (self.paused, has_turn, self.intentions) {
            (true, ..) => AgentActivity::Paused,
            (false, true, _) => AgentActivity::Active,
            (false, false, 0) => AgentActivity::Idle,
            (false, false, _) => AgentActivity::Waits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_work_without_turn_waits() {
        let work = Workload { intentions: 2, ..Workload::default() };
        assert_eq!((work.activity(false), work.activity(true)), (AgentActivity::Waits, AgentActivity::Active));
        assert_eq!(Workload::default().activity(false), AgentActivity::Idle);
        assert_eq!(Workload { paused: true, ..work }.activity(true), AgentActivity::Paused);
    }
}
