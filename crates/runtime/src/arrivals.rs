//! Messages that come over a link: by which shard each enters, and to whom those to many go.

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::link::News;
use whimbrel_platform::route::{LocalRoute, NodeId, Place, ShardIndex};
use whimbrel_platform::topics::{Audience, Cast};

use crate::node::Node;
use crate::parcel::Parcel;
use crate::sync::Arc;
use crate::topics::Audiences;

/// Receivers per link whose way into the node is remembered.
const WAYS_MAX: usize = 1 << 20;

/// What is remembered between arrivals.
#[derive(Default)]
pub(crate) struct Arrivals {
    ways: FxHashMap<NodeId, Ways>,
    audiences: Audiences,
}

/// By which shard messages for an agent enter: always the same, so that none overtakes another. Where the agent is by
/// now is that shard's to know.
#[derive(Default)]
struct Ways {
    /// By name: the generation of its bearer, and the shard.
    by_name: FxHashMap<Symbol, (u32, ShardIndex)>,
}

impl Ways {
    /// By which shard a message to `name` enters, and whether it is the first that its bearer gets from there.
    fn of(&mut self, name: Symbol, place: LocalRoute) -> (ShardIndex, bool) {
        if self.by_name.len() >= WAYS_MAX && !self.by_name.contains_key(&name) {
            return (0, false);
        }
        let way = self.by_name.entry(name).or_insert((u32::MAX, 0));
        let first = way.0 != place.generation;
        if first {
            *way = (place.generation, place.shard);
        }
        (way.1, first)
    }
}

impl Arrivals {
    /// The nodes that sent something to this agent, or to one that had its name before.
    pub fn senders_to(&self, name: Symbol) -> impl Iterator<Item = NodeId> {
        self.ways.iter().filter(move |(_, ways)| ways.by_name.contains_key(&name)).map(|(node, _)| *node)
    }

    /// A node is lost: should it come back, it knows nothing.
    pub fn forget(&mut self, node: NodeId) {
        self.ways.remove(&node);
    }

    /// Messages that came from another node, by the shard through which they enter; `messages` is empty afterwards.
    pub fn sort(&mut self, node: &Node, from: NodeId, messages: &mut Vec<Envelope>) -> Vec<Vec<Parcel>> {
        let Self { ways, audiences } = self;
        let by_shard = node.seats.iter().map(|_| Vec::new()).collect();
        let ways = ways.entry(from).or_default();
        let mut sorted = Sorted { node, from, ways, by_shard, more: 0, for_nobody: 0 };
        for envelope in messages.drain(..) {
            match node.routes.look_up(envelope.to.name).place() {
                Place::Local(place) => sorted.put(envelope, place),
                _ => match Cast::of(envelope.to.name) {
                    None => sorted.put_first(Parcel::Posted(envelope)),
                    Some(cast) => sorted.put_cast(cast, audiences.of(envelope.to.name, &node.forum), envelope),
                },
            }
        }
        node.count_copies(sorted.more, sorted.for_nobody);
        sorted.by_shard
    }
}

/// Messages that came over a link, by the shard through which they enter.
struct Sorted<'a> {
    node: &'a Node,
    from: NodeId,
    ways: &'a mut Ways,
    by_shard: Vec<Vec<Parcel>>,
    /// So many copies more than came were made of messages to many...
    more: u64,
    /// ...and so many of these were for nobody of this node.
    for_nobody: u64,
}

impl Sorted<'_> {
    fn put(&mut self, envelope: Envelope, place: LocalRoute) {
        let name = envelope.to.name;
        let (shard, first) = self.ways.of(name, place);
        if first
            && place.crowded
            && let Some(links) = self.node.linked.links()
        {
            links.tell(self.from, News::Crowded(name, true));
        }
        if let Some(batch) = self.by_shard.get_mut(usize::from(shard)) {
            batch.push(Parcel::Posted(envelope));
        }
    }

    fn put_first(&mut self, parcel: Parcel) {
        if let Some(batch) = self.by_shard.first_mut() {
            batch.push(parcel);
        }
    }

    /// A message to a topic or group: for this node's part of it, never for another node.
    fn put_cast(&mut self, cast: Cast, audience: Option<Arc<Audience>>, envelope: Envelope) {
        let routes = &self.node.routes;
        let local = audience.filter(|audience| !audience.local.is_empty());
        match (cast, local) {
            (Cast::Anycast, audience) => match audience.and_then(|all| all.choose_local(|name| routes.look_up(name))) {
                Some((member, _)) => self.put_copy(member, envelope.body),
                None => self.put_first(Parcel::Undeliverable(envelope, DeadReason::NoMember)),
            },
            // They left while it was on its way.
            (_, None) => self.for_nobody += 1,
            (_, Some(audience)) => {
                self.more += audience.local.len() as u64 - 1;
                if let [only] = &*audience.local {
                    return self.put_copy(*only, envelope.body);
                }
                let shared = envelope.body.into_shared();
                for name in &audience.local {
                    self.put_copy(*name, MessageBody::Shared(Arc::clone(&shared)));
                }
            }
        }
    }

    fn put_copy(&mut self, to: Symbol, body: MessageBody) {
        let copy = Envelope { to: Aid::local(to), body };
        match self.node.routes.look_up(to).place() {
            Place::Local(place) => self.put(copy, place),
            _ => self.put_first(Parcel::Posted(copy)),
        }
    }
}
