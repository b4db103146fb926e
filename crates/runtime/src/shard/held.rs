//! Senders that are held up: by a link on which too much waits to be written, or by an agent that has too much to do.
//!
//! Who sent to either has its next turn when that is over. A time is set as well, longer each time in a row, so that
//! nobody waits for ever: a link may be broken for long, and its senders may have other things to do.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::limits::TURN_STEPS;
use whimbrel_platform::route::NodeId;

use super::Shard;
use super::delivery::Reception;
use super::slot::{Slot, Status};

/// How long an agent's next turn waits at most after it sent to somebody who has too much to do.
const SLOW_DOWN_US: u64 = 1_000;
/// The same after it sent where a link is full.
const HOLD_UP_US: u64 = 64_000;
/// It waits twice as long each time in a row, up to this long.
const HOLD_UP_US_MAX: u64 = 512_000;

/// What holds senders up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    /// The link to this node is full.
    Link(NodeId),
    /// This agent's mailbox is.
    Mailbox(Symbol),
}

/// The senders that wait, by what they wait for, first come first: their places, and which bearers they are.
#[derive(Default)]
pub(super) struct HeldUp {
    by_cause: FxHashMap<Cause, VecDeque<(u32, u32)>>,
}

impl HeldUp {
    fn add(&mut self, cause: Cause, sender: (u32, u32)) {
        self.by_cause.entry(cause).or_default().push_back(sender);
    }

    fn next(&mut self, cause: Cause) -> Option<(u32, u32)> {
        let waiting = self.by_cause.get_mut(&cause)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.by_cause.remove(&cause);
        }
        next
    }
}

impl Shard {
    /// Lets an agent's next turn come later if it sent to somebody who has too much to do, or where a link is full: when
    /// that is over, or its patience is.
    #[cold]
    pub(super) fn slow_down(&mut self, index: u32, reception: Reception) {
        let Some(slot) = self.slots.at(index) else { return };
        let (least_us, cause) = match reception {
            Reception::Fine => {
                slot.slowed = 0;
                return;
            }
            Reception::Busy => (SLOW_DOWN_US, None),
            Reception::Crowded(name) => (SLOW_DOWN_US, Some(Cause::Mailbox(name))),
            Reception::LinkFull(node) => (HOLD_UP_US, Some(Cause::Link(node))),
        };
        let wait_us = (least_us << slot.slowed.min(16)).min(HOLD_UP_US_MAX);
        slot.slowed = slot.slowed.saturating_add(1);
        if !matches!(slot.status, Status::Idle | Status::Queued) {
            return;
        }
        slot.status = Status::Delayed;
        self.delayed += 1;
        let sender = (index, slot.generation);
        if let Some(cause) = cause
            && slot.held_up.replace(cause) != Some(cause)
        {
            self.held_up.add(cause, sender);
        }
        self.wake_later(index, Time(self.now.0 + wait_us));
    }

    /// Delays an agent's next turn until this time, whatever arrives for it.
    #[cold]
    pub(super) fn delay(&mut self, index: u32, until: Time) {
        let Some(slot) = self.slots.at(index) else { return };
        if matches!(slot.status, Status::Idle | Status::Queued) {
            slot.status = Status::Delayed;
            self.delayed += 1;
            self.wake_later(index, until);
        }
    }

    /// An agent is not crowded any more: all go on that were held up by it.
    pub(super) fn relieved(&mut self, name: Symbol) {
        while self.let_go_on(Cause::Mailbox(name)) {}
    }

    /// There is room for so many messages on a link: lets as many senders go on as may fill it in a turn each.
    pub(super) fn let_senders_go_on(&mut self, node: NodeId, room: usize) {
        for _ in 0..room.div_ceil(TURN_STEPS as usize) {
            if !self.let_go_on(Cause::Link(node)) {
                return;
            }
        }
    }

    /// Gives one of those who wait for this its turn. False if nobody waits.
    fn let_go_on(&mut self, cause: Cause) -> bool {
        while let Some((index, generation)) = self.held_up.next(cause) {
            let held = |slot: &&mut Slot| slot.held_up == Some(cause);
            // Who lost patience may be held up by something else by now.
            let Some(slot) = self.slots.bearer(index, generation).filter(held) else { continue };
            slot.held_up = None;
            if slot.status == Status::Delayed {
                slot.slowed = 0;
                self.enqueue(index);
                return true;
            }
        }
        false
    }
}
