//! Devices: tabs, phones, machines that take part for a while.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The devices that take part, as many as were wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DevicesFound {
    /// The devices, by name.
    pub devices: Vec<DeviceInfo>,
    /// How many there are.
    pub total: u64,
}

/// A device that takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceInfo {
    /// The agent that speaks for it; agents go there by this name.
    pub name: String,
    /// The node that it is connected to; empty if that is not known.
    pub node: String,
    /// What it can do, in compute units, as it measured.
    pub units: u32,
    /// What is counted on now: less if nobody sees its page, nothing if its battery is low.
    pub units_now: u32,
    /// The workers that its user allows.
    pub workers: u32,
    /// How many parts of work it is doing.
    pub taken: u32,
    /// Whether somebody can see its page.
    pub visible: bool,
    /// Its battery, if it has one and tells.
    pub battery: Option<BatteryInfo>,
    /// What it can be asked to do.
    pub kinds: Vec<String>,
    /// How many agents run there.
    pub agents: u64,
    /// Whether it is given no work any more: it was wrong, or brought nothing back.
    pub shunned: bool,
}

/// A device's battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatteryInfo {
    /// How full it is, 0 to 100.
    pub percent: u8,
    /// Whether it is being charged.
    pub charging: bool,
}
