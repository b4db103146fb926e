//! Subscribers and members on their way (`platform::topics`): the moment at which this node's agents publish by the new way, with nobody publishing.

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::mobility::{HopId, HopNews};
use whimbrel_platform::route::NodeId;
use whimbrel_platform::topics::{Cast, TopicError};

use crate::node::Node;
use crate::sync::{Mutex, locked};

/// Shards that are publishing on topics whose subscribers are on their way, and what is to be done when none is.
#[derive(Default)]
pub(crate) struct Publishing(Mutex<Underway>);

#[derive(Default)]
struct Underway {
    shards: usize,
    waiting: Vec<Switch>,
}

/// That this node publishes by the new way from now on.
enum Switch {
    /// For an agent that goes from that node to the one of this name.
    Other(HopId, NodeId, Symbol),
    /// For an agent that it let go itself, to that node.
    Source(HopId, NodeId),
}

impl Node {
    /// A shard publishes on a topic whose subscribers are on their way. What it says goes to links before [`Node::end_publishing`].
    pub fn begin_publishing(&self) {
        loop {
            let mut underway = locked(&self.forum.publishing.0);
            // Others are about to end: they hand over what they have, and wait for nobody.
            if underway.waiting.is_empty() {
                underway.shards += 1;
                return;
            }
            drop(underway);
            std::thread::yield_now();
        }
    }

    /// What it said is handed to links.
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

    /// All that this node's agents sent to an agent by way of the node that it leaves is on the link there: from now on it comes by the new way.
    pub fn follow(&self, hop: HopId, source: NodeId) {
        let to = self.with_topics(|topics| topics.destination_of(hop));
        match to {
            Some(to) => self.when_nobody_publishes(Switch::Other(hop, source, to)),
            None => self.tell_hop(source, HopNews::Follow(hop)),
        }
    }

    /// The same of an agent that this node let go.
    pub fn follow_own(&self, hop: HopId, to: NodeId) {
        if self.with_topics(|topics| topics.is_leaving(hop)) {
            self.when_nobody_publishes(Switch::Source(hop, to));
        }
    }

    /// Tells it behind all that was published before, on the links on which that is.
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

    /// A node introduced itself to which agents may have gone when this one knew no way there.
    pub fn follow_late(&self, node: NodeId) {
        let name = self.name_of(node);
        let may_hear = |agent, place| self.permits_hearing(node, agent, place);
        self.with_topics(|topics| {
            for (hop, names) in topics.handle_introduced(node, name, may_hear) {
                self.tell_hop(node, HopNews::Clear(hop, names));
            }
        });
    }

    /// An agent that is in these topics and groups is about to go from that node to another one.
    pub fn hear_roams(&self, from: NodeId, hop: HopId, to: Symbol, places: Vec<Symbol>) {
        let places = places.into_iter().filter(|name| is_place(*name)).collect();
        self.with_topics(|known| known.handle_roams(hop, from, to, places));
    }

    /// Another node publishes in these places by the new way for an agent that comes here, or came.
    pub fn hear_clear(&self, from: NodeId, hop: HopId, places: Vec<Symbol>, source: Option<NodeId>) {
        let agent = hop.agent;
        let permitted = self.permitted_places(agent, places);
        let errors = self.with_topics(|known| match source {
            Some(source) => known.handle_cleared(hop, source, from, permitted),
            None => known.handle_cleared_late(hop, from),
        });
        self.note_unjoined(agent, errors);
    }

    /// An agent that came is in these topics and groups, as far as it may be.
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

    /// Those that are topics and groups which the agent may be in.
    fn permitted_places(&self, agent: Symbol, places: Vec<Symbol>) -> Vec<Symbol> {
        let may = |name: &Symbol| is_place(*name) && self.permits_joining(Aid::local(agent), *name);
        places.into_iter().filter(may).collect()
    }

    /// Whether a node may get what is sent to this topic, or to this group of which the agent is a member.
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

/// Whether this is a topic or a group: what an agent can be in.
fn is_place(name: Symbol) -> bool {
    matches!(Cast::of(name), Some(Cast::Broadcast | Cast::Multicast))
}
