//! Life cycle of agents (FIPA00023 5.1): states, and the steps between them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use whimbrel_acl::compact::{Decode, Encode};

/// State of an agent in its life cycle. An agent that ended has no record and so no state (FIPA's `unknown`).
//= fipa00023 5.1
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "lowercase")]
pub enum AgentState {
    /// Created, not running yet. Its messages wait.
    Initiated,
    /// Getting turns.
    Active,
    /// Held by the AMS or by itself until the AMS resumes it. Its messages wait.
    Suspended,
    /// Held by itself until the AMS wakes it. Its messages wait.
    Waiting,
    /// On its way to another node. Its messages wait, and follow it there.
    Transit,
}

impl AgentState {
    /// All states, in the order of FIPA00023 6.1.5.
    pub const ALL: [Self; 5] = [Self::Initiated, Self::Active, Self::Suspended, Self::Waiting, Self::Transit];

    /// Returns the state's name as FIPA00023 6.1.5 writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initiated => "initiated",
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Waiting => "waiting",
            Self::Transit => "transit",
        }
    }

    /// Returns the state after `step`; `None` if the step does not lead from this state.
    ///
    /// ```
    /// use whimbrel_platform::ams::{AgentState, LifecycleStep};
    /// assert_eq!(AgentState::Active.after(LifecycleStep::Suspend), Some(AgentState::Suspended));
    /// assert_eq!(AgentState::Waiting.after(LifecycleStep::Resume), None);
    /// ```
    pub const fn after(self, step: LifecycleStep) -> Option<Self> {
        let (from, to) = step.ends();
        if self as u8 == from as u8 { Some(to) } else { None }
    }
}

impl fmt::Display for AgentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Error of a text that names no state of FIPA00023 5.1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no agent state: expected initiated, active, suspended, waiting or transit")]
pub struct UnknownAgentState(pub String);

impl FromStr for AgentState {
    type Err = UnknownAgentState;

    fn from_str(text: &str) -> Result<Self, UnknownAgentState> {
        let state = Self::ALL.into_iter().find(|state| state.as_str() == text);
        state.ok_or_else(|| UnknownAgentState(text.to_owned()))
    }
}

/// Step of the life cycle from one state to another. Creation and end are no steps: they make and remove the record.
//= fipa00023 5.1
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LifecycleStep {
    /// Initiated to active (FIPA's `invoke`).
    Start,
    /// Active to suspended.
    Suspend,
    /// Suspended to active.
    Resume,
    /// Active to waiting.
    Wait,
    /// Waiting to active (FIPA's `wake up`).
    Wake,
    /// Active to transit (FIPA's `move`).
    Depart,
    /// Transit to active (FIPA's `execute`), on the new node, or on the old one if the journey failed.
    Arrive,
}

impl LifecycleStep {
    /// All steps.
    pub const ALL: [Self; 7] =
        [Self::Start, Self::Suspend, Self::Resume, Self::Wait, Self::Wake, Self::Depart, Self::Arrive];

    /// Returns the states before and after the step.
    pub const fn ends(self) -> (AgentState, AgentState) {
        match self {
            Self::Start => (AgentState::Initiated, AgentState::Active),
            Self::Suspend => (AgentState::Active, AgentState::Suspended),
            Self::Resume => (AgentState::Suspended, AgentState::Active),
            Self::Wait => (AgentState::Active, AgentState::Waiting),
            Self::Wake => (AgentState::Waiting, AgentState::Active),
            Self::Depart => (AgentState::Active, AgentState::Transit),
            Self::Arrive => (AgentState::Transit, AgentState::Active),
        }
    }

    /// Returns the step from one state to another; `None` if no single step leads there.
    pub fn between(from: AgentState, to: AgentState) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.ends() == (from, to))
    }

    /// Returns the step's name, as an operator types it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Wait => "wait",
            Self::Wake => "wake",
            Self::Depart => "depart",
            Self::Arrive => "arrive",
        }
    }
}

impl fmt::Display for LifecycleStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_read_back() {
        for state in AgentState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("asleep".parse::<AgentState>().is_err());
    }

    #[test]
    fn every_step_involves_active_state() {
        for step in LifecycleStep::ALL {
            let (from, to) = step.ends();
            assert_ne!(from, to);
            assert!(from == AgentState::Active || to == AgentState::Active, "{step}");
            assert_eq!(LifecycleStep::between(from, to), Some(step));
        }
        assert_eq!(LifecycleStep::between(AgentState::Suspended, AgentState::Waiting), None);
    }
}
