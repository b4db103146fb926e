//! Roll of devices, for an operator's console.

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text};
use whimbrel_platform::devices::{Device, Fleet};

use crate::sync::{Arc, Mutex, locked};

/// Devices that take part, shared by the agent `devices` and by observers.
#[derive(Clone, Default)]
pub struct Roll(pub(super) Arc<Mutex<Enrolled>>);

/// Accounts of the devices.
#[derive(Default)]
pub(super) struct Enrolled {
    pub fleet: Fleet,
    pub told: FxHashMap<Symbol, DeviceDetails>,
}

/// Reported properties of a device beside its speed and condition.
#[derive(Default)]
pub(super) struct DeviceDetails {
    /// Kinds of work that the device accepts.
    pub kinds: Vec<Text>,
    /// Agents that run on the device, by its own report.
    pub agents: Vec<Symbol>,
}

impl Enrolled {
    pub fn kinds(&self, device: Symbol) -> &[Text] {
        self.told.get(&device).map(|told| told.kinds.as_slice()).unwrap_or_default()
    }
}

/// Snapshot of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSeen {
    /// Description that the device gave of itself.
    pub device: Device,
    /// Number of parts in progress on the device.
    pub taken: u32,
    /// True if the device gets no more work because of its earlier results.
    pub is_shunned: bool,
    /// Kinds of work that the device accepts.
    pub kinds: Vec<Text>,
    /// Agents that run on the device, by its own report.
    pub agents: Vec<Symbol>,
}

impl Roll {
    /// Returns the first devices by name, `most` at most, and the number of all.
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

    /// Returns the device of each agent that some device reports to run.
    pub fn places(&self) -> FxHashMap<Symbol, Symbol> {
        let enrolled = locked(&self.0);
        let all = enrolled.told.iter();
        all.flat_map(|(device, told)| told.agents.iter().map(|agent| (*agent, *device))).collect()
    }
}
