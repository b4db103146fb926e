//! Observation of a busy platform: by observers that have enough at times, and by latency samples.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use whimbrel_platform::{Observer, PlatformEvent, Time};
use whimbrel_runtime::Platform;

use crate::kit::{does, inform};

/// Observer that has enough after so many messages.
#[derive(Default)]
struct Modest {
    enough: u64,
    seen: AtomicU64,
    passed_over: AtomicU64,
}

impl Observer for Modest {
    fn observe(&self, _at: Time, event: PlatformEvent<'_>) {
        if matches!(event, PlatformEvent::Sent(_)) {
            self.seen.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_sated(&self, _now: Time) -> bool {
        self.seen.load(Ordering::Relaxed) >= self.enough
    }

    fn pass_over(&self, sent: u64) {
        self.passed_over.fetch_add(sent, Ordering::Relaxed);
    }
}

#[test]
fn sated_observer_hears_the_rest() {
    let platform = Platform::builder().workers(2).build();
    let modest = Arc::new(Modest { enough: 500, ..Modest::default() });
    let watching = platform.observe(Arc::clone(&modest) as Arc<dyn Observer>);
    for name in ["amy", "bob"] {
        let pass_on = does(|ctx, message| {
            let left = message.content.as_f64().unwrap_or_default();
            if left > 0.0 {
                ctx.reply(&message, whimbrel_acl::Performative::Inform, left - 1.0);
            }
        });
        platform.spawn(name, pass_on).unwrap();
    }
    platform.send(inform("amy", whimbrel_acl::Aid::local("bob"), 20_000.0));
    platform.wait_idle();
    drop(watching);
    let (seen, passed_over) = (modest.seen.load(Ordering::Relaxed), modest.passed_over.load(Ordering::Relaxed));
    assert_eq!(seen + passed_over, platform.counters().sent, "{seen} seen");
    assert!(seen >= 500 && passed_over > 10_000, "{seen} seen, {passed_over} passed over");
}

#[test]
fn message_latency_is_measured() {
    let platform = Platform::builder().workers(1).build();
    let amy = platform.spawn("amy", does(|_, _| ())).unwrap();
    let watch = platform.measure_latency();
    assert_eq!(watch.percentiles(), None);
    let until = Instant::now() + Duration::from_secs(60);
    let say = || {
        platform.send(inform("bob", amy, 1.0));
        platform.wait_idle();
        std::thread::sleep(Duration::from_millis(2));
    };
    while watch.percentiles().is_none() {
        assert!(Instant::now() < until, "nothing is measured");
        say();
    }
    // Messages sent now wait for as long as their receiver is suspended.
    platform.suspend(amy).unwrap();
    for _ in 0..40 {
        platform.send(inform("bob", amy, 1.0));
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(50));
    platform.resume(amy).unwrap();
    platform.wait_idle();
    while watch.percentiles().is_none_or(|waits| waits.p99_us < 50_000) {
        assert!(Instant::now() < until, "{:?}", watch.percentiles());
        say();
    }
    drop(watch);
    assert!(platform.measure_latency().percentiles().is_none_or(|waits| waits.p50_us <= waits.p99_us));
}
