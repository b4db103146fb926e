//! Move plan of a shard: the agents that it gives to another shard, and the reasons for which it keeps them.
//!
//! A plan depends on what is measured and on who talks to whom, and on nothing else: no clock, no thread.

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;
use whimbrel_platform::route::ShardIndex;

use super::profile::LoadProfile;

/// Extra cost of a message between shards over one within, waiting included.
const CROSSING_NS: u64 = 1_000;
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

/// Agents of a shard, as a plan needs them.
pub(super) trait ShardView {
    /// Returns the shard's own index.
    fn index(&self) -> ShardIndex;

    /// Returns the number of agents that wait for a turn.
    fn waiting(&self) -> usize;

    /// Returns the number of agents that wait for a turn in another shard.
    fn waiting_in(&self, shard: ShardIndex) -> u64;

    /// Returns the first agents that wait for a turn, this many at most.
    fn queue(&self, at_most: usize) -> Vec<u32>;

    /// Returns agents of the shard, this many at most.
    fn agents(&self, at_most: usize) -> Vec<u32>;

    /// Returns true if an agent waits for a turn.
    fn is_queued(&mut self, agent: u32) -> bool;

    /// Returns the name of the agent that this agent wrote to last.
    fn peer(&mut self, agent: u32) -> Option<Symbol>;

    /// Returns the shard and place of an agent of this node.
    fn place_of(&self, name: Symbol) -> Option<(ShardIndex, Option<u32>)>;
}

/// Traffic of a shard since the last check of its balance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShardLoad {
    /// Time in rounds that had all their turns, and the number of those turns.
    busy_us: u64,
    pub turns: u64,
    /// Messages sent, and those to other shards.
    pub sent: u64,
    pub crossed: u64,
}

impl ShardLoad {
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

/// Agents that move, and the shard to which they do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MovePlan {
    pub to: ShardIndex,
    pub agents: Vec<u32>,
}

/// Result of a plan to give agents away.
#[derive(Debug)]
pub(super) enum SpreadPlan {
    /// The shard keeps its agents.
    Stay,
    /// A profile is to be measured first, or measured to its end.
    Measure(LoadProfile),
    /// A move would not pay.
    Refuse,
    /// Agents move.
    Move(MovePlan),
}

/// Planner of a shard's moves. `busy` has the share of time for which each shard was busy.
pub(super) struct MovePlanner<'a, V> {
    pub view: &'a mut V,
    pub load: ShardLoad,
    pub busy: &'a [f64],
}

impl<V: ShardView> MovePlanner<'_, V> {
    /// Plans to move agents to the shard they talk to, if nearly all their messages go there and nothing else keeps
    /// them here.
    pub fn gather(&mut self) -> Option<MovePlan> {
        let ShardLoad { turns, sent, crossed, .. } = self.load;
        if crossed * 3 < sent || sent * 4 < turns {
            return None;
        }
        if self.load.turn_ns() >= SHORT_TURN_NS {
            return if self.load.turn_ns() < LONG_TURN_NS { self.gather_at_hub() } else { None };
        }
        let mut sample = self.view.queue(SAMPLE_MAX);
        if sample.len() < FEW {
            // Includes agents that wait for answers from the other shard.
            sample = self.view.agents(SAMPLE_MAX);
        }
        let mut talk_to: Vec<Vec<u32>> = self.busy.iter().map(|_| Vec::new()).collect();
        for agent in sample {
            if let Some((shard, _)) = self.place_of_peer(agent)
                && shard != self.view.index()
                && let Some(agents) = talk_to.get_mut(usize::from(shard))
            {
                agents.push(agent);
            }
        }
        let (to, agents) = talk_to.into_iter().enumerate().max_by_key(|(_, agents)| agents.len())?;
        let to = to as ShardIndex;
        // The smaller group moves: if both shards moved at once, they would just change places.
        let is_smaller = (self.view.waiting() as u64, self.view.index()) <= (self.view.waiting_in(to), to);
        (is_smaller && !agents.is_empty()).then_some(MovePlan { to, agents })
    }

    /// Plans to move agents to a busy shard if they mostly wait for one agent there.
    fn gather_at_hub(&mut self) -> Option<MovePlan> {
        if self.busy_share(self.view.index()) > WAITING_SHARE {
            return None;
        }
        let agents = self.view.agents(usize::MAX);
        let talker = |agent: u32| Some((agent, self.view.peer(agent)?));
        let talkers: Vec<(u32, Symbol)> = agents.into_iter().filter_map(talker).take(MOVE_MAX).collect();
        let mut partners: FxHashMap<Symbol, usize> = FxHashMap::default();
        for (_, peer) in &talkers {
            *partners.entry(*peer).or_default() += 1;
        }
        let (hub, count) = partners.into_iter().max_by_key(|(_, count)| *count)?;
        let (to, _) = self.view.place_of(hub)?;
        if count * 2 < talkers.len() || self.busy_share(to) < BUSY_SHARE {
            return None;
        }
        let agents = talkers.into_iter().filter(|(_, peer)| *peer == hub).map(|(agent, _)| agent);
        Some(MovePlan { to, agents: agents.collect() })
    }

    /// Plans to give agents to a much less busy shard, if that pays.
    pub fn spread(&mut self, profile: Option<LoadProfile>) -> SpreadPlan {
        let (waiting, me) = (self.view.waiting(), self.view.index());
        let others = self.busy.iter().copied().enumerate().filter(|(shard, _)| *shard != usize::from(me));
        let Some((to, theirs)) = others.min_by(|a, b| a.1.total_cmp(&b.1)) else { return SpreadPlan::Stay };
        let (to, mine) = (to as ShardIndex, self.busy_share(me));
        let sound = profile.as_ref().filter(|profile| profile.is_sound());
        let turn_ns = sound.map_or(self.load.turn_ns(), LoadProfile::turn_ns);
        let (enough, idle) = if turn_ns < SHORT_TURN_NS { (8, IDLE_SHARE_SHORT) } else { (2, IDLE_SHARE) };
        if waiting < enough || mine < BUSY_SHARE || theirs > idle {
            return SpreadPlan::Stay;
        }
        let profile = match profile {
            Some(profile) if profile.is_sound() => profile,
            Some(profile) if profile.is_open() => return SpreadPlan::Measure(profile),
            _ => return SpreadPlan::Measure(LoadProfile::begin()),
        };
        let bound = if turn_ns < LONG_TURN_NS { self.bound(&profile) } else { FxHashMap::default() };
        let wanted = agents_to_give(waiting, mine, theirs);
        let seeds = self.view.queue(SAMPLE_MAX.max(2 * wanted));
        let block = self.block(&seeds, wanted, &bound);
        let sample = seeds.get(..SAMPLE_MAX).unwrap_or(&seeds);
        let cut = self.cut(sample, &block, to);
        if block.is_empty() || cut * CROSSING_NS > turn_ns * sample.len() as u64 {
            return SpreadPlan::Refuse;
        }
        let mut agents: Vec<u32> = block.into_iter().collect();
        agents.sort_unstable();
        SpreadPlan::Move(MovePlan { to, agents })
    }

    fn busy_share(&self, shard: ShardIndex) -> f64 {
        self.busy.get(usize::from(shard)).copied().unwrap_or(0.0)
    }

    /// Returns the hub that each agent must stay with (see [`LoadProfile::bound`]), including agents that were not
    /// profiled.
    fn bound(&mut self, profile: &LoadProfile) -> FxHashMap<u32, u32> {
        let mut bound = profile.bound(|index| self.local_peer(index));
        if bound.is_empty() {
            return bound;
        }
        for index in self.view.agents(usize::MAX) {
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
                let ready = star.iter().filter(|index| self.view.is_queued(**index)).count();
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
                found += usize::from(self.view.is_queued(index));
                next = self.local_peer(index).filter(|_| found < wanted);
            }
            if found >= wanted {
                break;
            }
        }
        block
    }

    /// Counts sampled agents that would send across the cut, less those that do so now and would stop.
    fn cut(&mut self, sample: &[u32], block: &FxHashSet<u32>, to: ShardIndex) -> u64 {
        let mut cut = 0i64;
        for index in sample {
            let goes = block.contains(index);
            match self.place_of_peer(*index) {
                Some((shard, Some(peer))) if shard == self.view.index() => {
                    cut += i64::from(goes != block.contains(&peer))
                }
                Some((shard, _)) if shard == to => cut += if goes { -1 } else { 0 },
                _ => {}
            }
        }
        cut.max(0) as u64
    }

    /// Returns the shard and place of the agent that this agent wrote to last.
    fn place_of_peer(&mut self, agent: u32) -> Option<(ShardIndex, Option<u32>)> {
        let peer = self.view.peer(agent)?;
        self.view.place_of(peer)
    }

    fn local_peer(&mut self, agent: u32) -> Option<u32> {
        let (shard, peer) = self.place_of_peer(agent)?;
        if shard == self.view.index() { peer } else { None }
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
    use std::collections::HashMap;
    use std::time::Duration;

    use super::*;

    /// Shard of agents in memory. The place of an agent is its index.
    #[derive(Default)]
    struct ViewedShard {
        index: ShardIndex,
        queue: Vec<u32>,
        peers: Vec<Option<Symbol>>,
        places: HashMap<Symbol, (ShardIndex, Option<u32>)>,
        waiting_in: Vec<u64>,
    }

    impl ViewedShard {
        /// Shard 0 of two, in which all agents wait for a turn. The other shard has as many.
        fn of(peers: impl IntoIterator<Item = (ShardIndex, u32)>) -> Self {
            let mut shard = Self::default();
            shard.peers = peers.into_iter().map(|place| Some(shard.name(place))).collect();
            shard.queue = (0..shard.peers.len() as u32).collect();
            shard.waiting_in = vec![shard.queue.len() as u64; 2];
            shard
        }

        fn name(&mut self, (shard, place): (ShardIndex, u32)) -> Symbol {
            let name = Symbol::new(&format!("viewed-{shard}-{place}"));
            self.places.insert(name, (shard, Some(place)));
            name
        }

        fn gather(&mut self, load: ShardLoad, busy: &[f64]) -> Option<MovePlan> {
            MovePlanner { view: self, load, busy }.gather()
        }

        /// Plans with turns of this duration, all of them measured.
        fn spread(&mut self, turn_us: u64, busy: [f64; 2]) -> SpreadPlan {
            let turns: Vec<(u32, u64)> = (0..self.peers.len() as u32).map(|agent| (agent, turn_us)).collect();
            let profile = LoadProfile::sound(&turns);
            MovePlanner { view: self, load: ShardLoad::default(), busy: &busy }.spread(Some(profile))
        }
    }

    impl ShardView for ViewedShard {
        fn index(&self) -> ShardIndex {
            self.index
        }

        fn waiting(&self) -> usize {
            self.queue.len()
        }

        fn waiting_in(&self, shard: ShardIndex) -> u64 {
            self.waiting_in[usize::from(shard)]
        }

        fn queue(&self, at_most: usize) -> Vec<u32> {
            self.queue.iter().copied().take(at_most).collect()
        }

        fn agents(&self, at_most: usize) -> Vec<u32> {
            (0..self.peers.len() as u32).take(at_most).collect()
        }

        fn is_queued(&mut self, agent: u32) -> bool {
            self.queue.contains(&agent)
        }

        fn peer(&mut self, agent: u32) -> Option<Symbol> {
            self.peers.get(agent as usize).copied().flatten()
        }

        fn place_of(&self, name: Symbol) -> Option<(ShardIndex, Option<u32>)> {
            self.places.get(&name).copied()
        }
    }

    /// Load with turns of 1 us, each of which sends a message to another shard.
    const CROSSING: ShardLoad = ShardLoad { busy_us: 100, turns: 100, sent: 100, crossed: 100 };
    const EVEN: &[f64] = &[1.0, 1.0];

    fn all(count: u32) -> Option<MovePlan> {
        Some(MovePlan { to: 1, agents: (0..count).collect() })
    }

    fn moved(plan: SpreadPlan) -> Vec<u32> {
        match plan {
            SpreadPlan::Move(MovePlan { to: 1, agents }) => agents,
            plan => panic!("{plan:?}"),
        }
    }

    #[test]
    fn interrupted_rounds_do_not_count() {
        let mut load = ShardLoad::default();
        assert_eq!(load.turn_ns(), 0);
        load.note_round(SHORT_ROUND_TURNS, SHORT_ROUND_US_MAX + 1);
        load.note_round(SHORT_ROUND_TURNS + 1, SHORT_ROUND_US_MAX);
        assert_eq!((load.turns, load.turn_ns()), (129, 2_001 * 1_000 / 129));
        load.note_round(SHORT_ROUND_TURNS + 1, SHORT_ROUND_US_MAX + 1);
        assert_eq!(load.turns, 129);
    }

    #[test]
    fn agents_gather_at_their_peers() {
        let mut shard = ViewedShard::of((0..40).map(|agent| (1, agent)));
        assert_eq!(shard.gather(CROSSING, EVEN), all(40));
        // Those that talk to their own shard stay, and the greater group decides where others go.
        let mut mixed = ViewedShard::of((0..40).map(|agent| ([0, 1, 2, 2][agent as usize % 4], agent)));
        mixed.waiting_in = vec![40; 3];
        let to_third = (0..40).filter(|agent| agent % 4 > 1).collect();
        assert_eq!(mixed.gather(CROSSING, &[1.0; 3]), Some(MovePlan { to: 2, agents: to_third }));
        let mut silent = ViewedShard::of((0..40).map(|agent| (0, agent)));
        assert_eq!(silent.gather(CROSSING, EVEN), None);
    }

    #[test]
    fn few_crossings_gather_nobody() {
        let mut shard = ViewedShard::of((0..40).map(|agent| (1, agent)));
        let mut gathers = |load: ShardLoad| shard.gather(load, EVEN).is_some();
        assert!(gathers(ShardLoad { sent: 90, crossed: 30, ..CROSSING }));
        assert!(!gathers(ShardLoad { sent: 91, crossed: 30, ..CROSSING }));
        assert!(gathers(ShardLoad { sent: 25, crossed: 25, ..CROSSING }));
        assert!(!gathers(ShardLoad { sent: 24, crossed: 24, ..CROSSING }));
    }

    #[test]
    fn smaller_group_gathers() {
        let mut shard = ViewedShard::of((0..40).map(|agent| (1, agent)));
        shard.waiting_in[1] = 39;
        assert_eq!(shard.gather(CROSSING, EVEN), None);
        let mut second = ViewedShard { index: 1, ..ViewedShard::of((0..40).map(|agent| (0, agent))) };
        assert_eq!(second.gather(CROSSING, EVEN), None, "of equal groups, that of the lower shard moves");
        second.waiting_in[0] = 41;
        assert_eq!(second.gather(CROSSING, EVEN), Some(MovePlan { to: 0, agents: (0..40).collect() }));
    }

    #[test]
    fn idle_agents_gather_if_few_wait() {
        let mut shard = ViewedShard::of((0..40).map(|agent| (1, agent)));
        shard.queue.truncate(FEW);
        assert_eq!(shard.gather(CROSSING, EVEN), all(FEW as u32));
        shard.queue.truncate(FEW - 1);
        assert_eq!(shard.gather(CROSSING, EVEN), all(40));
    }

    #[test]
    fn partners_gather_at_busy_hub() {
        // Half of the agents talk to the hub, the others to each other.
        let mut shard = ViewedShard::of((0..40).map(|agent| if agent < 20 { (1, 7) } else { (0, agent) }));
        shard.peers.extend([None; 9]);
        let load = |turn_us: u64| ShardLoad { busy_us: 100 * turn_us, ..CROSSING };
        assert_eq!(shard.gather(load(2), &[WAITING_SHARE, BUSY_SHARE]), all(20));
        assert_eq!(shard.gather(load(99), &[WAITING_SHARE, BUSY_SHARE]), all(20));
        assert_eq!(shard.gather(load(100), &[WAITING_SHARE, BUSY_SHARE]), None, "turns are long");
        assert_eq!(shard.gather(load(2), &[WAITING_SHARE + 0.01, BUSY_SHARE]), None, "the shard is busy");
        assert_eq!(shard.gather(load(2), &[WAITING_SHARE, BUSY_SHARE - 0.01]), None, "the hub is idle");
        shard.peers[0] = shard.peers[20];
        assert_eq!(shard.gather(load(2), &[WAITING_SHARE, BUSY_SHARE]), None, "fewer than half talk to the hub");
        let mut foreign = ViewedShard::of((0..40).map(|_| (1, 7)));
        foreign.places.clear();
        assert_eq!(foreign.gather(load(2), &[WAITING_SHARE, BUSY_SHARE]), None, "the hub is on another node");
    }

    #[test]
    fn overload_begins_a_profile() {
        let plan = |waiting: u32, turn_us: u64, busy: [f64; 2]| {
            let load = ShardLoad { busy_us: 100 * turn_us, ..CROSSING };
            let mut shard = ViewedShard::of((0..waiting).map(|agent| (0, agent)));
            match (MovePlanner { view: &mut shard, load, busy: &busy }).spread(None) {
                SpreadPlan::Measure(profile) => profile.is_open(),
                SpreadPlan::Stay => false,
                plan => panic!("{plan:?}"),
            }
        };
        assert!(plan(8, 1, [BUSY_SHARE, IDLE_SHARE_SHORT]) && plan(2, 2, [BUSY_SHARE, IDLE_SHARE]));
        assert!(!plan(7, 1, [BUSY_SHARE, IDLE_SHARE_SHORT]) && !plan(1, 2, [BUSY_SHARE, IDLE_SHARE]), "few wait");
        assert!(!plan(8, 1, [0.89, 0.0]) && !plan(2, 2, [0.89, 0.0]), "the shard has time left");
        assert!(!plan(8, 1, [BUSY_SHARE, 0.51]) && !plan(2, 2, [BUSY_SHARE, 0.71]), "the other shard is busy");
    }

    #[test]
    fn profile_is_measured_to_its_end() {
        let mut shard = ViewedShard::of((0..40).map(|agent| (0, agent)));
        let mut plan = |profile| match (MovePlanner { view: &mut shard, load: CROSSING, busy: &[1.0, 0.0] })
            .spread(Some(profile))
        {
            SpreadPlan::Measure(profile) => profile,
            plan => panic!("{plan:?}"),
        };
        let mut begun = LoadProfile::begin();
        begun.note(0, Duration::from_micros(5));
        assert_eq!(plan(begun).turn_ns(), 5_000, "the turns that were measured count");
        assert_eq!(plan(LoadProfile::disturbed()).turn_ns(), 0, "a disturbed profile begins anew");
    }

    #[test]
    fn ring_is_cut_into_arcs() {
        let mut ring = ViewedShard::of((0..40).map(|agent| (0, (agent + 1) % 40)));
        assert_eq!(moved(ring.spread(5, [1.0, 0.0])), (0..20).collect::<Vec<u32>>());
        assert_eq!(moved(ring.spread(5, [1.0, 0.5])), (0..10).collect::<Vec<u32>>());
        // To the least busy of all shards.
        let profile = LoadProfile::sound(&[(0, 5), (1, 5)]);
        let busy = [1.0, 0.3, 0.1, 0.2];
        let plan = MovePlanner { view: &mut ring, load: CROSSING, busy: &busy }.spread(Some(profile));
        assert!(matches!(plan, SpreadPlan::Move(MovePlan { to: 2, .. })), "{plan:?}");
    }

    #[test]
    fn pairs_move_together() {
        let mut pairs = ViewedShard::of((0..40).map(|agent| (0, (agent + 20) % 40)));
        let agents = moved(pairs.spread(1, [1.0, 0.0]));
        assert_eq!(agents.len(), 20);
        assert!(agents.iter().all(|agent| agents.contains(&((agent + 20) % 40))), "{agents:?}");
    }

    #[test]
    fn idle_partners_move_along() {
        // Every second agent waits, and its partner is the next one.
        let mut shard = ViewedShard::of((0..40).map(|agent| (0, agent ^ 1)));
        shard.queue.retain(|agent| agent % 2 == 0);
        // The last one's partner is not needed.
        assert_eq!(moved(shard.spread(1, [1.0, 0.0])), (0..19).collect::<Vec<u32>>());
    }

    #[test]
    fn expensive_crossings_prevent_moves() {
        // Agent 0 talks to all others' peer: whatever leaves, others write to it from afar.
        let crossing = |turn_us: u64| {
            let mut shard = ViewedShard::of((0..40).map(|agent| (0, if agent < 20 { agent } else { agent - 20 })));
            shard.spread(turn_us, [1.0, 0.0])
        };
        assert!(matches!(crossing(0), SpreadPlan::Refuse), "{:?}", crossing(0));
        assert_eq!(moved(crossing(1)), (0..20).collect::<Vec<u32>>());
    }

    #[test]
    fn crossings_that_stop_are_savings() {
        let places = |agent: u32| if agent < 10 { (1, agent) } else { (0, (agent + 10) % 40) };
        let cut = |block: &[u32]| {
            let mut shard = ViewedShard::of((0..40).map(places));
            let block = block.iter().copied().collect();
            MovePlanner { view: &mut shard, load: CROSSING, busy: EVEN }.cut(&[0, 1, 10, 11, 20], &block, 1)
        };
        assert_eq!(cut(&[]), 0);
        assert_eq!(cut(&[10, 11]), 2, "their peers stay");
        assert_eq!(cut(&[10, 11, 20, 21]), 1);
        assert_eq!(cut(&[10, 11, 0]), 1, "one comes to its peer");
        assert_eq!(cut(&[0, 1]), 0);
        assert_eq!(cut(&[21]), 1, "an agent that stays writes to one that goes");
    }

    #[test]
    fn star_moves_whole_or_stays() {
        // Stars of ten agents around 0, 10, 20 and 30, which take half of the time.
        let star = |agent: u32| (0, if agent.is_multiple_of(10) { agent + 1 } else { agent - agent % 10 });
        let profile = || {
            let turns: Vec<(u32, u64)> = (0..40).map(|agent| (agent, if agent % 10 == 0 { 90 } else { 10 })).collect();
            LoadProfile::sound(&turns)
        };
        let plan = |busy: [f64; 2], count: u32, profile| {
            let mut shard = ViewedShard::of((0..count).map(star));
            MovePlanner { view: &mut shard, load: CROSSING, busy: &busy }.spread(Some(profile))
        };
        assert_eq!(moved(plan([1.0, 0.0], 40, profile())), (0..20).collect::<Vec<u32>>());
        // Seven are wanted: ten are no more than half as many again.
        assert_eq!(moved(plan([1.0, 0.65], 40, profile())), (0..10).collect::<Vec<u32>>());
        let none = plan([1.0, 0.7], 40, profile());
        assert!(matches!(none, SpreadPlan::Refuse), "{none:?}");
        let single = plan([1.0, 0.0], 10, profile());
        assert!(matches!(single, SpreadPlan::Refuse), "{single:?}");
    }

    #[test]
    fn unprofiled_partners_are_bound() {
        let mut shard = ViewedShard::of((0..40).map(|agent| (0, if agent == 0 { 1 } else { 0 })));
        let profile = LoadProfile::sound(&[(0, 40), (1, 10), (2, 10), (3, 10)]);
        let bound = MovePlanner { view: &mut shard, load: CROSSING, busy: EVEN }.bound(&profile);
        assert_eq!(bound.len(), 40);
        assert!(bound.values().all(|hub| *hub == 0));
        shard.peers[39] = None;
        shard.peers[38] = shard.peers[0];
        let bound = MovePlanner { view: &mut shard, load: CROSSING, busy: EVEN }.bound(&profile);
        assert_eq!(bound.len(), 38, "others are free");
    }

    #[test]
    fn long_turns_leave_their_hub() {
        let mut star = ViewedShard::of((0..40).map(|agent| (0, if agent == 0 { 1 } else { 0 })));
        let plan = star.spread(LONG_TURN_NS / 1_000, [1.0, 0.0]);
        assert_eq!(moved(plan).len(), 20);
    }

    #[test]
    fn move_has_a_limit() {
        let count = 2 * MOVE_MAX as u32 + 100;
        let mut shard = ViewedShard::of((0..count).map(|agent| (0, agent)));
        shard.queue = vec![u32::MAX];
        let seeds: Vec<u32> = (0..count).collect();
        let mut planner = MovePlanner { view: &mut shard, load: CROSSING, busy: EVEN };
        let block = planner.block(&seeds, count as usize, &FxHashMap::default());
        assert_eq!(block.len(), MOVE_MAX);
        let star: FxHashMap<u32, u32> = (0..MOVE_MAX as u32).map(|agent| (agent, 0)).collect();
        assert!(planner.block(&[0], count as usize, &star).is_empty());
        let star: FxHashMap<u32, u32> = (1..MOVE_MAX as u32).map(|agent| (agent, 1)).collect();
        assert_eq!(planner.block(&[1], count as usize, &star).len(), MOVE_MAX - 1);
    }

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
