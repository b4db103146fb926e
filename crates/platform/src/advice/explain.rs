//! Advice in words and tables.

use std::fmt::Write as _;

use super::{Advice, CostFacts, Estimate, EstimateTerm, Known, MoveChoice};

/// Margin below which either choice will do.
const CLOSE: f64 = 1.2;
/// Range of throughputs that are searched for a change of the choice, in bytes a second.
const SLOWEST: f64 = 125.0;
const FASTEST: f64 = 1.25e11;

/// Returns the reasons, the weightiest first.
pub(super) fn reasons(facts: &CostFacts, go: &Estimate, ask: &Estimate) -> Vec<String> {
    let mut reasons: Vec<(f64, String)> = EstimateTerm::ALL
        .into_iter()
        .map(|term| (go.of(term) - ask.of(term), term))
        .filter(|(more, _)| more.abs() * 100.0 >= go.seconds().max(ask.seconds()))
        .map(|(more, term)| (more.abs(), reason(term, more, go, ask)))
        .collect();
    reasons.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mut told: Vec<String> = reasons.into_iter().map(|(_, reason)| reason).collect();
    told.push(turning_point(facts));
    let (fast, slow) = (go.seconds().min(ask.seconds()), go.seconds().max(ask.seconds()));
    if slow < fast * CLOSE {
        told.push("Both take about as long: what was assumed may decide.".to_owned());
    }
    told
}

fn reason(term: EstimateTerm, more: f64, go: &Estimate, ask: &Estimate) -> String {
    let (more_for, time) = (if more > 0.0 { "Going" } else { "Asking" }, seconds(more.abs()));
    match term {
        EstimateTerm::Latency => format!("{more_for} waits {time} more for the other end."),
        EstimateTerm::Transfer => {
            let all = |estimate: &Estimate| bytes(estimate.bytes_out + estimate.bytes_back);
            let (one, other) = if more > 0.0 { (go, ask) } else { (ask, go) };
            format!("{more_for} has {} on the way, the other {}: {time} more.", all(one), all(other))
        }
        EstimateTerm::Packing => format!("{more_for} takes {time} more to write, pack and read what travels."),
        EstimateTerm::Work => format!("{more_for} takes {time} more for the work itself."),
    }
}

/// Returns the throughput at which the choice changes, in words.
fn turning_point(facts: &CostFacts) -> String {
    let goes = |bytes_per_s: f64| {
        let scale = bytes_per_s / facts.back_bytes_per_s;
        let out_bytes_per_s = facts.out_bytes_per_s * scale;
        let there = CostFacts { out_bytes_per_s, back_bytes_per_s: bytes_per_s, ..*facts };
        there.go().seconds() < there.ask().seconds()
    };
    let (slow, fast) = (goes(SLOWEST), goes(FASTEST));
    if slow == fast {
        let what = if slow { "Going" } else { "Asking" };
        return format!("{what} would be faster at any bandwidth.");
    }
    let (mut low, mut high) = (SLOWEST, FASTEST);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if goes(middle) == slow { low = middle } else { high = middle }
    }
    let what = if slow { "asking" } else { "going" };
    format!("From {} on, {what} would be faster.", rate(low))
}

/// Line of an explanation: a quantity, by going and by asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplanationLine {
    /// Name of the quantity.
    pub what: String,
    /// Value by going.
    pub go: String,
    /// Value by asking.
    pub ask: String,
}

/// Explanation of advice, for people.
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'a>(pub &'a Advice);

impl Explanation<'_> {
    /// Returns a line with the choice, and the times of both choices.
    pub fn verdict(&self) -> String {
        let (go, ask) = (seconds(self.0.go.seconds()), seconds(self.0.ask.seconds()));
        let margin = self.0.margin;
        match self.0.choice {
            MoveChoice::Go => format!("go: {go}; asking would take {ask} ({margin:.1}x)"),
            MoveChoice::Ask => format!("ask: {ask}; going would take {go} ({margin:.1}x)"),
        }
    }

    /// Returns the times of both choices, part by part.
    pub fn terms(&self) -> Vec<ExplanationLine> {
        let (go, ask) = (&self.0.go, &self.0.ask);
        let line = |what: &str, shown: Shown, of: &dyn Fn(&Estimate) -> f64| ExplanationLine {
            what: what.to_owned(),
            go: shown(of(go)),
            ask: shown(of(ask)),
        };
        let terms = EstimateTerm::ALL.into_iter().map(|term| line(term.name(), seconds, &|estimate| estimate.of(term)));
        let sums: [ExplanationLine; 3] = [
            line("together", seconds, &Estimate::seconds),
            line("bytes there", bytes, &|estimate| estimate.bytes_out),
            line("bytes back", bytes, &|estimate| estimate.bytes_back),
        ];
        terms.chain(sums).collect()
    }

    /// Returns the whole text: the verdict, the times, the values behind them, and the reasons.
    pub fn text(&self) -> String {
        let mut text = self.verdict();
        let _ = write!(text, "\n\n  {:<28} {:>12} {:>12}\n", "", "going", "asking");
        for ExplanationLine { what, go, ask } in self.terms() {
            let _ = writeln!(text, "  {what:<28} {go:>12} {ask:>12}");
        }
        text.push('\n');
        for Known { what, value, basis } in &self.0.known {
            let _ = writeln!(text, "  {what:<28} {value:>18}  {}", basis.name());
        }
        for why in &self.0.why {
            let _ = write!(text, "\n{why}");
        }
        text
    }
}

/// Formatter of a number.
pub(super) type Shown = fn(f64) -> String;

/// Formats a time, for people.
pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 10.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.1} s"),
        s if s >= 0.01 => format!("{:.0} ms", s * 1e3),
        s if s >= 0.001 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} us", s * 1e6),
    }
}

/// Formats a number of bytes.
pub(super) fn bytes(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e4 => format!("{:.0} kB", b / 1e3),
        b => format!("{b:.0} B"),
    }
}

/// Formats bytes a second, in the units in which links are sold.
pub(super) fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s * 8.0 {
        bits if bits >= 1e10 => format!("{:.0} Gbit/s", bits / 1e9),
        bits if bits >= 1e9 => format!("{:.1} Gbit/s", bits / 1e9),
        bits if bits >= 1e7 => format!("{:.0} Mbit/s", bits / 1e6),
        bits if bits >= 1e6 => format!("{:.1} Mbit/s", bits / 1e6),
        bits => format!("{:.0} kbit/s", bits / 1e3),
    }
}

/// Formats a share.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 || percent.fract() == 0.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// Formats a number.
pub(super) fn amount(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

/// Formats nanoseconds.
pub(super) fn ns(ns: f64) -> String {
    format!("{ns:.2} ns")
}
