//! `whimbrel bench`: figures for people, for programs, and as pictures.

#[cfg(all(target_os = "linux", feature = "nats"))]
use crate::CommandOutput;
use crate::{Scratch, run_in};

#[test]
fn picture_is_drawn_into_new_folder() {
    let scratch = Scratch::new();
    let seen = run_in(scratch.path(), &["bench", "chameneos", "--meetings", "50", "--json", "--plot", "out/pictures"]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    assert!(seen.out.starts_with("{\"bench\": \"chameneos\"") && seen.out.lines().count() == 1, "{}", seen.out);
    assert!(seen.err.contains("out/pictures/chameneos-native.svg"), "{}", seen.err);
    let svg = std::fs::read_to_string(scratch.path().join("out/pictures/chameneos-native.svg")).expect("it was drawn");
    assert!(svg.contains("creatures 50, meetings 50"), "{svg}");
}

#[test]
fn unusable_folder_is_reported_first() {
    let scratch = Scratch::with(&[("taken", "a file")]);
    // As it stands this would take an hour.
    let seen = run_in(scratch.path(), &["bench", "ring", "--passes", "100000000000", "--plot", "taken"]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.err.contains("cannot make the folder taken"), "{}", seen.err);
}

#[test]
fn pipes_see_no_progress() {
    let scratch = Scratch::new();
    let seen = run_in(scratch.path(), &["bench", "ring", "--passes", "300000", "--tokens", "20", "--workers", "20"]);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
    assert!(seen.out.contains("messages per second"), "{}", seen.out);
}

#[test]
fn messages_cross_processes_in_every_scenario() {
    let scratch = Scratch::new();
    for (scenario, mode, level, messages) in [
        ("one-to-one", "paced", "authenticated", "50"),
        ("many-to-one", "saturated", "tls", "5000"),
        ("broadcast", "saturated", "open", "5000"),
    ] {
        let arguments =
            ["bench", "messaging", "--producers", "3", "--consumers", "4", "--messages", messages, "--json"];
        let more = ["--scenario", scenario, "--mode", mode, "--security", level];
        let seen = run_in(scratch.path(), &[arguments.as_slice(), more.as_slice()].concat());
        assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""), "{scenario}");
        let line: serde_json::Value = serde_json::from_str(&seen.out).expect("it is JSON");
        assert_eq!(line["params"]["scenario"], scenario);
        for metric in ["messages_per_s", "p50_us", "p99_us", "cpu_s_per_million"] {
            assert!(line["metrics"][metric].as_f64().is_some(), "{metric}: {}", seen.out);
        }
    }
}

#[test]
fn agent_port_programs_get_answers() {
    let scratch = Scratch::new();
    for (frames, in_flight) in [("json", "1"), ("compact", "200")] {
        let arguments = ["bench", "sessions", "--sessions", "3", "--messages", "500", "--json"];
        let more = ["--frames", frames, "--in-flight", in_flight];
        let seen = run_in(scratch.path(), &[arguments.as_slice(), more.as_slice()].concat());
        assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""), "{frames}");
        let line: serde_json::Value = serde_json::from_str(&seen.out).expect("it is JSON");
        assert_eq!(line["params"]["frames"], frames);
        for metric in ["messages_per_s", "p50_us", "p99_us", "node_cpu_s_per_million"] {
            assert!(line["metrics"][metric].as_f64().is_some_and(|figure| figure > 0.0), "{metric}: {}", seen.out);
        }
    }
}

#[test]
fn pairs_get_all_answers_across_nodes() {
    let scratch = Scratch::new();
    for (nodes, level) in [("1", "open"), ("3", "authenticated")] {
        let arguments = ["bench", "rtt", "--pairs", "7", "--limit", "300", "--messages", "4", "--json"];
        let more = ["--nodes", nodes, "--security", level];
        let seen = run_in(scratch.path(), &[arguments.as_slice(), more.as_slice()].concat());
        assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""), "{nodes}");
        let line: serde_json::Value = serde_json::from_str(&seen.out).expect("it is JSON");
        let (params, metrics) = (&line["params"], &line["metrics"]);
        assert_eq!((params["pairs"].as_u64(), params["bytes"].as_u64()), (Some(7), Some(65_536)));
        assert_eq!(metrics["lost"], 0, "{}", seen.out);
        for metric in ["rtt_mean_ms", "rtt_p50_ms", "rtt_p99_ms", "rss_mb", "round_trips_per_s", "share_of_allowed"] {
            assert!(metrics[metric].as_f64().is_some_and(|figure| figure > 0.0), "{metric}: {}", seen.out);
        }
        let trips = metrics["round_trips_per_s"].as_f64().zip(metrics["seconds"].as_f64());
        assert_eq!(trips.map(|(per_s, seconds)| (per_s * seconds).round()), Some(28.0), "{}", seen.out);
    }
    let seen = run_in(scratch.path(), &["bench", "rtt", "--pairs", "2", "--nodes", "3"]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.err.contains("fewer pairs than nodes"), "{}", seen.err);
}

#[test]
fn durable_societies_are_compared_with_volatile() {
    let scratch = Scratch::new();
    let arguments = ["bench", "durability", "--rounds", "1", "--levels", "volatile,local", "--json"];
    let ring = ["--workers", "5", "--tokens", "3", "--passes", "4"];
    let net = ["--initiators", "2", "--participants", "3", "--conversations", "4"];
    let seen = run_in(scratch.path(), &[arguments.as_slice(), &ring, &net].concat());
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
    let line: serde_json::Value = serde_json::from_str(&seen.out).expect("it is JSON");
    assert_eq!(line["bench"], "durability");
    for society in ["ring", "contract-net"] {
        let of = |level: &str, metric: &str| line["metrics"][society][level][metric].as_f64();
        assert!(of("volatile", "messages_per_s").is_some_and(|per_s| per_s > 0.0), "{}", seen.out);
        assert_eq!(of("volatile", "journal_bytes_per_message"), None);
        assert!(of("local", "of_volatile").is_some_and(|share| share > 0.0 && share < 1.0), "{}", seen.out);
        assert!(of("local", "journal_bytes_per_message").is_some_and(|bytes| bytes > 10.0), "{}", seen.out);
        assert_eq!(of("local", "conversation_p99_ms").is_some(), society == "contract-net", "{}", seen.out);
    }
    assert_eq!(std::fs::read_dir(scratch.path()).expect("it is there").count(), 0, "something is left");
}

#[test]
#[cfg(feature = "nats")]
fn benchmark_starts_and_stops_three_servers() {
    let Some(program) = crate::engine::program() else { return };
    let scratch = Scratch::new();
    let seen: crate::CommandOutput = crate::whimbrel()
        .args(["bench", "durability", "--rounds", "1", "--society", "ring", "--levels", "replicated"])
        .args(["--workers", "5", "--tokens", "3", "--passes", "4"])
        .current_dir(scratch.path())
        .env("WHIMBREL_NATS_SERVER", program)
        .output()
        .expect("the binary runs")
        .into();
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    assert!(seen.err.contains("round 1 of 1: ring, replicated"), "{}", seen.err);
    assert!(seen.out.contains("  replicated ") && seen.out.contains("messages a flush"), "{}", seen.out);
    assert_eq!(std::fs::read_dir(scratch.path()).expect("it is there").count(), 0, "something is left");
}

#[cfg(target_os = "linux")]
#[test]
fn devices_find_acknowledged_states() {
    let scratch = Scratch::new();
    let arguments = ["bench", "devices", "--devices", "40", "--ops", "100", "--seconds", "3", "--every", "1"];
    let seen =
        run_in(scratch.path(), &[arguments.as_slice(), &["--folder", ".", "--json", "--plot", "pictures"]].concat());
    assert_eq!(seen.code, Some(0), "{} {}", seen.out, seen.err);
    let line: serde_json::Value = serde_json::from_str(&seen.out).expect("it is JSON");
    let (params, metrics) = (&line["params"], &line["metrics"]);
    assert_eq!((&params["devices"], &params["store"]), (&40.into(), &true.into()));
    assert_eq!((metrics["lost"].as_f64(), metrics["verified"].as_f64()), (Some(0.0), Some(40.0)), "{}", seen.out);
    for metric in ["ops_per_s", "p50_ms", "p99_ms", "max_ms", "connected_s"] {
        assert!(metrics[metric].as_f64().is_some_and(|figure| figure > 0.0), "{metric}: {}", seen.out);
    }
    assert!(metrics["stretches"].as_array().is_some_and(|stretches| !stretches.is_empty()), "{}", seen.out);
    let svg = std::fs::read_to_string(scratch.path().join("pictures/devices.svg")).expect("it was drawn");
    assert!(svg.contains("devices: 40"), "{svg}");
    let left: Vec<_> =
        std::fs::read_dir(scratch.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["pictures"], "nothing else is left");
}

/// States in memory only are lost with their process although they were acknowledged; the benchmark notices and counts
/// them.
#[cfg(target_os = "linux")]
#[test]
fn killed_gateway_losses_are_counted() {
    let scratch = Scratch::new();
    let arguments = ["bench", "devices", "--devices", "20", "--ops", "50", "--seconds", "6", "--every", "2"];
    let seen = run_in(
        scratch.path(),
        &[arguments.as_slice(), &["--volatile", "--kill-after", "3", "--folder", ".", "--json"]].concat(),
    );
    assert_eq!(seen.code, Some(1), "{} {}", seen.out, seen.err);
    let line: serde_json::Value = serde_json::from_str(&seen.out).expect("it is JSON");
    let metrics = &line["metrics"];
    assert_eq!((&line["params"]["store"], metrics["verified"].as_f64()), (&false.into(), Some(20.0)), "{}", seen.out);
    assert!(metrics["lost"].as_f64() > Some(0.0), "{}", seen.out);
}

#[test]
fn shared_port_gateways_refuse_excess_devices() {
    let scratch = Scratch::new();
    let run = |more: &[&str]| {
        run_in(scratch.path(), &[&["bench", "devices", "--volatile", "--json", "--folder", "."], more].concat())
    };
    let seen = run(&["--devices", "30", "--gateways", "2", "--seconds", "0"]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    let line: serde_json::Value = serde_json::from_str(&seen.out).expect("it is JSON");
    assert_eq!(line["metrics"]["ops_per_s"], serde_json::Value::Null);
    let seen = run(&["--devices", "200000"]);
    assert!(seen.code == Some(1) && seen.err.contains("give --gateways"), "{}", seen.err);
}

/// Each device comes back to any of the processes, and finds its state all the same.
#[cfg(target_os = "linux")]
#[test]
fn several_gateways_keep_acknowledged_states() {
    let scratch = Scratch::new();
    let arguments = ["bench", "devices", "--devices", "60", "--ops", "60", "--seconds", "2", "--gateways", "3"];
    let seen = run_in(scratch.path(), &[arguments.as_slice(), &["--volatile", "--folder", ".", "--json"]].concat());
    assert_eq!(seen.code, Some(0), "{} {}", seen.out, seen.err);
    let line: serde_json::Value = serde_json::from_str(&seen.out).expect("it is JSON");
    let metrics = &line["metrics"];
    assert_eq!((metrics["lost"].as_f64(), metrics["verified"].as_f64()), (Some(0.0), Some(60.0)), "{}", seen.out);
}

/// Acknowledged states outlive the process that acknowledged them: other gateways take its devices over.
#[cfg(all(target_os = "linux", feature = "nats"))]
#[test]
fn killed_gateway_states_survive_elsewhere() {
    let Some(server) = super::engine::program() else { return };
    let scratch = Scratch::new();
    let arguments = ["bench", "devices", "--devices", "30", "--ops", "30", "--seconds", "12", "--gateways", "3"];
    let seen: CommandOutput = super::whimbrel()
        .args(arguments)
        .args(["--kill-after", "3", "--folder", ".", "--json"])
        .current_dir(scratch.path())
        .env("WHIMBREL_NATS_SERVER", server)
        .output()
        .expect("it runs")
        .into();
    assert_eq!(seen.code, Some(0), "{} {}", seen.out, seen.err);
    let line: serde_json::Value = serde_json::from_str(&seen.out).expect("it is JSON");
    let metrics = &line["metrics"];
    assert_eq!((metrics["lost"].as_f64(), metrics["verified"].as_f64()), (Some(0.0), Some(30.0)), "{}", seen.out);
}
