//! Names of other nodes' agents: announced, used, forgotten, and their numbers given to others.

use whimbrel_acl::{Aid, Name, Symbol};
use whimbrel_platform::EndReason;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::link::News;
use whimbrel_platform::route::NodeId;
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
