//! Creatures of three colours meet in pairs through a broker; both leave with the complement colour.

use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::Metrics;

/// What to run.
pub struct Params {
    /// How many there are.
    pub creatures: usize,
    /// How often two meet.
    pub meetings: u64,
    /// Threads that give turns.
    pub threads: usize,
}

/// 0, 1 or 2: the three add up to 3, so two different ones leave the third.
fn complement(a: i64, b: i64) -> i64 {
    if a == b { a } else { 3 - a - b }
}

struct Broker {
    left: u64,
    waiting: Option<Box<AclMessage>>,
}

impl Agent for Broker {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let mut second = message.into_message();
        if self.left == 0 {
            second.performative = Performative::Cancel;
            answer(ctx, second);
            return;
        }
        let Some(mut first) = self.waiting.take() else {
            self.waiting = Some(second);
            return;
        };
        self.left -= 1;
        std::mem::swap(&mut first.content, &mut second.content);
        answer(ctx, first);
        answer(ctx, second);
    }
}

/// Sends a message back to where it came from.
fn answer(ctx: &mut Context<'_, '_>, mut message: Box<AclMessage>) {
    message.receivers[0] = message.sender;
    ctx.send(message);
}

struct Creature {
    colour: i64,
    met: u64,
    report: Sender<u64>,
}

impl Agent for Creature {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.tell(Aid::local("broker"), Performative::Request, self.colour);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let mut message = message.into_message();
        let Value::Int(other) = message.content else { return };
        if message.performative == Performative::Cancel {
            let _ = self.report.send(self.met);
            return;
        }
        self.met += 1;
        self.colour = complement(self.colour, other);
        message.content = Value::Int(self.colour);
        answer(ctx, message);
    }
}

/// Runs it once.
pub fn run(params: Params) -> Metrics {
    let Params { creatures, meetings, threads } = params;
    let platform = Platform::builder().workers(threads).build();
    let (report, reports) = channel();
    let start = Instant::now();
    platform.spawn("broker", Broker { left: meetings, waiting: None }).unwrap();
    let creature = |i| Creature { colour: i as i64 % 3, met: 0, report: report.clone() };
    platform.spawn_population("creature", creatures, creature).unwrap();
    let counts: Vec<f64> = (0..creatures).map(|_| reports.recv().expect("a creature reports") as f64).collect();
    let seconds = start.elapsed().as_secs_f64();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64;
    vec![("seconds", seconds), ("meetings_sd", variance.sqrt())]
}
