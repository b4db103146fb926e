//! One hop among three nodes, in every order in which news, shards and misfortunes can come.

use std::collections::{HashSet, VecDeque};

use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::ams::AgentState;
use whimbrel_platform::durable::{CodeHash, Registration};
use whimbrel_platform::mobility::{
    Crossing, FetchError, FetchStep, Fetches, HopError, HopId, HopNews, HopStep, InboundHop, Part, Transits,
};
use whimbrel_platform::route::NodeId;

const SOURCE: usize = 0;
const DESTINATION: usize = 1;

/// Item on its way from one node to another.
#[derive(Clone, Debug)]
enum HopItem {
    Offer,
    News(HopNews),
    /// The end of the link.
    Lost,
}

/// Task that the scheduler of a node has not done yet.
#[derive(Clone, Debug)]
enum SchedulerTask {
    Make,
    LetGo,
    Empty,
    Cross(Crossing),
    Look,
    Admit(Vec<u8>),
}

/// Code of the agent, and the way in which the destination gets it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CodeSource {
    Here,
    Kept,
    /// Code fetched in this number of parts.
    Fetched(u64),
    /// Other code, sent by the source.
    Forged,
    /// Code that the source has lost.
    None,
    /// Code that cannot be run at the destination.
    Inadmissible,
}

/// Misfortune that strikes once, at any moment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Misfortune {
    Nothing,
    /// Death of this node's process.
    Crash(usize),
    /// Loss of the link between source and destination.
    Cut,
    /// Death of the agent, killed where it lives.
    Kill,
    /// Failure of the destination to make it.
    Refusal,
}

#[derive(Clone, Debug)]
struct HopWorld {
    nodes: Vec<Option<Transits>>,
    wires: Vec<Vec<VecDeque<HopItem>>>,
    tasks: Vec<Vec<SchedulerTask>>,
    /// Nodes where the agent has turns.
    runs: Vec<bool>,
    /// True once the agent was killed.
    killed: bool,
    to_come: Misfortune,
    code: CodeSource,
    /// Fetches of the destination, and true if it has the code.
    fetches: Fetches,
    has_code: bool,
}

fn name(node: usize) -> Symbol {
    Symbol::new(["n0", "n1", "n2"][node])
}

const CODE: CodeHash = CodeHash([7; 32]);

/// Returns the agent, as it comes to the destination.
fn bearer() -> InboundHop {
    InboundHop { node: NodeId(SOURCE as u32), hop: hop() }
}

fn hop() -> HopId {
    HopId { agent: Symbol::new("walker"), number: 7 }
}

fn standing() -> Box<Registration> {
    let agent = hop().agent;
    let (entry, expires_ms, subscriptions, places) = (None, None, Vec::new(), Vec::new());
    Box::new(Registration { agent, last: 0, entry, expires_ms, subscriptions, places, state: AgentState::Active })
}

fn named(node: NodeId) -> Symbol {
    name(node.0 as usize)
}

impl HopWorld {
    fn new(to_come: Misfortune, code: CodeSource) -> Self {
        let mut world = Self {
            nodes: vec![Some(Transits::default()); 3],
            wires: vec![vec![VecDeque::new(); 3]; 3],
            tasks: vec![Vec::new(); 3],
            runs: vec![false; 3],
            killed: false,
            to_come,
            code,
            fetches: Fetches::default(),
            has_code: code == CodeSource::Here,
        };
        let to = NodeId(DESTINATION as u32);
        world.ask(SOURCE, |transits| assert!(transits.handle_offered(hop(), to, 0, false, Some(CODE))));
        world.wires[SOURCE][DESTINATION].push_back(HopItem::Offer);
        world
    }

    fn ask<T>(&mut self, node: usize, ask: impl FnOnce(&mut Transits) -> T) -> Option<T> {
        let transits = self.nodes[node].as_mut()?;
        let answer = ask(transits);
        let steps: Vec<HopStep> = std::iter::from_fn(|| transits.poll_step()).collect();
        steps.into_iter().for_each(|step| self.take(node, step));
        Some(answer)
    }

    /// Tells the destination's fetches something, and carries out their steps.
    fn fetch(&mut self, tell: impl FnOnce(&mut Fetches)) {
        tell(&mut self.fetches);
        while let Some(step) = self.fetches.poll_step() {
            match step {
                FetchStep::Look(..) => self.tasks[DESTINATION].push(SchedulerTask::Look),
                FetchStep::Admit(_, _, bytes) => self.tasks[DESTINATION].push(SchedulerTask::Admit(bytes)),
                FetchStep::Ask(InboundHop { hop, .. }, at) => {
                    if self.nodes[SOURCE].is_some() {
                        self.wires[DESTINATION][SOURCE].push_back(HopItem::News(HopNews::Lacks { hop, at }));
                    }
                }
                FetchStep::Go(_) => {
                    self.has_code = true;
                    self.tasks[DESTINATION].push(SchedulerTask::Make);
                }
                FetchStep::Refuse(InboundHop { node, hop }, why) => {
                    let why = HopError::Refused { node: name(DESTINATION), reason: why.to_string() };
                    self.ask(DESTINATION, |transits| transits.refuse(node, hop, why));
                }
            }
        }
    }

    /// Sends node `asks` the part of the code from this byte on, if the source may.
    fn give(&mut self, asks: usize, hop: HopId, at: u64) {
        let code = self.ask(SOURCE, |transits| transits.code_for(NodeId(asks as u32), hop, at));
        if code.flatten() != Some(CODE) {
            return;
        }
        let part = match self.code {
            CodeSource::None => Part::none(at),
            CodeSource::Fetched(of) => Part { at, of, bytes: vec![1] },
            _ => Part { at, of: 1, bytes: vec![u8::from(self.code != CodeSource::Forged)] },
        };
        let next = at + part.bytes.len() as u64;
        self.ask(SOURCE, |transits| transits.handle_code_given(NodeId(asks as u32), hop, next));
        self.wires[SOURCE][asks].push_back(HopItem::News(HopNews::Code(hop, part)));
    }

    fn take(&mut self, node: usize, step: HopStep) {
        let task = match step {
            HopStep::Tell(to, news) | HopStep::TellBehind(_, to, news) => {
                if self.nodes[to.0 as usize].is_some() {
                    self.wires[node][to.0 as usize].push_back(HopItem::News(news));
                }
                return;
            }
            HopStep::Cross(crossing) => SchedulerTask::Cross(crossing),
            HopStep::LetGo(..) => SchedulerTask::LetGo,
            HopStep::Empty(..) => SchedulerTask::Empty,
            HopStep::Stay(..) => return self.run(node),
            HopStep::Begin { .. } => return self.run(node),
            HopStep::Own(..) | HopStep::Drop { .. } | HopStep::Cloned { .. } => return,
        };
        self.tasks[node].push(task);
    }

    fn run(&mut self, node: usize) {
        self.runs[node] = true;
        let count = self.runs.iter().filter(|runs| **runs).count();
        assert!(count <= 1, "two run: {self:#?}");
    }

    /// Returns all worlds that may come next.
    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for from in 0..3 {
            for to in 0..3 {
                let mut world = self.clone();
                if let Some(item) = world.wires[from][to].pop_front() {
                    world.arrive(from, to, item);
                    next.push(world);
                }
            }
            for task in 0..self.tasks[from].len() {
                let mut world = self.clone();
                let task = world.tasks[from].remove(task);
                world.perform(from, task);
                next.push(world);
            }
        }
        next.extend(self.misfortunes());
        next
    }

    fn arrive(&mut self, from: usize, to: usize, item: HopItem) {
        let node = NodeId(from as u32);
        match item {
            HopItem::Offer => {
                if self.ask(to, |transits| transits.handle_offer(node, hop())) == Some(true) {
                    self.tasks[to].push(SchedulerTask::Make);
                }
            }
            HopItem::News(HopNews::Lacks { hop, at }) => self.give(from, hop, at),
            HopItem::News(HopNews::Code(hop, part)) => {
                self.fetch(|fetches| fetches.handle_part(InboundHop { node, hop }, &part, Time::ZERO));
            }
            HopItem::News(news) => {
                let cancelled = if let HopNews::Cancel(hop) = news { Some(hop) } else { None };
                self.ask(to, |transits| transits.handle_news(node, name(from), news));
                if let Some(hop) = cancelled {
                    self.fetch(|fetches| fetches.handle_cancelled(InboundHop { node, hop }));
                }
            }
            HopItem::Lost => {
                self.ask(to, |transits| transits.handle_lost(node, name(from)));
                if to == DESTINATION {
                    self.fetch(|fetches| fetches.handle_lost(node));
                }
            }
        }
    }

    fn perform(&mut self, node: usize, task: SchedulerTask) {
        let source = NodeId(SOURCE as u32);
        match task {
            SchedulerTask::Make if self.to_come == Misfortune::Refusal => {
                let why = HopError::Forbidden(name(node));
                self.ask(node, |transits| transits.refuse(source, hop(), why));
            }
            SchedulerTask::Make if !self.has_code => {
                if self.ask(node, |transits| transits.is_offered(source, hop())) == Some(true) {
                    self.fetch(|fetches| fetches.handle_wanted(CODE, bearer()));
                }
            }
            SchedulerTask::Look => {
                let is_kept = self.code == CodeSource::Kept;
                self.fetch(|fetches| fetches.handle_looked(CODE, is_kept, Time::ZERO));
            }
            SchedulerTask::Admit(bytes) => {
                let outcome = match self.code {
                    CodeSource::Inadmissible => Err(FetchError::Inadmissible("why".to_owned())),
                    _ if bytes.contains(&0) => Err(FetchError::WrongHash),
                    _ => Ok(()),
                };
                self.fetch(|fetches| fetches.handle_admitted(CODE, outcome));
            }
            SchedulerTask::Make => drop(self.ask(node, |transits| transits.handle_made(hop()))),
            SchedulerTask::LetGo if self.killed => drop(self.ask(node, |transits| transits.cancel(hop().agent))),
            SchedulerTask::LetGo => {
                let others: Vec<_> = (1..3)
                    .filter(|other| self.nodes[*other].is_some())
                    .map(|it| (NodeId(it as u32), name(it)))
                    .collect();
                self.ask(node, |transits| transits.handle_gone(hop(), name(DESTINATION), standing(), &others));
            }
            SchedulerTask::Empty => drop(self.ask(node, |transits| transits.handle_emptied(hop(), name(node), named))),
            SchedulerTask::Cross(crossing) => drop(self.ask(node, |transits| transits.handle_crossed(crossing, named))),
        }
    }

    fn misfortunes(&self) -> Vec<Self> {
        let mut world = Self { to_come: Misfortune::Nothing, ..self.clone() };
        match self.to_come {
            Misfortune::Nothing | Misfortune::Refusal => return Vec::new(),
            Misfortune::Kill => {
                // Its shard sees that it is to end; or it had left, and its end is the other node's.
                world.killed = world.ask(SOURCE, |transits| transits.cancel(hop().agent)) == Some(true);
            }
            Misfortune::Cut => {
                let mut lossy = world.clone();
                for (from, to) in [(SOURCE, DESTINATION), (DESTINATION, SOURCE)] {
                    world.wires[from][to].push_back(HopItem::Lost);
                    lossy.wires[from][to] = VecDeque::from([HopItem::Lost]);
                }
                return vec![world, lossy];
            }
            Misfortune::Crash(node) => {
                world.nodes[node] = None;
                world.tasks[node].clear();
                world.runs[node] = false;
                let mut lossy = world.clone();
                for other in (0..3).filter(|other| *other != node) {
                    world.wires[other][node].clear();
                    lossy.wires[other][node].clear();
                    world.wires[node][other].push_back(HopItem::Lost);
                    lossy.wires[node][other] = VecDeque::from([HopItem::Lost]);
                }
                return vec![world, lossy];
            }
        }
        vec![world]
    }
}

/// Visits every world that can be reached. Returns those in which nothing is left to happen.
fn explore(misfortune: Misfortune, code: CodeSource) -> (usize, Vec<HopWorld>) {
    let (mut seen, mut open, mut ends) = (HashSet::new(), vec![HopWorld::new(misfortune, code)], Vec::new());
    while let Some(world) = open.pop() {
        if !seen.insert(format!("{world:?}")) {
            continue;
        }
        let next = world.next();
        if next.is_empty() {
            ends.push(world.clone());
        }
        open.extend(next);
    }
    (seen.len(), ends)
}

fn runners(world: &HopWorld) -> Vec<usize> {
    (0..3).filter(|node| world.runs[*node]).collect()
}

#[test]
fn agent_arrives_in_any_order() {
    for code in [CodeSource::Here, CodeSource::Kept, CodeSource::Fetched(1), CodeSource::Fetched(3)] {
        let (count, ends) = explore(Misfortune::Nothing, code);
        assert!(count > 20, "{count}");
        for end in &ends {
            assert_eq!(runners(end), [DESTINATION], "{end:#?}");
        }
    }
}

#[test]
fn agent_stays_without_its_code() {
    for code in [CodeSource::Forged, CodeSource::None, CodeSource::Inadmissible] {
        for end in &explore(Misfortune::Nothing, code).1 {
            assert_eq!(runners(end), [SOURCE], "{end:#?}");
        }
    }
}

#[test]
fn refused_agent_stays() {
    for end in &explore(Misfortune::Refusal, CodeSource::Here).1 {
        assert_eq!(runners(end), [SOURCE], "{end:#?}");
    }
}

#[test]
fn unmade_agent_is_not_committed() {
    let (source, mut transits) = (NodeId(SOURCE as u32), Transits::default());
    let commit = || HopNews::Commit { hop: hop(), standing: Some(standing()), told: Vec::new() };
    let owns = |transits: &mut Transits| {
        transits.handle_news(source, name(SOURCE), commit());
        std::iter::from_fn(|| transits.poll_step()).any(|step| matches!(step, HopStep::Own(..)))
    };
    assert!(transits.handle_offer(source, hop()));
    assert!(!owns(&mut transits));
    assert!(transits.handle_made(hop()) && !transits.handle_made(hop()));
    assert!(owns(&mut transits));
    assert!(!owns(&mut transits), "twice");
}

#[test]
fn nothing_stays_under_way() {
    use Misfortune::{Crash, Cut, Kill, Nothing, Refusal};
    for misfortune in [Nothing, Refusal, Kill, Cut, Crash(0), Crash(1), Crash(2)] {
        for code in [CodeSource::Here, CodeSource::Fetched(2), CodeSource::Forged] {
            for end in &explore(misfortune, code).1 {
                let quiet = |node: &Option<Transits>| node.as_ref().is_none_or(Transits::is_quiet);
                assert!(end.nodes.iter().all(quiet), "{misfortune:?}: {end:#?}");
                assert!(end.nodes[DESTINATION].is_none() || end.fetches.is_quiet(), "{misfortune:?}: {end:#?}");
            }
        }
    }
}

#[test]
fn agent_survives_lost_node() {
    for code in [CodeSource::Here, CodeSource::Fetched(2)] {
        lives_on_where_it_can(code);
    }
}

fn lives_on_where_it_can(code: CodeSource) {
    let mut outcomes = Vec::new();
    for (misfortune, allowed) in [
        (Misfortune::Crash(0), vec![vec![], vec![DESTINATION]]),
        (Misfortune::Crash(1), vec![vec![], vec![SOURCE]]),
        (Misfortune::Crash(2), vec![vec![DESTINATION]]),
        (Misfortune::Cut, vec![vec![], vec![SOURCE], vec![DESTINATION]]),
        (Misfortune::Kill, vec![vec![], vec![DESTINATION]]),
    ] {
        let (_, ends) = explore(misfortune, code);
        for end in &ends {
            assert!(allowed.contains(&runners(end)), "{misfortune:?}: {end:#?}");
        }
        // Each outcome occurs.
        outcomes.push(allowed.iter().all(|runners_then| ends.iter().any(|end| runners(end) == *runners_then)));
    }
    assert_eq!(outcomes, [true; 5]);
}

#[test]
fn code_part_is_given_once() {
    let (mut transits, to) = (Transits::default(), NodeId(1));
    assert!(transits.handle_offered(hop(), to, 0, false, Some(CODE)));
    assert_eq!(transits.code_for(NodeId(2), hop(), 0), None, "it goes elsewhere");
    // Another agent's offer may have had the first parts given.
    assert_eq!(transits.code_for(to, hop(), 4), Some(CODE));
    transits.handle_code_given(to, hop(), 6);
    assert_eq!([0, 4, 5, 7].map(|at| transits.code_for(to, hop(), at)), [None; 4]);
    assert_eq!(transits.code_for(to, hop(), 6), Some(CODE));
}

#[test]
fn cancelled_clone_does_not_come() {
    let (mut transits, from) = (Transits::default(), NodeId(1));
    let [first, second, third] = [1, 2, 3].map(|number| HopId { number, ..hop() });
    assert!([first, second, third].iter().all(|hop| transits.handle_clone_offer(from, *hop)));
    assert!(!transits.handle_clone_offer(from, first), "it comes already");
    transits.handle_news(from, name(1), HopNews::Cancel(first));
    transits.handle_news(NodeId(2), name(2), HopNews::Cancel(second));
    assert_eq!([first, second].map(|hop| transits.is_offered(from, hop)), [false, true]);
    assert_eq!([first, second, second].map(|hop| transits.handle_clone_done(from, hop)), [false, true, false]);
    transits.handle_lost(from, name(1));
    assert!(!transits.is_offered(from, third), "its node is lost");
}
