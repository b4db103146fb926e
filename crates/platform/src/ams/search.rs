//! Which agents are asked for: by name pattern, state, kind and owner.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel_acl::{Aid, Symbol};

use super::{AgentKind, AgentState};
use crate::Time;
use crate::limits::SEARCH_RESULTS_MAX;

/// What the AMS tells of an agent (FIPA00023 6.1.5, and what an operator wants beyond it).
//= fipa00023 6.1.5
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentDescription {
    /// Its identifier, with its home platform's name.
    pub aid: Aid,
    /// Who owns it (FIPA's `ownership`); empty if nobody does.
    pub owner: Symbol,
    /// Where it is in its life.
    pub state: AgentState,
    /// What runs it.
    pub kind: AgentKind,
    /// When it was created, or came from another node.
    pub created: Time,
    /// How long it had lived on other nodes by then.
    pub before: Duration,
    /// Whether it was told to end and has not ended yet.
    pub ending: bool,
}

impl AgentDescription {
    /// How long it has lived, on whichever nodes.
    pub fn age(&self, now: Time) -> Duration {
        self.before + (now - self.created)
    }
}

/// Which agents to find. What is not set matches any.
///
/// ```
/// use whimbrel_platform::ams::{AgentQuery, AgentState};
/// let idle_bidders = AgentQuery { state: Some(AgentState::Waiting), ..AgentQuery::named("bidder*") };
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentQuery {
    /// The local name; `*` stands for any text, `?` for any one character. Empty matches any.
    pub name: String,
    /// The state.
    pub state: Option<AgentState>,
    /// The kind.
    pub kind: Option<AgentKind>,
    /// The owner.
    pub owner: Option<Symbol>,
    /// How many to skip of those that match: for reading a long list page by page.
    pub skip: usize,
    /// How many to return at most, [`SEARCH_RESULTS_MAX`] at most.
    pub results_max: usize,
}

impl Default for AgentQuery {
    fn default() -> Self {
        Self { name: String::new(), state: None, kind: None, owner: None, skip: 0, results_max: SEARCH_RESULTS_MAX }
    }
}

impl AgentQuery {
    /// Agents whose local name fits this pattern.
    pub fn named(pattern: impl Into<String>) -> Self {
        Self { name: pattern.into(), ..Self::default() }
    }

    /// Agents in this state.
    pub fn in_state(state: AgentState) -> Self {
        Self { state: Some(state), ..Self::default() }
    }

    /// Whether at most one name can match.
    pub(super) fn is_exact(&self) -> bool {
        !self.name.is_empty() && !self.name.contains(['*', '?'])
    }
}

/// Whether `text` fits `pattern`, in which `*` stands for any text and `?` for any one character. Takes time in
/// proportion to the product of their lengths at worst, whatever the pattern.
pub fn name_fits(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // Where to go on if what follows the last star does not fit here: one character further.
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
