//! Mobility benchmarks: the time of a hop; and for WebAssembly agents the time to reach one, to hold many, and to wake
//! one that is stored as bytes.

mod arguments;
mod delivery;
mod density;
mod hops;
mod retrieval;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use whimbrel::runtime::{Agent, Context, Platform};
use whimbrel::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::AgentBody;
use whimbrel_platform::ams::AgentKind;
use whimbrel_wasm::{Host, HostOptions, Module, WasmAgent};

pub use hops::{second, security};
pub use retrieval::System;

pub use self::arguments::{MobilityArguments, MobilityPart};
use super::Metrics;

/// Longest time for anything.
const PATIENCE: Duration = Duration::from_secs(600);

/// Measures a part; nothing is left to tell of the retrieval task and the advisor, which tell of each of their cells.
pub fn run(what: &MobilityArguments) -> anyhow::Result<Option<Metrics>> {
    match what.part {
        MobilityPart::Delivery => delivery::run(what).map(Some),
        MobilityPart::Density => density::run(what).map(Some),
        MobilityPart::Hops => hops::run(what).map(Some),
        MobilityPart::Retrieval => retrieval::run(&what.retrieval, what.json).map(|()| None),
        MobilityPart::Advisor => retrieval::advisor::run(&what.retrieval, what.json).map(|()| None),
    }
}

/// Returns the module that the agents are of, and what runs it.
fn module(file: &Path, slots: Option<u32>) -> anyhow::Result<Arc<Module>> {
    let bytes = std::fs::read(file);
    let bytes = bytes.with_context(|| format!("cannot read {}: `make guests` builds it", file.display()))?;
    let host = Host::new(HostOptions { slots, ..HostOptions::default() })?;
    Ok(host.module(&bytes)?)
}

/// Agents of a module, `guest1` to `guestN`.
fn spawn(platform: &Platform, module: &Arc<Module>, count: u64) -> anyhow::Result<Vec<Aid>> {
    let agent = |number: u64| {
        let name = format!("guest{number}").as_str().into();
        let body: Box<dyn AgentBody> = Box::new(WasmAgent::new(Arc::clone(module), "guest.wasm".into(), Vec::new()));
        (name, AgentKind::Wasm, body)
    };
    Ok(platform.spawn_together((1..=count).map(agent))?)
}

/// Sends numbers to agents in turns, some each turn, and then asks one of them how many it had.
struct NumberSender {
    to: Vec<Aid>,
    left: u64,
    next: usize,
    answer: Sender<i64>,
}

/// Messages that the driver sends in one turn.
const BURST: u64 = 64;

impl Agent for NumberSender {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        self.go_on(ctx);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        match message.content {
            Value::Int(count) if message.sender != ctx.aid() => drop(self.answer.send(count)),
            _ => self.go_on(ctx),
        }
    }
}

impl NumberSender {
    fn go_on(&mut self, ctx: &mut Context<'_, '_>) {
        let me = ctx.aid();
        for _ in 0..BURST.min(self.left) {
            if let Some(to) = self.to.get(self.next) {
                ctx.send(AclMessage::new(Performative::Inform, me, *to, Value::Int(self.left as i64)));
            }
            self.next = (self.next + 1) % self.to.len();
            self.left -= 1;
        }
        if self.left > 0 {
            ctx.send(AclMessage::new(Performative::Inform, me, me, Value::Null));
        } else if let Some(to) = self.to.first() {
            ctx.send(AclMessage::new(Performative::QueryRef, me, *to, Value::Null));
        }
    }
}

/// Returns the seconds until this many messages, sent to these agents in turns, were handled.
fn drive(platform: &Platform, to: &[Aid], messages: u64) -> anyhow::Result<f64> {
    let (answer, answered): (Sender<i64>, Receiver<i64>) = channel();
    let began = Instant::now();
    let name = format!("driver{}", platform.counters().sent);
    let driver = NumberSender { to: to.to_vec(), left: messages, next: 0, answer };
    platform.spawn(name.as_str(), driver)?;
    let count = answered.recv_timeout(PATIENCE).context("no answer came")?;
    platform.wait_idle();
    let seconds = began.elapsed().as_secs_f64();
    ensure!(count > 0, "the agents handled nothing");
    Ok(seconds)
}
