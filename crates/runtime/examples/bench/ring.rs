//! Token ring: each token is passed on `passes` times, all tokens at once, put in equally spaced.

use std::time::Instant;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::Metrics;

/// What to run.
pub struct Params {
    /// Members of the ring.
    pub workers: usize,
    /// Tokens on their way at once.
    pub tokens: usize,
    /// How often each is passed on.
    pub passes: i64,
    /// Threads that give turns.
    pub threads: usize,
}

struct Member {
    next: Aid,
}

impl Agent for Member {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let mut token = message.into_message();
        let Value::Int(left) = &mut token.content else { return };
        if *left == 0 {
            return;
        }
        *left -= 1;
        token.receivers[0] = self.next;
        ctx.send(token);
    }
}

/// Runs it once.
pub fn run(params: Params) -> Metrics {
    let Params { workers, tokens, passes, threads } = params;
    let platform = Platform::builder().workers(threads).build();
    let names: Vec<Aid> = (0..workers).map(|i| Aid::local(format!("member{}", i + 1).as_str())).collect();
    let ring = platform.spawn_population("member", workers, |i| Member { next: names[(i + 1) % workers] }).unwrap();
    platform.wait_idle();
    let start = Instant::now();
    for token in 0..tokens {
        let to = ring[token * workers / tokens % workers];
        platform.send(AclMessage::new(Performative::Inform, Aid::local("start"), to, Value::Int(passes)));
    }
    platform.wait_idle();
    let seconds = start.elapsed().as_secs_f64();
    platform.counters().check().expect("no message is lost");
    let messages = tokens as f64 * passes as f64;
    vec![("seconds", seconds), ("messages_per_s", messages / seconds), ("ns_per_hop", seconds / messages * 1e9)]
}
