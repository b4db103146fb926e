//! Devices: browser tabs, phones and machines that take part for a while.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Devices that take part, up to the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DevicesFound {
    /// Devices, by name.
    pub devices: Vec<DeviceInfo>,
    /// Number of all devices.
    pub total: u64,
}

/// Facts about a device that takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceInfo {
    /// Name of the device: of the agent that speaks for it. Agents move to the device by this name.
    pub name: String,
    /// Node that the device is connected to; empty if unknown.
    pub node: String,
    /// Speed of the device in compute units, as it measured.
    pub units: u32,
    /// Speed that is counted on now: less while its page is hidden, none while its battery is low.
    pub units_now: u32,
    /// Number of workers that its user allows.
    pub workers: u32,
    /// Number of work parts in progress.
    pub taken: u32,
    /// True if its page is visible.
    pub visible: bool,
    /// Battery, if the device has one and reports it.
    pub battery: Option<BatteryInfo>,
    /// Kinds of work that the device accepts.
    pub kinds: Vec<String>,
    /// Number of agents on the device.
    pub agents: u64,
    /// True if the device gets no more work: it returned wrong results or none.
    pub shunned: bool,
}

/// Battery of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatteryInfo {
    /// Charge in percent, 0 to 100.
    pub percent: u8,
    /// True while the battery is being charged.
    pub charging: bool,
}
