//! Terms on which a node runs agents: grants for code that it does not know (WebAssembly agents), and quotas. Nothing
//! is granted that no rule grants.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use whimbrel_acl::Symbol;

use super::read::OneOrMore;
use super::{Pattern, Policy, Principal, Who};
use crate::limits::{
    FAMILY_AGENTS_MAX, GUEST_CALL_CPU_MS, GUEST_CALL_CPU_MS_MAX, GUEST_CLONES_MAX, GUEST_MEMORY_BYTES,
    GUEST_MEMORY_BYTES_MAX, GUEST_MESSAGE_BYTES, GUEST_NAME_BYTES, GUEST_OWNER_STORAGE_BYTES, GUEST_STORAGE_BYTES,
    GUEST_TIMERS_MAX, LOGGED_BYTES_PER_S, MIND_MEMORY_BYTES, MIND_MEMORY_BYTES_MIN, NODE_AGENTS_MAX,
};
use crate::storage::Room;

/// Grant of a policy, a table `[[grant]]`: the permissions, and the parties that have them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    who: OneOrMore<Who>,
    #[serde(default)]
    clock: bool,
    #[serde(default)]
    random: bool,
    #[serde(default)]
    storage: bool,
    #[serde(default)]
    environments: OneOrMore<Pattern>,
    #[serde(default)]
    topics: OneOrMore<Pattern>,
}

/// Quota of a policy, a table `[[quota]]`. Limits that it does not name stay as without it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    who: OneOrMore<Who>,
    #[serde(default, deserialize_with = "call_cpu_ms")]
    call_cpu_ms: Option<u32>,
    cpu_ms_per_s: Option<u32>,
    #[serde(default, deserialize_with = "memory_bytes")]
    memory_bytes: Option<usize>,
    messages_per_s: Option<u32>,
    message_bytes: Option<usize>,
    lifetime_s: Option<u64>,
    storage_bytes: Option<u64>,
    owner_cpu_ms_per_s: Option<u32>,
    owner_memory_bytes: Option<u64>,
    owner_messages_per_s: Option<u32>,
    owner_message_bytes: Option<usize>,
    owner_lifetime_s: Option<u64>,
    owner_clones: Option<u32>,
    owner_storage_bytes: Option<u64>,
    #[serde(default, deserialize_with = "mind_memory_bytes")]
    mind_memory_bytes: Option<usize>,
    owner_agents: Option<u32>,
    owner_creations_per_s: Option<u32>,
    node_agents: Option<u32>,
    node_memory_bytes: Option<u64>,
    printed_bytes_per_s: Option<u64>,
    logged_bytes_per_s: Option<u64>,
}

/// Checks that a limit is in its range: a limit that could not be kept is refused.
fn within<E: Error>(name: &str, value: u64, least: u64, most: u64) -> Result<u64, E> {
    match (least..=most).contains(&value) {
        true => Ok(value),
        false => Err(E::custom(format_args!("`{name}` of {value}: {least} to {most} can be set"))),
    }
}

fn call_cpu_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let value = u32::deserialize(deserializer)?;
    within("call_cpu_ms", value.into(), 1, GUEST_CALL_CPU_MS_MAX.into()).map(|_| Some(value))
}

fn memory_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let value = usize::deserialize(deserializer)?;
    within("memory_bytes", value as u64, 0, GUEST_MEMORY_BYTES_MAX as u64).map(|_| Some(value))
}

fn mind_memory_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let value = usize::deserialize(deserializer)?;
    within("mind_memory_bytes", value as u64, MIND_MEMORY_BYTES_MIN as u64, u64::MAX).map(|_| Some(value))
}

/// Terms of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Permission to read the clock.
    pub clock: bool,
    /// Permission to draw random numbers.
    pub random: bool,
    /// Permission to store data on the node.
    pub storage: bool,
    /// Room for stored data.
    pub room: Room,
    /// Environments on which the agent may act.
    pub environments: Vec<Pattern>,
    /// Topics on which the agent may publish.
    pub topics: Vec<Pattern>,
    /// Processor time of one call, in milliseconds.
    pub call_cpu_ms: u32,
    /// Processor time in any second, in milliseconds.
    pub cpu_ms_per_s: Option<u32>,
    /// Bytes of the agent's memory.
    pub memory_bytes: usize,
    /// Bytes of the mind of an AgentSpeak agent.
    pub mind_memory_bytes: usize,
    /// Bytes of memory of the process up to which the agent may fill it; `None` stands for the default limit.
    pub node_memory_bytes: Option<u64>,
    /// Messages that the agent may send in any second.
    pub messages_per_s: Option<u32>,
    /// Bytes of one message that it sends, as it hands it to the node.
    pub message_bytes: usize,
    /// Longest stay on the node.
    pub lifetime: Option<Duration>,
    /// Timers that the agent may have set.
    pub timers: usize,
    /// Bytes of new names, which a process keeps for ever.
    pub name_bytes: u64,
    /// Limits for all agents of its owner together.
    pub owner: OwnerTerms,
}

/// Output quotas of a family of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputTerms {
    /// Bytes that the family may print in a second; `None` if there is no limit.
    pub printed: Option<u64>,
    /// Bytes that the family may have logged in a second.
    pub logged: u64,
}

/// Limits for all agents of one owner on a node together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerTerms {
    /// Processor time in any second, in milliseconds.
    pub cpu_ms_per_s: Option<u32>,
    /// Bytes of the memories of the owner's agents, together.
    pub memory_bytes: Option<u64>,
    /// Messages that the owner's agents may send in any second.
    pub messages_per_s: Option<u32>,
    /// Bytes of one message that any of them sends. This is no sum: the lower of it and [`Terms::message_bytes`]
    /// applies.
    pub message_bytes: Option<usize>,
    /// Longest unbroken presence of the owner's agents: it counts from the arrival of the first of those present.
    pub lifetime: Option<Duration>,
    /// Number of clones among them.
    pub clones: u32,
    /// Agents, of any kind, that may descend from one root agent.
    pub agents: u32,
    /// Agents of the family that may be created per second. `None` stands for the default limit, from which creations
    /// by the root agent are exempt.
    pub creations_per_s: Option<u32>,
}

impl Default for OwnerTerms {
    fn default() -> Self {
        Self {
            cpu_ms_per_s: None,
            memory_bytes: None,
            messages_per_s: None,
            message_bytes: None,
            lifetime: None,
            clones: GUEST_CLONES_MAX,
            agents: FAMILY_AGENTS_MAX,
            creations_per_s: None,
        }
    }
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            clock: false,
            random: false,
            storage: false,
            room: Room { bytes: GUEST_STORAGE_BYTES, owner_bytes: GUEST_OWNER_STORAGE_BYTES },
            environments: Vec::new(),
            topics: Vec::new(),
            call_cpu_ms: GUEST_CALL_CPU_MS,
            cpu_ms_per_s: None,
            memory_bytes: GUEST_MEMORY_BYTES,
            mind_memory_bytes: MIND_MEMORY_BYTES,
            node_memory_bytes: None,
            messages_per_s: None,
            message_bytes: GUEST_MESSAGE_BYTES,
            lifetime: None,
            timers: GUEST_TIMERS_MAX,
            name_bytes: GUEST_NAME_BYTES,
            owner: OwnerTerms::default(),
        }
    }
}

impl Terms {
    /// Returns true if the agent may act on this environment.
    pub fn grants_environment(&self, name: &str) -> bool {
        self.environments.iter().any(|pattern| pattern.matches(name))
    }

    /// Returns true if the agent may publish on the topic of this name.
    pub fn grants_topic(&self, name: &str) -> bool {
        self.topics.iter().any(|pattern| pattern.matches(name))
    }

    fn add(&mut self, grant: &Grant) {
        self.clock |= grant.clock;
        self.random |= grant.random;
        self.storage |= grant.storage;
        self.environments.extend_from_slice(grant.environments.as_slice());
        self.topics.extend_from_slice(grant.topics.as_slice());
    }
}

impl Policy {
    /// Returns the terms for `who`: all that any rule grants, and the lowest limit that any rule sets of each kind, or
    /// else the default.
    pub fn terms(&self, who: Principal) -> Terms {
        self.terms_of_descendant(who, who)
    }

    /// Returns the terms for an agent whose name was given by the agent that cloned it, directly or indirectly. The
    /// name grants nothing: the clone is granted what the `ancestor` is, from which all these clones descend. Quotas of
    /// both names apply.
    pub fn terms_of_descendant(&self, who: Principal, ancestor: Principal) -> Terms {
        let mut terms = Terms::default();
        self.grant.iter().filter(|grant| is_one_of(&grant.who, ancestor)).for_each(|grant| terms.add(grant));
        let is_of_either = |quota: &&Quota| is_one_of(&quota.who, who) || is_one_of(&quota.who, ancestor);
        let quotas: Vec<&Quota> = self.quota.iter().filter(is_of_either).collect();
        terms.call_cpu_ms =
            least(&quotas, |quota| quota.call_cpu_ms).unwrap_or(terms.call_cpu_ms).clamp(1, GUEST_CALL_CPU_MS_MAX);
        terms.cpu_ms_per_s = least(&quotas, |quota| quota.cpu_ms_per_s);
        terms.messages_per_s = least(&quotas, |quota| quota.messages_per_s);
        terms.memory_bytes =
            least(&quotas, |quota| quota.memory_bytes).unwrap_or(terms.memory_bytes).min(GUEST_MEMORY_BYTES_MAX);
        terms.mind_memory_bytes = least(&quotas, |quota| quota.mind_memory_bytes).unwrap_or(terms.mind_memory_bytes);
        terms.node_memory_bytes = least(&quotas, |quota| quota.node_memory_bytes);
        terms.message_bytes = least(&quotas, |quota| quota.message_bytes).unwrap_or(terms.message_bytes);
        terms.lifetime = least(&quotas, |quota| quota.lifetime_s).map(Duration::from_secs);
        terms.room = Room {
            bytes: least(&quotas, |quota| quota.storage_bytes).unwrap_or(terms.room.bytes),
            owner_bytes: least(&quotas, |quota| quota.owner_storage_bytes).unwrap_or(terms.room.owner_bytes),
        };
        terms.owner = OwnerTerms {
            cpu_ms_per_s: least(&quotas, |quota| quota.owner_cpu_ms_per_s),
            memory_bytes: least(&quotas, |quota| quota.owner_memory_bytes),
            messages_per_s: least(&quotas, |quota| quota.owner_messages_per_s),
            message_bytes: least(&quotas, |quota| quota.owner_message_bytes),
            lifetime: least(&quotas, |quota| quota.owner_lifetime_s).map(Duration::from_secs),
            clones: least(&quotas, |quota| quota.owner_clones).unwrap_or(terms.owner.clones),
            agents: least(&quotas, |quota| quota.owner_agents).unwrap_or(terms.owner.agents),
            creations_per_s: least(&quotas, |quota| quota.owner_creations_per_s),
        };
        terms
    }
}

fn least<T: Ord>(quotas: &[&Quota], of: impl Fn(&Quota) -> Option<T>) -> Option<T> {
    quotas.iter().filter_map(|quota| of(quota)).min()
}

impl Policy {
    /// Returns the terms for all agents that descend from the agent of this name, of this node.
    pub fn owner_terms(&self, root: Symbol, node: Symbol) -> OwnerTerms {
        if self.quota.is_empty() {
            return OwnerTerms::default();
        }
        self.terms(Principal::Agent { name: root, node }).owner
    }

    /// Returns the output quotas of a family whose root has this name on this node.
    pub fn output_terms(&self, root: Symbol, node: Symbol) -> OutputTerms {
        OutputTerms {
            printed: self.least_of_agent(root, node, |quota| quota.printed_bytes_per_s),
            logged: self.least_of_agent(root, node, |quota| quota.logged_bytes_per_s).unwrap_or(LOGGED_BYTES_PER_S),
        }
    }

    /// Returns true if any rule limits what agents print.
    pub fn limits_printing(&self) -> bool {
        self.quota.iter().any(|quota| quota.printed_bytes_per_s.is_some())
    }

    /// Returns true if any rule sets a quota.
    pub fn has_quotas(&self) -> bool {
        !self.quota.is_empty()
    }

    /// Returns the number of agents that a node may have with one more of the family whose root has this name.
    pub fn node_agents(&self, root: Symbol, node: Symbol) -> usize {
        self.least_of_agent(root, node, |quota| quota.node_agents).unwrap_or(NODE_AGENTS_MAX) as usize
    }

    /// Returns the bytes of memory that the process may have for one more such agent; `None` stands for the default
    /// limit.
    pub fn node_memory_bytes(&self, root: Symbol, node: Symbol) -> Option<u64> {
        self.least_of_agent(root, node, |quota| quota.node_memory_bytes)
    }

    /// Returns the least memory of the process that any rule sets.
    pub fn least_node_memory_bytes(&self) -> Option<u64> {
        self.quota.iter().filter_map(|quota| quota.node_memory_bytes).min()
    }

    /// Returns the least value of a quota among the rules about an agent of this name on this node.
    fn least_of_agent<T: Ord>(&self, name: Symbol, node: Symbol, of: impl Fn(&Quota) -> Option<T>) -> Option<T> {
        let who = Principal::Agent { name, node };
        self.quota.iter().filter(|quota| is_one_of(&quota.who, who)).filter_map(of).min()
    }

    /// Returns true if any rule grants this environment to `who`.
    pub fn grants_environment(&self, who: Principal, name: &str) -> bool {
        self.grant.iter().any(|grant| grant.is_of(name) && is_one_of(&grant.who, who))
    }

    /// Returns true if any rule grants this environment to any party.
    pub fn offers_environment(&self, name: &str) -> bool {
        self.grant.iter().any(|grant| grant.is_of(name))
    }
}

impl Grant {
    fn is_of(&self, environment: &str) -> bool {
        self.environments.as_slice().iter().any(|pattern| pattern.matches(environment))
    }
}

fn is_one_of(all: &OneOrMore<Who>, who: Principal) -> bool {
    all.as_slice().iter().any(|one| one.is(who))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(json: &str) -> Policy {
        serde_json::from_str(json).unwrap()
    }

    fn agent(name: &str) -> Principal {
        Principal::Agent { name: name.into(), node: "n1".into() }
    }

    #[test]
    fn nothing_is_granted_by_default() {
        let terms = Policy::DEFAULT.terms(agent("amy"));
        assert!(
            !terms.clock
                && !terms.random
                && !terms.storage
                && !terms.grants_environment("library")
                && !terms.grants_topic("news")
        );
        assert_eq!(terms, Terms::default());
    }

    #[test]
    fn grants_add_up_quotas_minimise() {
        let policy = policy(
            r#"{"grant": [{"who": "agent:v*", "clock": true, "environments": "lib*"},
                          {"who": ["agent:visitor", "stranger"], "random": true, "topics": ["a", "b"]}],
                "quota": [{"who": "*", "messages_per_s": 100, "call_cpu_ms": 500, "memory_bytes": 65536},
                          {"who": "agent:visitor", "messages_per_s": 10, "call_cpu_ms": 9999, "lifetime_s": 60}]}"#,
        );
        let visitor = policy.terms(agent("visitor"));
        assert!(visitor.clock && visitor.random && visitor.grants_environment("library"));
        assert!(visitor.grants_topic("b") && !visitor.grants_topic("c") && !visitor.grants_environment("disk"));
        assert_eq!((visitor.messages_per_s, visitor.call_cpu_ms), (Some(10), 500));
        assert_eq!((visitor.memory_bytes, visitor.lifetime), (65536, Some(Duration::from_secs(60))));
        let other = policy.terms(agent("amy"));
        assert!(!other.clock && !other.random);
        assert_eq!((other.messages_per_s, other.lifetime), (Some(100), None));
    }

    #[test]
    fn mind_memory_is_bounded() {
        let quota = |bytes: usize| format!(r#"{{"quota": [{{"who": "*", "mind_memory_bytes": {bytes}}}]}}"#);
        for bytes in [MIND_MEMORY_BYTES_MIN, MIND_MEMORY_BYTES_MIN + 7] {
            assert_eq!(policy(&quota(bytes)).terms(agent("amy")).mind_memory_bytes, bytes);
        }
        let error = serde_json::from_str::<Policy>(&quota(MIND_MEMORY_BYTES_MIN - 1)).unwrap_err();
        assert!(error.to_string().contains("mind_memory_bytes"), "{error}");
        assert_eq!(Policy::DEFAULT.terms(agent("amy")).mind_memory_bytes, MIND_MEMORY_BYTES);
    }

    #[test]
    fn clone_has_ancestors_grants() {
        let policy = policy(
            r#"{"grant": [{"who": "agent:scout", "clock": true, "storage": true}, {"who": "agent:warden", "random": true}],
                "quota": [{"who": "agent:scout", "messages_per_s": 10, "owner_clones": 3, "storage_bytes": 9},
                          {"who": "agent:warden", "message_bytes": 100, "owner_cpu_ms_per_s": 200,
                           "owner_message_bytes": 50, "owner_lifetime_s": 7}]}"#,
        );
        let terms = policy.terms_of_descendant(agent("warden"), agent("scout"));
        assert!(terms.clock && terms.storage && !terms.random);
        assert_eq!(terms.room, Room { bytes: 9, owner_bytes: GUEST_OWNER_STORAGE_BYTES });
        assert_eq!((terms.messages_per_s, terms.message_bytes), (Some(10), 100));
        assert_eq!((terms.owner.clones, terms.owner.cpu_ms_per_s), (3, Some(200)));
        assert_eq!((terms.owner.message_bytes, terms.owner.lifetime), (Some(50), Some(Duration::from_secs(7))));
        let other = policy.terms_of_descendant(agent("scout1"), agent("scout"));
        assert!(other.clock && other.messages_per_s == Some(10));
        assert_eq!(policy.terms(agent("amy")).owner, OwnerTerms::default());
    }
}
