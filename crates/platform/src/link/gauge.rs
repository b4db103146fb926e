//! Gauge: measures the bytes a second of a link, on demand.

use std::time::Duration;

use super::wire::Train;
use crate::Time;
use crate::limits::{
    LINK_TRAIN_ANSWER_BYTES, LINK_TRAIN_ANSWER_BYTES_PER_S, LINK_TRAIN_BYTES, LINK_TRAIN_BYTES_MAX, LINK_TRAIN_FAR_MS,
    LINK_TRAIN_LONG_MS, LINK_TRAIN_MS, LINK_TRAINS,
};

/// Number of empty trains that go first: they measure the time of a train beside its bytes.
const EMPTY_TRAINS: u32 = 4;
/// Number of empty trains on a link with long round trips, which exceed disturbances anyway.
const EMPTY_TRAINS_FAR: u32 = 2;

/// Measurements of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Round trip, on average of a few.
    pub round_trip: Option<Duration>,
    /// Bytes a second to the peer.
    pub out_bytes_per_s: Option<f64>,
    /// Time of that finding: measured, or observed while the link was busy.
    pub out_at: Option<Time>,
    /// Bytes a second from the peer.
    pub back_bytes_per_s: Option<f64>,
    /// Time when all of these were measured.
    pub at: Option<Time>,
}

/// Gauge of a link's throughput.
///
/// The gauge sends trains of bytes. The peer answers when a whole train has arrived, or answers with such a train. The
/// time that a train takes beyond an empty one is that of its bytes (packet dispersion, Jain and Dovrolis 2002). Each
/// train is four times as long as the one before, until one takes long enough. Then the fastest of a few counts,
/// because disturbances only slow trains down.
///
/// Order: [`Gauge::begin`], then [`Gauge::next_train`] whenever the link is idle, and [`Gauge::handle_answer`] for each
/// answer; [`Gauge::take_news`] returns the findings.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    /// Measurement that is under way.
    run: Option<TrainRun>,
    found: Measured,
    /// Pending findings, not taken yet.
    news: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TrainDirection {
    Empty,
    Out,
    Back,
}

#[derive(Debug)]
struct TrainRun {
    way: TrainDirection,
    bytes: u64,
    /// Number of trains of this length, and the time of the fastest beyond an empty one.
    trains: u32,
    fastest: Duration,
    /// Times of the empty trains: their sum, and the shortest.
    empty: Duration,
    shortest: Duration,
    /// Departure of the train that is under way.
    asked: Option<Time>,
    /// Departure of the last train.
    sent_at: Time,
}

impl Gauge {
    /// Begins a measurement, unless one is under way.
    pub fn begin(&mut self, now: Time) {
        let stuck = Duration::from_millis(LINK_TRAIN_LONG_MS);
        if self.run.as_ref().is_none_or(|run| run.asked.is_some() && now - run.sent_at > stuck * 20) {
            self.run = Some(TrainRun {
                way: TrainDirection::Empty,
                bytes: 0,
                trains: 0,
                fastest: Duration::MAX,
                empty: Duration::ZERO,
                shortest: Duration::MAX,
                asked: None,
                sent_at: now,
            });
        }
    }

    /// Returns the train to send now, if there is one.
    pub fn next_train(&mut self, now: Time) -> Option<Train> {
        let run = self.run.as_mut().filter(|run| run.asked.is_none())?;
        let now = Time(now.0.max(1));
        (run.asked, run.sent_at) = (Some(now), now);
        let (wanted, bytes) = match run.way {
            TrainDirection::Empty => (0, 0),
            TrainDirection::Out => (0, run.bytes),
            TrainDirection::Back => (run.bytes, 0),
        };
        Some(Train { question: now.0, answer: 0, wanted, bytes })
    }

    /// Takes in the peer's answer to the train that left at this time.
    pub fn handle_answer(&mut self, now: Time, asked: u64) {
        let Some(run) = self.run.as_mut().filter(|run| run.asked == Some(Time(asked))) else { return };
        let took = now - Time(asked);
        run.asked = None;
        run.trains += 1;
        if run.way == TrainDirection::Empty {
            run.empty += took;
            run.shortest = run.shortest.min(took);
            let is_far = run.is_far();
            if run.trains == if is_far { EMPTY_TRAINS_FAR } else { EMPTY_TRAINS } {
                self.found.round_trip = Some(run.empty / run.trains);
                (run.way, run.bytes, run.trains) = (TrainDirection::Out, LINK_TRAIN_BYTES, 0);
            }
            return;
        }
        let over = took.saturating_sub(run.shortest);
        run.fastest = run.fastest.min(over);
        let (more, trains) = if run.is_far() { (LINK_TRAIN_BYTES_MAX / LINK_TRAIN_BYTES, 1) } else { (4, LINK_TRAINS) };
        if over < Duration::from_millis(LINK_TRAIN_MS) && run.bytes < LINK_TRAIN_BYTES_MAX {
            (run.bytes, run.trains, run.fastest) = (run.bytes * more, 0, Duration::MAX);
        } else if run.trains >= trains || over >= Duration::from_millis(LINK_TRAIN_LONG_MS) {
            self.arrive(now);
        }
    }

    /// Ends the measurement of a direction.
    fn arrive(&mut self, now: Time) {
        let Some(run) = &mut self.run else { return };
        let rate = Some(run.bytes as f64 / run.fastest.as_secs_f64().max(1e-6));
        (run.trains, run.fastest) = (0, Duration::MAX);
        if run.way == TrainDirection::Out {
            (self.found.out_bytes_per_s, self.found.out_at) = (rate, Some(now));
            run.way = TrainDirection::Back;
        } else {
            self.found.back_bytes_per_s = rate;
            self.found.at = Some(now);
            self.run = None;
        }
        self.news = true;
    }

    /// Takes in throughput of a busy link: bytes dealt with, and the time that took.
    pub fn handle_busy(&mut self, now: Time, bytes: u64, took: Duration) {
        self.found.out_bytes_per_s = Some(bytes as f64 / took.as_secs_f64().max(1e-6));
        self.found.out_at = Some(now);
        self.news = true;
    }

    /// Returns the findings, if there are new ones.
    pub fn take_news(&mut self) -> Option<Measured> {
        std::mem::take(&mut self.news).then_some(self.found)
    }
}

impl TrainRun {
    /// Returns true if a round trip takes long, so that the number of trains matters.
    fn is_far(&self) -> bool {
        self.shortest >= Duration::from_millis(LINK_TRAIN_FAR_MS)
    }
}

/// Allowance of bytes that a peer's measurements may ask this node to send.
#[derive(Debug)]
pub(super) struct Allowance {
    bytes: u64,
    at: Time,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { bytes: LINK_TRAIN_ANSWER_BYTES, at: Time::ZERO }
    }
}

impl Allowance {
    /// Takes a train of this number of bytes from the allowance. Returns false if it is exhausted.
    pub fn take(&mut self, bytes: u64, now: Time) -> bool {
        let since_us = u64::try_from((now - self.at).as_micros()).unwrap_or(u64::MAX);
        let more = since_us.saturating_mul(LINK_TRAIN_ANSWER_BYTES_PER_S) / 1_000_000;
        if more > 0 {
            (self.bytes, self.at) = (self.bytes.saturating_add(more).min(LINK_TRAIN_ANSWER_BYTES), now);
        }
        let may = bytes <= self.bytes;
        self.bytes -= if may { bytes } else { 0 };
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ADVICE_PATIENCE_MS;

    /// Returns the findings for a link with these bytes a second each way and this round trip in microseconds, and the
    /// time that they took.
    fn found(out: f64, back: f64, round_trip_us: u64, disturbed: impl Fn(u64) -> u64) -> (Measured, Duration) {
        let (mut gauge, mut now) = (Gauge::default(), Time(0));
        gauge.begin(now);
        for train in 0..100 {
            let Some(sent) = gauge.next_train(now) else { break };
            assert_eq!(gauge.next_train(now), None, "one at a time");
            let us = (sent.bytes as f64 / out + sent.wanted as f64 / back) * 1e6;
            now = Time(sent.question + round_trip_us + us as u64 + disturbed(train));
            gauge.handle_answer(now, sent.question);
        }
        (gauge.take_news().expect("all was measured"), now - Time(0))
    }

    #[test]
    fn gauge_measures_both_directions() {
        for mbit in [1.0, 10.0, 100.0, 1_000.0] {
            for round_trip_us in [100, 50_000] {
                let (out, back) = (mbit * 125e3, mbit * 250e3);
                let (found, took) = found(out, back, round_trip_us, |_| 0);
                let near = |found: Option<f64>, real: f64| found.is_some_and(|it| (it / real - 1.0).abs() < 0.01);
                assert!(near(found.out_bytes_per_s, out) && near(found.back_bytes_per_s, back), "{mbit}: {found:?}");
                assert_eq!(found.round_trip, Some(Duration::from_micros(round_trip_us)));
                assert!(took < Duration::from_secs(1), "{mbit}: {took:?}");
            }
        }
    }

    #[test]
    fn distant_link_is_measured_in_time() {
        for mbit in [1.0, 10.0, 100.0, 1_000.0] {
            let (found, took) = found(mbit * 125e3, mbit * 125e3, 200_000, |_| 0);
            assert!(found.back_bytes_per_s.is_some_and(|it| (it / (mbit * 125e3) - 1.0).abs() < 0.02), "{found:?}");
            assert!(took < Duration::from_millis(ADVICE_PATIENCE_MS), "{mbit}: {took:?}");
        }
    }

    #[test]
    fn train_answers_are_limited() {
        let mut allowance = Allowance::default();
        let sent = |allowance: &mut Allowance, from: u64, to: u64| -> u64 {
            (from..to)
                .map(|ms| if allowance.take(LINK_TRAIN_BYTES_MAX, Time(ms * 1_000)) { LINK_TRAIN_BYTES_MAX } else { 0 })
                .sum()
        };
        assert_eq!(sent(&mut allowance, 0, 1), LINK_TRAIN_BYTES_MAX);
        let most = LINK_TRAIN_ANSWER_BYTES + 10 * LINK_TRAIN_ANSWER_BYTES_PER_S;
        let all = sent(&mut allowance, 1, 10_000);
        assert!((most - 2 * LINK_TRAIN_BYTES_MAX..=most).contains(&all), "{all}");
        // A single measurement never exceeds the allowance.
        assert_eq!(sent(&mut allowance, 60_000, 60_004), 4 * LINK_TRAIN_BYTES_MAX);
        assert!(allowance.take(0, Time(60_004_000)));
    }

    #[test]
    fn disturbed_train_is_ignored() {
        let (found, _) = found(125e5, 125e5, 200, |train| if train % 3 == 1 { 4_000 } else { 0 });
        assert!(found.out_bytes_per_s.is_some_and(|it| (it / 125e5 - 1.0).abs() < 0.05), "{found:?}");
    }

    #[test]
    fn stuck_measurement_restarts() {
        let mut gauge = Gauge::default();
        gauge.begin(Time(0));
        let first = gauge.next_train(Time(10)).expect("a train");
        gauge.begin(Time(1_000));
        assert_eq!(gauge.next_train(Time(1_000)), None, "it waits");
        gauge.begin(Time(10_000_000));
        let second = gauge.next_train(Time(10_000_000)).expect("another one");
        gauge.handle_answer(Time(10_000_100), first.question);
        assert_eq!(gauge.next_train(Time(10_000_200)), None, "that was no answer to it");
        gauge.handle_answer(Time(10_000_300), second.question);
        assert!(gauge.next_train(Time(10_000_400)).is_some());
        assert_eq!(gauge.take_news(), None);
    }
}
