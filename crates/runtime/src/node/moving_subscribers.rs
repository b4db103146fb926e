//! Moving subscribers and members (`platform::topics`): finds the moment without publications at which this node's
//! publications switch to an agent's new node.

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::mobility::{HopId, HopNews};
use whimbrel_platform::route::NodeId;
use whimbrel_platform::topics::{Cast, TopicError};

use super::Node;
use crate::moving_subscribers::Switch;
use crate::sync::locked;

impl Node {
    /// Begins a shard's publication on a topic whose subscribers move. The shard hands its messages to links before
    /// [`Node::end_publishing`].
    pub fn begin_publishing(&self) {
        loop {
            let mut underway = locked(&self.forum.publishing.0);
            // Switches wait for publications that are about to end; these hand over their messages without waiting
            // for others.
            if underway.waiting.is_empty() {
                underway.shards += 1;
                return;
            }
            drop(underway);
            std::thread::yield_now();
        }
    }

    /// Ends a shard's publication: its messages are handed to links.
    pub fn end_publishing(&self) {
        let mut underway = locked(&self.forum.publishing.0);
        underway.shards = underway.shards.saturating_sub(1);
        if underway.shards == 0 {
            std::mem::take(&mut underway.waiting).into_iter().for_each(|switch| self.switch(switch));
        }
    }

    fn when_nobody_publishes(&self, switch: Switch) {
        let mut underway = locked(&self.forum.publishing.0);
        match underway.shards {
            0 => self.switch(switch),
            _ => underway.waiting.push(switch),
        }
    }

    /// Switches to an agent's new node, once all messages through its previous node are on that link.
    pub fn follow(&self, hop: HopId, source: NodeId) {
        let to = self.with_topics(|topics| topics.destination_of(hop));
        match to {
            Some(to) => self.when_nobody_publishes(Switch::Other(hop, source, to)),
            None => self.tell_hop(source, HopNews::Follow(hop)),
        }
    }

    /// Switches likewise for an agent that this node let go.
    pub fn follow_own(&self, hop: HopId, to: NodeId) {
        if self.with_topics(|topics| topics.is_leaving(hop)) {
            self.when_nobody_publishes(Switch::Source(hop, to));
        }
    }

    /// Carries out a switch, and announces it behind all earlier publications on the same links.
    fn switch(&self, switch: Switch) {
        match switch {
            Switch::Source(hop, to) => self.with_topics(|topics| {
                let names = topics.handle_own_followed(hop);
                self.tell_hop(to, HopNews::Clear(hop, names));
            }),
            Switch::Other(hop, source, name) => {
                let to = self.linked.links().and_then(|links| links.node_named(name.as_str()));
                let to = to.filter(|_| name != self.my_name());
                let errors = self.with_topics(|topics| {
                    let (names, errors) = topics.handle_switched(hop, to, |name| {
                        to.is_some_and(|to| self.permits_hearing(to, hop.agent, name))
                    });
                    self.tell_hop(source, HopNews::Follow(hop));
                    if let Some(to) = to {
                        self.tell_hop(to, HopNews::Clear(hop, names));
                    }
                    errors
                });
                self.note_unjoined(hop.agent, errors);
            }
        }
    }

    /// Switches to a node that has just introduced itself. Agents may have gone there while this node had no link to
    /// it.
    pub fn follow_late(&self, node: NodeId) {
        let name = self.name_of(node);
        let may_hear = |agent, place| self.permits_hearing(node, agent, place);
        self.with_topics(|topics| {
            for (hop, names) in topics.handle_introduced(node, name, may_hear) {
                self.tell_hop(node, HopNews::Clear(hop, names));
            }
        });
    }

    /// Handles the announcement that an agent in these topics and groups is about to go from that node to another
    /// one.
    pub fn hear_roams(&self, from: NodeId, hop: HopId, to: Symbol, places: Vec<Symbol>) {
        let places = places.into_iter().filter(|name| is_place(*name)).collect();
        self.with_topics(|known| known.handle_roams(hop, from, to, places));
    }

    /// Handles another node's switch for an agent that moves here, or has.
    pub fn hear_clear(&self, from: NodeId, hop: HopId, places: Vec<Symbol>, source: Option<NodeId>) {
        let agent = hop.agent;
        let permitted = self.permitted_places(agent, places);
        let errors = self.with_topics(|known| match source {
            Some(source) => known.handle_cleared(hop, source, from, permitted),
            None => known.handle_cleared_late(hop, from),
        });
        self.note_unjoined(agent, errors);
    }

    /// Enters an agent that arrived into its topics and groups, as far as the policy allows.
    pub fn own_places(&self, hop: HopId, from: NodeId, places: Vec<Symbol>, told: &[Symbol]) {
        let places = self.permitted_places(hop.agent, places);
        if !places.is_empty() {
            let links = self.linked.links();
            let nodes: Vec<NodeId> =
                told.iter().filter_map(|name| links.and_then(|links| links.node_named(name.as_str()))).collect();
            let me = self.my_name();
            self.with_topics(|known| known.handle_owned(hop, from, me, places, nodes));
        }
    }

    /// Returns the topics and groups among these names that the agent may be in.
    fn permitted_places(&self, agent: Symbol, places: Vec<Symbol>) -> Vec<Symbol> {
        let may = |name: &Symbol| is_place(*name) && self.permits_joining(Aid::local(agent), *name);
        places.into_iter().filter(may).collect()
    }

    /// Returns true if a node may get messages to this topic, or to this group of which the agent is a member.
    fn permits_hearing(&self, node: NodeId, agent: Symbol, name: Symbol) -> bool {
        match Cast::of(name) {
            Some(Cast::Broadcast) => self.permits_subscribing(node, name),
            _ => self.permits_joining(Aid::local(agent), name),
        }
    }

    fn note_unjoined(&self, agent: Symbol, errors: Vec<TopicError>) {
        for error in errors {
            self.note_lost(agent, Err::<(), _>(error));
        }
    }
}

/// Returns true for topics and groups that an agent can be in.
fn is_place(name: Symbol) -> bool {
    matches!(Cast::of(name), Some(Cast::Broadcast | Cast::Multicast))
}
