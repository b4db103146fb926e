//! Messages to an agent in memory, through the scheduler: a WebAssembly agent's, and for comparison one's in Rust.

use whimbrel::runtime::{Agent, Context, Platform};
use whimbrel::{MessageBody, Performative, Value};

use super::arguments::MobilityArguments;
use super::{Metrics, drive, module, spawn};

/// Rounds of each measurement; the median counts.
const ROUNDS: usize = 5;
/// Agents that get messages in turns, so that no cache is warm because of the one before.
const MANY: u64 = 1_000;

/// Equivalent of the module, in Rust.
struct NativeCounter {
    seen: i64,
}

impl Agent for NativeCounter {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if message.performative == Performative::QueryRef {
            let answer = message.make_reply(ctx.aid(), Performative::Inform).with_content(Value::Int(self.seen));
            return ctx.send(answer);
        }
        self.seen += 1;
    }
}

pub fn run(what: &MobilityArguments) -> anyhow::Result<Metrics> {
    let module = module(&what.module, None)?;
    let platform = Platform::builder().workers(1).build();
    let one = spawn(&platform, &module, MANY)?;
    let native = platform.spawn_population("native", 1, |_| NativeCounter { seen: 0 })?;
    platform.wait_idle();
    let (mut guest, mut many, mut rust) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let ns = |seconds: f64| seconds * 1e9 / what.messages as f64;
        rust.push(ns(drive(&platform, &native, what.messages)?));
        guest.push(ns(drive(&platform, one.get(..1).unwrap_or_default(), what.messages)?));
        many.push(ns(drive(&platform, &one, what.messages)?));
    }
    platform.stop();
    let median = |mut samples: Vec<f64>| super::super::percentile(50.0, &mut samples);
    let (guest, rust, many) = (median(guest), median(rust), median(many));
    let more = guest.zip(rust).map(|(guest, rust)| guest - rust);
    Ok(vec![
        ("message_ns", guest),
        ("message_rust_ns", rust),
        ("message_more_than_rust_ns", more),
        ("message_to_1000_in_turns_ns", many),
    ])
}
