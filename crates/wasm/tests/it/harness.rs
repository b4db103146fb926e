use std::sync::Arc;

use whimbrel_testkit::{Probe, Simulation};
use whimbrel_wasm::{AdmissionError, Host, HostOptions, Module, WasmAgent};

/// Returns a module with the parts that every guest has: a memory, an inbox, the version. `body` adds to them, or
/// replaces one by its `$name`.
pub fn guest(body: &str) -> String {
    format!(
        r#"(module
  (import "whim" "send" (func $send (param i32 i32) (result i32)))
  (import "whim" "timer" (func $timer (param i64 i64) (result i32)))
  (import "whim" "take" (func $take (param i32 i32) (result i32)))
  (import "whim" "now" (func $now (result i64)))
  (import "whim" "print" (func $print (param i32 i32)))
  (import "whim" "stop" (func $stop))
  (import "whim" "name" (func $name (param i32 i32) (result i32)))
  (import "whim" "search" (func $search (param i32 i32 i32 i32) (result i32)))
  (import "whim" "register" (func $register (param i32 i32 i32 i32) (result i32)))
  (import "whim" "deregister" (func $deregister (param i32 i32 i32 i32) (result i32)))
  (import "whim" "storage_get" (func $storage_get (param i32 i32) (result i32)))
  (import "whim" "storage_put" (func $storage_put (param i32 i32 i32 i32) (result i32)))
  (import "whim" "storage_delete" (func $storage_delete (param i32 i32) (result i32)))
  (import "whim" "storage_list" (func $storage_list (param i32 i32 i32 i32) (result i32)))
  (import "whim" "read" (func $read (param i32 i32) (result i32)))
  (import "whim" "depart" (func $depart (param i32 i32) (result i32)))
  (import "whim" "recalled" (func $recalled (result i32)))
  (import "whim" "timer_left" (func $timer_left (param i64) (result i64)))
  (import "whim" "set_lifetime" (func $set_lifetime (param i64) (result i32)))
  (import "whim" "life" (func $life (result i64)))
  (import "whim" "on_failure" (func $on_failure (param i32 i32) (result i32)))
  (import "whim" "receive" (func $receive (param i32 i32 i64) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "\07\02\05\00\00\00probe\03\09\00\00\00\03")
  (func (export "whim_abi") (result i32) (i32.const 1))
  (func (export "whim_inbox") (param i32) (result i32) (i32.const 4096))
  ;; Tells the agent `probe` a number.
  (func $tell (param i64)
    (i64.store (i32.const 1041) (local.get 0))
    (drop (call $send (i32.const 1024) (i32.const 25))))
  ;; Nobody suspends: it is only prepared for it.
  (global $state (mut i32) (i32.const 0))
  (global $unwound (mut i32) (i32.const 0))
  (func (export "asyncify_start_unwind") (param i32) (global.set $unwound (local.get 0)) (global.set $state (i32.const 1)))
  (func (export "asyncify_stop_unwind") (global.set $state (i32.const 0)))
  (func (export "asyncify_start_rewind") (param i32) (global.set $state (i32.const 2)))
  (func (export "asyncify_stop_rewind") (global.set $state (i32.const 0)))
  {body})"#
    )
}

pub fn host() -> Arc<Host> {
    host_of(64)
}

pub fn host_of(slots: u32) -> Arc<Host> {
    Host::new(HostOptions { slots: Some(slots), ..HostOptions::default() }).unwrap()
}

pub fn compile(host: &Arc<Host>, text: &str) -> Result<Arc<Module>, AdmissionError> {
    host.module(&wat::parse_str(text).unwrap())
}

pub fn agent(host: &Arc<Host>, body: &str) -> Box<WasmAgent> {
    Box::new(WasmAgent::new(compile(host, &guest(body)).unwrap(), "guest.wasm".into(), Vec::new()))
}

/// Returns the lines that `probe` got from an agent `guest` of this body, which was sent `count` messages.
pub fn told(body: &str, messages: i64) -> Vec<String> {
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), body));
    (1..=messages).for_each(|n| sim.tell("guest", n));
    sim.run_until_idle();
    probe.take_lines()
}

/// A world with an agent `probe`.
pub fn world() -> (Simulation, Probe) {
    let (mut sim, probe) = (Simulation::new(1), Probe::new());
    sim.spawn("probe", probe.body());
    (sim, probe)
}
