//! The devices as those see them who look: an operator's console.

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text};
use whimbrel_platform::devices::{Device, Fleet};

use crate::sync::{Arc, Mutex, locked};

/// Who takes part, shared by the agent `devices` and those who look.
#[derive(Clone, Default)]
pub struct Roll(pub(super) Arc<Mutex<Enrolled>>);

/// The books.
#[derive(Default)]
pub(super) struct Enrolled {
    pub fleet: Fleet,
    pub told: FxHashMap<Symbol, Told>,
}

/// What a device told beside what it can do.
#[derive(Default)]
pub(super) struct Told {
    /// What it can be asked to do.
    pub kinds: Vec<Text>,
    /// The agents that run there, as far as it says.
    pub agents: Vec<Symbol>,
}

impl Enrolled {
    pub fn kinds(&self, device: Symbol) -> &[Text] {
        self.told.get(&device).map(|told| told.kinds.as_slice()).unwrap_or_default()
    }
}

/// A device as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSeen {
    /// What it said of itself.
    pub device: Device,
    /// How much it is doing.
    pub taken: u32,
    /// Whether it is given nothing any more, for what it did so far.
    pub is_shunned: bool,
    /// What it can be asked to do.
    pub kinds: Vec<Text>,
    /// The agents that run there, as it says.
    pub agents: Vec<Symbol>,
}

impl Roll {
    /// The first so many devices by name, and how many there are.
    pub fn devices(&self, most: usize) -> (Vec<DeviceSeen>, usize) {
        let enrolled = locked(&self.0);
        let Enrolled { fleet, told } = &*enrolled;
        let mut all: Vec<&Device> = fleet.devices().collect();
        all.sort_unstable_by_key(|device| device.agent.as_str());
        let seen = |device: &Device| {
            let said = told.get(&device.agent);
            DeviceSeen {
                device: *device,
                taken: fleet.taken(device.agent),
                is_shunned: fleet.is_shunned(device.agent),
                kinds: said.map(|said| said.kinds.clone()).unwrap_or_default(),
                agents: said.map(|said| said.agents.clone()).unwrap_or_default(),
            }
        };
        (all.iter().take(most).copied().map(seen).collect(), all.len())
    }

    /// Which device says of which agent that it runs there.
    pub fn places(&self) -> FxHashMap<Symbol, Symbol> {
        let enrolled = locked(&self.0);
        let all = enrolled.told.iter();
        all.flat_map(|(device, told)| told.agents.iter().map(|agent| (*agent, *device))).collect()
    }
}
