//! Traffic between agents: a count for each pair, kept by the sending threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_operator::{Counted, Pair, Traffic};
use whimbrel_platform::limits::TRAFFIC_PAIRS_MAX;
use whimbrel_platform::{Observer, PlatformEvent, Time};
use whimbrel_runtime::{Observation, Platform};

use super::keep_first::keep_first;

/// Counts that threads share: more than there are threads, most likely, so that none waits for another.
const STRIPES: usize = 64;

/// Number of messages of a thread that are counted...
const LOOKS_MAX: u32 = 1_024;
/// ...in this time, so that an observer costs a busy node next to nothing.
const LOOKS_US: u64 = 50_000;

type Counts = FxHashMap<(Symbol, Symbol), u64>;

/// Counts of one thread.
#[derive(Default)]
struct Stripe {
    counts: Counts,
    /// Messages that were not counted.
    unseen: u64,
    /// Number of looks, and their start.
    looks: u32,
    since: Time,
}

/// Counts, apart for each thread.
struct Stripes(Vec<Mutex<Stripe>>);

impl Stripes {
    /// Returns the stripe of this thread.
    fn own(&self) -> Option<MutexGuard<'_, Stripe>> {
        let stripe = self.0.get(stripe())?;
        Some(stripe.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

thread_local! {
    /// Index of this thread's stripe.
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Returns the stripe of this thread.
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
    fn observe(&self, _at: Time, event: PlatformEvent<'_>) {
        let PlatformEvent::Sent(envelope) = event else { return };
        let Some(mut stripe) = self.own() else { return };
        stripe.looks += 1;
        let pair = (envelope.body.sender.name, envelope.to.name);
        if let Some(count) = stripe.counts.get_mut(&pair) {
            *count += 1;
        } else if stripe.counts.len() < TRAFFIC_PAIRS_MAX / STRIPES {
            stripe.counts.insert(pair, 1);
        }
    }

    fn is_sated(&self, now: Time) -> bool {
        let Some(mut stripe) = self.own() else { return true };
        if now.0 >= stripe.since.0 + LOOKS_US {
            (stripe.looks, stripe.since) = (0, now);
        }
        stripe.looks >= LOOKS_MAX
    }

    fn pass_over(&self, sent: u64) {
        if let Some(mut stripe) = self.own() {
            stripe.unseen += sent;
        }
    }
}

/// Counter of the traffic; see the module. It counts until it is dropped.
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
    fn take(&mut self, pairs_max: usize) -> Counted {
        let (mut all, mut unseen) = (Counts::default(), 0);
        for stripe in &self.stripes.0 {
            let mut stripe = stripe.lock().unwrap_or_else(PoisonError::into_inner);
            unseen += std::mem::take(&mut stripe.unseen);
            for (pair, count) in std::mem::take(&mut stripe.counts) {
                *all.entry(pair).or_default() += count;
            }
        }
        let mut pairs: Vec<_> = all.into_iter().collect();
        keep_first(&mut pairs, pairs_max, |(a, many), (b, more)| {
            more.cmp(many).then_with(|| (a.0.as_str(), a.1.as_str()).cmp(&(b.0.as_str(), b.1.as_str())))
        });
        let pair = |((from, to), count): ((Symbol, Symbol), u64)| Pair {
            from: from.as_str().to_owned(),
            to: to.as_str().to_owned(),
            count,
        };
        Counted { pairs: pairs.into_iter().map(pair).collect(), unseen }
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative};

    use super::*;

    #[test]
    fn heavy_traffic_is_sampled_and_counted() {
        let platform = Platform::builder().build();
        let mut count = TrafficCount::begin(&platform);
        let (buyer, seller) = (Aid::local("buyer"), Aid::local("seller"));
        let message = AclMessage::new(Performative::Inform, buyer, seller, "tea");
        let envelope = Envelope { to: seller, body: MessageBody::Owned(Box::new(message)) };
        let stripes = Arc::clone(&count.stripes);
        let begin = Time(LOOKS_US);
        assert!(!stripes.is_sated(begin));
        (0..LOOKS_MAX).for_each(|_| stripes.observe(begin, PlatformEvent::Sent(&envelope)));
        assert!(stripes.is_sated(begin) && stripes.is_sated(Time(begin.0 + LOOKS_US - 1)));
        stripes.pass_over(7);
        assert!(!stripes.is_sated(Time(begin.0 + LOOKS_US)), "later it looks again");
        let Counted { pairs, unseen } = count.take(10);
        let seen: Vec<_> = pairs.iter().map(|pair| (pair.from.as_str(), pair.to.as_str(), pair.count)).collect();
        assert_eq!((seen, unseen), (vec![("buyer", "seller", u64::from(LOOKS_MAX))], 7));
        assert_eq!(count.take(10), Counted::default());
    }
}
