//! Policy: the rules of who may do what on a platform, and the defaults where no rule applies.
//!
//! A policy is data. The code that carries something out asks it. The AMS and the DF ask before they do what a message
//! requests, links and sessions before they accept a message. Topics ask before they accept a publication or a
//! subscription. What an agent does on its own node by default is never checked: see [`Policy::restricts_agents`].
//!
//! `docs/design/security.md` describes the file.

mod pattern;
mod read;
mod terms;

use std::borrow::Cow;
use std::fmt;

use whimbrel_acl::{Symbol, sym};

use crate::topics::Cast;

pub use pattern::{Pattern, PatternError};
pub use read::RuleError;
use serde::Deserialize;
pub use terms::{Grant, OutputTerms, OwnerTerms, Quota, Terms};

/// Action that can be permitted or forbidden. Each has an object: the name of an agent, a service or a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Action {
    /// Creating an agent of this name.
    Create,
    /// Ending the agent of this name, or changing its state. Ending `ams` stops the platform.
    Kill,
    /// Moving the agent of this name to another node.
    Move,
    /// Registering a service of this name with the DF, or changing its entry.
    Register,
    /// Sending a message to the agent of this name.
    Send,
    /// Publishing on the topic of this name.
    Publish,
    /// Subscribing to the topic of this name.
    Subscribe,
    /// Bringing along code that the node does not have: `asl:HASH` or `wasm:HASH`, by the SHA-256 of the bytes that
    /// travel.
    Code,
    /// Giving the agent of this name plans, or taking them from it.
    Teach,
}

impl Action {
    /// All actions, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Create,
        Self::Kill,
        Self::Move,
        Self::Register,
        Self::Send,
        Self::Publish,
        Self::Subscribe,
        Self::Code,
        Self::Teach,
    ];

    /// Returns true if the audit log also records such acts when they are allowed: those that change agents, their
    /// places and their code, and publications.
    pub const fn is_recorded(self) -> bool {
        matches!(self, Self::Create | Self::Kill | Self::Move | Self::Publish | Self::Code | Self::Teach)
    }

    /// Returns the key in a policy file: `create`, `kill`, `move`, `register`, `send`, `publish`, `subscribe`, `code`,
    /// `teach`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Kill => "kill",
            Self::Move => "move",
            Self::Register => "register",
            Self::Send => "send",
            Self::Publish => "publish",
            Self::Subscribe => "subscribe",
            Self::Code => "code",
            Self::Teach => "teach",
        }
    }
}

/// Returns the action of sending a message to this local name, and its object. The action is [`Action::Publish`] for a
/// topic, else [`Action::Send`]. The object of a message to a group is `group:NAME`, for all members or one.
pub fn act_of_sending(to: Symbol) -> (Action, Cow<'static, str>) {
    match Cast::split(to) {
        None => (Action::Send, to.as_str().into()),
        Some((Cast::Broadcast, topic)) => (Action::Publish, topic.into()),
        Some((_, group)) => (Action::Send, format!("{}{group}", Cast::Multicast.prefix()).into()),
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Principal: the party that wants to do something, as far as known for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// Agent of one of the platform's nodes.
    Agent {
        /// Local name of the agent.
        name: Symbol,
        /// Node of the agent, `n1` if that is the only one; empty where places have no names.
        node: Symbol,
    },
    /// Node of the platform, on its own account.
    Node(Symbol),
    /// Connected program that is no node (a browser, an external agent).
    Session {
        /// Local name of its agent.
        name: Symbol,
        /// Node that the program is connected to, as for agents.
        node: Symbol,
    },
    /// Any other party: an agent of another platform, or one that has not proven a name.
    Stranger,
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent { name, node } if *node == sym::EMPTY => write!(f, "agent:{name}"),
            Self::Agent { name, node } => write!(f, "agent:{name} of node:{node}"),
            Self::Node(name) => write!(f, "node:{name}"),
            Self::Session { name, node } if *node == sym::EMPTY => write!(f, "session:{name}"),
            Self::Session { name, node } => write!(f, "session:{name} of node:{node}"),
            Self::Stranger => f.write_str("stranger"),
        }
    }
}

/// Parties that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// `*`: all parties.
    Everybody,
    /// `agent:PATTERN`: agents of the platform's nodes.
    Agent(Pattern),
    /// `node:PATTERN`: nodes, the agents that live there, and the programs that are connected there.
    Node(Pattern),
    /// `session:PATTERN`: connected programs.
    Session(Pattern),
    /// `stranger`: any other party.
    Stranger,
}

impl Who {
    fn is(&self, principal: Principal) -> bool {
        match (self, principal) {
            (Self::Everybody, _) | (Self::Stranger, Principal::Stranger) => true,
            (Self::Agent(pattern), Principal::Agent { name, .. })
            | (Self::Session(pattern), Principal::Session { name, .. })
            | (
                Self::Node(pattern),
                Principal::Node(name) | Principal::Agent { node: name, .. } | Principal::Session { node: name, .. },
            ) => pattern.matches(name.as_str()),
            _ => false,
        }
    }

    fn is_of_the_platform(&self) -> bool {
        matches!(self, Self::Everybody | Self::Agent(_) | Self::Node(_))
    }
}

/// Rule of a policy: these parties may (or may not) do this to those objects.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "read::RawRule")]
pub struct PolicyRule {
    who: Vec<Who>,
    /// Patterns of objects, by the actions' numbers.
    objects: [Vec<Pattern>; Action::ALL.len()],
}

impl PolicyRule {
    fn objects(&self, action: Action) -> &[Pattern] {
        self.objects.get(action as usize).map_or(&[], Vec::as_slice)
    }

    fn is_about(&self, who: Principal, action: Action, object: &str) -> bool {
        self.objects(action).iter().any(|pattern| pattern.matches(object)) && self.who.iter().any(|one| one.is(who))
    }
}

/// Verdict of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Permitted by a rule, and forbidden by none.
    Allowed,
    /// Forbidden by a rule.
    Denied,
    /// Mentioned by no rule.
    Unsaid,
}

/// Policy of a platform; see the module. The default has no rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Rules that permit.
    allow: Vec<PolicyRule>,
    /// Rules that forbid; they override those that permit.
    deny: Vec<PolicyRule>,
    /// Grants for code that the node does not know.
    grant: Vec<Grant>,
    /// Quotas for agents.
    quota: Vec<Quota>,
}

impl Policy {
    /// The policy without rules.
    pub const DEFAULT: Self = Self { allow: Vec::new(), deny: Vec::new(), grant: Vec::new(), quota: Vec::new() };

    /// Returns the verdict of the rules: one that forbids overrides any that permit; their order does not matter.
    pub fn verdict(&self, who: Principal, action: Action, object: &str) -> Verdict {
        let says = |rules: &[PolicyRule]| rules.iter().any(|rule| rule.is_about(who, action, object));
        if says(&self.deny) {
            Verdict::Denied
        } else if says(&self.allow) {
            Verdict::Allowed
        } else {
            Verdict::Unsaid
        }
    }

    /// Returns true if `who` may do this, by the rules, or else by default. By default, agents and nodes of the
    /// platform may do anything. Sessions may send, register, publish and subscribe. Strangers may write to `ams` and
    /// `df`. But if there is any rule, code may be brought along only if a rule permits it.
    pub fn allows(&self, who: Principal, action: Action, object: &str) -> bool {
        match self.verdict(who, action, object) {
            Verdict::Allowed => true,
            Verdict::Denied => false,
            Verdict::Unsaid if action == Action::Code && self.rules() > 0 => false,
            Verdict::Unsaid => by_default(who, action, object),
        }
    }

    /// Returns true if a rule may keep an agent or a node of this platform from doing this. If there is none, no check
    /// is needed.
    pub fn restricts_agents(&self, action: Action) -> bool {
        self.restricts(action, Who::is_of_the_platform)
    }

    /// Returns the same for agents, nodes and connected programs: for any party behind a message from another node.
    pub fn restricts_nodes(&self, action: Action) -> bool {
        self.restricts(action, |who| who.is_of_the_platform() || matches!(who, Who::Session(_)))
    }

    fn restricts(&self, action: Action, concerned: impl Fn(&Who) -> bool) -> bool {
        let restricts = |rule: &PolicyRule| !rule.objects(action).is_empty() && rule.who.iter().any(&concerned);
        self.deny.iter().any(restricts)
    }

    /// Returns true if an agent of this node may do more as `name` than as `original`. Then some rule permits something
    /// to `name` only, or forbids something to `original` only.
    pub fn favours(&self, name: Symbol, original: Symbol, node: Symbol) -> bool {
        let [new, old] = [name, original].map(|name| Principal::Agent { name, node });
        let is_of = |rule: &PolicyRule, who: Principal| rule.who.iter().any(|one| one.is(who));
        self.allow.iter().any(|rule| is_of(rule, new) && !is_of(rule, old))
            || self.deny.iter().any(|rule| is_of(rule, old) && !is_of(rule, new))
    }

    /// Returns the number of rules.
    pub fn rules(&self) -> usize {
        self.allow.len() + self.deny.len() + self.grant.len() + self.quota.len()
    }
}

fn by_default(who: Principal, action: Action, object: &str) -> bool {
    match who {
        Principal::Agent { .. } | Principal::Node(_) => true,
        Principal::Session { .. } => {
            !matches!(action, Action::Create | Action::Kill | Action::Move | Action::Code | Action::Teach)
        }
        // A stranger may ask which agents there are (FIPA00023 3), and no more.
        Principal::Stranger => action == Action::Send && (object == sym::AMS.as_str() || object == sym::DF.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(json: &str) -> Policy {
        serde_json::from_str(json).unwrap()
    }

    fn agent(name: &str, node: &str) -> Principal {
        Principal::Agent { name: name.into(), node: node.into() }
    }

    fn session(name: &str, node: &str) -> Principal {
        Principal::Session { name: name.into(), node: node.into() }
    }

    #[test]
    fn default_policy_limits_strangers() {
        let policy = Policy::DEFAULT;
        let session = session("pump", "n1");
        for action in Action::ALL {
            assert!(policy.allows(agent("amy", "n1"), action, "x"));
            assert!(!policy.allows(Principal::Stranger, action, "x"));
            assert!(!policy.restricts_agents(action));
            let may = matches!(action, Action::Send | Action::Register | Action::Publish | Action::Subscribe);
            assert_eq!(policy.allows(session, action, "x"), may, "{action}");
        }
        assert!(policy.allows(Principal::Stranger, Action::Send, "df"));
        assert!(!policy.allows(Principal::Stranger, Action::Kill, "ams"));
    }

    #[test]
    fn forbidden_stays_forbidden() {
        let policy = policy(
            r#"{"allow": [{"who": "*", "send": "*"}],
                "deny": [{"who": ["node:n3", "agent:spy*"], "send": ["vault", "bank-*"]}]}"#,
        );
        assert!(!policy.allows(agent("amy", "n3"), Action::Send, "vault"));
        assert!(!policy.allows(Principal::Node("n3".into()), Action::Send, "bank-1"));
        assert!(!policy.allows(agent("spy7", "n1"), Action::Send, "vault"));
        assert!(!policy.allows(session("pump", "n3"), Action::Send, "vault"));
        assert!(policy.allows(session("spy7", "n1"), Action::Send, "vault"), "no agent of a node");
        assert!(policy.allows(agent("amy", "n1"), Action::Send, "vault"));
        assert!(policy.allows(agent("amy", "n3"), Action::Send, "bob"));
        assert!(policy.allows(Principal::Stranger, Action::Send, "bob"));
        assert_eq!(policy.verdict(agent("amy", "n3"), Action::Kill, "bob"), Verdict::Unsaid);
        assert!(policy.restricts_agents(Action::Send) && !policy.restricts_agents(Action::Kill));
    }

    #[test]
    fn rules_about_others_skip_agents() {
        let policy = policy(r#"{"deny": [{"who": ["stranger", "session:*"], "send": "*", "subscribe": "a/*"}]}"#);
        assert!(Action::ALL.iter().all(|action| !policy.restricts_agents(*action)));
        assert!(policy.restricts_nodes(Action::Send) && !policy.restricts_nodes(Action::Publish));
        assert!(!policy.allows(session("s", "n1"), Action::Subscribe, "a/b"));
        assert!(policy.allows(session("s", "n1"), Action::Subscribe, "b"));
        assert!(!policy.allows(Principal::Stranger, Action::Send, "df"));
    }

    #[test]
    fn code_needs_rule_among_rules() {
        let strict = policy(r#"{"quota": [{"who": "*", "messages_per_s": 10}]}"#);
        assert!(!strict.allows(agent("amy", "n1"), Action::Code, "wasm:00"));
        assert!(strict.allows(agent("amy", "n1"), Action::Move, "amy"));
        let lenient = policy(r#"{"allow": [{"who": "node:n1", "code": "wasm:*"}]}"#);
        assert!(lenient.allows(agent("amy", "n1"), Action::Code, "wasm:00"));
        assert!(!lenient.allows(agent("amy", "n1"), Action::Code, "asl:00"));
        assert!(!lenient.allows(agent("amy", "n2"), Action::Code, "wasm:00"));
    }

    #[test]
    fn favoured_name_is_noticed() {
        let policy = policy(
            r#"{"allow": [{"who": "agent:warden", "kill": "*"}, {"who": "node:n1", "code": "*"}],
                "deny": [{"who": "agent:scout", "send": "vault"}], "grant": [{"who": "agent:seer", "clock": true}]}"#,
        );
        let favours = |name: &str, original: &str| policy.favours(name.into(), original.into(), "n1".into());
        assert!(favours("warden", "amy") && !favours("amy", "warden"), "it may kill");
        assert!(favours("scout1", "scout") && !favours("scout", "scout1"), "it may write to the vault");
        assert!(!favours("amy1", "amy") && !favours("amy", "amy"));
        assert!(!favours("seer", "amy"), "grants of clones do not go by their names");
    }

    #[test]
    fn publish_is_not_send() {
        let act = |to: &str| {
            let (action, object) = act_of_sending(to.into());
            format!("{action} {object}")
        };
        assert_eq!(act("vault"), "send vault");
        assert_eq!(act("topic:weather/berlin"), "publish weather/berlin");
        assert_eq!([act("group:crew"), act("any:crew")], ["send group:crew", "send group:crew"]);
    }

    #[test]
    fn principals_show_their_kind() {
        assert_eq!(agent("amy", "n1").to_string(), "agent:amy of node:n1");
        assert_eq!(agent("amy", "").to_string(), "agent:amy");
        assert_eq!(session("pump", "").to_string(), "session:pump");
        assert_eq!(session("pump", "n1").to_string(), "session:pump of node:n1");
    }
}
