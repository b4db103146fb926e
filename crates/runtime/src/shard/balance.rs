//! Which agents should live in which shard.
//!
//! Agents that talk to each other belong together: a message within a shard costs a few ten nanoseconds, one between
//! shards several hundred, and one that must wake a sleeping worker many thousand. So new agents stay where their
//! creator is, and a shard that is busy all the time gives agents away only to one that is idle a good part of it, as
//! many as make both equally busy, and only if that pays: if the share of turns that would talk across the cut, times
//! what that costs, is less than what a turn takes. The agents to go are
//! found by following who talks to whom, so that a ring is cut into two arcs, pairs stay pairs, and a star around a
//! broker, which has no good cut, stays whole unless its turns are long.
//!
//! Agents that talk across shards all the time, with short turns, are brought together again.

use rustc_hash::FxHashSet;
use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::route::{Place, ShardIndex};

use super::Shard;
use super::slot::Status;
use crate::sync::atomic::Ordering;

/// What a message between shards costs beyond one within, waiting included.
const CROSSING_NS: u64 = 1_000;
/// How often a shard looks whether all is well placed.
const LOOK_EVERY_US: u64 = 2_000;
/// The same, after it found nothing to do many times.
const LOOK_EVERY_US_MAX: u64 = 128_000;
/// How long agents that moved stay at least, so that the traffic shows whether that was good.
const SETTLE_US: u64 = 4_000;
/// A shard that is busy for a larger share of the time has too much to do...
const BUSY_SHARE: f64 = 0.9;
/// ...and one for a smaller share too little.
const IDLE_SHARE: f64 = 0.7;
/// The same if turns are short: what those who talk save by being together counts for more.
const IDLE_SHARE_SHORT: f64 = 0.5;
/// Turns shorter than this are not worth giving away if only few agents wait for them.
const SHORT_TURN_NS: u64 = 2_000;
/// A round of more turns than this...
const SHORT_ROUND_TURNS: u32 = 64;
/// ...takes no longer than this by itself.
const SHORT_ROUND_US_MAX: u64 = 1_000;
/// Agents looked at to judge a move.
const SAMPLE_MAX: usize = 1_024;
/// Agents that move at once.
const MOVE_MAX: usize = 16_384;

/// What a shard knows of its own traffic.
#[derive(Debug)]
pub(super) struct Balance {
    next_look: Time,
    look_every_us: u64,
    /// Since the last look: time spent in rounds that had all their turns, and those turns.
    busy_us: u64,
    turns: u64,
    /// Since the last look: messages sent, and those to other shards.
    sent: u64,
    pub crossed: u64,
    /// When the last look was, and how long each shard had been busy by then.
    looked: Time,
    busy_then_us: Vec<u64>,
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
        }
    }
}

impl Balance {
    /// A round of this many turns took this long.
    pub fn note_round(&mut self, turns: u32, round_us: u64) {
        if turns > SHORT_ROUND_TURNS && round_us > SHORT_ROUND_US_MAX {
            // Rounds of so many turns are short; the operating system let somebody else run.
            return;
        }
        self.turns += u64::from(turns);
        self.busy_us += round_us;
    }

    fn turn_ns(&self) -> u64 {
        self.busy_us * 1_000 / self.turns.max(1)
    }
}

/// What came of looking for agents to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// There was no reason to look closer.
    Nothing,
    /// There was, but it would not pay.
    Refused,
    /// Some are about to move.
    Moves,
}

impl Shard {
    /// Looks now and then whether agents should move, and begins to move them.
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
            Verdict::Nothing
        } else if self.gather(&last) {
            Verdict::Moves
        } else {
            self.spread(&last, &busy)
        };
        match verdict {
            Verdict::Nothing => self.balance.look_every_us = LOOK_EVERY_US,
            // What does not pay now will rarely pay a moment later, and to find out costs time.
            Verdict::Refused => self.balance.look_every_us = (look_every_us * 2).min(LOOK_EVERY_US_MAX),
            Verdict::Moves => self.moved_at = self.now,
        }
        self.balance.next_look = Time(self.now.0 + self.balance.look_every_us);
    }

    /// Which share of the time since the last look each shard was busy.
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

    /// Gives agents to a shard that has much less to do, if that pays.
    fn spread(&mut self, last: &Balance, busy: &[f64]) -> Verdict {
        let waiting = self.runnable.len();
        let me = usize::from(self.index);
        let others = busy.iter().copied().enumerate().filter(|(shard, _)| *shard != me);
        let Some((to, theirs)) = others.min_by(|a, b| a.1.total_cmp(&b.1)) else { return Verdict::Nothing };
        let mine = busy.get(me).copied().unwrap_or(0.0);
        let turn_ns = last.turn_ns();
        let (enough, idle) = if turn_ns < SHORT_TURN_NS { (8, IDLE_SHARE_SHORT) } else { (2, IDLE_SHARE) };
        if waiting < enough || mine < BUSY_SHARE || theirs > idle {
            return Verdict::Nothing;
        }
        let sample: Vec<u32> = self.runnable.iter().take(SAMPLE_MAX).collect();
        let share = (mine - theirs) / (2.0 * mine);
        let wanted = ((sample.len() as f64 * share).round() as usize).clamp(1, sample.len() / 2);
        let block = self.block(&sample, wanted);
        let cut = self.cut(&sample, &block, to as ShardIndex);
        if cut * CROSSING_NS > turn_ns * sample.len() as u64 {
            return Verdict::Refused;
        }
        let mut agents: Vec<u32> = block.into_iter().collect();
        agents.sort_unstable();
        if self.depart(to as ShardIndex, agents) { Verdict::Moves } else { Verdict::Refused }
    }

    /// Agents that belong together, `wanted` of which wait for a turn: who talks to whom is followed from one agent
    /// after the other.
    fn block(&mut self, sample: &[u32], wanted: usize) -> FxHashSet<u32> {
        let mut block = FxHashSet::default();
        let mut found = 0;
        for seed in sample {
            let mut next = Some(*seed);
            while let Some(index) = next
                && block.len() < MOVE_MAX
                && block.insert(index)
            {
                found += usize::from(self.slots.at(index).is_some_and(|slot| slot.status == Status::Queued));
                if found >= wanted {
                    return block;
                }
                next = self.local_peer(index);
            }
        }
        block
    }

    /// How many of the sampled agents would talk across, less those who do now and would no more.
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

    /// Moves agents to the shard they talk to, if nearly all that is said goes there and nothing else keeps them here.
    fn gather(&mut self, last: &Balance) -> bool {
        if last.turn_ns() >= SHORT_TURN_NS || last.crossed * 3 < last.sent || last.sent * 4 < last.turns {
            return false;
        }
        let sample: Vec<u32> = self.runnable.iter().take(SAMPLE_MAX).collect();
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
        // The few go to the many: if both shards moved at once, they would just change places.
        let theirs = self.node.seats.get(to).map_or(0, |seat| seat.figures.runnable.load(Ordering::Relaxed));
        if (self.runnable.len() as u64, self.index) > (theirs, to as ShardIndex) {
            return false;
        }
        self.depart(to as ShardIndex, agents)
    }

    /// The shard and the place of whom an agent wrote to last.
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
