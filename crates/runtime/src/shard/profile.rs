//! Profile of a shard's agents: measures for a moment, before agents move, each agent's share of the time, and finds
//! hubs.

use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::cpu;

/// Number of turns that suffice...
const TURNS_MAX: u64 = 256;
/// ...and total duration of turns that suffices.
const SPENT_NS_MAX: u64 = 1_000_000;
/// Number of agents that talk to the same other one from which they may be its partners.
const PARTNERS_MIN: usize = 3;
/// An agent that takes more than one such part of its own and its partners' time is a hub, which they wait for.
const HUB_PARTS: u64 = 8;

/// Individually timed turns.
#[derive(Debug)]
pub(super) struct LoadProfile {
    spent_ns: FxHashMap<u32, u64>,
    total_ns: u64,
    turns: u64,
    /// Longest turn, with its agent.
    longest: (u64, u32),
    /// Processor time of the worker's thread when the profile began.
    ran: Option<Duration>,
    state: SampleState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SampleState {
    /// More turns are to come.
    Open,
    Sound,
    /// The thread was interrupted: the agent in turn then seems slow.
    Disturbed,
}

impl LoadProfile {
    /// Begins a profile, on the worker's thread.
    pub fn begin() -> Self {
        Self {
            spent_ns: FxHashMap::default(),
            total_ns: 0,
            turns: 0,
            longest: (0, 0),
            ran: cpu::ran(),
            state: SampleState::Open,
        }
    }

    /// Returns a profile that these turns, in microseconds, complete undisturbed.
    #[cfg(test)]
    pub fn sound(turns: &[(u32, u64)]) -> Self {
        let mut profile = Self { ran: None, ..Self::begin() };
        // The longest turn does not count.
        profile.note(turns.first().map_or(0, |(agent, _)| *agent), Duration::from_secs(1));
        for (agent, us) in turns {
            profile.note(*agent, Duration::from_micros(*us));
            if !profile.is_open() {
                return profile;
            }
        }
        profile.close();
        profile
    }

    /// Returns a profile whose thread was interrupted.
    #[cfg(test)]
    pub fn disturbed() -> Self {
        Self { state: SampleState::Disturbed, ..Self::sound(&[(0, 5), (1, 5)]) }
    }

    /// Notes a turn of the agent in this place, on the thread on which the profile was begun.
    pub fn note(&mut self, index: u32, spent: Duration) {
        let spent_ns = spent.as_nanos() as u64;
        *self.spent_ns.entry(index).or_default() += spent_ns;
        self.total_ns += spent_ns;
        self.turns += 1;
        self.longest = self.longest.max((spent_ns, index));
        if self.turns == TURNS_MAX || self.total_ns - self.longest.0 >= SPENT_NS_MAX {
            self.close();
        }
    }

    /// Closes the profile. The longest turn does not count: an interruption (an interrupt, a page of memory, another
    /// thread) may have taken longer than all turns together.
    fn close(&mut self) {
        let (longest_ns, whose) = self.longest;
        self.total_ns -= longest_ns;
        self.turns -= 1;
        if let Some(spent_ns) = self.spent_ns.get_mut(&whose) {
            *spent_ns -= longest_ns;
        }
        let ran_ns = self.ran.zip(cpu::ran()).map(|(before, now)| now.saturating_sub(before).as_nanos() as u64);
        let disturbed = ran_ns.is_some_and(|ran_ns| self.total_ns > ran_ns + ran_ns / 4);
        self.state = if disturbed { SampleState::Disturbed } else { SampleState::Sound };
    }

    pub fn is_open(&self) -> bool {
        self.state == SampleState::Open
    }

    pub fn is_sound(&self) -> bool {
        self.state == SampleState::Sound
    }

    pub fn turn_ns(&self) -> u64 {
        self.total_ns / self.turns.max(1)
    }

    /// Returns the hub that each agent must stay with, by place; a hub's is itself. `peer_of` gives an agent's peer.
    pub fn bound(&self, mut peer_of: impl FnMut(u32) -> Option<u32>) -> FxHashMap<u32, u32> {
        let mut partners: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for index in self.spent_ns.keys() {
            if let Some(peer) = peer_of(*index).filter(|peer| peer != index) {
                partners.entry(peer).or_default().push(*index);
            }
        }
        let spent = |index: &u32| self.spent_ns.get(index).copied().unwrap_or(0);
        let is_hub = |hub: &u32, partners: &[u32]| {
            let theirs: u64 = partners.iter().map(spent).sum();
            partners.len() >= PARTNERS_MIN && spent(hub) * HUB_PARTS >= spent(hub) + theirs
        };
        partners.retain(|hub, partners| is_hub(hub, partners));
        // A hub may talk to another one, and still is its own hub.
        let mut bound: FxHashMap<u32, u32> =
            partners.iter().flat_map(|(hub, partners)| partners.iter().map(|index| (*index, *hub))).collect();
        bound.extend(partners.keys().map(|hub| (*hub, *hub)));
        bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(times: &[(u32, u64)]) -> LoadProfile {
        let mut profile = LoadProfile::begin();
        times.iter().for_each(|(index, us)| profile.note(*index, Duration::from_micros(*us)));
        profile
    }

    #[test]
    fn partners_are_bound_to_hub() {
        let peers = |index: u32| Some(if index == 0 { 3 } else { 0 });
        let busy = profile(&[(0, 40), (1, 20), (2, 20), (3, 20)]);
        let mut bound: Vec<_> = busy.bound(peers).into_iter().collect();
        bound.sort_unstable();
        assert_eq!(bound, [(0, 0), (1, 0), (2, 0), (3, 0)]);
        let idle = profile(&[(0, 4), (1, 30), (2, 30), (3, 30)]);
        assert!(idle.bound(peers).is_empty());
        let ring = profile(&[(0, 40), (1, 20), (2, 20), (3, 20)]);
        assert!(ring.bound(|index| Some((index + 1) % 4)).is_empty());
    }

    #[test]
    fn single_disturbance_does_not_count() {
        let long = Duration::from_millis(500);
        let times: Vec<(u32, u64)> = (0..TURNS_MAX as u32 - 2).map(|turn| (turn % 2, 0)).collect();
        let mut disturbed = profile(&times);
        disturbed.note(1, long);
        assert!(disturbed.is_open());
        disturbed.note(0, Duration::ZERO);
        assert!(disturbed.is_sound());
        assert_eq!(disturbed.turn_ns(), 0);
        let mut disturbed = profile(&times);
        disturbed.note(1, long);
        disturbed.note(1, long);
        // Where the operating system tells.
        assert_eq!(disturbed.is_sound(), cpu::ran().is_none());
        assert!(!disturbed.is_open());
    }

    #[test]
    fn profile_ends_in_time() {
        let mut short = LoadProfile::begin();
        (0..TURNS_MAX - 1).for_each(|_| short.note(1, Duration::from_nanos(30)));
        assert!(short.is_open());
        short.note(1, Duration::from_nanos(30));
        assert!(!short.is_open());
        assert_eq!(short.turn_ns(), 30);
        let mut long = LoadProfile::begin();
        long.note(1, Duration::from_millis(5));
        long.note(1, Duration::from_nanos(SPENT_NS_MAX - 1));
        assert!(long.is_open(), "the longest turn does not count");
        long.note(2, Duration::from_nanos(1));
        assert!(!long.is_open());
        assert_eq!(long.turn_ns(), SPENT_NS_MAX / 2);
    }

    #[test]
    fn hub_takes_large_share() {
        let hubs = |hub_us: u64, partners: u32| {
            let turns: Vec<(u32, u64)> = (0..=partners).map(|of| (of, if of == 0 { hub_us } else { 70 })).collect();
            LoadProfile::sound(&turns).bound(|index| (index > 0).then_some(0)).len()
        };
        assert_eq!((hubs(40, 4), hubs(39, 4)), (5, 0));
        assert_eq!((hubs(30, 3), hubs(90, 2)), (4, 0), "two partners are no star");
        // An agent that talks to itself is nobody's partner.
        let alone = LoadProfile::sound(&[(0, 9), (1, 9), (2, 9)]);
        assert!(alone.bound(|index| Some(if index == 2 { 2 } else { 0 })).is_empty());
    }
}
