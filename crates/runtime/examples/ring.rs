//! The token ring: `ring [tokens] [passes] [workers] [threads]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::time::Instant;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_runtime::{Agent, Context, Platform};

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

fn main() {
    let arg = |i: usize, default: usize| std::env::args().nth(i).map_or(default, |a| a.parse().unwrap());
    let (tokens, passes, members, threads) = (arg(1, 1), arg(2, 500_000), arg(3, 500), arg(4, 2));
    let platform = Platform::builder().workers(threads).build();
    let names: Vec<Aid> = (0..members).map(|i| Aid::local(format!("member{}", i + 1).as_str())).collect();
    let ring = platform.spawn_population("member", members, |i| Member { next: names[(i + 1) % members] }).unwrap();
    platform.wait_idle();
    let begin = Instant::now();
    for token in 0..tokens {
        let to = ring[token * members / tokens % members];
        platform.send(AclMessage::new(Performative::Inform, Aid::local("x"), to, Value::Int(passes as i64)));
    }
    platform.wait_idle();
    let seconds = begin.elapsed().as_secs_f64();
    let hops = (tokens * (passes + 1)) as f64;
    println!("T={tokens}: {seconds:.3} s, {:.1} ns per hop, {:?}", seconds / hops * 1e9, platform.counters());
}
