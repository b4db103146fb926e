//! A society whose environment is written in Rust: `cargo run --release --example lamp`.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use whimbrel::environment::{Class, ClassArg, Environment, Environments};
use whimbrel::prelude::*;

/// Lamp that lasts for so many presses.
struct Lamp {
    on: bool,
    presses_left: u32,
}

impl Lamp {
    /// Makes the lamp of a project: `environment: lab.Lamp(3)`.
    fn new(class: &Class) -> Result<Self, String> {
        match class.args.as_slice() {
            [ClassArg::Num(presses)] => Ok(Self { on: false, presses_left: *presses as u32 }),
            _ => Err("lab.Lamp wants a number of presses".to_owned()),
        }
    }
}

impl Environment for Lamp {
    fn act(&mut self, _agent: Aid, action: &Value) -> Result<(), Value> {
        match action.functor().map(|name| name.as_str()) {
            Some("press") if self.presses_left > 0 => {
                self.presses_left -= 1;
                self.on = !self.on;
                Ok(())
            }
            // The agent's `press` fails, and this is its failure_reason.
            Some("press") => Err(Value::atom("broken")),
            _ => Err(Value::atom("no_such_action")),
        }
    }

    fn percepts(&mut self, _agent: Aid) -> Vec<Value> {
        if self.on { vec![Value::atom("light")] } else { Vec::new() }
    }
}

/// Runs a project until it ends. Returns its exit code.
fn run(project: &Path) -> Result<i32, Box<dyn Error>> {
    let environments = Environments::new().with("lab.Lamp", Lamp::new);
    let society = Society::open_with(project, &environments)?;
    let platform = Platform::builder().loader(society.loader()).build();
    society.start(&platform)?;
    Ok(platform.run_until_stopped())
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let code = run("examples/lamp/lamp.mas2j".as_ref())?;
    Ok(ExitCode::from(u8::try_from(code)?))
}
