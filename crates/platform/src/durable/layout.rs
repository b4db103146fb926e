//! Layout of a society: the partition of each agent, by its name and its project's hints.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Name, Symbol};

use super::partition_of;
use crate::store::Partition;

/// Share of all partitions, as a divisor, that agents with one label have for themselves (at least one partition). As
/// many nodes can share them.
pub const LABEL_SHARE: u16 = 8;
/// Largest share of all partitions, as a divisor, for agents that only some nodes may run.
pub const PINNED_SHARE: u16 = 2;

/// Placement hints for agents, from a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Group of agents that run on one node together, whichever node that is.
    pub together: Option<String>,
    /// Group of agents that run on different nodes, as far as there are enough nodes.
    pub apart: Option<String>,
    /// Nodes that may run the agents, if not all may.
    pub pin: Option<Pin>,
}

/// Nodes that may run an agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pin {
    /// Node of this name.
    Node(String),
    /// Nodes with this label.
    Label(String),
}

impl std::fmt::Display for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Node(name) => write!(f, "a node called {name}"),
            Self::Label(label) => write!(f, "a node with the label {label}"),
        }
    }
}

/// Agents with placement hints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hinted {
    /// Name of the agents in the project, for people.
    pub what: String,
    /// Names of the agents.
    pub names: Vec<Symbol>,
    /// Placement hints for the agents.
    pub hints: Hints,
}

/// Placement rules of partitions: the nodes that may own them. Partitions without a rule may be owned by any node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Partitions that only some nodes may own.
    pub pins: BTreeMap<Pin, Vec<Partition>>,
    /// Groups of partitions of which no node should own two, as far as there are enough nodes.
    pub apart: Vec<BTreeSet<Partition>>,
}

impl Rules {
    /// Returns true if a partition is in a group that is kept apart.
    pub fn is_apart(&self, partition: Partition) -> bool {
        self.apart.iter().any(|apart| apart.contains(&partition))
    }

    /// Returns true if a node that `has` some partitions has another one of a group that this one is kept apart from.
    pub fn crowds(&self, partition: Partition, has: impl Fn(Partition) -> bool) -> bool {
        let groups = self.apart.iter().filter(|apart| apart.contains(&partition));
        groups.flatten().any(|other| *other != partition && has(*other))
    }
}

/// Layout of a society: the partition of each agent. All nodes of a society must have the same layout for ever, because
/// a store's agents are found by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    partitions: u16,
    /// Number of the first partition that is reserved for pinned agents; those below it are for all others.
    free: u16,
    homes: FxHashMap<Name, Partition>,
    rules: Rules,
    text: String,
}

/// Error: agents that only some nodes may run need more partitions than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "agents that only some nodes may run need {wanted} partitions for themselves, and of the store's {partitions} they can have \
     half: make it with more (?partitions={} at the end of its address)", .wanted * PINNED_SHARE
)]
pub struct TooFewPartitions {
    /// Number of partitions that these agents need.
    pub wanted: u16,
    /// Number of partitions of the store.
    pub partitions: u16,
}

impl From<u16> for Layout {
    /// Returns the layout of this number of partitions, without hints.
    fn from(partitions: u16) -> Self {
        let (homes, rules) = Default::default();
        Self { partitions, free: partitions, homes, rules, text: String::new() }
    }
}

impl Layout {
    /// Returns the layout of this number of partitions, with hints. Agents of one `together` group share one partition.
    /// Agents of an `apart` group are dealt to different partitions, and a rule keeps those apart. Pinned agents have
    /// partitions for themselves.
    ///
    /// # Errors
    /// There are too few partitions.
    pub fn plan(partitions: u16, hinted: &[Hinted]) -> Result<Self, TooFewPartitions> {
        let mut layout = Self::from(partitions);
        let pins: BTreeSet<&Pin> = hinted.iter().filter_map(|hinted| hinted.hints.pin.as_ref()).collect();
        let own = |pin: &Pin| match pin {
            Pin::Node(_) => 1,
            Pin::Label(_) => (partitions / LABEL_SHARE).max(1),
        };
        let wanted = pins.iter().fold(0_u16, |sum, pin| sum.saturating_add(own(pin)));
        if wanted > partitions / PINNED_SHARE {
            return Err(TooFewPartitions { wanted, partitions });
        }
        layout.free = partitions - wanted;
        let mut next = layout.free;
        for pin in pins {
            layout.rules.pins.insert(pin.clone(), (next..next + own(pin)).map(Partition).collect());
            next += own(pin);
        }
        let mut apart: BTreeMap<&str, BTreeSet<Partition>> = BTreeMap::new();
        let mut placed: BTreeMap<(&str, u16), u16> = BTreeMap::new();
        for Hinted { names, hints, .. } in hinted {
            let domain = layout.domain(hints.pin.as_ref());
            for name in names {
                let home = match (&hints.together, &hints.apart) {
                    (Some(group), _) => within(&domain, partition_of(Symbol::new(group), domain.1).0),
                    (None, Some(group)) => {
                        let index = placed.entry((group, domain.0)).or_default();
                        let at = partition_of(Symbol::new(group), domain.1).0.wrapping_add(*index);
                        *index = index.wrapping_add(1) % domain.1;
                        let home = within(&domain, at);
                        apart.entry(group).or_default().insert(home);
                        home
                    }
                    (None, None) if hints.pin.is_some() => within(&domain, partition_of(*name, domain.1).0),
                    (None, None) => continue,
                };
                layout.homes.insert(Name::from(*name), home);
            }
        }
        layout.rules.apart = apart.into_values().filter(|partitions| partitions.len() > 1).collect();
        layout.text = described(hinted);
        Ok(layout)
    }

    /// Returns the first partition and the number of partitions that agents with this pin may be in.
    fn domain(&self, pin: Option<&Pin>) -> (u16, u16) {
        let own = pin.and_then(|pin| self.rules.pins.get(pin));
        own.and_then(|own| Some((own.first()?.0, own.len() as u16))).unwrap_or((0, self.free))
    }

    /// Returns the number of partitions.
    pub fn partitions(&self) -> u16 {
        self.partitions
    }

    /// Returns the partition of an agent.
    pub fn partition_of(&self, agent: impl Into<Name>) -> Partition {
        let agent = agent.into();
        self.homes.get(&agent).copied().unwrap_or_else(|| partition_of(agent, self.free))
    }

    /// Returns the placement rules of the partitions.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns all hints in words. Two layouts with the same number of partitions are equal if their texts are.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn within((first, count): &(u16, u16), at: u16) -> Partition {
    Partition(first + at % (*count).max(1))
}

fn described(hinted: &[Hinted]) -> String {
    let mut text = String::new();
    for Hinted { what, hints: Hints { together, apart, pin }, .. } in hinted {
        let wants = [
            together.as_ref().map(|group| format!("together {group}")),
            apart.as_ref().map(|group| format!("apart {group}")),
            pin.as_ref().map(|pin| format!("on {pin}")),
        ];
        let wants: Vec<String> = wants.into_iter().flatten().collect();
        if !wants.is_empty() {
            let comma = if text.is_empty() { "" } else { "; " };
            let _ = write!(text, "{comma}{what} {}", wants.join(", "));
        }
    }
    text
}
