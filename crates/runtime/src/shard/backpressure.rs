//! Backpressure: senders wait for a full link, or for an agent with a full mailbox.
//!
//! A sender has its next turn when the obstacle is gone. A time is set as well, longer each time in a row, so that no
//! sender waits for ever. A link may be broken for long, and its senders may have other work.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::limits::TURN_STEPS;
use whimbrel_platform::route::NodeId;

use super::Shard;
use super::delivery::RoutingOutcome;
use super::slot::{Obstacle, Slot, SlotStatus};

/// Longest delay of an agent's next turn after it sent to a crowded agent.
const SLOW_DOWN_US: u64 = 1_000;
/// Longest delay of an agent's next turn after it sent to a full link.
const HOLD_UP_US: u64 = 64_000;
/// Limit of that delay, which doubles each time in a row.
const HOLD_UP_US_MAX: u64 = 512_000;

/// Waiting senders by obstacle, first come first: their places and generations.
#[derive(Default)]
pub(super) struct HeldUp {
    by_cause: FxHashMap<Obstacle, VecDeque<(u32, u32)>>,
}

impl HeldUp {
    fn add(&mut self, cause: Obstacle, sender: (u32, u32)) {
        self.by_cause.entry(cause).or_default().push_back(sender);
    }

    fn next(&mut self, cause: Obstacle) -> Option<(u32, u32)> {
        let waiting = self.by_cause.get_mut(&cause)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.by_cause.remove(&cause);
        }
        next
    }
}

impl Shard {
    /// Delays the next turn of an agent that sent to a crowded agent or a full link: until the obstacle is gone, or
    /// the time is over.
    #[cold]
    pub(super) fn slow_down(&mut self, index: u32, reception: RoutingOutcome) {
        let Some(slot) = self.slots.at(index) else { return };
        let (least_us, cause) = match reception {
            RoutingOutcome::Fine => {
                slot.slowed = 0;
                return;
            }
            RoutingOutcome::Busy => (SLOW_DOWN_US, None),
            RoutingOutcome::Crowded(name) => (SLOW_DOWN_US, Some(Obstacle::Mailbox(name))),
            RoutingOutcome::LinkFull(node) => (HOLD_UP_US, Some(Obstacle::Link(node))),
        };
        let wait_us = (least_us << slot.slowed.min(16)).min(HOLD_UP_US_MAX);
        slot.slowed = slot.slowed.saturating_add(1);
        if !matches!(slot.status, SlotStatus::Idle | SlotStatus::Queued) {
            return;
        }
        slot.status = SlotStatus::Delayed;
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
        if matches!(slot.status, SlotStatus::Idle | SlotStatus::Queued) {
            slot.status = SlotStatus::Delayed;
            self.delayed += 1;
            self.wake_later(index, until);
        }
    }

    /// Lets all agents continue that waited for an agent which is not crowded any more.
    pub(super) fn relieved(&mut self, name: Symbol) {
        while self.let_go_on(Obstacle::Mailbox(name)) {}
    }

    /// Lets as many senders continue as may fill a link's room of this many messages in a turn each.
    pub(super) fn let_senders_go_on(&mut self, node: NodeId, room: usize) {
        for _ in 0..room.div_ceil(TURN_STEPS as usize) {
            if !self.let_go_on(Obstacle::Link(node)) {
                return;
            }
        }
    }

    /// Gives one of the senders that wait for this obstacle its turn. Returns false if none waits.
    fn let_go_on(&mut self, cause: Obstacle) -> bool {
        while let Some((index, generation)) = self.held_up.next(cause) {
            let held = |slot: &&mut Slot| slot.held_up == Some(cause);
            // A sender whose time was over may wait for another obstacle by now.
            let Some(slot) = self.slots.bearer(index, generation).filter(held) else { continue };
            slot.held_up = None;
            if slot.status == SlotStatus::Delayed {
                slot.slowed = 0;
                self.enqueue(index);
                return true;
            }
        }
        false
    }
}
