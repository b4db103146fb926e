//! A server answers fib(n) to many clients at once: does a small answer wait for a large one?

use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use whimbrel_acl::{Aid, MessageBody, Performative, Value};
use whimbrel_runtime::behaviour::{Behaviour, Step};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::{Metrics, percentile};

/// What to run.
pub struct Params {
    /// Who ask.
    pub clients: usize,
    /// How often each asks, one question after the other's answer.
    pub requests: usize,
    /// The largest number asked for.
    pub max_n: u64,
    /// Threads that give turns.
    pub threads: usize,
}

struct Server;

impl Agent for Server {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let Value::Int(n) = message.content else { return };
        let mut fibonacci = Fibonacci { open: vec![n as u32], sum: 0, question: Some(message) };
        if fibonacci.action(ctx) != Step::Done {
            ctx.add_behaviour(fibonacci);
        }
    }
}

/// fib(n) by the naive recursion, a piece at a time.
struct Fibonacci {
    open: Vec<u32>,
    sum: i64,
    question: Option<MessageBody>,
}

/// Calls of fib in a step: about ten microseconds.
const CALLS_PER_STEP: u32 = 4_000;

impl Behaviour for Fibonacci {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        for _ in 0..CALLS_PER_STEP {
            match self.open.pop() {
                Some(n) if n < 2 => self.sum += i64::from(n),
                Some(n) => self.open.extend([n - 1, n - 2]),
                None => {
                    if let Some(question) = self.question.take() {
                        ctx.reply(&question, Performative::Inform, self.sum);
                    }
                    return Step::Done;
                }
            }
        }
        Step::Again
    }
}

struct Sample {
    n: u64,
    us: f64,
}

struct Client {
    left: usize,
    max_n: u64,
    x: u64,
    asked: Option<(u64, Instant)>,
    report: Sender<Sample>,
}

const MODULUS: u64 = 2_147_483_647;

fn step(x: u64) -> u64 {
    x * 16807 % MODULUS
}

impl Client {
    fn ask(&mut self, ctx: &mut Context<'_, '_>) {
        if self.left == 0 {
            return ctx.end();
        }
        self.left -= 1;
        let n = 1 + self.x % self.max_n;
        self.x = step(self.x);
        self.asked = Some((n, Instant::now()));
        ctx.tell(Aid::local("server"), Performative::Request, n as i64);
    }
}

impl Agent for Client {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        self.ask(ctx);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, _answer: MessageBody) {
        if let Some((n, asked)) = self.asked.take() {
            let _ = self.report.send(Sample { n, us: asked.elapsed().as_nanos() as f64 / 1000.0 });
        }
        self.ask(ctx);
    }
}

/// Runs it once.
pub fn run(params: Params) -> Metrics {
    let Params { clients, requests, max_n, threads } = params;
    let platform = Platform::builder().workers(threads).build();
    let (report, reports) = channel();
    let start = Instant::now();
    platform.spawn("server", Server).unwrap();
    let client = |i| {
        let x = step((i as u64 + 1) * 48271 % MODULUS);
        Client { left: requests, max_n, x, asked: None, report: report.clone() }
    };
    platform.spawn_population("client", clients, client).unwrap();
    let samples: Vec<Sample> = reports.iter().take(clients * requests).collect();
    let seconds = start.elapsed().as_secs_f64();
    let of = |wanted: &dyn Fn(u64) -> bool| -> Vec<f64> {
        samples.iter().filter(|sample| wanted(sample.n)).map(|sample| sample.us).collect()
    };
    let (mut small, mut large) = (of(&|n| n <= 10), of(&|n| n >= 25));
    vec![
        ("small_p50_us", percentile(50.0, &mut small)),
        ("small_p99_us", percentile(99.0, &mut small)),
        ("small_max_us", percentile(100.0, &mut small)),
        ("large_p50_us", percentile(50.0, &mut large)),
        ("seconds", seconds),
    ]
}
