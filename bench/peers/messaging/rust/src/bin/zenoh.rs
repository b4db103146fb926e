//! Zenoh, peer to peer: a session in each process, a key per consumer, or one key for all in a broadcast.

use std::sync::Mutex;

use anyhow::{Result, anyhow};
use messaging_peer::tally::{Tally, fill, wall_ns};
use messaging_peer::{AT_ONCE, MeasuredCase, pace, ready, threads, wait_for_end, wait_for_go};
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let case = MeasuredCase::read()?;
    let session = zenoh::open(config(&case)?).wait().map_err(|error| anyhow!(error))?;
    if case.consumes { consume(&case, &session)? } else { produce(&case, &session)? }
    wait_for_end();
    std::process::exit(0);
}

/// Two peers that know each other's address, with certificates on both ends.
fn config(case: &MeasuredCase) -> Result<Config> {
    let protocol = if case.secure { "tls" } else { "tcp" };
    let role = if case.consumes { "listen/endpoints" } else { "connect/endpoints" };
    let folder = case.folder.display();
    let mut pairs = vec![
        ("mode", "\"peer\"".to_owned()),
        ("scouting/multicast/enabled", "false".to_owned()),
        ("scouting/gossip/enabled", "false".to_owned()),
        (role, format!("[\"{protocol}/{}\"]", case.address)),
    ];
    if !case.consumes {
        pairs.push(("listen/endpoints", "[]".to_owned()));
    }
    if case.secure {
        let file = |name: &str| format!("\"{folder}/{name}\"");
        pairs.extend([
            ("transport/link/tls/root_ca_certificate", file("authority.pem")),
            ("transport/link/tls/listen_private_key", file("end.key")),
            ("transport/link/tls/listen_certificate", file("end.pem")),
            ("transport/link/tls/connect_private_key", file("end.key")),
            ("transport/link/tls/connect_certificate", file("end.pem")),
            ("transport/link/tls/enable_mtls", "true".to_owned()),
        ]);
    }
    let mut config = Config::default();
    for (key, value) in pairs {
        config.insert_json5(key, &value).map_err(|error| anyhow!("{key}: {error}"))?;
    }
    Ok(config)
}

fn key(case: &MeasuredCase, agent: usize) -> String {
    if case.is_broadcast() { "news".to_owned() } else { format!("agent/{agent}") }
}

fn consume(case: &MeasuredCase, session: &Session) -> Result<()> {
    let tally = Tally::default();
    let mut subscribers = Vec::new();
    for agent in 0..case.consumers {
        let consumer = Mutex::new(tally.consumer(case));
        let subscriber = session.declare_subscriber(key(case, agent)).callback(move |sample| {
            consumer.lock().unwrap().take(&sample.payload().to_bytes(), wall_ns());
        });
        subscribers.push(subscriber.wait().map_err(|error| anyhow!(error))?);
    }
    ready();
    tally.report(case)
}

fn produce(case: &MeasuredCase, session: &Session) -> Result<()> {
    let mut publishers = Vec::new();
    for producer in 0..case.producers {
        // Blocks rather than drops. Express, since messages otherwise wait for others: only where latency is measured.
        let publisher = session
            .declare_publisher(key(case, case.receiver(producer)))
            .congestion_control(CongestionControl::Block)
            .express(case.paced);
        publishers.push(publisher.wait().map_err(|error| anyhow!(error))?);
    }
    for publisher in &publishers {
        while !publisher.matching_status().wait().map_err(|error| anyhow!(error))?.matching() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    wait_for_go()?;
    if case.paced {
        pace(case, |producer| put(case, &publishers[producer], 1));
        return Ok(());
    }
    std::thread::scope(|scope| {
        for mine in publishers.chunks(publishers.len().div_ceil(threads())) {
            scope.spawn(|| send(case, mine));
        }
    });
    Ok(())
}

/// Sends all messages of some producers, in turns.
fn send(case: &MeasuredCase, publishers: &[Publisher<'_>]) {
    let mut left = case.messages;
    while left > 0 {
        let count = left.min(AT_ONCE);
        publishers.iter().for_each(|publisher| put(case, publisher, count));
        left -= count;
    }
}

fn put(case: &MeasuredCase, publisher: &Publisher<'_>, count: u64) {
    for _ in 0..count {
        let mut content = Vec::with_capacity(case.bytes);
        fill(&mut content, case.bytes, wall_ns());
        publisher.put(content).wait().expect("the consumers are there");
    }
}
