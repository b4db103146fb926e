//! Queries for agents: by name pattern, state, kind and owner.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel_acl::{Aid, Symbol};

use super::{AgentKind, AgentState};
use crate::Time;
use crate::limits::SEARCH_RESULTS_MAX;

/// Description of an agent (FIPA00023 6.1.5), with further fields for operators.
//= fipa00023 6.1.5
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentDescription {
    /// Identifier, with the name of the agent's home platform.
    pub aid: Aid,
    /// Owner (FIPA's `ownership`); empty if there is none.
    pub owner: Symbol,
    /// State in the life cycle.
    pub state: AgentState,
    /// Kind of body.
    pub kind: AgentKind,
    /// Time of the agent's creation, or of its arrival from another node.
    pub created: Time,
    /// Age of the agent when it arrived from another node.
    pub before: Duration,
    /// Pending end: the agent was told to end and has not ended yet.
    pub ending: bool,
}

impl AgentDescription {
    /// Returns the agent's age, on all nodes together.
    pub fn age(&self, now: Time) -> Duration {
        self.before + (now - self.created)
    }
}

/// Query for agents. Unset fields match any agent.
///
/// ```
/// use whimbrel_platform::ams::{AgentQuery, AgentState};
/// let idle_bidders = AgentQuery { state: Some(AgentState::Waiting), ..AgentQuery::named("bidder*") };
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentQuery {
    /// Pattern of the local name; `*` stands for any text, `?` for any one character. Empty matches any.
    pub name: String,
    /// State.
    pub state: Option<AgentState>,
    /// Kind.
    pub kind: Option<AgentKind>,
    /// Owner.
    pub owner: Option<Symbol>,
    /// Number of matching agents to skip, for reading a long list page by page.
    pub skip: usize,
    /// Number of agents to return, [`SEARCH_RESULTS_MAX`] at most.
    pub results_max: usize,
}

impl Default for AgentQuery {
    fn default() -> Self {
        Self { name: String::new(), state: None, kind: None, owner: None, skip: 0, results_max: SEARCH_RESULTS_MAX }
    }
}

impl AgentQuery {
    /// Returns a query for agents whose local name fits this pattern.
    pub fn named(pattern: impl Into<String>) -> Self {
        Self { name: pattern.into(), ..Self::default() }
    }

    /// Returns a query for agents in this state.
    pub fn in_state(state: AgentState) -> Self {
        Self { state: Some(state), ..Self::default() }
    }

    /// Returns true if at most one name can match.
    pub(super) fn is_exact(&self) -> bool {
        !self.name.is_empty() && !self.name.contains(['*', '?'])
    }
}

/// Returns true if `text` fits `pattern`, in which `*` stands for any text and `?` for any one character. At worst it
/// takes time in proportion to the product of their lengths, whatever the pattern.
pub fn name_fits(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // Place to continue if the text after the last star does not fit here: one character further.
    let mut star: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let there = text.clone();
        match (pattern.next(), text.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                text = there;
                star = Some((pattern.clone(), text.clone()));
            }
            (Some('?'), Some(_)) => {}
            (Some(wanted), Some(found)) if wanted == found => {}
            _ => {
                let Some((after_star, mut from)) = star.take() else { return false };
                if from.next().is_none() {
                    return false;
                }
                pattern = after_star.clone();
                text = from.clone();
                star = Some((after_star, from));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_file_names_do() {
        let yes = [
            ("", ""),
            ("*", ""),
            ("*", "bob"),
            ("b?b", "bob"),
            ("*b", "bob"),
            ("a*b*c", "axxbyybc"),
            ("**", "x"),
            ("bob", "bob"),
        ];
        let no =
            [("", "bob"), ("?", ""), ("b?b", "bb"), ("a*b", "acbd"), ("bob", "bobby"), ("*bobx", "bob"), ("ü", "u")];
        yes.iter().for_each(|(pattern, text)| assert!(name_fits(pattern, text), "{pattern} {text}"));
        no.iter().for_each(|(pattern, text)| assert!(!name_fits(pattern, text), "{pattern} {text}"));
    }
}
