//! Arrivals: the shard through which each message from a link enters, and the receivers of messages to many.

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::limits::TOPIC_AUDIENCES_MAX;
use whimbrel_platform::route::{LocalRoute, NodeId, Place, ShardIndex};
use whimbrel_platform::topics::{Audience, Cast};

use super::Node;
use crate::arrivals::{Arrivals, Fan, Ways};
use crate::shard_command::ShardCommand;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, locked};

/// Largest number of messages in one command, because a mailbox's fill is checked once a command.
const ROW_MAX: usize = 1_024;

impl Node {
    /// Returns the shard through which a row of messages from another node enters; `None` if this node lacks the
    /// agent.
    pub fn entry_shard(&self, from: NodeId, to: Aid) -> Option<ShardIndex> {
        // The route is read under the lock: a change to crowded is announced to all nodes that entered before.
        let mut arrivals = locked(&self.linked.arrivals);
        let Place::Local(place) = self.routes.look_up(to.name).place() else { return None };
        Some(arrivals.ways.entry(from).or_default().enter(self.linked.links(), from, to.name, place))
    }

    /// Sorts messages from another node by their entry shards. Leaves `messages` empty.
    pub fn sort_arrivals(&self, from: NodeId, messages: &mut Vec<Envelope>) -> Vec<Vec<ShardCommand>> {
        let mut arrivals = locked(&self.linked.arrivals);
        let Arrivals { ways, audiences } = &mut *arrivals;
        let by_shard = self.seats.iter().map(|_| Vec::new()).collect();
        let ways = ways.entry(from).or_default();
        let mut sorted = Sorted { node: self, from, ways, by_shard, more: 0, for_nobody: 0 };
        let mut messages = messages.drain(..);
        while let Some(envelope) = messages.as_slice().first() {
            let to = envelope.to;
            let place = match self.routes.look_up(to.name).place() {
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
                Some(place) => match self.refuse_creation(self.for_keeps(envelope)) {
                    Ok(()) => sorted.for_nobody += 1,
                    Err(envelope) => sorted.put(envelope, place),
                },
                None => match Cast::of(to.name) {
                    None => sorted.put_elsewhere(envelope),
                    Some(cast) => sorted.put_cast(cast, audiences.of(to.name, &self.forum), envelope),
                },
            }
        }
        drop(messages);
        self.count_copies(sorted.more, sorted.for_nobody);
        sorted.by_shard
    }
}

/// Returns the number of messages, from the first on, that are plain and go to the same agent.
fn row_of(messages: &[Envelope]) -> usize {
    let Some(to) = messages.first().map(|envelope| envelope.to) else { return 0 };
    let is_of_row =
        |envelope: &&Envelope| envelope.to == to && envelope.body.is_plain() && envelope.body.extras.is_none();
    messages.iter().take(ROW_MAX).take_while(is_of_row).count()
}

/// Messages from a link, by the shard through which they enter.
struct Sorted<'a> {
    node: &'a Node,
    from: NodeId,
    ways: &'a mut Ways,
    by_shard: Vec<Vec<ShardCommand>>,
    /// Copies made of messages to many beyond the messages that came...
    more: u64,
    /// ...and messages among these for which this node has no receiver.
    for_nobody: u64,
}

impl Sorted<'_> {
    fn put(&mut self, envelope: Envelope, place: LocalRoute) {
        let shard = self.way_of(envelope.to.name, place);
        if let Some(batch) = self.by_shard.get_mut(usize::from(shard)) {
            batch.push(ShardCommand::Arrived(envelope));
        }
    }

    /// Puts a row of messages to one agent into one command.
    fn put_row(&mut self, to: Aid, place: LocalRoute, messages: Vec<MessageBody>) {
        let shard = usize::from(self.way_of(to.name, place));
        if let (Some(batch), Some(seat)) = (self.by_shard.get_mut(shard), self.node.seats.get(shard)) {
            seat.copies.fetch_add(messages.len(), Ordering::Relaxed);
            batch.push(ShardCommand::ArrivedRow(to, messages));
        }
    }

    fn way_of(&mut self, name: Symbol, place: LocalRoute) -> ShardIndex {
        self.ways.enter(self.node.linked.links(), self.from, name, place)
    }

    /// Puts a message for an agent that does not live on this node. The agent may have left a moment ago, so the
    /// message takes the same entry shard as those before.
    fn put_elsewhere(&mut self, envelope: Envelope) {
        let way = self.ways.by_name.get(&envelope.to.name).map_or(0, |(_, shard)| *shard);
        if let Some(batch) = self.by_shard.get_mut(usize::from(way)) {
            batch.push(ShardCommand::Arrived(envelope));
        }
    }

    fn put_first(&mut self, command: ShardCommand) {
        if let Some(batch) = self.by_shard.first_mut() {
            batch.push(command);
        }
    }

    /// Puts a message to a topic or group: for this node's members, never for another node.
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
                None => self.put_first(ShardCommand::Undeliverable(envelope, DeadReason::NoMember)),
            },
            // The members left while the message was on its way.
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

    /// Puts a message for several agents into one command for each shard, however many agents it has. Following
    /// messages to the same agents join that command.
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
                    Some(ShardCommand::Copies(same, row)) if Arc::ptr_eq(same, agents) && row.len() < ROW_MAX => {
                        row.push(Arc::clone(message));
                    }
                    _ => batch.push(ShardCommand::Copies(Arc::clone(agents), vec![Arc::clone(message)])),
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
                // The agent is ending, so there will be another audience.
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
            // The agent left, so the copy takes the same entry shard as messages before.
            Place::Node(_) => self.put_elsewhere(copy),
            _ => self.put_first(ShardCommand::Posted(copy)),
        }
    }
}
