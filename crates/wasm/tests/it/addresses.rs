//! Hosts in processes with few addresses.
#![cfg(target_os = "linux")]

use std::process::Command;

use whimbrel_wasm::{Host, HostOptions};

/// Runs the test below in a process that may have this many KiB of addresses.
fn with_addresses(kib: u64) {
    let this = std::env::current_exe().unwrap();
    let script = format!("ulimit -v {kib} && exec \"$0\" --ignored --exact addresses::host_runs_with_few_addresses");
    let child = Command::new("sh").arg("-c").arg(script).arg(this).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&child.stderr));
}

#[test]
fn few_addresses_reduce_the_slots() {
    with_addresses(60_000_000);
}

#[test]
#[ignore = "run by the test above, with few addresses"]
fn host_runs_with_few_addresses() {
    let host = Host::new(HostOptions { slots: Some(12_000), ..HostOptions::default() }).unwrap();
    assert_eq!(host.slots_wanted_in_vain(), Some(12_000));
    assert!((16..1_000).contains(&host.slots()), "{}", host.slots());
    let module = wat::parse_str(crate::harness::guest(crate::agents::COUNTER)).unwrap();
    host.module(&module).unwrap();
}
