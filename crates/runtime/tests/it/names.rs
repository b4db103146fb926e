//! Names of other nodes' agents: announced, used, forgotten, and their numbers given to others.

use std::sync::{Arc, Mutex};

use whimbrel_acl::{Aid, Envelope, Name, Symbol};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_platform::{EndReason, Links};
use whimbrel_runtime::Platform;

use crate::kit::does;

const NODES: u32 = 2;

fn text(number: u64) -> String {
    format!("told-{number}")
}

/// Agents of two nodes begin and end in any order, and some of their names are used here. A used name exists exactly
/// if its node says so, though the numbers of ended names are reused all the time.
#[test]
fn reused_numbers_keep_names_apart() {
    const TEXTS: u64 = 200;
    let platform = Platform::builder().workers(1).build();
    let services = platform.services();
    let mut there: Vec<Option<NodeId>> = vec![None; TEXTS as usize];
    let mut seed = 7_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for step in 0..20_000_u64 {
        let number = draw(TEXTS);
        let place = &mut there[number as usize];
        match *place {
            Some(node) => {
                platform.station().hear(node, News::AgentEnded(text(number).as_str().into(), EndReason::Finished));
                *place = None;
            }
            None => {
                let node = NodeId(1 + draw(u64::from(NODES)) as u32);
                let agents = vec![(text(number).as_str().into(), AgentKind::Native)];
                platform.station().hear(node, News::Agents(agents));
                *place = Some(node);
            }
        }
        // Strangers, whose numbers belonged to names that ended, have no route.
        let stranger = Name::new(&format!("stranger-{step}"));
        assert!(stranger.known().is_none());
        if step.is_multiple_of(40) {
            // One name in ten is ever used, and each stranger once, who lives on no node.
            assert!(!services.exists(Aid::local(stranger.symbol())), "step {step}: {stranger}");
            let asked = draw(TEXTS / 10);
            let is_there = there[asked as usize].is_some();
            assert_eq!(services.exists(Aid::local(Symbol::new(&text(asked)))), is_there, "step {step}: {asked}");
        }
    }
}

#[test]
fn local_agent_keeps_its_name() {
    let platform = Platform::builder().workers(1).build();
    let taken = || vec![("told-then-taken".into(), AgentKind::Native)];
    platform.station().hear(NodeId(1), News::Agents(taken()));
    assert!(platform.spawn("told-then-taken", does(|_, _| ())).is_err(), "it is another node's");
    platform.station().hear(NodeId(1), News::AgentEnded("told-then-taken".into(), EndReason::Finished));
    let here = platform.spawn("told-then-taken", does(|_, _| ())).expect("its name is free");
    platform.station().hear(NodeId(1), News::Agents(taken()));
    platform.station().hear(NodeId(1), News::AgentEnded("told-then-taken".into(), EndReason::Finished));
    assert!(platform.services().exists(here), "it is not the one that ended");
}

/// Links to three nodes that keep what they are told.
#[derive(Default)]
struct NewsRecorder(Mutex<Vec<(NodeId, News)>>);

impl Links for NewsRecorder {
    fn send(&self, _: NodeId, batch: &mut Vec<Envelope>, _: ShardIndex) -> usize {
        batch.clear();
        usize::MAX
    }

    fn go_on(&self) {}

    fn tell_all(&self, _: News) {}

    fn tell(&self, to: NodeId, news: News) {
        self.0.lock().unwrap().push((to, news));
    }

    fn nodes(&self) -> Vec<NodeId> {
        (1..=3).map(NodeId).collect()
    }

    fn waiting(&self) -> u64 {
        0
    }

    fn me(&self) -> String {
        "n0".to_owned()
    }

    fn name_of(&self, node: NodeId) -> Option<String> {
        Some(format!("n{}", node.0))
    }
}

/// A node linked with three others, which have said all that there is to know of them.
fn linked() -> (Platform, Arc<NewsRecorder>) {
    let (platform, told) = (Platform::builder().workers(1).build(), Arc::<NewsRecorder>::default());
    assert!(platform.link_with(Arc::clone(&told) as _));
    (1..=3).for_each(|node| platform.station().hear(NodeId(node), News::Introduced));
    (platform, told)
}

fn is_there(platform: &Platform, name: &str) -> Option<NodeId> {
    let services = platform.services();
    services.directory().unwrap().with_ams(|ams| ams.node_of(name)).unwrap()
}

/// Two nodes say that they have the same agents. The first is asked, and says yes or no.
#[test]
fn contradicted_names_make_no_symbols() {
    const AGENTS: u64 = 50;
    let (platform, told) = linked();
    let station = platform.station();
    let (first, second) = (NodeId(1), NodeId(2));
    let name = |number: u64| format!("contradicted-{number}");
    let before = Symbol::bytes_made_here();
    for (round, has_it) in [true, false, false].into_iter().enumerate() {
        let agents = || -> Vec<(Name, AgentKind)> {
            (0..AGENTS).map(|number| (name(number).as_str().into(), AgentKind::Native)).collect()
        };
        station.hear(first, News::Agents(agents()));
        station.hear(second, News::Agents(agents()));
        assert_eq!(is_there(&platform, &name(0)), Some(first), "round {round}");
        assert_eq!(Symbol::bytes_made_here(), before, "round {round}: they are asked about");
        // The first is asked; if it says no, the second.
        let asked = |node| {
            let told: Vec<(NodeId, News)> = told.0.lock().unwrap().drain(..).collect();
            told.iter().filter(|(to, news)| *to == node && matches!(news, News::Asks(_))).count()
        };
        assert_eq!(asked(first), 1, "round {round}");
        let yes = || {
            let agents = (0..AGENTS).map(|number| (name(number).as_str().into(), AgentKind::Native));
            News::Has { agents: agents.collect(), not: Vec::new() }
        };
        let no = || {
            let not = (0..AGENTS).map(|number| name(number).as_str().into());
            News::Has { agents: Vec::new(), not: not.collect() }
        };
        station.hear(first, if has_it { yes() } else { no() });
        if !has_it {
            assert_eq!(asked(second), 1, "round {round}");
            station.hear(second, yes());
        }
        let place = is_there(&platform, &name(0));
        assert_eq!(place, Some(if has_it { first } else { second }), "round {round}");
        if round == 2 {
            station.lose(second, Vec::new());
        } else {
            let end = |number: u64| News::AgentEnded(name(number).as_str().into(), EndReason::Finished);
            (0..AGENTS).for_each(|number| station.hear(place.unwrap(), end(number)));
        }
        assert_eq!(is_there(&platform, &name(0)), None, "round {round}");
    }
    assert_eq!(Symbol::bytes_made_here(), before, "nobody spoke of them");
}

/// A node says that agents have ended that another one has.
#[test]
fn denied_names_make_no_symbols() {
    let (platform, _) = linked();
    let station = platform.station();
    let before = Symbol::bytes_made_here();
    for number in 0..100 {
        let name = format!("denied-{number}");
        station.hear(NodeId(1), News::Agents(vec![(name.as_str().into(), AgentKind::Native)]));
        station.hear(NodeId(2), News::AgentEnded(name.as_str().into(), EndReason::Finished));
        assert_eq!(is_there(&platform, &name), Some(NodeId(1)), "it is not that node's to end");
        // What nobody has is denied by nobody.
        station.hear(NodeId(2), News::AgentEnded(format!("unheard-{number}").as_str().into(), EndReason::Finished));
    }
    station.lose(NodeId(1), Vec::new());
    assert_eq!(is_there(&platform, "denied-0"), None);
    assert_eq!(Symbol::bytes_made_here(), before, "nobody spoke of them");
}
