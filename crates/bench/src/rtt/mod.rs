//! Round trips, as the Siebog study measures them: senders and receivers in pairs. Each sender sends random text; its
//! receiver counts primes in the slowest way there is, and answers with random text; then the sender sends the next.

mod arguments;
mod nodes;
mod pairs;

use std::time::{Duration, Instant};

use anyhow::bail;

pub use self::arguments::Rtt;
use self::nodes::{PairsNodes, RoundTrips};
use super::messaging::security_name;
use super::{Metrics, percentile};

pub use self::nodes::serve;

/// Messages of all senders together, if nothing else is said.
const MESSAGES: u64 = 512;
/// Minimum number of messages of each sender.
const MESSAGES_EACH_MIN: u64 = 2;
/// Minimum time in which the computations alone are measured, before and after.
const ALONE: Duration = Duration::from_secs(1);

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Rtt {
    /// Messages that each sender sends.
    fn messages(&self) -> u64 {
        self.messages.unwrap_or_else(|| (MESSAGES / u64::from(self.pairs)).max(MESSAGES_EACH_MIN))
    }

    /// Threads of each process.
    fn threads(&self) -> usize {
        self.threads.map_or_else(|| (cores() / usize::from(self.nodes)).max(1), usize::from)
    }

    /// Returns the parameters as JSON.
    pub fn params(&self) -> String {
        let Self { pairs, limit, bytes, nodes, .. } = self;
        let (messages, threads, security) = (self.messages(), self.threads(), security_name(self.security));
        format!(
            "\"pairs\": {pairs}, \"limit\": {limit}, \"bytes\": {bytes}, \"nodes\": {nodes}, \"messages\": {messages}, \
             \"threads\": {threads}, \"security\": \"{security}\""
        )
    }
}

/// Runs the benchmark.
///
/// # Errors
/// Another process cannot be started, or ended too early.
pub fn run(what: &Rtt) -> anyhow::Result<Metrics> {
    if what.nodes > 1 && u64::from(what.pairs) < u64::from(what.nodes) {
        bail!("with fewer pairs than nodes some nodes have nothing to do");
    }
    let at_work = cores().min(usize::from(what.nodes) * what.threads()).min(what.pairs as usize);
    let mut nodes = PairsNodes::start(what)?;
    let before = computations_per_s(what.limit, at_work);
    let all = nodes.measure()?;
    let after = computations_per_s(what.limit, at_work);
    nodes.end();
    Ok(figures(all, before.max(after)))
}

/// Returns the receivers' computations per second of this many otherwise idle threads, each at its highest speed: on a
/// machine with other work they may not get the cores that the pairs get.
fn computations_per_s(limit: u32, threads: usize) -> f64 {
    let compute = || {
        let begin = Instant::now();
        let mut fastest = f64::INFINITY;
        while begin.elapsed() < ALONE {
            let one = Instant::now();
            std::hint::black_box(pairs::primes_to(limit));
            fastest = fastest.min(one.elapsed().as_secs_f64());
        }
        1.0 / fastest
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(compute)).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).sum()
    })
}

fn figures(all: Vec<RoundTrips>, allowed_per_s: f64) -> Metrics {
    let begun_ns = all.iter().map(|one| one.begun_ns).min().unwrap_or_default();
    let ended_ns = all.iter().map(|one| one.ended_ns).max().unwrap_or_default();
    let seconds = ended_ns.saturating_sub(begun_ns) as f64 / 1e9;
    let lost: u64 = all.iter().map(|one| one.lost).sum();
    let peak_bytes: f64 = all.iter().map(|one| one.peak_bytes).sum();
    let mut ms: Vec<f64> = all.into_iter().flat_map(|one| one.ms).collect();
    let answered = ms.len() as f64;
    let per_s = (seconds > 0.0).then(|| answered / seconds);
    vec![
        ("rtt_mean_ms", (answered > 0.0).then(|| ms.iter().sum::<f64>() / answered)),
        ("rtt_p50_ms", percentile(50.0, &mut ms)),
        ("rtt_p99_ms", percentile(99.0, &mut ms)),
        ("lost", Some(lost as f64)),
        ("rss_mb", Some(peak_bytes / 1e6)),
        ("round_trips_per_s", per_s),
        ("allowed_per_s", Some(allowed_per_s)),
        ("share_of_allowed", per_s.map(|per_s| per_s / allowed_per_s)),
        ("seconds", Some(seconds)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_terminal::options::SecurityLevel;

    /// A small one.
    pub fn asked() -> Rtt {
        Rtt {
            pairs: 2,
            limit: 100,
            bytes: 64,
            nodes: 1,
            messages: None,
            threads: None,
            security: SecurityLevel::Open,
            json: false,
            first: None,
            node: None,
        }
    }

    #[test]
    fn round_trips_of_nodes_add_up() {
        let one = RoundTrips { ms: vec![1.0, 3.0], lost: 1, begun_ns: 500, ended_ns: 1_000, peak_bytes: 1e6 };
        let other = RoundTrips { ms: vec![2.0, 6.0], lost: 0, begun_ns: 0, ended_ns: 2_000_000_000, peak_bytes: 2e6 };
        let metrics = figures(vec![one, other], 4.0);
        let figure = |name: &str| metrics.iter().find(|(found, _)| *found == name).and_then(|(_, value)| *value);
        for (name, expected) in [
            ("rtt_mean_ms", 3.0),
            ("rtt_p50_ms", 2.0),
            ("rtt_p99_ms", 6.0),
            ("lost", 1.0),
            ("rss_mb", 3.0),
            ("round_trips_per_s", 2.0),
            ("share_of_allowed", 0.5),
        ] {
            assert_eq!(figure(name), Some(expected), "{name}");
        }
        assert_eq!(figures(Vec::new(), 1.0).first(), Some(&("rtt_mean_ms", None)));
    }

    #[test]
    fn fewer_senders_send_more_each() {
        assert_eq!([1, 2, 256, 4_096].map(|pairs| Rtt { pairs, ..asked() }.messages()), [512, 256, 2, 2]);
    }
}
