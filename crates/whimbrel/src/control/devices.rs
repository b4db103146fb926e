//! Devices, as the agent that shares out work among them knows them.

use whimbrel_operator::{BatteryInfo, DeviceInfo, DevicesFound};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::devices::Device;
use whimbrel_runtime::DeviceSeen;

use super::operator_service::OperatorService;

/// Returns the first `limit` devices by name.
pub fn look(service: &OperatorService, limit: usize) -> DevicesFound {
    let (devices, total) = service.roll.devices(limit);
    DevicesFound { devices: devices.iter().map(|seen| describe(service, seen)).collect(), total: total as u64 }
}

fn describe(service: &OperatorService, seen: &DeviceSeen) -> DeviceInfo {
    let DeviceSeen { device: Device { agent, units, condition, .. }, taken, is_shunned, kinds, agents } = seen;
    // It may say what it likes: only agents that are outside of nodes can be there.
    let is_outside = |kind| kind == AgentKind::Session;
    let directory = service.directory();
    let known = directory.and_then(|directory| {
        directory.with_ams(|ams| {
            let there = |name| ams.kind_anywhere(whimbrel_acl::Aid::local(name)).is_some_and(is_outside);
            agents.iter().filter(|name| there(**name)).count()
        })
    });
    DeviceInfo {
        name: agent.to_string(),
        node: service.elsewhere(agent.as_str()).unwrap_or_else(|| service.node().to_owned()),
        units: *units,
        units_now: condition.units_of(*units),
        workers: condition.places(),
        taken: *taken,
        visible: condition.visible,
        battery: condition.battery.map(|battery| BatteryInfo { percent: battery.percent, charging: battery.charging }),
        kinds: kinds.iter().map(ToString::to_string).collect(),
        agents: known.unwrap_or_default() as u64,
        shunned: *is_shunned,
    }
}
