//! Creatures of three colours meet in pairs through a broker; both leave with the complement colour.

use crate::{param, Metrics, Params};
use std::time::Instant;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

/// 0, 1 or 2: the three add up to 3, so two different ones leave the third.
type Colour = u8;

struct Creature {
    colour: Colour,
    door: UnboundedSender<MeetingOutcome>,
}

enum MeetingOutcome {
    Met(Colour),
    Stop,
}

pub async fn run(params: &Params) -> Metrics {
    let (creatures, meetings) = (param(params, "creatures"), param(params, "meetings"));
    let start = Instant::now();
    let counts = society(creatures, meetings).await;
    vec![("seconds", Some(start.elapsed().as_secs_f64())), ("meetings_sd", Some(deviation(&counts)))]
}

async fn society(creatures: u64, meetings: u64) -> Vec<f64> {
    let (broker_door, visitors) = unbounded_channel();
    let (report, mut reports) = unbounded_channel();
    tokio::spawn(broker(visitors, meetings));
    for i in 0..creatures {
        tokio::spawn(creature((i % 3) as Colour, broker_door.clone(), report.clone()));
    }
    let mut counts = Vec::new();
    for _ in 0..creatures {
        counts.extend(reports.recv().await);
    }
    counts
}

async fn broker(mut visitors: UnboundedReceiver<Creature>, meetings: u64) {
    for _ in 0..meetings {
        let (Some(first), Some(second)) = (visitors.recv().await, visitors.recv().await) else { return };
        let _ = first.door.send(MeetingOutcome::Met(second.colour));
        let _ = second.door.send(MeetingOutcome::Met(first.colour));
    }
    while let Some(visitor) = visitors.recv().await {
        let _ = visitor.door.send(MeetingOutcome::Stop);
    }
}

async fn creature(mut colour: Colour, broker: UnboundedSender<Creature>, report: UnboundedSender<f64>) {
    let (door, mut inbox) = unbounded_channel();
    let mut met = 0.0;
    loop {
        let _ = broker.send(Creature { colour, door: door.clone() });
        match inbox.recv().await {
            Some(MeetingOutcome::Met(other)) => (colour, met) = (complement(colour, other), met + 1.0),
            _ => break,
        }
    }
    let _ = report.send(met);
}

fn complement(a: Colour, b: Colour) -> Colour {
    if a == b {
        a
    } else {
        3 - a - b
    }
}

fn deviation(counts: &[f64]) -> f64 {
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    (counts.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / counts.len() as f64).sqrt()
}
