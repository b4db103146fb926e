//! The slots of a shard: one per agent it owns.

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::{AgentBody, EndReason, Mailbox, Time};

use super::held::Cause;
use crate::durable::Unwritten;

/// What an agent is doing, as its shard sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Nothing to do until a message comes, or its time.
    Idle,
    /// Waiting for its turn.
    Queued,
    /// Having its turn.
    Running,
    /// Slowed down: its next turn comes when its time comes, message or not.
    Delayed,
    /// Held by the AMS: no turns.
    Held,
    /// About to move to another shard: no turns until it is there.
    Leaving,
    /// The same, and it waits for its turn.
    LeavingQueued,
    /// The same, and it is held by the AMS.
    LeavingHeld,
}

/// What an agent's next turn is, if it is its last.
pub(crate) enum Doom {
    /// It ends, for this reason.
    End(EndReason),
    /// It begins anew as this one, with its name and its messages.
    Renew(Box<Slot>),
}

/// An agent with what its shard keeps of it, in one piece of memory. It leaves the table for its turns.
pub(crate) struct Slot<B: ?Sized = dyn AgentBody> {
    /// Its name; of this platform.
    pub name: Symbol,
    /// Which bearer of the name it is.
    pub generation: u32,
    /// Its place in the shard.
    pub index: u32,
    pub status: Status,
    /// Senders are told to slow down.
    pub crowded: bool,
    /// How often in a row it sent to a crowded mailbox.
    pub slowed: u8,
    /// True if its last turn was late, so that the shard continued without it.
    pub was_late: bool,
    /// What holds it up, if its shard lets it go on when that is over.
    pub held_up: Option<Cause>,
    /// Whom it wrote to last; empty if nobody.
    pub peer: Symbol,
    /// Who decides what happens when it ends; empty if nobody.
    pub supervisor: Symbol,
    pub mailbox: Mailbox,
    /// Messages it handled so far.
    pub handled: u64,
    /// When it wants its next turn at the latest.
    pub wake_at: Time,
    /// When the earliest timer set for it goes off.
    pub timer_at: Time,
    /// Its next turn is its last.
    pub doom: Option<Box<Doom>>,
    /// What it did since it was written down last, if it is durable.
    pub unwritten: Option<Box<Unwritten>>,
    pub body: B,
}

impl<B: AgentBody> Slot<B> {
    /// A slot for an agent that has no name and no shard yet.
    pub fn new(body: B) -> Self {
        Self {
            name: Symbol::default(),
            generation: 0,
            index: u32::MAX,
            status: Status::Idle,
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

// There may be millions. Allocators have pieces of 128 bytes; the next bigger ones are of 160.
const _: () = assert!(size_of::<Slot<Box<dyn AgentBody>>>() <= 128);

impl Slot {
    pub fn aid(&self) -> Aid {
        Aid::local(self.name)
    }

    /// Takes over name, place and messages of an agent that goes on as this one.
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
}

/// What comes for an agent while its turn goes on without its shard.
#[derive(Default)]
pub(crate) struct Away {
    pub name: Symbol,
    pub generation: u32,
    /// When its turn began, and when the shard went on.
    pub began: Time,
    pub left: Time,
    pub mailbox: Mailbox,
    /// Senders of numbered messages for which there was no place in `mailbox`: they say them again.
    pub missed: FxHashSet<Symbol>,
    pub hold: bool,
    /// What the platform knows of it changed.
    pub standing: bool,
    pub wake: bool,
    pub doom: Option<Box<Doom>>,
}

/// The table of slots, vacant places used first.
#[derive(Default)]
pub(crate) struct Slots {
    places: Vec<Option<Box<Slot>>>,
    vacant: Vec<u32>,
    /// The agents whose turn goes on without the shard, by place.
    away: FxHashMap<u32, Away>,
}

impl Slots {
    /// Makes room for so many more agents.
    pub fn reserve(&mut self, count: usize) {
        self.places.reserve_exact(count.saturating_sub(self.vacant.len()));
    }

    /// How many places there are, vacant ones included.
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
        let slot = place.as_mut().filter(|slot| slot.status == Status::Queued)?;
        slot.status = Status::Running;
        place.take()
    }

    /// Puts an agent back into its place.
    #[inline]
    pub fn put_back(&mut self, slot: Box<Slot>) {
        if let Some(place) = self.places.get_mut(slot.index as usize) {
            let empty = place.replace(slot);
            debug_assert!(empty.is_none(), "an agent's place was given away");
            // It is `None`: nothing to drop, and no code to see to that.
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

    /// The agent in this place; not while it has its turn.
    #[inline]
    pub fn at(&mut self, index: u32) -> Option<&mut Slot> {
        self.places.get_mut(index as usize)?.as_deref_mut()
    }

    /// The agent in this place, if it is still this very one; not while it has its turn.
    pub fn bearer(&mut self, index: u32, generation: u32) -> Option<&mut Slot> {
        self.at(index).filter(|slot| slot.generation == generation)
    }

    /// Which bearer of its name the agent in this place is, here or away.
    pub fn generation(&mut self, index: u32) -> Option<u32> {
        let here = self.at(index).map(|slot| slot.generation);
        here.or_else(|| self.away.get(&index).map(|away| away.generation))
    }

    /// The shard goes on while the agent in this place has its turn.
    pub fn send_away(&mut self, index: u32, away: Away) {
        self.away.insert(index, away);
    }

    /// What is kept for an agent that is away.
    pub fn away(&mut self, index: u32) -> Option<&mut Away> {
        self.away.get_mut(&index)
    }

    /// An agent that was away is back.
    pub fn come_back(&mut self, index: u32) -> Option<Away> {
        self.away.remove(&index)
    }

    /// The agents that are here.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.places.iter().filter_map(Option::as_deref)
    }

    /// The agents that are away.
    pub fn iter_away(&self) -> impl Iterator<Item = (u32, &Away)> {
        self.away.iter().map(|(index, away)| (*index, away))
    }

    /// Messages that wait for agents of this shard.
    pub fn queued(&self) -> usize {
        let here: usize = self.iter().map(|slot| slot.mailbox.len()).sum();
        here + self.away.values().map(|away| away.mailbox.len()).sum::<usize>()
    }
}
