//! Slots of a shard: one per agent.

pub(crate) mod turn;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::durable::State;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::{AgentBody, EndReason, Mailbox, Time};

use crate::durable::Unwritten;

/// Bytes of changes that may follow a complete state, however small that is.
const DELTAS_BYTES: usize = 1 << 10;

/// Status of an agent in its shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotStatus {
    /// Nothing to do until a message comes, or until its time.
    Idle,
    /// Waiting for its turn.
    Queued,
    /// In its turn.
    Running,
    /// Delayed: its next turn comes at a set time, message or not.
    Delayed,
    /// Held by the AMS: no turns.
    Held,
    /// About to move to another shard: no turns until it has arrived.
    Leaving,
    /// About to move, with a turn due.
    LeavingQueued,
    /// About to move, and held by the AMS.
    LeavingHeld,
}

/// One particular bearer of a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incarnation {
    pub name: Symbol,
    pub generation: u32,
}

/// Effect of an agent's last turn.
pub(crate) enum Doom {
    /// The agent ends, for this reason.
    End(EndReason),
    /// The agent restarts as this slot, with its name and its messages.
    Renew(Box<Slot>),
}

/// Agent with its shard's data about it, in one piece of memory. The slot leaves the table for its turns.
pub(crate) struct Slot<B: ?Sized = dyn AgentBody> {
    /// Name of the agent, of this platform.
    pub name: Symbol,
    /// Number that distinguishes bearers of the name.
    pub generation: u32,
    /// Place in the shard.
    pub index: u32,
    pub status: SlotStatus,
    /// True if senders are told to slow down.
    pub crowded: bool,
    /// Number of times in a row that the agent sent to a crowded mailbox.
    pub slowed: u8,
    /// True if its last turn was late, so that the shard continued without it.
    pub was_late: bool,
    /// Obstacle that the agent waits for, if its shard resumes it afterwards.
    pub held_up: Option<Obstacle>,
    /// Agent that it wrote to last; empty if none.
    pub peer: Symbol,
    /// Agent that decides when this one fails; empty if none.
    pub supervisor: Symbol,
    pub mailbox: Mailbox,
    /// Messages that the agent handled so far.
    pub handled: u64,
    /// Latest time for its next turn.
    pub wake_at: Time,
    /// Time of the earliest timer set for it.
    pub timer_at: Time,
    /// Effect of its next turn, if that is the last.
    pub doom: Option<Box<Doom>>,
    /// Steps since its last capture, if it is durable.
    pub unwritten: Option<Box<Unwritten>>,
    pub body: B,
}

impl<B: AgentBody> Slot<B> {
    /// Creates a slot for an agent that has no name and no shard yet.
    pub fn new(body: B) -> Self {
        Self {
            name: Symbol::default(),
            generation: 0,
            index: u32::MAX,
            status: SlotStatus::Idle,
            crowded: false,
            slowed: 0,
            was_late: false,
            held_up: None,
            peer: Symbol::default(),
            supervisor: Symbol::default(),
            mailbox: Mailbox::default(),
            handled: 0,
            wake_at: Time::NEVER,
            timer_at: Time::NEVER,
            doom: None,
            unwritten: None,
            body,
        }
    }
}

// There may be millions of slots. Allocators have pieces of 128 bytes; the next bigger ones are of 160.
const _: () = assert!(size_of::<Slot<Box<dyn AgentBody>>>() <= 128);

impl Slot {
    pub fn aid(&self) -> Aid {
        Aid::local(self.name)
    }

    /// Takes over name, place and messages of the agent that this one replaces.
    pub fn succeed(&mut self, old: &mut Self) {
        let Self { name, generation, index, status, crowded, held_up, peer, supervisor, handled, .. } = *old;
        (self.name, self.generation, self.index, self.status) = (name, generation, index, status);
        (self.crowded, self.held_up) = (crowded, held_up);
        (self.peer, self.supervisor, self.handled) = (peer, supervisor, handled);
        self.mailbox = std::mem::take(&mut old.mailbox);
        self.timer_at = old.timer_at;
        self.doom = old.doom.take();
        self.unwritten = old.unwritten.take();
    }

    /// Returns true if some of its steps are not persisted yet.
    pub fn is_unwritten(&self) -> bool {
        self.unwritten.as_ref().is_some_and(|unwritten| unwritten.listed || unwritten.captured)
    }

    /// Returns the agent's state for the journal: complete, or the changes since the last write while these are
    /// smaller in all.
    pub fn state(&mut self, now: Time) -> State {
        let Some(unwritten) = &self.unwritten else { return State::Same };
        let mut bytes = Vec::new();
        let has_whole = unwritten.whole_bytes > 0;
        let worth_while = has_whole && unwritten.delta_bytes < unwritten.whole_bytes.max(DELTAS_BYTES);
        if worth_while && self.body.save_delta(now, &mut bytes) {
            return if bytes.is_empty() { State::Same } else { State::Delta(bytes) };
        }
        bytes.clear();
        if self.body.save_whole(now, &mut bytes) { State::Whole(bytes) } else { State::Same }
    }
}

/// Items for an agent whose late turn continues without its shard.
#[derive(Default)]
pub(crate) struct Away {
    pub name: Symbol,
    pub generation: u32,
    /// Start of its turn, and time when the shard continued.
    pub began: Time,
    pub left: Time,
    pub mailbox: Mailbox,
    /// Senders of numbered messages without room in `mailbox`, which they repeat.
    pub missed: FxHashSet<Symbol>,
    pub hold: bool,
    /// True if the agent's registration changed.
    pub standing: bool,
    pub wake: bool,
    pub doom: Option<Box<Doom>>,
}

/// Table of slots; vacant places are used first.
#[derive(Default)]
pub(crate) struct Slots {
    places: Vec<Option<Box<Slot>>>,
    vacant: Vec<u32>,
    /// Agents whose late turn continues without the shard, by place.
    away: FxHashMap<u32, Away>,
}

impl Slots {
    /// Reserves room for this many more agents.
    pub fn reserve(&mut self, count: usize) {
        self.places.reserve_exact(count.saturating_sub(self.vacant.len()));
    }

    /// Returns the number of places, including vacant ones.
    pub fn room(&self) -> usize {
        self.places.len()
    }

    /// Gives an agent a place.
    pub fn settle(&mut self, mut slot: Box<Slot>) -> u32 {
        if let Some(index) = self.vacant.pop() {
            slot.index = index;
            self.put_back(slot);
            return index;
        }
        let index = self.places.len() as u32;
        slot.index = index;
        self.places.push(Some(slot));
        index
    }

    /// Takes an agent out for a turn.
    #[inline]
    pub fn take_for_turn(&mut self, index: u32) -> Option<Box<Slot>> {
        let place = self.places.get_mut(index as usize)?;
        let slot = place.as_mut().filter(|slot| slot.status == SlotStatus::Queued)?;
        slot.status = SlotStatus::Running;
        place.take()
    }

    /// Puts an agent back into its place.
    #[inline]
    pub fn put_back(&mut self, slot: Box<Slot>) {
        if let Some(place) = self.places.get_mut(slot.index as usize) {
            let empty = place.replace(slot);
            debug_assert!(empty.is_none(), "an agent's place was given away");
            // The place is `None`: nothing to drop, and no code for it.
            std::mem::forget(empty);
        }
    }

    /// Takes an agent out for a moment.
    pub fn lift(&mut self, index: u32) -> Option<Box<Slot>> {
        self.places.get_mut(index as usize)?.take()
    }

    /// Takes an agent out for good.
    pub fn vacate(&mut self, index: u32) -> Option<Box<Slot>> {
        let slot = self.places.get_mut(index as usize)?.take()?;
        self.vacant.push(index);
        Some(slot)
    }

    /// Returns the agent in this place, unless it is in a turn.
    #[inline]
    pub fn at(&mut self, index: u32) -> Option<&mut Slot> {
        self.places.get_mut(index as usize)?.as_deref_mut()
    }

    /// Returns the agent in this place, if it has this generation and is not in a turn.
    pub fn bearer(&mut self, index: u32, generation: u32) -> Option<&mut Slot> {
        self.at(index).filter(|slot| slot.generation == generation)
    }

    /// Returns the generation of the agent in this place, here or away.
    pub fn generation(&mut self, index: u32) -> Option<u32> {
        let here = self.at(index).map(|slot| slot.generation);
        here.or_else(|| self.away.get(&index).map(|away| away.generation))
    }

    /// Notes that the shard continues while the agent in this place is in its turn.
    pub fn send_away(&mut self, index: u32, away: Away) {
        self.away.insert(index, away);
    }

    /// Returns the items for an agent that is away.
    pub fn away(&mut self, index: u32) -> Option<&mut Away> {
        self.away.get_mut(&index)
    }

    /// Ends an agent's absence.
    pub fn come_back(&mut self, index: u32) -> Option<Away> {
        self.away.remove(&index)
    }

    /// Iterates over the agents that are here.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.places.iter().filter_map(Option::as_deref)
    }

    /// Iterates over the agents that are away.
    pub fn iter_away(&self) -> impl Iterator<Item = (u32, &Away)> {
        self.away.iter().map(|(index, away)| (*index, away))
    }

    /// Counts messages that wait for agents of this shard.
    pub fn queued(&self) -> usize {
        let here: usize = self.iter().map(|slot| slot.mailbox.len()).sum();
        here + self.away.values().map(|away| away.mailbox.len()).sum::<usize>()
    }
}

/// Obstacle that senders wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Obstacle {
    /// The full link to this node.
    Link(NodeId),
    /// This agent's full mailbox.
    Mailbox(Symbol),
}
