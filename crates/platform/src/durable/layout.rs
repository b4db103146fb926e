//! Which partition each agent belongs to: by its name, and by what its project wants of where it lives.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Name, Symbol};

use super::partition_of;
use crate::store::Partition;

/// Of all partitions, agents with one label have this part (and at least one) for themselves: as many nodes can share them.
pub const LABEL_SHARE: u16 = 8;
/// Of all partitions, this part at most is for agents that only some nodes may run.
pub const PINNED_SHARE: u16 = 2;

/// What a project wants of where agents live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// On one node with all others of this group, whichever that is.
    pub together: Option<String>,
    /// On other nodes than others of this group, as far as there are nodes.
    pub apart: Option<String>,
    /// Where they may run at all, if not everywhere.
    pub pin: Option<Pin>,
}

/// Nodes that may run an agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pin {
    /// The one of this name.
    Node(String),
    /// Those with this label.
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

/// Agents and what is wanted of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hinted {
    /// What the project calls them, for people.
    pub what: String,
    /// Their names.
    pub names: Vec<Symbol>,
    /// What is wanted.
    pub hints: Hints,
}

/// Which nodes may have which partitions. All others may be anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Partitions that only some nodes may have.
    pub pins: BTreeMap<Pin, Vec<Partition>>,
    /// Partitions of which no node is to have two, as far as there are nodes.
    pub apart: Vec<BTreeSet<Partition>>,
}

impl Rules {
    /// Whether a partition is one of those that are kept apart.
    pub fn is_apart(&self, partition: Partition) -> bool {
        self.apart.iter().any(|apart| apart.contains(&partition))
    }

    /// Whether somebody who `has` some partitions has one that this one is to be kept apart from.
    pub fn crowds(&self, partition: Partition, has: impl Fn(Partition) -> bool) -> bool {
        let groups = self.apart.iter().filter(|apart| apart.contains(&partition));
        groups.flatten().any(|other| *other != partition && has(*other))
    }
}

/// Which partition each agent belongs to. All nodes of a society must have the same, for ever: it decides where a store's agents
/// are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    partitions: u16,
    /// The partitions below this one are for agents that may run anywhere.
    free: u16,
    homes: FxHashMap<Name, Partition>,
    rules: Rules,
    text: String,
}

/// Agents that only some nodes may run want more partitions than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "agents that only some nodes may run need {wanted} partitions for themselves, and of the store's {partitions} they can have \
     half: make it with more (?partitions={} at the end of its address)", .wanted * PINNED_SHARE
)]
pub struct TooFewPartitions {
    /// How many they need.
    pub wanted: u16,
    /// How many the store has.
    pub partitions: u16,
}

impl From<u16> for Layout {
    /// Of so many partitions, without hints.
    fn from(partitions: u16) -> Self {
        let (homes, rules) = Default::default();
        Self { partitions, free: partitions, homes, rules, text: String::new() }
    }
}

impl Layout {
    /// Of so many partitions, with hints. Agents of one `together` group are in one partition. Those of an `apart` group are in
    /// different ones, in turns, for which a rule is made. Who is pinned is in partitions that nobody else is in.
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

    /// First partition and number of those that agents with this pin may be in.
    fn domain(&self, pin: Option<&Pin>) -> (u16, u16) {
        let own = pin.and_then(|pin| self.rules.pins.get(pin));
        own.and_then(|own| Some((own.first()?.0, own.len() as u16))).unwrap_or((0, self.free))
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> u16 {
        self.partitions
    }

    /// The partition that an agent belongs to.
    pub fn partition_of(&self, agent: impl Into<Name>) -> Partition {
        let agent = agent.into();
        self.homes.get(&agent).copied().unwrap_or_else(|| partition_of(agent, self.free))
    }

    /// Which nodes may have which partitions.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// All that is wanted, in words: two layouts of as many partitions are the same if this is.
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
