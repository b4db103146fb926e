//! Network between agents: delays, and partitions between nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Envelope, Symbol};
use whimbrel_platform::Time;
use whimbrel_platform::route::NodeId;

use crate::Random;

/// The virtual network. Agents are on node 0 unless placed elsewhere; messages within a node arrive at once, those
/// between nodes after a delay drawn from a range. Messages from one agent to another never overtake each other.
#[derive(Debug)]
pub struct Network {
    delay_ms: RangeInclusive<u64>,
    places: FxHashMap<Symbol, NodeId>,
    cut: BTreeSet<(NodeId, NodeId)>,
    /// Messages on their way, by time of arrival, then in order of sending.
    travelling: BTreeMap<(Time, u64), Envelope>,
    /// Messages that a partition holds back, in order of sending.
    held: Vec<Envelope>,
    sent: u64,
    /// Time at which the last message of a pair arrives.
    last_arrival: FxHashMap<(Aid, Aid), Time>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            delay_ms: 1..=10,
            places: FxHashMap::default(),
            cut: BTreeSet::new(),
            travelling: BTreeMap::new(),
            held: Vec::new(),
            sent: 0,
            last_arrival: FxHashMap::default(),
        }
    }
}

impl Network {
    /// Sets the delay of messages between nodes, in milliseconds: each is drawn from this range. At first 1 to 10.
    pub fn delay_ms(&mut self, range: RangeInclusive<u64>) {
        self.delay_ms = range;
    }

    /// Puts an agent, existing or to come, on a node.
    pub fn place(&mut self, agent: &str, node: NodeId) {
        self.places.insert(agent.into(), node);
    }

    /// Holds back all messages between two nodes until [`Network::heal`].
    pub fn partition(&mut self, one: NodeId, other: NodeId) {
        self.cut.insert((one, other));
        self.cut.insert((other, one));
    }

    /// Ends all partitions, and sends the messages that they held back.
    pub fn heal(&mut self) {
        self.cut.clear();
    }

    /// Returns the number of messages that are on their way or held back.
    pub(crate) fn len(&self) -> usize {
        self.travelling.len() + self.held.len()
    }

    /// Sends the messages that partitions no longer hold back.
    pub(crate) fn release(&mut self, now: Time, random: &mut Random) -> Vec<Envelope> {
        if !self.cut.is_empty() || self.held.is_empty() {
            return Vec::new();
        }
        let held = std::mem::take(&mut self.held);
        held.into_iter().filter_map(|envelope| self.send(envelope, now, random)).collect()
    }

    /// Puts a message on its way, or returns it if it has arrived already.
    pub(crate) fn send(&mut self, envelope: Envelope, now: Time, random: &mut Random) -> Option<Envelope> {
        let pair = (envelope.body.sender, envelope.to);
        let (from, to) = (self.node_of(pair.0), self.node_of(pair.1));
        if self.cut.contains(&(from, to)) {
            self.held.push(envelope);
            return None;
        }
        let delay_ms = if from == to { 0 } else { random.between(self.delay_ms.clone()) };
        let earliest = self.last_arrival.get(&pair).copied().unwrap_or_default();
        let arrival = earliest.max(now + Duration::from_millis(delay_ms));
        if arrival <= now {
            return Some(envelope);
        }
        self.last_arrival.insert(pair, arrival);
        self.travelling.insert((arrival, self.sent), envelope);
        self.sent += 1;
        None
    }

    /// Takes the next message that has arrived.
    pub(crate) fn arrived(&mut self, now: Time) -> Option<Envelope> {
        let next = self.travelling.first_entry()?;
        (next.key().0 <= now).then(|| next.remove())
    }

    /// Returns the time at which the next message arrives.
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        self.travelling.keys().next().map(|(arrival, _)| *arrival)
    }

    fn node_of(&self, agent: Aid) -> NodeId {
        self.places.get(&agent.name).copied().unwrap_or(NodeId(0))
    }
}
