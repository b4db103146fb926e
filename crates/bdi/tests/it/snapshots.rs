//! Snapshots: an agent that is written and restored between any two steps continues as if nothing had happened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use whimbrel_platform::capabilities::Durable;

use whimbrel_acl::Text;
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::{LoadError, Loader, SourceText};
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::{AgentBody, Next, Time, Turn};
use whimbrel_testkit::{Random, Simulation};

/// Time that a program may run, in simulated milliseconds.
pub(crate) const PROGRAM_MS: u64 = 5_000;

/// Turns of a program that are disturbed often. Programs that take thousands repeat a few steps while their minds grow:
/// to write these before each step took most of the test's time.
const TURNS_DISTURBED: u64 = 300;

/// Factor by which disturbances are rarer afterwards.
const LATER: u64 = 20;

/// Programs with results that no snapshot preserves: a measured time, or the identity of printed values.
const NOT_REPEATABLE: &[&str] = &["ag-", "action-misc", "lists-shuffle-random", "msg-", "mas2j-", "dir-include-action"];

struct ScratchFolder(PathBuf);

impl Loader for ScratchFolder {
    fn load(&mut self, path: &str, _from: &str) -> Result<(Text, SourceText), LoadError> {
        let text = std::fs::read_to_string(self.0.join(path)).map_err(|e| e.to_string())?;
        Ok((Text::from(path), text.into()))
    }
}

/// Agent that takes few steps a turn, and is written and restored before some of them.
struct Restless {
    agent: Agent,
    image: Arc<Image>,
    /// One in this many steps; 0 for never.
    every: u64,
    state: u64,
    turns: u64,
    restored: u64,
    /// Number of cycles in a turn.
    budget: u32,
}

impl AgentBody for Restless {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.turns += 1;
        if self.every > 0 && (self.state >> 33).is_multiple_of(spaced(self.every, self.turns)) {
            let bytes = self.agent.snapshot(turn.now).expect("an AgentSpeak agent can be written out");
            self.agent =
                Agent::restore(&bytes, Arc::clone(&self.image), turn.now).expect("what was written reads back");
            self.restored += 1;
        }
        turn.budget = self.budget;
        self.agent.turn(turn)
    }
}

/// Agent that takes few steps a turn, and is saved before some of them: completely the first time, then as deltas. At
/// times it is rebuilt from its saves, and continues the same chain of saves, or begins a new one.
struct Saved {
    agent: Agent,
    image: Arc<Image>,
    /// One in this many steps.
    every: u64,
    turns: u64,
    random: Random,
    chain: Vec<Vec<u8>>,
}

/// Returns the distance between disturbed turns, where it is `every` at first.
fn spaced(every: u64, turns: u64) -> u64 {
    if turns <= TURNS_DISTURBED { every } else { every * LATER }
}

impl Saved {
    fn save(&mut self, now: Time) {
        let mut bytes = Vec::new();
        if self.agent.save_delta(now, &mut bytes) {
            assert!(!self.chain.is_empty(), "nothing to count from");
        } else {
            assert!(self.agent.save_whole(now, &mut bytes), "an AgentSpeak agent can be saved");
            self.chain.clear();
        }
        self.chain.push(bytes);
    }

    fn rebuild(&mut self, now: Time) {
        let [whole, deltas @ ..] = self.chain.as_slice() else { panic!("nothing was saved") };
        let mut rebuilt = Agent::restore(whole, Arc::clone(&self.image), now).expect("what was written reads back");
        for delta in deltas {
            rebuilt.apply_delta(delta, now).expect("what was written is applied");
        }
        assert_eq!(rebuilt.snapshot(now), self.agent.snapshot(now), "rebuilt from {} saves", self.chain.len());
        self.agent = rebuilt;
        if self.random.one_in(2) {
            assert!(self.agent.go_on_saving());
        }
    }
}

impl AgentBody for Saved {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        self.turns += 1;
        if self.random.one_in(spaced(self.every, self.turns)) {
            self.save(turn.now);
            if self.random.one_in(3) {
                self.rebuild(turn.now);
            }
        }
        turn.budget = self.random.between(1..=3) as u32;
        self.agent.turn(turn)
    }
}

pub(crate) fn output_of_saved(image: &Arc<Image>, every: u64, seed: u64) -> Vec<String> {
    let mut simulation = Simulation::new(7);
    let agent = Agent::new(AgentConfig::new(Arc::clone(image)));
    let body = Saved { agent, image: Arc::clone(image), every, turns: 0, random: Random::new(seed), chain: Vec::new() };
    simulation.spawn("prog", Box::new(body));
    simulation.run_for(PROGRAM_MS);
    simulation.output()
}

fn output(image: &Arc<Image>, every: u64, seed: u64) -> Vec<String> {
    output_of_turns(image, every, seed, 1)
}

fn output_of_turns(image: &Arc<Image>, every: u64, seed: u64, budget: u32) -> Vec<String> {
    let mut simulation = Simulation::new(7);
    let agent = Agent::new(AgentConfig::new(Arc::clone(image)));
    let body = Restless { agent, image: Arc::clone(image), every, state: seed, turns: 0, restored: 0, budget };
    simulation.spawn("prog", Box::new(body));
    simulation.run_for(PROGRAM_MS);
    simulation.output()
}

pub(crate) fn programs() -> Vec<(String, Arc<Image>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/agentspeak");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root).expect("the conformance cases are there").flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let load = |folder: PathBuf| {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        if NOT_REPEATABLE.iter().any(|prefix| name.starts_with(prefix)) {
            return None;
        }
        let text = std::fs::read_to_string(folder.join("prog.asl")).ok()?;
        let (image, _) = whimbrel_bdi::load(&text, &Text::from("prog.asl"), &mut ScratchFolder(folder)).ok()?;
        Some((name, image))
    };
    folders.into_iter().filter_map(load).collect()
}

#[test]
fn snapshots_do_not_change_results() {
    let programs = programs();
    assert!(programs.len() > 200, "only {} programs", programs.len());
    let mut different = Vec::new();
    for (name, image) in &programs {
        let undisturbed = output(image, 0, 1);
        for (every, seed) in [(1, 1), (3, 11), (7, 5)] {
            if output(image, every, seed) != undisturbed {
                different.push(format!("{name} (one in {every})"));
                break;
            }
        }
    }
    assert!(different.is_empty(), "{} of {}: {different:?}", different.len(), programs.len());
}

#[test]
fn deltas_do_not_change_results() {
    let programs = programs();
    let different = |(name, image): &(String, Arc<Image>)| {
        let undisturbed = output(image, 0, 1);
        let seeds = [(1, 1), (3, 11), (7, 5)];
        let wrong = seeds.into_iter().find(|(every, seed)| output_of_saved(image, *every, *seed) != undisturbed)?;
        Some(format!("{name} (one in {})", wrong.0))
    };
    let different: Vec<String> = programs.iter().filter_map(different).collect();
    assert!(different.is_empty(), "{} of {}: {different:?}", different.len(), programs.len());
}

/// An intention stays in hand only within a turn: the length of turns must have no visible effect.
#[test]
fn turn_length_does_not_change_results() {
    let long = |image| output_of_turns(image, 0, 1, 100);
    let programs = programs();
    let different: Vec<&str> = (programs.iter())
        .filter(|(_, image)| output(image, 0, 1) != long(image))
        .map(|(name, _)| name.as_str())
        .collect();
    assert!(different.is_empty(), "{} of {}: {different:?}", different.len(), programs.len());
}

#[test]
fn foreign_snapshot_is_refused() {
    let image = |text| {
        whimbrel_bdi::load(text, &Text::from("p.asl"), &mut ScratchFolder(PathBuf::new())).expect("it compiles").0
    };
    let agent = Agent::new(AgentConfig::new(image("!a. +!a <- .print(1).")));
    let bytes = agent.snapshot(whimbrel_platform::Time::ZERO).expect("it can be written out");
    assert!(Agent::restore(&bytes, image("!a. +!a <- .print(1). +!b."), whimbrel_platform::Time::ZERO).is_err());
    assert!(
        Agent::restore(&bytes[..bytes.len() / 2], image("!a. +!a <- .print(1)."), whimbrel_platform::Time::ZERO)
            .is_err()
    );
}

#[test]
fn restored_beliefs_are_counted() {
    let program = "p(a). p(other::b). !go. +!go <- .wait(10); .count(p(_), N); .print(N).";
    let image = whimbrel_bdi::load(program, &Text::from("p.asl"), &mut whimbrel_bdi::syntax::NoFiles);
    let image = image.expect("it compiles").0;
    let agent = Agent::new(AgentConfig::new(Arc::clone(&image)));
    let mut simulation = Simulation::new(1);
    simulation.spawn("prog", Box::new(Restless { agent, image, every: 1, state: 0, turns: 0, restored: 0, budget: 1 }));
    simulation.run_for(PROGRAM_MS);
    assert_eq!(simulation.output(), ["[prog] 1"]);
}
