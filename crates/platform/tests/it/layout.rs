//! Partitions of agents, by the placement hints of their project.

use std::collections::BTreeSet;

use proptest::prelude::*;
use whimbrel_acl::Symbol;
use whimbrel_platform::durable::{Hinted, Hints, Layout, Pin, TooFewPartitions, partition_of};
use whimbrel_platform::store::Partition;

fn hinted(names: &[&str], hints: Hints) -> Hinted {
    Hinted { what: names[0].to_owned(), names: names.iter().map(|name| Symbol::new(name)).collect(), hints }
}

fn together(group: &str) -> Hints {
    Hints { together: Some(group.to_owned()), ..Hints::default() }
}

fn apart(group: &str) -> Hints {
    Hints { apart: Some(group.to_owned()), ..Hints::default() }
}

fn pinned(pin: Pin) -> Hints {
    Hints { pin: Some(pin), ..Hints::default() }
}

fn node(name: &str) -> Pin {
    Pin::Node(name.to_owned())
}

fn label(name: &str) -> Pin {
    Pin::Label(name.to_owned())
}

fn homes(layout: &Layout, names: &[&str]) -> BTreeSet<Partition> {
    names.iter().map(|name| layout.partition_of(Symbol::new(name))).collect()
}

#[test]
fn name_decides_without_hints() {
    let plain = Layout::from(16);
    assert_eq!(Layout::plan(16, &[]), Ok(plain.clone()));
    for name in ["a", "counter1", "teller"].map(Symbol::new) {
        assert_eq!(plain.partition_of(name), partition_of(name, 16));
    }
    assert_eq!(plain.text(), "");
}

#[test]
fn hints_group_and_separate_agents() {
    let crew = ["a", "b", "c1", "c2"];
    let replicas = ["r1", "r2", "r3"];
    let hints =
        [hinted(&crew[..2], together("crew")), hinted(&crew[2..], together("crew")), hinted(&replicas, apart("r"))];
    let layout = Layout::plan(16, &hints).unwrap();
    assert_eq!(homes(&layout, &crew).len(), 1);
    assert_eq!(homes(&layout, &replicas).len(), 3);
    assert_eq!(layout.rules().apart, [homes(&layout, &replicas)]);
    assert!(layout.rules().pins.is_empty());
    assert_eq!(layout.partition_of("x"), partition_of("x", 16), "others are where they were");
    assert_eq!(layout.text(), "a together crew; c1 together crew; r1 apart r");
}

#[test]
fn many_agents_apart_share_evenly() {
    let names: Vec<String> = (0..3_000).map(|number| format!("r{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let layout = Layout::plan(60, &[hinted(&names, apart("r"))]).unwrap();
    for partition in (0..60).map(Partition) {
        let there = names.iter().filter(|name| layout.partition_of(Symbol::new(name)) == partition).count();
        assert_eq!(there, 50, "{partition:?}");
    }
}

#[test]
fn pinned_agents_have_own_partitions() {
    let hints = [
        hinted(&["a"], pinned(node("n2"))),
        hinted(&["g1", "g2", "g3", "g4", "g5", "g6"], pinned(label("gpu"))),
        hinted(&["h"], Hints { together: Some("x".to_owned()), ..pinned(node("n2")) }),
        hinted(&["s1", "s2"], Hints { apart: Some("s".to_owned()), ..pinned(label("gpu")) }),
    ];
    let layout = Layout::plan(16, &hints).unwrap();
    let (of_n2, of_gpu) = (&layout.rules().pins[&node("n2")], &layout.rules().pins[&label("gpu")]);
    assert_eq!((of_n2.as_slice(), of_gpu.len()), ([Partition(13)].as_slice(), 2));
    assert_eq!(homes(&layout, &["a", "h"]), BTreeSet::from([Partition(13)]));
    assert_eq!(homes(&layout, &["g1", "g2", "g3", "g4", "g5", "g6"]), of_gpu.iter().copied().collect());
    assert_eq!(homes(&layout, &["s1", "s2"]), of_gpu.iter().copied().collect(), "apart among those with the label");
    for number in 0..200 {
        assert!(layout.partition_of(Symbol::new(&format!("other{number}"))).0 < 13);
    }
}

#[test]
fn too_many_pins_are_refused() {
    let hints: Vec<Hinted> = (0..9).map(|n| hinted(&["a"], pinned(node(&format!("n{n}"))))).collect();
    let refused = Layout::plan(16, &hints).unwrap_err();
    assert_eq!(refused, TooFewPartitions { wanted: 9, partitions: 16 });
    assert!(refused.to_string().contains("?partitions=18"), "{refused}");
    assert!(Layout::plan(18, &hints).is_ok());
}

proptest! {
    #[test]
    fn any_hints_place_every_agent(
        partitions in 1u16..300,
        groups in prop::collection::vec((0u8..4, 0u8..3, 0u8..4, 0usize..20), 0..8),
    ) {
        let names: Vec<Vec<String>> = groups.iter().enumerate()
            .map(|(group, (.., count))| (0..*count).map(|n| format!("a{group}_{n}")).collect()).collect();
        let hints: Vec<Hinted> = groups.iter().zip(&names).enumerate().map(|(index, ((kind, group, pin, _), names))| Hinted {
            what: format!("a{index}"),
            names: names.iter().map(|name| Symbol::new(name)).collect(),
            hints: Hints {
                together: (*kind == 1).then(|| group.to_string()),
                apart: (*kind == 2).then(|| group.to_string()),
                pin: match pin { 0 => Some(node("n1")), 1 => Some(label("l")), _ => None },
            },
        }).collect();
        let Ok(layout) = Layout::plan(partitions, &hints) else { return Ok(()) };
        for (wanted, names) in hints.iter().zip(&names) {
            for name in names {
                let home = layout.partition_of(Symbol::new(name));
                prop_assert!(home.0 < partitions);
                let pin = layout.rules().pins.iter().find(|(_, own)| own.contains(&home)).map(|(pin, _)| pin);
                prop_assert_eq!(pin, wanted.hints.pin.as_ref(), "in its pin's partitions, and only there");
            }
        }
        for apart in &layout.rules().apart {
            prop_assert!(apart.len() > 1 && apart.iter().all(|partition| partition.0 < partitions));
        }
    }
}
