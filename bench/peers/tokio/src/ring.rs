//! Token ring: each token is passed on `passes` times, all tokens at once, put in equally spaced.

use crate::{param, Metrics, Params};
use std::time::Instant;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

struct RingToken {
    left: u64,
}

pub async fn run(params: &Params) -> Metrics {
    let (workers, tokens, passes) = (param(params, "workers"), param(params, "tokens"), param(params, "passes"));
    let (spent, mut done) = unbounded_channel();
    let doors = build(workers as usize, &spent);
    let start = Instant::now();
    for i in 0..tokens {
        let _ = doors[(i * workers / tokens % workers) as usize].send(RingToken { left: passes });
    }
    for _ in 0..tokens {
        done.recv().await;
    }
    let seconds = start.elapsed().as_secs_f64();
    vec![("seconds", Some(seconds)), ("messages_per_s", Some((tokens * passes) as f64 / seconds))]
}

fn build(workers: usize, spent: &UnboundedSender<()>) -> Vec<UnboundedSender<RingToken>> {
    let (doors, inboxes): (Vec<_>, Vec<_>) = (0..workers).map(|_| unbounded_channel()).unzip();
    for (i, inbox) in inboxes.into_iter().enumerate() {
        tokio::spawn(pass(inbox, doors[(i + 1) % workers].clone(), spent.clone()));
    }
    doors
}

async fn pass(mut inbox: UnboundedReceiver<RingToken>, next: UnboundedSender<RingToken>, spent: UnboundedSender<()>) {
    while let Some(token) = inbox.recv().await {
        let _ = match token.left {
            0 => spent.send(()).is_ok(),
            left => next.send(RingToken { left: left - 1 }).is_ok(),
        };
    }
}
