//! Pictures of a run, as SVG.

use plotters::prelude::*;

use super::report::title;
use super::{AgentLanguage, FibonacciLatency, Study, StudyResult, percentile};

/// Pixels.
const SIZE: (u32, u32) = (880, 480);
/// Okabe and Ito's colours, which the colour-blind can tell apart.
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// Reasons why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// There is nothing to draw.
    #[error("the run was too short for a picture")]
    Nothing,
    /// The picture cannot be drawn.
    #[error("the picture cannot be drawn: {0}")]
    Drawing(String),
}

/// Chart: named lines, or one set of bars.
struct Chart {
    about: &'static str,
    x: &'static str,
    y: &'static str,
    /// Each power of ten gets the same height.
    is_logarithmic: bool,
    is_bars: bool,
    lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Subject and axis of a picture of times.
#[derive(Clone, Copy, Debug)]
pub struct TimesPicture {
    /// Subject of the times.
    pub about: &'static str,
    /// Label of the horizontal axis.
    pub x: &'static str,
}

/// Returns a picture of times in microseconds: a line for each name, each power of ten of the same height.
///
/// # Errors
/// There is nothing to draw.
pub fn times(title: &str, shown: TimesPicture, lines: Vec<(String, Vec<(f64, f64)>)>) -> Result<String, PlotError> {
    let TimesPicture { about, x } = shown;
    let chart = Chart { about, x, y: "time", is_logarithmic: true, is_bars: false, lines };
    svg_of(&chart, title)
}

/// Returns the picture of a run: messages per second over time (ring), meetings of each creature (chameneos), response
/// time by n (fibonacci), memory over time (spawn).
///
/// # Errors
/// There is nothing to draw.
pub fn picture(bench: &Study, kind: AgentLanguage, threads: usize, outcome: &StudyResult) -> Result<String, PlotError> {
    let chart = match bench {
        Study::Ring { .. } => Chart {
            about: "messages per second, over the time of the run",
            x: "seconds",
            y: "messages/s",
            is_logarithmic: false,
            is_bars: false,
            lines: vec![(String::new(), rates(&outcome.curve))],
        },
        Study::Chameneos { .. } => Chart {
            about: "meetings of each creature, the busiest first: level is fair",
            x: "creature",
            y: "meetings",
            is_logarithmic: false,
            is_bars: true,
            lines: vec![(String::new(), ranked(&outcome.meetings))],
        },
        Study::Fibonacci { .. } => Chart {
            about: "response time of fib(n), while all n are computed in the same server",
            x: "n",
            y: "time to answer",
            is_logarithmic: true,
            is_bars: false,
            lines: vec![
                ("99 %".to_owned(), by_n(99.0, &outcome.latencies)),
                ("median".to_owned(), by_n(50.0, &outcome.latencies)),
            ],
        },
        Study::Spawn { .. } => Chart {
            about: "resident memory while agents come to be",
            x: "seconds",
            y: "MiB",
            is_logarithmic: false,
            is_bars: false,
            lines: vec![(String::new(), outcome.curve.iter().map(|(s, bytes)| (*s, bytes / 1_048_576.0)).collect())],
        },
    };
    svg_of(&chart, &title(bench, kind, threads))
}

fn svg_of(chart: &Chart, title: &str) -> Result<String, PlotError> {
    if chart.lines.iter().all(|(_, points)| points.is_empty()) {
        return Err(PlotError::Nothing);
    }
    let mut svg = String::new();
    draw(chart, title, &mut svg).map_err(|error| PlotError::Drawing(error.to_string()))?;
    Ok(svg)
}

/// Returns the rate per second in each stretch of time.
fn rates(curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let stretches = curve.iter().zip(curve.iter().skip(1));
    let stretches = stretches.filter(|((from, _), (to, _))| to > from);
    stretches.map(|((from, before), (to, after))| (f64::midpoint(*from, *to), (after - before) / (to - from))).collect()
}

fn ranked(counts: &[f64]) -> Vec<(f64, f64)> {
    let mut counts = counts.to_vec();
    counts.sort_by(|a, b| b.total_cmp(a));
    (1..).zip(counts).map(|(rank, count)| (f64::from(rank), count)).collect()
}

/// Returns a percentile of the response times in us, for each n that was asked for.
fn by_n(percent: f64, latencies: &[FibonacciLatency]) -> Vec<(f64, f64)> {
    let mut asked: Vec<u64> = latencies.iter().map(|latency| latency.n).collect();
    asked.sort_unstable();
    asked.dedup();
    let point = |n: u64| {
        let mut times: Vec<f64> = latencies.iter().filter(|l| l.n == n).map(|l| l.us).collect();
        Some((n as f64, percentile(percent, &mut times)?))
    };
    asked.into_iter().filter_map(point).collect()
}

fn draw(chart: &Chart, title: &str, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    // A logarithmic axis is a linear one of exponents.
    let height = |y: f64| if chart.is_logarithmic { y.max(0.1).log10() } else { y };
    let all = || chart.lines.iter().flat_map(|(_, points)| points);
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    let top = largest(&mut all().map(|(_, y)| height(*y)));
    let right = largest(&mut all().map(|(x, _)| *x));
    let left = if chart.is_bars { 0.5 } else { 0.0 };
    let bottom = if chart.is_logarithmic { -largest(&mut all().map(|(_, y)| -height(*y))).ceil() } else { 0.0 };
    let (right, top) =
        if chart.is_bars { (right + 0.5, top * 1.1) } else { (right * 1.02, top + (top - bottom) * 0.1) };

    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let root = root.titled(title, ("sans-serif", 20))?;
    let mut canvas = ChartBuilder::on(&root)
        .caption(chart.about, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(84)
        .build_cartesian_2d(left..right.max(left + 1e-9), bottom..top.max(bottom + 1e-9))?;
    canvas
        .configure_mesh()
        .x_desc(chart.x)
        .y_desc(chart.y)
        .x_label_formatter(&|x| shown(*x, right))
        .y_label_formatter(&|y| if chart.is_logarithmic { time(10_f64.powf(*y)) } else { shown(*y, top) })
        .light_line_style(WHITE)
        .draw()?;
    for ((name, points), color) in chart.lines.iter().zip(COLORS) {
        if chart.is_bars {
            let bar = |(x, y): &(f64, f64)| Rectangle::new([(x - 0.4, 0.0), (x + 0.4, *y)], color.filled());
            canvas.draw_series(points.iter().map(bar))?;
            continue;
        }
        let line = points.iter().map(|(x, y)| (*x, height(*y)));
        let drawn = canvas.draw_series(LineSeries::new(line, color.stroke_width(2)))?;
        if !name.is_empty() {
            drawn
                .label(name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        }
    }
    if chart.lines.len() > 1 {
        let legend =
            canvas.configure_series_labels().position(SeriesLabelPosition::UpperLeft).border_style(BLACK).draw();
        legend?;
    }
    root.present()?;
    Ok(())
}

/// Returns a number on an axis that ends at `largest`.
fn shown(value: f64, largest: f64) -> String {
    match largest {
        largest if largest >= 5e6 => format!("{:.0} M", value / 1e6),
        largest if largest >= 1e6 => format!("{:.1} M", value / 1e6),
        largest if largest >= 1e4 => format!("{:.0} k", value / 1e3),
        largest if largest >= 10.0 => format!("{value:.0}"),
        largest if largest >= 1.0 => format!("{value:.1}"),
        largest if largest >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Microseconds in the unit that suits.
fn time(us: f64) -> String {
    let (value, unit) = match us {
        us if us >= 0.999e6 => (us / 1e6, "s"),
        us if us >= 999.0 => (us / 1e3, "ms"),
        us => (us, "us"),
    };
    // Between powers of ten lie 3.2 and 32.
    if value.fract().abs() < 1e-6 || value >= 10.0 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_stand_at_stretch_middles() {
        assert_eq!(rates(&[(0.0, 0.0), (0.5, 100.0), (1.5, 100.0)]), [(0.25, 200.0), (1.0, 0.0)]);
        assert_eq!(rates(&[(0.0, 0.0), (0.0, 10.0)]), []);
    }

    #[test]
    fn response_times_are_ordered_by_n() {
        let latency = |n, us| FibonacciLatency { n, us };
        let latencies = [latency(7, 3.0), latency(2, 1.0), latency(7, 9.0)];
        assert_eq!(by_n(50.0, &latencies), [(2.0, 1.0), (7.0, 3.0)]);
        assert_eq!(by_n(99.0, &latencies), [(2.0, 1.0), (7.0, 9.0)]);
    }

    #[test]
    fn axes_have_readable_numbers() {
        assert_eq!(shown(20_000_000.0, 4e7), "20 M");
        assert_eq!(shown(0.004, 0.012), "0.0040");
        let exponents = [1.5, 2.0, 3.0, 3.5, 6.0];
        assert_eq!(exponents.map(|e| time(10_f64.powf(e))), ["32 us", "100 us", "1 ms", "3.2 ms", "1 s"]);
    }

    #[test]
    fn empty_run_reports_no_picture() {
        let drawn =
            picture(&Study::Chameneos { creatures: 2, meetings: 1 }, AgentLanguage::Native, 1, &StudyResult::default());
        assert!(matches!(drawn, Err(PlotError::Nothing)));
    }
}
