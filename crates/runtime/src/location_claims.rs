//! Location claims: reports of nodes about agents of other nodes. They are believed, but verified where they may be
//! wrong.
//!
//! A node learns of agents from the node that has them, in order. A third node's report that an agent left it
//! ([`HopNews::Departed`](whimbrel_platform::mobility::HopNews)) takes another way. The destination may not have
//! introduced itself yet, and will not mention an agent that has ended by then; or it may have reported the end before.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Envelope, Name, Symbol};
use whimbrel_platform::Time;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::limits::{
    LINK_DENIED_AGENTS_MAX, LINK_DOUBTFUL_BYTES_MAX, LINK_DOUBTFUL_MESSAGES_MAX, LINK_LAST_WORDS_AGENTS_MAX,
    LINK_LAST_WORDS_MS,
};
use whimbrel_platform::route::NodeId;

/// Location claims of all other nodes; see the module.
#[derive(Default)]
pub(crate) struct LocationClaims {
    /// Nodes that have introduced themselves completely: from then on they report each end of an agent.
    pub introduced: FxHashSet<NodeId>,
    /// Agents that are said to have gone to a node that has not introduced itself.
    pub gone_to: FxHashMap<NodeId, FxHashSet<Name>>,
    /// Agents of other nodes whose end a node reported, by that node: each node's reports have a limit of their own.
    denied: FxHashMap<NodeId, Denied>,
    /// Questions to each node without an answer yet, in order. An answer to any other question is ignored.
    pub asked: FxHashMap<NodeId, VecDeque<FxHashSet<Name>>>,
    /// Agents claimed by a node while their known node is asked. If the known node denies having the agent, the
    /// claimant is asked once more, because its claim may have come late.
    pub claims: FxHashMap<Name, NodeId>,
    pub doubtful: FxHashMap<NodeId, Doubtful>,
    /// Agents whose last messages may still arrive, by node: no node's agents displace another's.
    pub ended: FxHashMap<NodeId, RecentEnds>,
}

/// Messages of agents whose location is being verified, over the link of the claimant.
#[derive(Default)]
pub(crate) struct Doubtful {
    messages: Vec<Envelope>,
    bytes: usize,
}

impl Doubtful {
    /// Retains a message, unless there are too many.
    pub fn keep(&mut self, message: Envelope) -> Option<Envelope> {
        let bytes = message.body.footprint(LINK_DOUBTFUL_BYTES_MAX);
        if self.messages.len() >= LINK_DOUBTFUL_MESSAGES_MAX || self.bytes + bytes > LINK_DOUBTFUL_BYTES_MAX {
            return Some(message);
        }
        self.bytes += bytes;
        self.messages.push(message);
        None
    }

    /// Takes out the messages of this agent, in order.
    fn take(&mut self, agent: &Name) -> Vec<Envelope> {
        let taken: Vec<Envelope> = self.messages.extract_if(.., |message| *agent == message.body.sender.name).collect();
        self.bytes -= taken.iter().map(|it| it.body.footprint(LINK_DOUBTFUL_BYTES_MAX)).sum::<usize>().min(self.bytes);
        taken
    }
}

/// Agents whose end one node reported. The oldest are forgotten when there are too many.
#[derive(Default)]
struct Denied {
    /// Number in `in_order`, by the reported name.
    by_word: FxHashMap<Name, u64>,
    in_order: BTreeMap<u64, Name>,
    last: u64,
}

impl Denied {
    fn insert(&mut self, agent: Name) {
        self.remove(&agent);
        if self.in_order.len() >= LINK_DENIED_AGENTS_MAX
            && let Some((_, oldest)) = self.in_order.pop_first()
        {
            self.by_word.remove(&oldest);
        }
        self.last += 1;
        self.by_word.insert(agent.clone(), self.last);
        self.in_order.insert(self.last, agent);
    }

    /// Forgets an agent. Returns true if it was there.
    fn remove(&mut self, agent: &Name) -> bool {
        let number = self.by_word.remove(agent);
        number.is_some_and(|number| self.in_order.remove(&number).is_some())
    }
}

/// Agents that ended at one node a moment ago.
#[derive(Default)]
pub(crate) struct RecentEnds {
    /// Time until which an agent's last messages may arrive, and its kind.
    until: FxHashMap<Name, (Time, AgentKind)>,
    in_order: VecDeque<(Time, Name)>,
}

impl RecentEnds {
    pub fn insert(&mut self, agent: Name, kind: AgentKind, now: Time) {
        let until = now + Duration::from_millis(LINK_LAST_WORDS_MS);
        let is_over = |count: usize, oldest: Time| oldest <= now || count >= LINK_LAST_WORDS_AGENTS_MAX;
        while self.in_order.front().is_some_and(|(oldest, _)| is_over(self.in_order.len(), *oldest))
            && let Some((oldest, agent)) = self.in_order.pop_front()
        {
            // The agent may have ended once more since.
            if self.until.get(&agent).is_some_and(|(until, _)| *until == oldest) {
                self.until.remove(&agent);
            }
        }
        self.until.insert(agent.clone(), (until, kind));
        self.in_order.push_back((until, agent));
    }

    pub fn contains(&self, agent: Symbol, now: Time) -> bool {
        self.kind_of(agent, now).is_some()
    }

    pub fn kind_of(&self, agent: Symbol, now: Time) -> Option<AgentKind> {
        self.until.get(&Name::from(agent)).filter(|(until, _)| now < *until).map(|(_, kind)| *kind)
    }
}

impl LocationClaims {
    /// Notes a report that an agent has gone to this node. Returns true if that has to be verified.
    pub fn gone(&mut self, agent: &Name, to: NodeId) -> bool {
        if !self.introduced.contains(&to) {
            self.gone_to.entry(to).or_default().insert(agent.clone());
        }
        self.denied.get_mut(&to).is_some_and(|denied| denied.remove(agent))
    }

    pub fn deny(&mut self, node: NodeId, agent: Name) {
        self.denied.entry(node).or_default().insert(agent);
    }

    /// Returns the agents of the question that a node's next answer belongs to.
    pub fn answered(&mut self, node: NodeId) -> FxHashSet<Name> {
        self.asked.get_mut(&node).and_then(VecDeque::pop_front).unwrap_or_default()
    }

    /// Returns the number of agents that this node claims, and that are being verified.
    pub fn looked_into(&self, claimant: NodeId) -> usize {
        let claimed = self.claims.values().filter(|other| **other == claimant).count();
        claimed + self.asked.get(&claimant).into_iter().flatten().map(FxHashSet::len).sum::<usize>()
    }

    /// Returns true while a question is pending whether this node has this agent.
    pub fn is_asking(&self, node: NodeId, agent: &Name) -> bool {
        let asked = || self.asked.get(&node).is_some_and(|asked| asked.iter().any(|agents| agents.contains(agent)));
        self.claims.get(agent) == Some(&node) || asked()
    }

    /// Takes out these agents' waiting messages from this node's link.
    pub fn take_doubtful<'a>(&mut self, node: NodeId, agents: impl IntoIterator<Item = &'a Name>) -> Vec<Envelope> {
        let Some(doubtful) = self.doubtful.get_mut(&node) else { return Vec::new() };
        let taken = agents.into_iter().flat_map(|agent| doubtful.take(agent)).collect();
        if doubtful.messages.is_empty() {
            self.doubtful.remove(&node);
        }
        taken
    }

    /// Forgets a lost node, which introduces itself again if it returns. Returns the messages that waited for its
    /// answer: as far as is known, they are forged.
    pub fn forget(&mut self, node: NodeId) -> Vec<Envelope> {
        self.introduced.remove(&node);
        self.gone_to.remove(&node);
        self.denied.remove(&node);
        self.ended.remove(&node);
        self.asked.remove(&node);
        self.claims.retain(|_, claimant| *claimant != node);
        self.doubtful.remove(&node).map(|doubtful| doubtful.messages).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_end_report_is_forgotten() {
        let (node, name) = (NodeId(1), |at: usize| Name::new(&format!("a{at}")));
        let mut hearsay = LocationClaims::default();
        (0..LINK_DENIED_AGENTS_MAX).for_each(|at| hearsay.deny(node, name(at)));
        // After another report, the agent is the newest.
        hearsay.deny(node, name(0));
        hearsay.deny(NodeId(2), name(0));
        hearsay.deny(node, name(LINK_DENIED_AGENTS_MAX));
        assert!(!hearsay.gone(&name(1), node), "the oldest");
        assert!((2..=LINK_DENIED_AGENTS_MAX).all(|at| hearsay.gone(&name(at), node)));
        assert!(hearsay.gone(&name(0), node) && !hearsay.gone(&name(0), node), "it is asked about once");
        hearsay.forget(NodeId(2));
        assert!(!hearsay.gone(&name(0), NodeId(2)));
        let denied = &hearsay.denied[&node];
        assert!(denied.by_word.is_empty() && denied.in_order.is_empty());
        // Each node has a limit of its own for denials.
        hearsay.deny(node, name(0));
        (0..=LINK_DENIED_AGENTS_MAX).for_each(|at| hearsay.deny(NodeId(2), name(at)));
        assert!(hearsay.gone(&name(0), node));
    }

    #[test]
    fn recent_ends_are_remembered() {
        let name = |at: usize| Symbol::from(format!("a{at}").as_str());
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let mut ended = RecentEnds::default();
        ended.insert(name(0).into(), AgentKind::Native, at(0));
        ended.insert(name(0).into(), AgentKind::Native, at(10));
        assert!(ended.contains(name(0), at(LINK_LAST_WORDS_MS + 9)));
        assert!(!ended.contains(name(1), at(10)));
        // Expired entries make room. An agent that ended again since does not go with its first end.
        ended.insert(name(1).into(), AgentKind::Native, at(LINK_LAST_WORDS_MS + 5));
        assert!(ended.contains(name(0), at(LINK_LAST_WORDS_MS + 9)));
        assert!(!ended.contains(name(0), at(LINK_LAST_WORDS_MS + 10)));
        (2..LINK_LAST_WORDS_AGENTS_MAX + 2)
            .for_each(|agent| ended.insert(name(agent).into(), AgentKind::Native, at(LINK_LAST_WORDS_MS + 6)));
        assert!(!ended.contains(name(1), at(LINK_LAST_WORDS_MS + 6)));
        assert_eq!((ended.until.len(), ended.in_order.len()), (LINK_LAST_WORDS_AGENTS_MAX, LINK_LAST_WORDS_AGENTS_MAX));
    }
}
