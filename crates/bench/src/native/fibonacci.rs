//! A server answers fib(n) to many clients at once. It computes each request a piece at a time, by turns, so that small
//! ones do not wait behind large ones.

use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_runtime::behaviour::{Behaviour, Step};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::{FibonacciLatency, PATIENCE};

/// Calls of fib in one step: about ten microseconds.
const STEP_CALLS: u32 = 4_000;

/// fib(n) by its definition, a piece at a time.
struct Computation {
    request: MessageBody,
    pending: Vec<u8>,
    sum: i64,
}

impl Computation {
    fn new(request: MessageBody, n: u8) -> Self {
        Self { request, pending: vec![n], sum: 0 }
    }

    /// Continues for a piece; the result, if it is there.
    fn go_on(&mut self) -> Option<i64> {
        for _ in 0..STEP_CALLS {
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

impl Behaviour for Computation {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        let Some(result) = self.go_on() else { return Step::Again };
        ctx.reply(&self.request, Performative::Inform, Value::Int(result));
        Step::Done
    }
}

/// Does its computations beside each other, as behaviours.
struct FibonacciServer;

impl Agent for FibonacciServer {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let Value::Int(n) = message.content else { return };
        let mut computation = Computation::new(message, n as u8);
        // What fits into one step is answered at once.
        if computation.action(ctx) != Step::Done {
            ctx.add_behaviour(computation);
        }
    }
}

struct FibonacciClient {
    server: Aid,
    left: u64,
    max_n: u64,
    x: u64,
    asked: (u64, Instant),
    samples: Vec<FibonacciLatency>,
    report: Sender<Vec<FibonacciLatency>>,
}

impl FibonacciClient {
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

impl Agent for FibonacciClient {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        self.ask(ctx);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, _answer: MessageBody) {
        let (n, since) = self.asked;
        self.samples.push(FibonacciLatency { n, us: since.elapsed().as_nanos() as f64 / 1000.0 });
        self.ask(ctx);
    }
}

/// Returns the next random number. All peers have this small generator, so all compute the same requests.
fn step(x: u64) -> u64 {
    x * 16_807 % 2_147_483_647
}

/// Returns the latencies of all requests.
pub fn run(platform: &Platform, clients: u64, requests: u64, max_n: u64) -> Vec<FibonacciLatency> {
    let (report, reports) = channel();
    let Ok(server) = platform.spawn("server", FibonacciServer) else { return Vec::new() };
    let client = |index: usize| FibonacciClient {
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
    fn pieces_add_up() {
        let request = AclMessage::new(Performative::Request, Aid::local("a"), Aid::local("b"), 25.0);
        let mut computation = Computation::new(MessageBody::Owned(Box::new(request)), 25);
        let mut pieces = 1;
        let result = loop {
            match computation.go_on() {
                Some(result) => break result,
                None => pieces += 1,
            }
        };
        assert_eq!(result, 75_025);
        assert!(pieces > 50);
    }
}
