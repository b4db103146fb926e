//! Density benchmark: many agents on one node, some in memory, the others stored as bytes because memory is full.

use std::time::Instant;

use anyhow::Context as _;
use whimbrel::runtime::Platform;

use super::arguments::MobilityArguments;
use super::{Metrics, drive, module, spawn};
use crate::resident_bytes;

pub fn run(what: &MobilityArguments) -> anyhow::Result<Metrics> {
    let told = || resident_bytes().context("this system does not tell how much memory a process has");
    let module = module(&what.module, what.slots)?;
    let platform = Platform::builder().workers(1).build();
    platform.wait_idle();
    let before = told()?;
    let began = Instant::now();
    let agents = spawn(&platform, &module, what.agents)?;
    platform.wait_idle();
    let spawned = began.elapsed().as_secs_f64();
    let first = drive(&platform, &agents, what.agents)?;
    let bytes = told()? - before;
    // The order differs from that of arrival, so that no agent is in memory when it is woken. The stride is prime to
    // any count below.
    let strides = agents.iter().cycle().step_by(STRIDE).take(what.asked as usize).copied();
    let woken: Vec<_> = strides.collect();
    let again = drive(&platform, &woken, what.asked)?;
    let after = told()? - before;
    let live = f64::from(module.host().live());
    platform.stop();
    let count = what.agents as f64;
    Ok(vec![
        ("spawn_us", Some(spawned * 1e6 / count)),
        ("first_message_us", Some(first * 1e6 / count)),
        ("resident_bytes_per_agent", Some(bytes / count)),
        ("resident_mib", Some(after / 1048576.0)),
        ("slots", Some(f64::from(module.host().slots()))),
        ("in_memory", Some(live)),
        ("message_in_any_order_us", Some(again * 1e6 / what.asked as f64)),
    ])
}

const STRIDE: usize = 7_919;
