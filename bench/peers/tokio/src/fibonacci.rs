//! A server answers fib(n); every request is computed by a task of its own, tokio's cheapest unit of concurrency.

use crate::{param, percentile, Metrics, Params};
use std::time::Instant;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

struct FibRequest {
    n: u64,
    answer: UnboundedSender<u64>,
}

struct Sample {
    n: u64,
    us: f64,
}

pub async fn run(params: &Params) -> Metrics {
    let large_from = params.get("large_from").copied().unwrap_or(25);
    let start = Instant::now();
    let samples = collect(params).await;
    let seconds = start.elapsed().as_secs_f64();
    let latencies =
        |wanted: &dyn Fn(u64) -> bool| -> Vec<f64> { samples.iter().filter(|s| wanted(s.n)).map(|s| s.us).collect() };
    let (mut small, mut large) = (latencies(&|n| n <= 10), latencies(&|n| n >= large_from));
    vec![
        ("small_p50_us", percentile(50.0, &mut small)),
        ("small_p99_us", percentile(99.0, &mut small)),
        ("small_max_us", percentile(100.0, &mut small)),
        ("large_p50_us", percentile(50.0, &mut large)),
        ("seconds", Some(seconds)),
    ]
}

async fn collect(params: &Params) -> Vec<Sample> {
    let (clients, requests, max_n) = (param(params, "clients"), param(params, "requests"), param(params, "max_n"));
    let (server_door, inbox) = unbounded_channel();
    tokio::spawn(server(inbox));
    let asking: Vec<_> = (1..=clients).map(|c| tokio::spawn(client(server_door.clone(), c, requests, max_n))).collect();
    let mut samples = Vec::new();
    for task in asking {
        samples.extend(task.await.expect("a client ends by itself"));
    }
    samples
}

async fn server(mut inbox: UnboundedReceiver<FibRequest>) {
    while let Some(FibRequest { n, answer }) = inbox.recv().await {
        tokio::spawn(async move { answer.send(fib(n)) });
    }
}

async fn client(server: UnboundedSender<FibRequest>, client: u64, requests: u64, max_n: u64) -> Vec<Sample> {
    let (answer, mut inbox) = unbounded_channel();
    // The same small generator in every peer, so that all compute the same requests.
    let mut x = step(client * 48271 % MODULUS);
    let mut samples = Vec::new();
    for _ in 0..requests {
        let (n, start) = (1 + x % max_n, Instant::now());
        let _ = server.send(FibRequest { n, answer: answer.clone() });
        std::hint::black_box(inbox.recv().await);
        samples.push(Sample { n, us: start.elapsed().as_nanos() as f64 / 1000.0 });
        x = step(x);
    }
    samples
}

const MODULUS: u64 = 2_147_483_647;

fn step(x: u64) -> u64 {
    x * 16807 % MODULUS
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        fib(n - 1) + fib(n - 2)
    }
}
