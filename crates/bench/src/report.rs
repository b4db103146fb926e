//! Results, for programs and for people.

use std::fmt::Write;

use super::{AgentLanguage, Metrics, Study};

/// Returns one line of JSON, with the same names from release to release.
pub fn json(bench: &Study, kind: AgentLanguage, threads: usize, metrics: &Metrics) -> String {
    let params: Vec<String> = bench.params().iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    let params = format!("\"kind\": \"{}\", \"threads\": {threads}, {}", kind.name(), params.join(", "));
    line(bench.name(), &params, metrics)
}

/// Returns a line of JSON with parameters that are JSON already.
pub fn line(name: &str, params: &str, metrics: &Metrics) -> String {
    line_of(name, params, &object(metrics))
}

/// Returns a line of JSON with parameters and figures that are JSON already.
pub fn line_of(name: &str, params: &str, metrics: &str) -> String {
    format!(
        "{{\"bench\": \"{name}\", \"version\": \"{}\", \"machine\": {{\"os\": \"{}\", \"arch\": \"{}\", \"cores\": {}}}, \
         \"params\": {{{params}}}, \"metrics\": {metrics}}}",
        whimbrel::VERSION,
        std::env::consts::OS,
        std::env::consts::ARCH,
        std::thread::available_parallelism().map_or(0, usize::from)
    )
}

/// Figures as an object of JSON.
pub fn object(metrics: &Metrics) -> String {
    let metrics = metrics.iter().map(|(name, value)| match value {
        Some(value) if value.is_finite() => format!("\"{name}\": {value}"),
        _ => format!("\"{name}\": null"),
    });
    format!("{{{}}}", metrics.collect::<Vec<_>>().join(", "))
}

/// Returns a table of the results, with explanations.
pub fn table(bench: &Study, kind: AgentLanguage, threads: usize, metrics: &Metrics) -> String {
    let mut text = rows(&title(bench, kind, threads), metrics);
    if let (Study::Ring { .. }, Some(rate)) = (bench, metric(metrics, "messages_per_s")) {
        let _ = write!(text, "\n  {:>14}  per message", format!("{:.1} ns", 1e9 / rate));
    }
    text
}

/// Returns a title, and a row for each figure.
pub fn rows(title: &str, metrics: &Metrics) -> String {
    let mut text = title.to_owned();
    for (name, value) in metrics {
        let value = value.map_or("-".to_owned(), |value| readable(name, value));
        let _ = write!(text, "\n  {value:>14}  {}", meaning(name));
    }
    text
}

/// Returns the title of a run, in one line.
pub fn title(bench: &Study, kind: AgentLanguage, threads: usize) -> String {
    let params: Vec<String> =
        bench.params().iter().map(|(name, value)| format!("{} {value}", name.replace('_', " "))).collect();
    format!("{} ({}, {threads} threads): {}", bench.name(), kind.name(), params.join(", "))
}

fn metric(metrics: &Metrics, name: &str) -> Option<f64> {
    metrics.iter().find(|(found, _)| *found == name).and_then(|(_, value)| *value)
}

fn readable(name: &str, value: f64) -> String {
    if name == "seconds" {
        return format!("{value:.3} s");
    }
    if ["first_s", "recovered_s", "handed_over_s", "connected_s"].contains(&name) {
        return format!("{value:.2} s");
    }
    if name.ends_with("_us") && value < 10.0 {
        return format!("{value:.3} us");
    }
    if name.ends_with("bytes") || name == "bytes_per_device" {
        return format!("{value:.0}");
    }
    if name.ends_with("_us") {
        return if value < 10_000.0 { format!("{value:.1} us") } else { format!("{:.1} ms", value / 1000.0) };
    }
    if name.ends_with("_ms") {
        return format!("{value:.2} ms");
    }
    if name.ends_with("amplification") {
        return format!("{value:.2}");
    }
    if name == "share_of_allowed" {
        return format!("{:.1} %", value * 100.0);
    }
    if ["lost", "doubled", "moved_agents", "errors", "verified"].contains(&name) {
        return format!("{value:.0}");
    }
    if name.contains("cpu_s") {
        return format!("{value:.2} s");
    }
    if value >= 1e6 { format!("{:.2} M", value / 1e6) } else { format!("{value:.1}") }
}

/// Returns the meaning of a metric, in words.
fn meaning(name: &str) -> &str {
    match name {
        "seconds" => "from the first message to the last",
        "messages_per_s" => "messages per second",
        "meetings_sd" => "standard deviation of meetings per creature: 0 is perfectly fair",
        "small_p50_us" => "median time to answer n <= 10, while large n are computed in the same server",
        "small_p99_us" => "99 of 100 answers to n <= 10 came within this time",
        "small_max_us" => "the slowest answer to n <= 10",
        "large_p50_us" => "median time to answer the largest n",
        "bytes" => "bytes of the object, by itself",
        "warm_bytes" => "bytes of a message with it, after another such message on the same connection",
        "encode_us" => "to encode it",
        "decode_us" => "to decode it into objects that share the text they have in common, as Java's do",
        "view_us" => "to look at every value in place",
        "encode_owned_us" => "to encode it, each object with a text of its own",
        "decode_owned_us" => "to decode it so",
        "decode_value_us" => "to decode it without knowing its type",
        "message_overhead_bytes" => "bytes of an inform beside its text of 60, between agents that have talked before",
        "message_us" => "to encode and decode that",
        "p50_us" => "median time until a message arrived",
        "p99_us" => "99 of 100 did",
        "cpu_s_per_million" => "seconds of processor time per million deliveries, both processes",
        "node_cpu_s_per_million" => "seconds of processor time of the node per million messages, either way",
        "clients_cpu_s_per_million" => "the same of the programs, all in one process",
        "writes_per_s" => "states a second that are safe",
        "reads_per_s" => "reads a second beside them",
        "p50_ms" => "median time until a write was safe",
        "p99_ms" => "99 of 100 were",
        "max_ms" => "the slowest",
        "write_amplification" => "bytes of the journal per byte of state",
        "device_amplification" => "bytes that the system wrote to disks per byte of state",
        "rtt_mean_ms" => "from a message to its answer, on average",
        "rtt_p50_ms" => "median time until an answer came",
        "rtt_p99_ms" => "99 of 100 did",
        "lost" => "lost",
        "doubled" => "done twice",
        "ops_per_s" => "operations a second",
        "errors" => "operations of which nobody said what became of them: their connection broke",
        "verified" => {
            "devices that came back at the end and found the state that they were told was safe, or were counted as lost"
        }
        "bytes_per_device" => "bytes of the node's memory per idle device, with its session and agent",
        "connected_s" => "until all devices had their agents",
        "moved_agents" => "agents that went to other nodes",
        "first_s" => "until the first of them answered",
        "recovered_s" => "until the last did",
        "handed_over_s" => "until the node had handed over all",
        "pause_p50_ms" => "median time that an agent stood still",
        "pause_p99_ms" => "99 of 100 did",
        "rss_mb" => "MB of memory at most, all processes together",
        "round_trips_per_s" => "answers per second",
        "allowed_per_s" => "of the receivers' computations alone, on as many cores as there is work for",
        "share_of_allowed" => "of that",
        "live_bytes_per_agent" => "bytes of resident memory per idle agent",
        "live_p50_us" => "median time until one that was asked had answered, the disk's included",
        "live_p99_us" => "99 of 100 had",
        "passive_bytes_per_agent" => "bytes of resident memory per agent that has left memory",
        "passive_p50_us" => "median time until one of those had answered",
        "passive_p99_us" => "99 of 100 had",
        "bytes_per_agent" => "bytes of resident memory per idle agent",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_agreed_names() {
        let bench = Study::Ring { workers: 500, tokens: 1, passes: 10 };
        let line = json(&bench, AgentLanguage::Native, 2, &vec![("seconds", Some(0.5)), ("messages_per_s", None)]);
        assert!(line.starts_with("{\"bench\": \"ring\", \"version\": \""), "{line}");
        assert!(line.contains("\"workers\": 500, \"tokens\": 1, \"passes\": 10}"), "{line}");
        assert!(line.ends_with("\"metrics\": {\"seconds\": 0.5, \"messages_per_s\": null}}"), "{line}");
    }

    #[test]
    fn the_table_explains() {
        let bench = Study::Spawn { agents: 10 };
        let text = table(&bench, AgentLanguage::Asl, 2, &vec![("bytes_per_agent", Some(512.0))]);
        assert_eq!(
            text,
            "spawn (asl, 2 threads): agents 10\n           512.0  bytes of resident memory per idle agent"
        );
    }
}
