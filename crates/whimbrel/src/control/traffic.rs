//! Who writes to whom: a count for each pair of agents, kept by the threads that send.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_gateway::{Pair, Traffic};
use whimbrel_platform::limits::TRAFFIC_PAIRS_MAX;
use whimbrel_platform::{Event, Observer, Time};
use whimbrel_runtime::{Observation, Platform};

/// Counts that threads share: more than there are threads, most likely, so that none waits for another.
const STRIPES: usize = 64;

type Counts = FxHashMap<(Symbol, Symbol), u64>;

/// Counts, apart for each thread.
struct Stripes(Vec<Mutex<Counts>>);

thread_local! {
    /// Which of the stripes is this thread's.
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The stripe of this thread.
fn stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    STRIPE.with(|own| {
        if own.get() == usize::MAX {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
        }
        own.get()
    })
}

impl Observer for Stripes {
    fn observe(&self, _at: Time, event: Event<'_>) {
        let Event::Sent(envelope) = event else { return };
        let Some(counts) = self.0.get(stripe()) else { return };
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let pair = (envelope.body.sender.name, envelope.to.name);
        if let Some(count) = counts.get_mut(&pair) {
            *count += 1;
        } else if counts.len() < TRAFFIC_PAIRS_MAX / STRIPES {
            counts.insert(pair, 1);
        }
    }
}

/// See the module. Counts until it is dropped.
pub struct TrafficCount {
    stripes: Arc<Stripes>,
    _observation: Observation,
}

impl TrafficCount {
    /// Begins to count.
    pub fn begin(platform: &Platform) -> Self {
        let stripes = Arc::new(Stripes((0..STRIPES).map(|_| Mutex::default()).collect()));
        let observation = platform.observe(Arc::clone(&stripes) as Arc<dyn Observer>);
        Self { stripes, _observation: observation }
    }
}

impl Traffic for TrafficCount {
    fn take(&mut self, pairs_max: usize) -> Vec<Pair> {
        let mut all = Counts::default();
        for counts in &self.stripes.0 {
            let taken = std::mem::take(&mut *counts.lock().unwrap_or_else(PoisonError::into_inner));
            for (pair, count) in taken {
                *all.entry(pair).or_default() += count;
            }
        }
        let mut pairs: Vec<_> = all.into_iter().collect();
        pairs.sort_by(|(a, many), (b, more)| {
            more.cmp(many).then_with(|| (a.0.as_str(), a.1.as_str()).cmp(&(b.0.as_str(), b.1.as_str())))
        });
        pairs.truncate(pairs_max);
        let pair = |((from, to), count): ((Symbol, Symbol), u64)| Pair {
            from: from.as_str().to_owned(),
            to: to.as_str().to_owned(),
            count,
        };
        pairs.into_iter().map(pair).collect()
    }
}
