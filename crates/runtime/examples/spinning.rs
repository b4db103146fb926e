//! Measures how long agents that spin delay their neighbours: the worst round trip of a message and its answer.
//!
//! `cargo run --release -p whimbrel-runtime --example spinning -- [SPINNERS] [SPIN_MS] [SECONDS]`
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative};
use whimbrel_runtime::{Agent, Context, Platform};

/// Agent that spins for some time in each turn, and is then ready for the next one.
struct Spinner(Duration);

impl Agent for Spinner {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, _: MessageBody) {
        let until = Instant::now() + self.0;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        ctx.tell(ctx.aid(), Performative::Inform, 0);
    }
}

/// Neighbour that answers at once.
struct Neighbour(Sender<()>);

impl Agent for Neighbour {
    fn on_message(&mut self, _: &mut Context<'_, '_>, _: MessageBody) {
        let _ = self.0.send(());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |or: u64| arguments.next().map_or(Ok(or), |text| text.parse::<u64>());
    let (spinners, spin_ms, seconds) = (next(7)?, next(1_000)?, next(10)?);
    let platform = Platform::builder().workers(2).build();
    let inform = |to: Aid| AclMessage::new(Performative::Inform, Aid::local("main"), to, 0);
    let (tell, told) = channel();
    let echoes = [0, 1, 2, 3].map(|number| platform.spawn(format!("echo{number}").as_str(), Neighbour(tell.clone())));
    let echoes = echoes.into_iter().collect::<Result<Vec<Aid>, _>>()?;
    let spin = Duration::from_millis(spin_ms);
    for number in 0..spinners {
        let spinner = platform.spawn(format!("spinner{number}").as_str(), Spinner(spin))?;
        platform.send(inform(spinner));
    }
    let mut round_trips = Vec::new();
    let start = Instant::now();
    let until = start + Duration::from_secs(seconds);
    while Instant::now() < until {
        for echo in &echoes {
            let began = Instant::now();
            platform.send(inform(*echo));
            told.recv()?;
            round_trips.push((began.elapsed(), began - start));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    round_trips.sort_unstable();
    let at =
        |part: f64| round_trips.get(((round_trips.len() - 1) as f64 * part) as usize).copied().unwrap_or_default().0;
    println!(
        "{spinners} spinners, turns of {spin_ms} ms: {} round trips, p50 {:?}, p99 {:?}, p99.9 {:?}, worst {:?}",
        round_trips.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
    );
    for (round_trip, since) in round_trips.iter().rev().take(5) {
        println!("  {round_trip:?} after {since:?}");
    }
    std::process::exit(0);
}
