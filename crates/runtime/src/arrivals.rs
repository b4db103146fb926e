//! Messages that come over a link: by which shard each enters, and to whom those to many go.

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::limits::TOPIC_AUDIENCES_MAX;
use whimbrel_platform::link::News;
use whimbrel_platform::route::{LocalRoute, NodeId, Place, ShardIndex};
use whimbrel_platform::topics::{Audience, Cast};

use crate::node::Node;
use crate::parcel::Parcel;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::topics::Audiences;

/// Receivers per link whose way into the node is remembered.
const WAYS_MAX: usize = 1 << 20;

/// Messages that are one parcel at most: whether a mailbox is full is asked for each parcel.
const ROW_MAX: usize = 1_024;

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
    /// By topic or group: who gets its messages.
    fans: FxHashMap<Symbol, Fan>,
}

/// The ways of all agents of this node that get the messages of a topic or group.
struct Fan {
    /// Whom it was made for: as soon as somebody comes or goes, there is another one.
    audience: Arc<Audience>,
    by_shard: Vec<Arc<[Symbol]>>,
}

impl Ways {
    /// By which shard a message from another node to `name` enters. If it is the first from there, that node hears whether its receiver
    /// is crowded.
    fn enter(&mut self, node: &Node, from: NodeId, name: Symbol, place: LocalRoute) -> ShardIndex {
        let (shard, first) = self.of(name, place);
        if first
            && place.crowded
            && let Some(links) = node.linked.links()
        {
            links.tell(from, News::Crowded(name, true));
        }
        shard
    }

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

    /// By which shard messages in a row enter that came from another node for this agent; `None` if it is none of this node's.
    pub fn enter(&mut self, node: &Node, from: NodeId, to: Aid) -> Option<ShardIndex> {
        let Place::Local(place) = node.routes.look_up(to.name).place() else { return None };
        Some(self.ways.entry(from).or_default().enter(node, from, to.name, place))
    }

    /// Messages that came from another node, by the shard through which they enter; `messages` is empty afterwards.
    pub fn sort(&mut self, node: &Node, from: NodeId, messages: &mut Vec<Envelope>) -> Vec<Vec<Parcel>> {
        let Self { ways, audiences } = self;
        let by_shard = node.seats.iter().map(|_| Vec::new()).collect();
        let ways = ways.entry(from).or_default();
        let mut sorted = Sorted { node, from, ways, by_shard, more: 0, for_nobody: 0 };
        let mut messages = messages.drain(..);
        while let Some(envelope) = messages.as_slice().first() {
            let to = envelope.to;
            let place = match node.routes.look_up(to.name).place() {
                Place::Local(place) => Some(place),
                _ => None,
            };
            let row = place.map_or(0, |_| row_of(messages.as_slice()));
            if let (Some(place), 2..) = (place, row) {
                sorted.put_row(to, place, messages.by_ref().take(row).map(|envelope| envelope.body).collect());
                continue;
            }
            let Some(envelope) = messages.next() else { break };
            match place {
                Some(place) => match node.refuse_creation(node.for_keeps(envelope)) {
                    Ok(()) => sorted.for_nobody += 1,
                    Err(envelope) => sorted.put(envelope, place),
                },
                None => match Cast::of(to.name) {
                    None => sorted.put_elsewhere(envelope),
                    Some(cast) => sorted.put_cast(cast, audiences.of(to.name, &node.forum), envelope),
                },
            }
        }
        drop(messages);
        node.count_copies(sorted.more, sorted.for_nobody);
        sorted.by_shard
    }
}

/// How many of these messages, from the first on, are plain ones to the same agent.
fn row_of(messages: &[Envelope]) -> usize {
    let Some(to) = messages.first().map(|envelope| envelope.to) else { return 0 };
    let is_of_row =
        |envelope: &&Envelope| envelope.to == to && envelope.body.is_plain() && envelope.body.extras.is_none();
    messages.iter().take(ROW_MAX).take_while(is_of_row).count()
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
        let shard = self.way_of(envelope.to.name, place);
        if let Some(batch) = self.by_shard.get_mut(usize::from(shard)) {
            batch.push(Parcel::Arrived(envelope));
        }
    }

    /// Messages in a row to one agent are one parcel.
    fn put_row(&mut self, to: Aid, place: LocalRoute, messages: Vec<MessageBody>) {
        let shard = usize::from(self.way_of(to.name, place));
        if let (Some(batch), Some(seat)) = (self.by_shard.get_mut(shard), self.node.seats.get(shard)) {
            seat.copies.fetch_add(messages.len(), Ordering::Relaxed);
            batch.push(Parcel::ArrivedRow(to, messages));
        }
    }

    fn way_of(&mut self, name: Symbol, place: LocalRoute) -> ShardIndex {
        self.ways.enter(self.node, self.from, name, place)
    }

    /// A message for an agent that is none of this node: it may have been until a moment ago, so the message goes the way of
    /// those before.
    fn put_elsewhere(&mut self, envelope: Envelope) {
        let way = self.ways.by_name.get(&envelope.to.name).map_or(0, |(_, shard)| *shard);
        if let Some(batch) = self.by_shard.get_mut(usize::from(way)) {
            batch.push(Parcel::Arrived(envelope));
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
        let audience = audience.map(|known| match known.roaming {
            true => self.node.with_topics(|topics| topics.audience_for(envelope.to.name, Some(self.from))),
            false => known,
        });
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
                if audience.roaming {
                    let shared = envelope.body.for_many();
                    let copies = audience.local.iter().map(|name| (*name, shared.clone()));
                    return copies.for_each(|(name, copy)| self.put_copy(name, copy));
                }
                self.put_copies(envelope.to.name, audience, &envelope.body.into_shared());
            }
        }
    }

    /// A message for several agents is one parcel for each shard, however many they are, and so are those that follow it
    /// for the same.
    fn put_copies(&mut self, to: Symbol, audience: Arc<Audience>, message: &Arc<AclMessage>) {
        if self.ways.fans.get(&to).is_none_or(|fan| !Arc::ptr_eq(&fan.audience, &audience)) {
            let fan = self.fan(audience);
            if self.ways.fans.len() >= TOPIC_AUDIENCES_MAX {
                self.ways.fans.clear();
            }
            self.ways.fans.insert(to, fan);
        }
        let Some(fan) = self.ways.fans.get(&to) else { return };
        for ((agents, batch), seat) in fan.by_shard.iter().zip(&mut self.by_shard).zip(&self.node.seats) {
            if !agents.is_empty() {
                seat.copies.fetch_add(agents.len(), Ordering::Relaxed);
                match batch.last_mut() {
                    Some(Parcel::Copies(same, row)) if Arc::ptr_eq(same, agents) && row.len() < ROW_MAX => {
                        row.push(Arc::clone(message));
                    }
                    _ => batch.push(Parcel::Copies(Arc::clone(agents), vec![Arc::clone(message)])),
                }
            }
        }
    }

    #[cold]
    fn fan(&mut self, audience: Arc<Audience>) -> Fan {
        let mut by_shard: Vec<Vec<Symbol>> = self.by_shard.iter().map(|_| Vec::new()).collect();
        for name in &audience.local {
            let shard = match self.node.routes.look_up(*name).place() {
                Place::Local(place) => self.way_of(*name, place),
                // It is ending; there will be another audience.
                _ => 0,
            };
            if let Some(agents) = by_shard.get_mut(usize::from(shard)) {
                agents.push(*name);
            }
        }
        Fan { audience, by_shard: by_shard.into_iter().map(Arc::from).collect() }
    }

    fn put_copy(&mut self, to: Symbol, body: MessageBody) {
        let copy = Envelope { to: Aid::local(to), body };
        match self.node.routes.look_up(to).place() {
            Place::Local(place) => self.put(copy, place),
            // It left, and this one goes the way of those before.
            Place::Node(_) => self.put_elsewhere(copy),
            _ => self.put_first(Parcel::Posted(copy)),
        }
    }
}
