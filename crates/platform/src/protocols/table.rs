//! Protocols as data: states, and who may say what next. The tables are files of `conformance/protocols`, from which
//! the SDKs in other languages are tested, too.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use whimbrel_acl::Performative;

/// Party of a conversation that may say something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolRole {
    /// The agent that began the conversation.
    Initiator,
    /// The agent that was addressed.
    Participant,
    /// The AMS, which reports messages that cannot be delivered.
    Platform,
}

impl ProtocolRole {
    /// Returns the role of the other agent.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Participant,
            Self::Participant | Self::Platform => Self::Initiator,
        }
    }
}

/// Interaction protocol.
#[derive(Debug, Default, Deserialize)]
pub struct Protocol {
    /// Value of the message parameter `protocol`.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// Purpose, in a sentence.
    pub about: String,
    /// Identifier of FIPA's specification, if there is one.
    #[serde(default)]
    pub document: Option<String>,
    /// Names of the roles for people: an initiator may be an auctioneer.
    pub roles: BTreeMap<String, String>,
    /// True if one conversation may have several participants.
    pub many: bool,
    /// States in which the conversation continues, by name.
    pub states: BTreeMap<String, ProtocolState>,
    /// States in which the conversation is over, by name.
    pub ends: BTreeMap<String, ProtocolEnd>,
    /// Transitions.
    pub moves: Vec<ProtocolMove>,
    /// Answers to messages that come after the end: performatives by performative.
    #[serde(default)]
    pub late: BTreeMap<String, String>,
}

/// State in which a conversation continues.
#[derive(Debug, Default, Deserialize)]
pub struct ProtocolState {
    /// Meaning, in a sentence.
    pub about: String,
    /// Consequence of a deadline that passes.
    #[serde(default)]
    pub deadline: Option<StateDeadline>,
}

/// Consequence of a deadline that passes in a state.
#[derive(Debug, Deserialize)]
pub struct StateDeadline {
    /// Next state, or an end.
    pub to: String,
    /// Answers to messages that come too late: performatives by performative. Others are dropped.
    #[serde(default)]
    pub late: BTreeMap<String, String>,
}

/// State in which a conversation is over.
#[derive(Debug, Deserialize)]
pub struct ProtocolEnd {
    /// True if the conversation reached its purpose.
    pub good: bool,
    /// Meaning, in a sentence.
    pub about: String,
}

/// Transition: what one party says, and where that leads.
#[derive(Debug, Deserialize)]
pub struct ProtocolMove {
    /// States in which it is allowed.
    pub from: Vec<String>,
    /// Party that says it.
    pub by: ProtocolRole,
    /// Performatives.
    pub say: Vec<String>,
    /// Next state, or an end.
    pub to: String,
}

/// Rules that all protocols share: not-understood, the cancel meta-protocol, undelivered messages.
#[derive(Debug, Deserialize)]
struct SharedRules {
    states: BTreeMap<String, ProtocolState>,
    ends: BTreeMap<String, ProtocolEnd>,
    moves: Vec<ProtocolMove>,
    late: BTreeMap<String, String>,
}

/// Name of the first state of each protocol.
pub const START: &str = "start";

/// Files of the protocols.
const FILES: [&str; 11] = [
    include_str!("data/auction-dutch.json"),
    include_str!("data/auction-english.json"),
    include_str!("data/brokering.json"),
    include_str!("data/contract-net.json"),
    include_str!("data/iterated-contract-net.json"),
    include_str!("data/propose.json"),
    include_str!("data/query.json"),
    include_str!("data/recruiting.json"),
    include_str!("data/request.json"),
    include_str!("data/request-when.json"),
    include_str!("data/subscribe.json"),
];

const SHARED_RULES: &str = include_str!("data/exceptions.json");

static PROTOCOLS: LazyLock<Vec<Protocol>> = LazyLock::new(|| FILES.iter().filter_map(|file| read(file).ok()).collect());

/// Reads a protocol, and adds the rules that all protocols share.
fn read(file: &str) -> Result<Protocol, serde_json::Error> {
    let mut protocol: Protocol = serde_json::from_str(file)?;
    let shared: SharedRules = serde_json::from_str(SHARED_RULES)?;
    let open: Vec<String> = protocol.states.keys().filter(|state| *state != START).cloned().collect();
    for mut rule in shared.moves {
        if rule.from.iter().any(|state| state == "*") {
            rule.from.retain(|state| state != "*");
            rule.from.extend(open.iter().cloned());
        }
        protocol.moves.push(rule);
    }
    protocol.states.extend(shared.states);
    protocol.ends.extend(shared.ends);
    protocol.late.extend(shared.late);
    Ok(protocol)
}

/// Returns the protocols of this version, by name.
pub fn protocols() -> &'static [Protocol] {
    &PROTOCOLS
}

impl Protocol {
    /// Returns the protocol with this value of the message parameter `protocol`.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROTOCOLS.iter().find(|protocol| protocol.name == name)
    }

    /// Returns a protocol that this version has.
    pub(super) fn known(name: &str) -> &'static Self {
        static NOTHING: LazyLock<Protocol> = LazyLock::new(Protocol::default);
        Self::named(name).unwrap_or(&NOTHING)
    }

    /// Returns the state that follows if a party says this; `None` if the party may not say it in this state.
    pub fn next(&self, state: &str, by: ProtocolRole, performative: Performative) -> Option<&str> {
        let name = performative.as_str();
        let fits = |rule: &&ProtocolMove| {
            rule.by == by && rule.from.iter().any(|from| from == state) && rule.say.iter().any(|said| said == name)
        };
        self.moves.iter().find(fits).map(|rule| rule.to.as_str())
    }

    /// Returns the performatives that a party may say in a state.
    pub fn allowed(&self, state: &str, by: ProtocolRole) -> Vec<&str> {
        let moves = self.moves.iter().filter(|rule| rule.by == by && rule.from.iter().any(|from| from == state));
        moves.flat_map(|rule| rule.say.iter().map(String::as_str)).collect()
    }

    /// Returns the name of a role for people.
    pub fn role_name(&self, role: ProtocolRole) -> &str {
        match role {
            ProtocolRole::Initiator => self.roles.get("initiator").map_or("initiator", String::as_str),
            ProtocolRole::Participant => self.roles.get("participant").map_or("participant", String::as_str),
            ProtocolRole::Platform => "platform",
        }
    }

    /// Returns true if a conversation is over in this state.
    pub fn is_end(&self, state: &str) -> bool {
        self.ends.contains_key(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_protocol() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/protocols");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let others = ["exceptions.json", "languages.json"];
        let files = names.filter(|name| name.ends_with(".json") && !others.contains(&name.as_str())).count();
        assert_eq!((FILES.len(), protocols().len()), (files, files));
        FILES.iter().for_each(|file| drop(read(file).unwrap()));
    }

    #[test]
    fn every_move_leads_to_known_state() {
        for protocol in protocols() {
            let is_known = |state: &String| protocol.states.contains_key(state) || protocol.ends.contains_key(state);
            for rule in &protocol.moves {
                assert!(rule.from.iter().all(|state| protocol.states.contains_key(state)), "{rule:?}");
                assert!(is_known(&rule.to), "{rule:?}");
            }
            let deadlines = protocol.states.values().filter_map(|state| state.deadline.as_ref());
            deadlines.for_each(|deadline| assert!(is_known(&deadline.to), "{deadline:?}"));
        }
    }
}
