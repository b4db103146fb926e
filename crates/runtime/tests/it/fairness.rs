//! Fairness: the placement of agents does not decide how often they have turns.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, atomic::AtomicBool, atomic::Ordering};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_runtime::{Agent, Context, Platform};

const PATIENCE: Duration = Duration::from_secs(300);

/// Computes for so many rounds.
fn compute(rounds: u32) {
    let mut x = std::hint::black_box(1u64);
    for _ in 0..rounds {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    std::hint::black_box(x);
}

/// Returns the number of rounds that take so long on this machine, undisturbed.
fn rounds(time: Duration) -> u32 {
    let measure = |_| {
        let began = Instant::now();
        compute(1_000);
        began.elapsed().as_nanos().max(1)
    };
    let fastest = (0..100).map(measure).min().unwrap();
    (time.as_nanos() * 1_000 / fastest) as u32
}

/// Turn of some microseconds.
const SHORT: Duration = Duration::from_micros(4);

/// Broker that pairs creatures in order of arrival, until all meetings have taken place.
struct Broker {
    left: u64,
    waiting: Option<Box<AclMessage>>,
    work: u32,
}

impl Agent for Broker {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        compute(self.work);
        let second = message.into_message();
        if self.left == 0 {
            return ctx.reply(&second, Performative::Refuse, Value::Null);
        }
        let Some(first) = self.waiting.take() else {
            self.waiting = Some(second);
            return;
        };
        self.left -= 1;
        for meeting in [first, second] {
            ctx.reply(&meeting, Performative::Inform, 1);
        }
    }
}

/// Thread of each agent's last turns, by name.
type Places = Arc<Mutex<HashMap<Aid, String>>>;

struct Creature {
    broker: Aid,
    met: u64,
    work: u32,
    report: Sender<u64>,
    places: Places,
}

impl Agent for Creature {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.tell(self.broker, Performative::Request, 0);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        compute(self.work);
        if message.performative == Performative::Refuse {
            let here = std::thread::current().name().unwrap_or_default().to_owned();
            self.places.lock().unwrap().insert(self.broker, here);
            let _ = self.report.send(self.met);
            return;
        }
        self.met += 1;
        ctx.tell(self.broker, Performative::Request, 0);
    }
}

/// Returns the time for which this process's threads waited for a processor; zero where the system does not tell.
fn waited() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let waited_ns = |task: std::fs::DirEntry| -> Option<u64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    };
    Duration::from_nanos(tasks.filter_map(waited_ns).sum())
}

/// Result of meetings.
struct Met {
    /// Number of meetings of each creature.
    counts: Vec<u64>,
    /// Thread of each creature at the end.
    places: HashMap<Aid, String>,
    /// Time for which threads waited for a processor.
    waited: Duration,
}

/// Lets creatures meet at several brokers.
fn meet(brokers: usize, creatures: usize, meetings: u64, work: u32) -> Met {
    let before = waited();
    let platform = Platform::builder().workers(2).build();
    let (report, reports) = channel();
    let places = Places::default();
    for broker in 0..brokers {
        let name = format!("broker{broker}");
        let broker_aid = platform.spawn(name.as_str(), Broker { left: meetings, waiting: None, work }).unwrap();
        let creature =
            |_| Creature { broker: broker_aid, met: 0, work, report: report.clone(), places: Arc::clone(&places) };
        platform.spawn_population(format!("{name}creature").as_str(), creatures, creature).unwrap();
    }
    let deadline = Instant::now() + PATIENCE;
    let count = |_| reports.recv_timeout(deadline.saturating_duration_since(Instant::now())).unwrap();
    let counts = (0..brokers * creatures).map(count).collect();
    let places = places.lock().unwrap().clone();
    // Read while the workers exist.
    Met { counts, places, waited: waited().saturating_sub(before) }
}

fn deviation(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    (counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>() / counts.len() as f64).sqrt()
}

/// Load on every core, until dropped.
struct Noise(Arc<AtomicBool>);

impl Noise {
    fn new() -> Self {
        let quiet = Arc::new(AtomicBool::new(false));
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let quiet = Arc::clone(&quiet);
            std::thread::spawn(move || {
                while !quiet.load(Ordering::Relaxed) {
                    compute(1000);
                }
            });
        }
        Self(quiet)
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Wait for a processor from which the operating system, not the placement, may explain an unfair count of turns.
const DISTURBED: Duration = Duration::from_millis(1);
/// Number of attempts to get an undisturbed run.
const TRIES: usize = 10;

fn assert_fair(work: u32) {
    for creatures in [5, 50, 500] {
        let mut least = f64::INFINITY;
        for _ in 0..TRIES {
            let met = meet(1, creatures, 10_000, work);
            least = least.min(deviation(&met.counts));
            if least <= 3.0 || met.waited < DISTURBED {
                break;
            }
        }
        assert!(least <= 3.0, "{creatures} creatures, work {work}: standard deviation {least}");
    }
}

#[test]
fn busy_brokers_partners_meet_equally() {
    // Turns of a few ten nanoseconds, and of some microseconds.
    assert_fair(0);
    assert_fair(rounds(SHORT));
}

#[test]
fn partners_meet_equally_under_load() {
    let _noise = Noise::new();
    assert_fair(0);
    assert_fair(rounds(SHORT));
}

/// Keeping partners together does not keep independent societies from using all cores.
#[test]
fn two_brokers_use_two_workers() {
    // Beside other processes the second worker may lack a processor for a while: longer runs give it time.
    let apart = (0..6).any(|doubled| {
        let places = meet(2, 50, 20_000 << doubled, rounds(SHORT)).places;
        let places: Vec<&String> = places.values().collect();
        places.len() == 2 && places[0] != places[1]
    });
    assert!(apart, "both stayed on one worker");
}
