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

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::route::{Place, ShardIndex};

use super::Shard;
use super::profile::LoadProfile;
use super::slot::SlotStatus;
use crate::sync::atomic::Ordering;

/// Extra cost of a message between shards over one within, waiting included.
const CROSSING_NS: u64 = 1_000;
/// Interval between two checks of the balance.
const LOOK_EVERY_US: u64 = 2_000;
/// Longest interval, after many checks without a move.
const LOOK_EVERY_US_MAX: u64 = 128_000;
/// Time for which moved agents stay at least, so that the traffic shows the effect.
const SETTLE_US: u64 = 4_000;
/// Time for which a new society stays: its first messages say little of its later ones.
const YOUNG_US: u64 = 50_000;
/// Share of the time above which a shard is overloaded...
const BUSY_SHARE: f64 = 0.9;
/// ...and below which it has room.
const IDLE_SHARE: f64 = 0.7;
/// Share that counts as room if turns are short: the savings of staying together weigh more.
const IDLE_SHARE_SHORT: f64 = 0.5;
/// Duration below which turns are not worth giving away if only few agents wait for them.
const SHORT_TURN_NS: u64 = 2_000;
/// Duration of turns above which crossings do not count: partners may live apart from their hub.
const LONG_TURN_NS: u64 = 100_000;
/// Share of the time below which a shard's agents move to a busy hub in another shard.
const WAITING_SHARE: f64 = 0.6;
/// Number of turns in a round above which...
const SHORT_ROUND_TURNS: u32 = 64;
/// ...the round takes no longer than this by itself.
const SHORT_ROUND_US_MAX: u64 = 1_000;
/// Number of agents sampled to judge the crossings of a move.
const SAMPLE_MAX: usize = 1_024;
/// Number of waiting agents below which these say little of all others.
const FEW: usize = 32;
/// Number of agents that move at once, at most.
const MOVE_MAX: usize = 16_384;

/// Traffic of a shard, and the state of its load balancing.
#[derive(Debug)]
pub(super) struct Balance {
    next_look: Time,
    look_every_us: u64,
    /// Time since the last check in rounds that had all their turns, and the number of those turns.
    busy_us: u64,
    turns: u64,
    /// Messages sent since the last check, and those to other shards.
    sent: u64,
    pub crossed: u64,
    /// Time of the last check, and the busy time of each shard until then.
    looked: Time,
    busy_then_us: Vec<u64>,
    /// Measured time of each agent, while that is of interest.
    profile: Option<LoadProfile>,
}

impl Default for Balance {
    fn default() -> Self {
        Self {
            next_look: Time::ZERO,
            look_every_us: LOOK_EVERY_US,
            busy_us: 0,
            turns: 0,
            sent: 0,
            crossed: 0,
            looked: Time::ZERO,
            busy_then_us: Vec::new(),
            profile: None,
        }
    }
}

impl Balance {
    /// Counts a round.
    pub fn note_round(&mut self, turns: u32, round_us: u64) {
        if turns > SHORT_ROUND_TURNS && round_us > SHORT_ROUND_US_MAX {
            // Rounds of this many turns are short; the operating system ran another thread.
            return;
        }
        self.turns += u64::from(turns);
        self.busy_us += round_us;
    }

    fn turn_ns(&self) -> u64 {
        self.busy_us * 1_000 / self.turns.max(1)
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
        self.balance.sent += sent;
        if self.now < self.balance.next_look || self.outgoing.len() < 2 {
            return;
        }
        let look_every_us = self.balance.look_every_us;
        let mut last = std::mem::take(&mut self.balance);
        let busy = self.busy_shares(&mut last);
        let settled = self.now >= Time(self.moved_at.0 + SETTLE_US) && self.departure.is_none();
        let verdict = if !settled || last.turns == 0 {
            BalanceResult::Nothing
        } else if self.gather(&last, &busy) {
            BalanceResult::Moves
        } else {
            self.spread(last, &busy)
        };
        let mut next_us = LOOK_EVERY_US;
        match verdict {
            BalanceResult::Nothing => {}
            BalanceResult::Measures => self.balance.look_every_us = look_every_us,
            // What does not pay now will rarely pay a moment later, and the check costs time.
            BalanceResult::Refused => {
                next_us = (look_every_us * 2).min(LOOK_EVERY_US_MAX);
                self.balance.look_every_us = next_us;
            }
            BalanceResult::Moves => self.moved_at = self.now,
        }
        self.balance.next_look = Time(self.now.0 + next_us);
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

    /// Returns the share of time since the last check for which each shard was busy.
    fn busy_shares(&mut self, last: &mut Balance) -> Vec<f64> {
        let passed_us = (self.now.0 - last.looked.0).max(1) as f64;
        let busy_us: Vec<u64> = self.node.seats.iter().map(|seat| seat.figures.busy_us(self.now)).collect();
        last.busy_then_us.resize(busy_us.len(), 0);
        let spent = busy_us.iter().zip(&last.busy_then_us).map(|(now, then)| now.saturating_sub(*then) as f64);
        let shares = spent.map(|spent| (spent / passed_us).min(1.0)).collect();
        self.balance.looked = self.now;
        self.balance.busy_then_us = busy_us;
        shares
    }

    /// Notes new agents of this shard.
    pub(super) fn note_newcomers(&mut self, count: usize) {
        if count * 2 >= self.slots.room() {
            self.moved_at = Time(self.now.0 + YOUNG_US);
        }
    }

    /// Gives agents to a much less busy shard, if that pays.
    fn spread(&mut self, mut last: Balance, busy: &[f64]) -> BalanceResult {
        let waiting = self.runnable.len();
        let me = usize::from(self.index);
        let others = busy.iter().copied().enumerate().filter(|(shard, _)| *shard != me);
        let Some((to, theirs)) = others.min_by(|a, b| a.1.total_cmp(&b.1)) else { return BalanceResult::Nothing };
        let mine = busy.get(me).copied().unwrap_or(0.0);
        let profile = last.profile.take();
        let turn_ns =
            profile.as_ref().filter(|profile| profile.is_sound()).map_or(last.turn_ns(), LoadProfile::turn_ns);
        let (enough, idle) = if turn_ns < SHORT_TURN_NS { (8, IDLE_SHARE_SHORT) } else { (2, IDLE_SHARE) };
        if waiting < enough || mine < BUSY_SHARE || theirs > idle {
            return BalanceResult::Nothing;
        }
        let Some(profile) = profile.filter(|profile| profile.is_sound() || profile.is_open()) else {
            self.balance.profile = Some(LoadProfile::begin());
            return BalanceResult::Measures;
        };
        if profile.is_open() {
            self.balance.profile = Some(profile);
            return BalanceResult::Measures;
        }
        let bound = if turn_ns < LONG_TURN_NS { self.bound(&profile) } else { FxHashMap::default() };
        let wanted = agents_to_give(waiting, mine, theirs);
        let seeds: Vec<u32> = self.runnable.iter().take(SAMPLE_MAX.max(2 * wanted)).collect();
        let block = self.block(&seeds, wanted, &bound);
        let sample = seeds.get(..SAMPLE_MAX).unwrap_or(&seeds);
        let cut = self.cut(sample, &block, to as ShardIndex);
        if cut * CROSSING_NS > turn_ns * sample.len() as u64 {
            return BalanceResult::Refused;
        }
        let mut agents: Vec<u32> = block.into_iter().collect();
        agents.sort_unstable();
        if self.depart(to as ShardIndex, agents) { BalanceResult::Moves } else { BalanceResult::Refused }
    }

    /// Returns the hub that each agent must stay with (see [`LoadProfile::bound`]), including agents that were not
    /// profiled.
    fn bound(&mut self, profile: &LoadProfile) -> FxHashMap<u32, u32> {
        let mut bound = profile.bound(|index| self.local_peer(index));
        if bound.is_empty() {
            return bound;
        }
        let all: Vec<u32> = self.slots.iter().map(|slot| slot.index).collect();
        for index in all {
            if !bound.contains_key(&index)
                && let Some(hub) = self.local_peer(index).filter(|peer| bound.get(peer) == Some(peer))
            {
                bound.insert(index, hub);
            }
        }
        bound
    }

    /// Returns agents that belong together, `wanted` of which wait for a turn. Follows from one agent to the next who
    /// talks to whom. An agent bound to a hub comes with the hub and all its partners, or stays.
    fn block(&mut self, seeds: &[u32], wanted: usize, bound: &FxHashMap<u32, u32>) -> FxHashSet<u32> {
        let mut stars: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (index, hub) in bound {
            stars.entry(*hub).or_default().push(*index);
        }
        let mut block = FxHashSet::default();
        let mut found = 0;
        for seed in seeds {
            if let Some(star) = bound.get(seed).and_then(|hub| stars.remove(hub)) {
                let ready = star.iter().filter(|index| self.is_queued(**index)).count();
                // A star rarely has exactly the size wanted.
                if found + ready <= wanted + wanted / 2 && block.len() + star.len() < MOVE_MAX {
                    block.extend(star);
                    found += ready;
                }
            }
            let mut next = Some(*seed).filter(|_| found < wanted);
            while let Some(index) = next
                && !bound.contains_key(&index)
                && block.len() < MOVE_MAX
                && block.insert(index)
            {
                found += usize::from(self.is_queued(index));
                next = self.local_peer(index).filter(|_| found < wanted);
            }
            if found >= wanted {
                break;
            }
        }
        block
    }

    fn is_queued(&mut self, index: u32) -> bool {
        self.slots.at(index).is_some_and(|slot| slot.status == SlotStatus::Queued)
    }

    /// Counts sampled agents that would send across the cut, less those that do so now and would stop.
    fn cut(&mut self, sample: &[u32], block: &FxHashSet<u32>, to: ShardIndex) -> u64 {
        let mut cut = 0i64;
        for index in sample {
            let goes = block.contains(index);
            match self.peer(*index) {
                Some((shard, Some(peer))) if shard == self.index => cut += i64::from(goes != block.contains(&peer)),
                Some((shard, _)) if shard == to => cut += if goes { -1 } else { 0 },
                _ => {}
            }
        }
        cut.max(0) as u64
    }

    /// Moves agents to the shard they talk to, if nearly all their messages go there and nothing else keeps them
    /// here.
    fn gather(&mut self, last: &Balance, busy: &[f64]) -> bool {
        if last.crossed * 3 < last.sent || last.sent * 4 < last.turns {
            return false;
        }
        if last.turn_ns() >= SHORT_TURN_NS {
            return last.turn_ns() < LONG_TURN_NS && self.gather_at_hub(busy);
        }
        let mut sample: Vec<u32> = self.runnable.iter().take(SAMPLE_MAX).collect();
        if sample.len() < FEW {
            // Includes agents that wait for answers from the other shard.
            sample = self.slots.iter().take(SAMPLE_MAX).map(|slot| slot.index).collect();
        }
        let mut talk_to: Vec<Vec<u32>> = self.outgoing.iter().map(|_| Vec::new()).collect();
        for index in sample {
            if let Some((shard, _)) = self.peer(index)
                && shard != self.index
                && let Some(agents) = talk_to.get_mut(usize::from(shard))
            {
                agents.push(index);
            }
        }
        let Some((to, agents)) = talk_to.into_iter().enumerate().max_by_key(|(_, agents)| agents.len()) else {
            return false;
        };
        // The smaller group moves: if both shards moved at once, they would just change places.
        let theirs = self.node.seats.get(to).map_or(0, |seat| seat.figures.runnable.load(Ordering::Relaxed));
        if (self.runnable.len() as u64, self.index) > (theirs, to as ShardIndex) {
            return false;
        }
        self.depart(to as ShardIndex, agents)
    }

    /// Moves agents to a busy shard if they mostly wait for one agent there.
    fn gather_at_hub(&mut self, busy: &[f64]) -> bool {
        if busy.get(usize::from(self.index)).is_none_or(|mine| *mine > WAITING_SHARE) {
            return false;
        }
        let talkers: Vec<(u32, Symbol)> = self
            .slots
            .iter()
            .filter(|slot| slot.peer != Symbol::default())
            .map(|slot| (slot.index, slot.peer))
            .take(MOVE_MAX)
            .collect();
        let mut partners: FxHashMap<Symbol, usize> = FxHashMap::default();
        for (_, peer) in &talkers {
            *partners.entry(*peer).or_default() += 1;
        }
        let Some((hub, count)) = partners.into_iter().max_by_key(|(_, count)| *count) else { return false };
        let Place::Local(place) = self.node.routes.look_up(hub).place() else { return false };
        let saturated = busy.get(usize::from(place.shard)).is_some_and(|theirs| *theirs >= BUSY_SHARE);
        if count * 2 < talkers.len() || !saturated {
            return false;
        }
        let agents = talkers.into_iter().filter(|(_, peer)| *peer == hub).map(|(index, _)| index);
        self.depart(place.shard, agents.collect::<Vec<u32>>())
    }

    /// Returns the shard and place of the agent that this agent wrote to last.
    fn peer(&mut self, index: u32) -> Option<(ShardIndex, Option<u32>)> {
        let peer = self.slots.at(index).map(|slot| slot.peer).filter(|peer| *peer != Symbol::default())?;
        match self.node.routes.look_up(peer).place() {
            Place::Local(place) => Some((place.shard, place.slot)),
            _ => None,
        }
    }

    fn local_peer(&mut self, index: u32) -> Option<u32> {
        self.peer(index).filter(|(shard, _)| *shard == self.index)?.1
    }
}

/// Returns how many of the agents that wait for a turn should leave this shard. Then both shards are equally busy.
/// Shares of busy time are from 0 to 1; `waiting` is 2 or more.
fn agents_to_give(waiting: usize, mine: f64, theirs: f64) -> usize {
    let share = (mine - theirs) / (2.0 * mine);
    ((waiting as f64 * share).round() as usize).clamp(1, (waiting / 2).min(MOVE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_all_waiting_agents_leave() {
        assert_eq!(agents_to_give(2, 1.0, 0.0), 1);
        assert_eq!(agents_to_give(1_000, 1.0, 0.0), 500);
        assert_eq!(agents_to_give(1_000, 1.0, 0.5), 250);
        assert_eq!(agents_to_give(20_000, 1.0, 0.0), 10_000);
        assert_eq!(agents_to_give(1_000_000, 1.0, 0.0), MOVE_MAX);
        assert_eq!(agents_to_give(8, 0.9, 0.9), 1);
    }
}
