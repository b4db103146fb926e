//! Load balancing between shards.
//!
//! Agents that talk to each other belong together. A message within a shard costs a few ten nanoseconds, one between
//! shards several hundred, and one that must wake a sleeping worker many thousand. So new agents stay in their
//! creator's shard. A shard that is always busy gives agents away only to one that is idle a good part of the time:
//! as many as make both equally busy. It does so only if crossings cost less than a turn takes: the share of turns
//! that would send across the cut, times the cost of a crossing. The agents to move are found by following who talks
//! to whom, so that a ring is cut into two arcs, and pairs stay together.
//!
//! A star around a hub that all others wait for, such as a broker, stays whole unless its turns are long. The star
//! cannot be faster than its hub, and partners in the hub's shard would have more turns than others. So a shard that
//! is about to give agents away first measures the time of each of them (see [`LoadProfile`]).
//!
//! Agents that constantly talk across shards, with short turns, are brought together again.
//!
//! This module says when a shard looks at its balance; [`move_plan`](super::move_plan) says which agents move.

use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::route::{Place, ShardIndex};

use super::Shard;
use super::move_plan::{MovePlan, MovePlanner, ShardLoad, ShardView, SpreadPlan};
use super::profile::LoadProfile;
use super::slot::SlotStatus;
use crate::sync::atomic::Ordering;

/// Interval between two checks of the balance.
const LOOK_EVERY_US: u64 = 2_000;
/// Longest interval, after many checks without a move.
const LOOK_EVERY_US_MAX: u64 = 128_000;
/// Time for which moved agents stay at least, so that the traffic shows the effect.
const SETTLE_US: u64 = 4_000;
/// Time for which a new society stays: its first messages say little of its later ones.
const YOUNG_US: u64 = 50_000;

/// Traffic of a shard, and the state of its load balancing.
#[derive(Debug)]
pub(super) struct Balance {
    pub load: ShardLoad,
    next_look: Time,
    look_every_us: u64,
    /// Time of the last check, and the busy time of each shard until then.
    looked: Time,
    busy_then_us: Vec<u64>,
    /// Measured time of each agent, while that is of interest.
    profile: Option<LoadProfile>,
}

impl Default for Balance {
    fn default() -> Self {
        Self {
            load: ShardLoad::default(),
            next_look: Time::ZERO,
            look_every_us: LOOK_EVERY_US,
            looked: Time::ZERO,
            busy_then_us: Vec::new(),
            profile: None,
        }
    }
}

impl Balance {
    /// Returns the share of time since the last check for which each shard was busy.
    fn busy_shares(&mut self, busy_us: Vec<u64>, now: Time) -> Vec<f64> {
        let passed_us = (now.0 - self.looked.0).max(1) as f64;
        self.busy_then_us.resize(busy_us.len(), 0);
        let spent = busy_us.iter().zip(&self.busy_then_us).map(|(now, then)| now.saturating_sub(*then) as f64);
        let shares = spent.map(|spent| (spent / passed_us).min(1.0)).collect();
        (self.looked, self.busy_then_us) = (now, busy_us);
        shares
    }

    /// Sets the time of the next check.
    fn look_later(&mut self, result: BalanceResult, now: Time) {
        let next_us = match result {
            // What does not pay now will rarely pay a moment later, and the check costs time.
            BalanceResult::Refused => {
                self.look_every_us = (self.look_every_us * 2).min(LOOK_EVERY_US_MAX);
                self.look_every_us
            }
            BalanceResult::Measures => LOOK_EVERY_US,
            BalanceResult::Nothing | BalanceResult::Moves => {
                self.look_every_us = LOOK_EVERY_US;
                LOOK_EVERY_US
            }
        };
        self.next_look = Time(now.0 + next_us);
    }
}

/// Result of a check of the balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BalanceResult {
    /// No reason to look closer.
    Nothing,
    /// A profile is being measured.
    Measures,
    /// A move would not pay.
    Refused,
    /// Agents are about to move.
    Moves,
}

impl Shard {
    /// Checks at intervals whether agents should move, and begins to move them.
    pub(super) fn balance(&mut self, sent: u64) {
        self.balance.load.sent += sent;
        if self.now < self.balance.next_look || self.outgoing.len() < 2 {
            return;
        }
        let busy_us = self.node.seats.iter().map(|seat| seat.figures.busy_us(self.now)).collect();
        let busy = self.balance.busy_shares(busy_us, self.now);
        let (load, profile) = (std::mem::take(&mut self.balance.load), self.balance.profile.take());
        let settled = self.now >= Time(self.moved_at.0 + SETTLE_US) && self.departure.is_none();
        let result =
            if settled && load.turns > 0 { self.balance_by(load, &busy, profile) } else { BalanceResult::Nothing };
        if result == BalanceResult::Moves {
            self.moved_at = self.now;
        }
        self.balance.look_later(result, self.now);
    }

    fn balance_by(&mut self, load: ShardLoad, busy: &[f64], profile: Option<LoadProfile>) -> BalanceResult {
        if let Some(plan) = (MovePlanner { view: self, load, busy }).gather()
            && self.depart(plan.to, plan.agents)
        {
            return BalanceResult::Moves;
        }
        match (MovePlanner { view: self, load, busy }).spread(profile) {
            SpreadPlan::Stay => BalanceResult::Nothing,
            SpreadPlan::Measure(profile) => {
                self.balance.profile = Some(profile);
                BalanceResult::Measures
            }
            SpreadPlan::Move(MovePlan { to, agents }) => {
                if self.depart(to, agents) {
                    BalanceResult::Moves
                } else {
                    BalanceResult::Refused
                }
            }
            SpreadPlan::Refuse => BalanceResult::Refused,
        }
    }

    /// Returns true if turns are to be timed individually.
    pub fn is_profiled(&self) -> bool {
        self.is_sampled() || self.balance.profile.as_ref().is_some_and(LoadProfile::is_open)
    }

    /// Notes the duration of the last turn.
    #[cold]
    pub fn note_turn(&mut self, spent: Duration) {
        if self.is_sampled() {
            self.sample_turn(spent.as_nanos() as u64);
        }
        if let Some(profile) = self.balance.profile.as_mut().filter(|profile| profile.is_open()) {
            profile.note(self.running.index, spent);
        }
    }

    /// Notes new agents of this shard.
    pub(super) fn note_newcomers(&mut self, count: usize) {
        if count * 2 >= self.slots.room() {
            self.moved_at = Time(self.now.0 + YOUNG_US);
        }
    }
}

impl ShardView for Shard {
    fn index(&self) -> ShardIndex {
        self.index
    }

    fn waiting(&self) -> usize {
        self.runnable.len()
    }

    fn waiting_in(&self, shard: ShardIndex) -> u64 {
        self.node.seat(shard).map_or(0, |seat| seat.figures.runnable.load(Ordering::Relaxed))
    }

    fn queue(&self, at_most: usize) -> Vec<u32> {
        self.runnable.iter().take(at_most).collect()
    }

    fn agents(&self, at_most: usize) -> Vec<u32> {
        self.slots.iter().take(at_most).map(|slot| slot.index).collect()
    }

    fn is_queued(&mut self, agent: u32) -> bool {
        self.slots.at(agent).is_some_and(|slot| slot.status == SlotStatus::Queued)
    }

    fn peer(&mut self, agent: u32) -> Option<Symbol> {
        self.slots.at(agent).map(|slot| slot.peer).filter(|peer| *peer != Symbol::default())
    }

    fn place_of(&self, name: Symbol) -> Option<(ShardIndex, Option<u32>)> {
        match self.node.routes.look_up(name).place() {
            Place::Local(place) => Some((place.shard, place.slot)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_shares_count_anew() {
        let mut balance = Balance::default();
        assert_eq!(balance.busy_shares(vec![500, 2_000], Time(1_000)), [0.5, 1.0]);
        assert_eq!(balance.busy_shares(vec![600, 2_100], Time(1_200)), [0.5, 0.5]);
        assert_eq!(balance.busy_shares(vec![600, 2_100], Time(1_200)), [0.0, 0.0]);
        assert_eq!(balance.busy_shares(vec![650, 2_000], Time(1_300)), [0.5, 0.0]);
    }

    #[test]
    fn refusals_make_checks_rare() {
        let mut balance = Balance::default();
        let mut pause_us = |result| {
            balance.look_later(result, Time(70));
            balance.next_look.0 - 70
        };
        assert_eq!(pause_us(BalanceResult::Moves), LOOK_EVERY_US);
        let refusals: Vec<u64> = (0..8).map(|_| pause_us(BalanceResult::Refused)).collect();
        assert_eq!(refusals, [4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 128_000, 128_000]);
        // A profile is measured soon, and does not make later checks more frequent.
        assert_eq!((pause_us(BalanceResult::Measures), pause_us(BalanceResult::Refused)), (LOOK_EVERY_US, 128_000));
        assert_eq!((pause_us(BalanceResult::Nothing), pause_us(BalanceResult::Refused)), (LOOK_EVERY_US, 4_000));
    }
}
