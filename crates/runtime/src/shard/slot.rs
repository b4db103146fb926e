//! The slots of a shard: one per agent it owns.

use whimbrel_acl::{Aid, Symbol, sym};
use whimbrel_platform::{AgentBody, EndReason, Mailbox, Time};

/// What an agent is doing, as its shard sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Nobody is here.
    Vacant,
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
}

/// An agent's place in its shard.
pub(crate) struct Slot {
    pub name: Symbol,
    /// Which bearer of the name it is.
    pub generation: u32,
    /// `None` while it runs.
    pub body: Option<Box<dyn AgentBody>>,
    pub mailbox: Mailbox,
    /// When it wants its next turn at the latest.
    pub wake_at: Time,
    /// When the earliest timer set for it goes off.
    pub timer_at: Time,
    pub status: Status,
    /// The AMS wants it held: it is, after this turn.
    pub hold: bool,
    /// Senders are told to slow down.
    pub crowded: bool,
    /// It is to end; its next turn is its last.
    pub doom: Option<EndReason>,
}

impl Slot {
    fn vacant() -> Self {
        Self {
            name: sym::EMPTY,
            generation: 0,
            body: None,
            mailbox: Mailbox::default(),
            wake_at: Time::NEVER,
            timer_at: Time::NEVER,
            status: Status::Vacant,
            hold: false,
            crowded: false,
            doom: None,
        }
    }

    pub fn aid(&self) -> Aid {
        Aid::local(self.name)
    }
}

/// The slots, vacant ones reused first.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
}

impl Slots {
    /// Makes room for so many more agents.
    pub fn reserve(&mut self, count: usize) {
        self.slots.reserve_exact(count.saturating_sub(self.vacant.len()));
    }

    /// A slot for a new agent.
    pub fn occupy(&mut self, name: Symbol, generation: u32, body: Box<dyn AgentBody>) -> u32 {
        let slot = Slot { name, generation, body: Some(body), status: Status::Idle, ..Slot::vacant() };
        if let Some(index) = self.vacant.pop()
            && let Some(place) = self.slots.get_mut(index as usize)
        {
            *place = slot;
            return index;
        }
        self.slots.push(slot);
        (self.slots.len() - 1) as u32
    }

    /// Empties a slot.
    pub fn vacate(&mut self, index: u32) -> Option<Slot> {
        let place = self.slots.get_mut(index as usize).filter(|slot| slot.status != Status::Vacant)?;
        self.vacant.push(index);
        Some(std::mem::replace(place, Slot::vacant()))
    }

    #[inline]
    pub fn at(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize)
    }

    /// The slot, if this very agent is still there.
    pub fn bearer(&mut self, index: u32, generation: u32) -> Option<&mut Slot> {
        self.at(index).filter(|slot| slot.status != Status::Vacant && slot.generation == generation)
    }

    /// The occupied slots with their indexes.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Slot)> {
        (0..).zip(&self.slots).filter(|(_, slot)| slot.status != Status::Vacant)
    }
}
