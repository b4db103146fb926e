//! Passes messages to an agent of a WebAssembly module. Writes its messages and its state as lines of hexadecimal
//! digits, for the host in JavaScript, whose agents have the same states (sdk/typescript/test/guest-node.test.ts).
//!
//! usage: guest MODULE.wasm STATE|- FRAME...

use std::sync::Arc;

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::Time;
use whimbrel_platform::durable::State;
use whimbrel_testkit::{Probe, Simulation};
use whimbrel_wasm::frame::{read_message, write_message};
use whimbrel_wasm::{Host, HostOptions, WasmAgent};

fn bytes_of(hex: &str) -> Result<Vec<u8>, std::num::ParseIntError> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2).unwrap_or_default(), 16)).collect()
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which module?")?;
    let state = arguments.next().ok_or("which state?")?;
    let host = Host::new(HostOptions { slots: Some(4), ..HostOptions::default() })?;
    let module = host.module(&std::fs::read(path)?)?;
    let agent = match state.as_str() {
        "-" => WasmAgent::new(Arc::clone(&module), "guest.wasm".into(), Vec::new()),
        state => WasmAgent::restore(module, "guest.wasm".into(), &[State::Whole(bytes_of(state)?)], Time(0))?,
    };
    let (mut sim, probe) = (Simulation::new(1), Probe::new());
    sim.spawn("amy", probe.body());
    sim.spawn("guest", Box::new(agent));
    sim.run_until_idle();
    for frame in arguments {
        let mut message = read_message(&bytes_of(&frame)?, Aid::local("amy"))?;
        message.receivers = [Aid::local("guest")].into_iter().collect();
        sim.send(message);
        sim.run_until_idle();
    }
    for message in probe.take() {
        let mut frame = Vec::new();
        write_message(&message, Symbol::new("test"), &mut frame)?;
        println!("heard {}", hex_of(&frame));
    }
    let now = sim.now();
    let state = sim.body("guest").and_then(|body| body.snapshot(now)).ok_or("the agent failed")?;
    println!("state {}", hex_of(&state));
    Ok(())
}
