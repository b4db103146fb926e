//! Token ring: each token is passed on `passes` times, all tokens at once, put in equally spaced.

use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::PATIENCE;

struct RingMember {
    next: Aid,
    spent: Sender<()>,
}

impl Agent for RingMember {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let mut token = message.into_message();
        let Value::Int(left) = &mut token.content else { return };
        if *left == 0 {
            let _ = self.spent.send(());
            return;
        }
        *left -= 1;
        token.receivers.clear();
        token.receivers.push(self.next);
        ctx.send(token);
    }
}

/// Seconds from the first token put in to the last one spent.
pub fn run(platform: &Platform, workers: u64, tokens: u64, passes: u64) -> Option<f64> {
    let (spent, all_spent) = channel();
    let name = |index: u64| Aid::local(format!("member{}", index + 1).as_str());
    let member = |index: usize| RingMember { next: name((index as u64 + 1) % workers), spent: spent.clone() };
    let ring = platform.spawn_population("member", workers as usize, member).ok()?;
    platform.wait_idle();
    let begin = Instant::now();
    let outside = Aid::local("bench");
    for token in 0..tokens {
        let to = ring.get((token * workers / tokens % workers) as usize)?;
        platform.send(AclMessage::new(Performative::Inform, outside, *to, Value::Int(passes as i64)));
    }
    for _ in 0..tokens {
        all_spent.recv_timeout(PATIENCE).ok()?;
    }
    Some(begin.elapsed().as_secs_f64())
}
