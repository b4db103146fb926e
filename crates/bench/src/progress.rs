//! Progress of a benchmark: a bar for the terminal, and a curve for a picture.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use whimbrel_runtime::Platform;

use super::{Study, resident_bytes};

/// Interval of the bar. A shorter run shows no bar.
const BAR_PERIOD: Duration = Duration::from_millis(200);
/// First interval of a curve's points; it doubles each time there are too many.
const CURVE_PERIOD: Duration = Duration::from_millis(1);
/// The points that a curve has at most.
const CURVE_POINTS_MAX: usize = 400;

/// Wanted views of a run; others are not recorded.
#[derive(Clone, Copy, Debug)]
pub struct Watching {
    /// A bar on standard error.
    pub bar: bool,
    /// True if pictures need a curve.
    pub curve: bool,
}

/// A look at a running benchmark from time to time.
pub struct ProgressWatch(Option<(Sender<()>, JoinHandle<Curve>)>);

impl ProgressWatch {
    /// Begins to look.
    pub fn new(bench: &Study, platform: &Platform, watching: Watching) -> Self {
        if !watching.bar && !watching.curve {
            return Self(None);
        }
        let (done, is_done) = channel();
        let (platform, total) = (platform.clone(), bench.messages());
        let bar = if watching.bar { bar(bench.name(), total) } else { ProgressBar::hidden() };
        let thread = std::thread::spawn(move || {
            let mut curve = Curve::new(if watching.curve { CURVE_PERIOD } else { BAR_PERIOD });
            let mut shown = curve.begin;
            loop {
                let amount = if total.is_some() { platform.handled() as f64 } else { resident_bytes().unwrap_or(0.0) };
                curve.add(amount);
                if shown.elapsed() >= BAR_PERIOD {
                    shown = Instant::now();
                    bar.set_position(amount as u64);
                    bar.tick();
                }
                // Told that it is over, it looks once more, so that the shortest run has two points.
                if is_done.recv_timeout(curve.period) == Err(RecvTimeoutError::Disconnected) {
                    break;
                }
            }
            bar.finish_and_clear();
            curve
        });
        Self(Some((done, thread)))
    }

    /// Looks once more, and tells what was seen: seconds, and what was there by then.
    pub fn finish(self) -> Vec<(f64, f64)> {
        let Some((done, thread)) = self.0 else { return Vec::new() };
        let _ = done.send(());
        drop(done);
        thread.join().map(|curve| curve.points).unwrap_or_default()
    }
}

fn bar(name: &'static str, total: Option<u64>) -> ProgressBar {
    let (template, length) = match total {
        Some(_) => ("{prefix} {wide_bar} {percent:>3}%  {elapsed}, {eta} left", total),
        None => ("{prefix} {spinner} {elapsed}", None),
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr()).with_style(style).with_prefix(name)
}

/// Points at even distances, however long the run.
struct Curve {
    begin: Instant,
    period: Duration,
    points: Vec<(f64, f64)>,
}

impl Curve {
    fn new(period: Duration) -> Self {
        Self { begin: Instant::now(), period, points: Vec::new() }
    }

    fn add(&mut self, amount: f64) {
        self.points.push((self.begin.elapsed().as_secs_f64(), amount));
        if self.points.len() > CURVE_POINTS_MAX {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.period *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_run_thins_curve_points() {
        let mut curve = Curve::new(CURVE_PERIOD);
        (0..=CURVE_POINTS_MAX).for_each(|amount| curve.add(amount as f64));
        assert_eq!(curve.points.len(), CURVE_POINTS_MAX / 2 + 1);
        assert_eq!(curve.period, CURVE_PERIOD * 2);
        let last = curve.points.last().expect("there are points");
        assert_eq!(last.1, CURVE_POINTS_MAX as f64);
    }
}
