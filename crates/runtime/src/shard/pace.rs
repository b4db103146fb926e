//! Pace of a shard: the number of turns in a round, chosen so that a round takes a few ten microseconds.

use whimbrel_platform::Time;

const ROUND_US_MIN: u64 = 10;
const ROUND_US_MAX: u64 = 40;
const TURNS_MAX: u32 = 1024;

/// Pace of a shard. Reading the clock and checking the inbox cost more than a short turn, so they happen once a
/// round. A round of long turns would make other shards wait, so it has fewer.
#[derive(Debug)]
pub(super) struct ShardPace {
    turns: u32,
    round_began: Option<Time>,
}

impl Default for ShardPace {
    fn default() -> Self {
        Self { turns: 16, round_began: None }
    }
}

impl ShardPace {
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Begins a round.
    pub fn round_begins(&mut self, now: Time) {
        self.round_began = Some(now);
    }

    /// Ends a round. Returns its duration, if one was running.
    pub fn round_over(&mut self, now: Time) -> Option<u64> {
        self.round_began.take().map(|began| (now - began).as_micros() as u64)
    }

    /// Adapts the number of turns to the duration of a round.
    pub fn adapt(&mut self, round_us: u64) {
        if round_us < ROUND_US_MIN {
            self.turns = (self.turns * 2).min(TURNS_MAX);
        } else if round_us > ROUND_US_MAX {
            self.turns = (self.turns / 2).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace_of(pace: &mut ShardPace, now: u64) -> u64 {
        let round_us = pace.round_over(Time(now)).unwrap_or(0);
        pace.round_begins(Time(now));
        round_us
    }

    #[test]
    fn round_length_adapts_to_turns() {
        let mut pace = ShardPace::default();
        for round in 0..20 {
            let round_us = pace_of(&mut pace, round * 1000);
            pace.adapt(round_us);
        }
        assert_eq!(pace.turns(), 1);
        for round in 0..20 {
            let round_us = pace_of(&mut pace, 20_000 + round);
            pace.adapt(round_us);
        }
        assert_eq!(pace.turns(), TURNS_MAX);
    }
}
