//! A server answers fib(n) to many clients at once. It computes each request a slice at a time, by turns, so that small
//! ones do not wait behind large ones.

use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::services::{AgentSource, CreateAgent};
use whimbrel_platform::{AgentBody, EndReason, Next, Turn};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::bench::PATIENCE;

/// Calls of fib that one slice may take: some microseconds.
const SLICE_CALLS: u32 = 2_000;

/// The latency of one request.
pub struct Sample {
    /// What was asked for.
    pub n: u64,
    /// How long the answer took.
    pub us: f64,
}

/// fib(n) by its definition, in slices.
struct Computation {
    pending: Vec<u8>,
    sum: i64,
}

impl Computation {
    fn new(n: u64) -> Self {
        Self { pending: vec![n as u8], sum: 0 }
    }

    /// Goes on for a slice; the result, if it is there.
    fn go_on(&mut self) -> Option<i64> {
        for _ in 0..SLICE_CALLS {
            let Some(n) = self.pending.pop() else { return Some(self.sum) };
            if n < 2 {
                self.sum += i64::from(n);
            } else {
                self.pending.extend([n - 1, n - 2]);
            }
        }
        None
    }
}

/// One request under way: an agent of its own, whose turns are its slices.
struct Job {
    request: Box<AclMessage>,
    computation: Computation,
}

impl AgentBody for Job {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let Some(result) = self.computation.go_on() else { return Next::Ready };
        let mut answer = self.request.make_reply(turn.aid, Performative::Inform);
        answer.content = Value::Int(result);
        turn.outbox.send(answer);
        Next::End(EndReason::Finished)
    }
}

struct Server {
    jobs: u64,
}

impl Agent for Server {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let request = message.into_message();
        let Value::Int(n) = request.content else { return };
        let mut computation = Computation::new(n as u64);
        // What fits into one slice is answered at once.
        if let Some(result) = computation.go_on() {
            ctx.reply(&request, Performative::Inform, Value::Int(result));
            return;
        }
        self.jobs += 1;
        let source = AgentSource::Body(Box::new(Job { request, computation }));
        let name = format!("job{}", self.jobs).as_str().into();
        let _ = ctx.services().create(CreateAgent { name, unique: false, owner: Some(ctx.aid()), source });
    }
}

struct Client {
    server: Aid,
    left: u64,
    max_n: u64,
    x: u64,
    asked: (u64, Instant),
    samples: Vec<Sample>,
    report: Sender<Vec<Sample>>,
}

impl Client {
    fn ask(&mut self, ctx: &mut Context<'_, '_>) {
        if self.left == 0 {
            let _ = self.report.send(std::mem::take(&mut self.samples));
            return;
        }
        self.left -= 1;
        let n = 1 + self.x % self.max_n;
        self.x = step(self.x);
        self.asked = (n, Instant::now());
        ctx.send(AclMessage::new(Performative::Request, ctx.aid(), self.server, Value::Int(n as i64)));
    }
}

impl Agent for Client {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        self.ask(ctx);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, _answer: MessageBody) {
        let (n, since) = self.asked;
        self.samples.push(Sample { n, us: since.elapsed().as_nanos() as f64 / 1000.0 });
        self.ask(ctx);
    }
}

/// The same small generator in every peer, so that all compute the same requests.
fn step(x: u64) -> u64 {
    x * 16_807 % 2_147_483_647
}

/// The latencies of all requests.
pub fn run(platform: &Platform, clients: u64, requests: u64, max_n: u64) -> Vec<Sample> {
    let (report, reports) = channel();
    let Ok(server) = platform.spawn("server", Server { jobs: 0 }) else { return Vec::new() };
    let client = |index: usize| Client {
        server,
        left: requests,
        max_n,
        x: step((index as u64 + 1) * 48_271 % 2_147_483_647),
        asked: (0, Instant::now()),
        samples: Vec::with_capacity(requests as usize),
        report: report.clone(),
    };
    if platform.spawn_population("client", clients as usize, client).is_err() {
        return Vec::new();
    }
    (0..clients).map_while(|_| reports.recv_timeout(PATIENCE).ok()).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_add_up() {
        let mut computation = Computation::new(25);
        let mut slices = 1;
        let result = loop {
            match computation.go_on() {
                Some(result) => break result,
                None => slices += 1,
            }
        };
        assert_eq!(result, 75_025);
        assert!(slices > 50);
    }
}
