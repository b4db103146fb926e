//! `run --log` and `log`: what agents said to each other, kept, queried, and gone on with from where one was.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::control::SocietyFolder;
use super::{CommandOutput, RunningProcess};

const PATIENCE: Duration = Duration::from_secs(180);

const PROJECT: &str = "MAS m { agents: a; b; c; }";
/// Counts, and never stops.
const COUNTS: &str = "!count(1).
+!count(N) : N mod 5 = 0 <- .send(c, cfp, fifth(N)); .wait(2); !count(N+1).
+!count(N) <- .send(b, tell, n(N)); .wait(2); !count(N+1).
";
const HEARS: &str = "+n(N) <- -n(N)[source(_)].";
const HEARS_CALLS: &str = "+!kqml_received(A, cfp, X, M).";

/// Folder with a society whose agents count.
struct CountingSociety(SocietyFolder);

impl CountingSociety {
    fn new() -> Self {
        let files = [("m.mas2j", PROJECT), ("a.asl", COUNTS), ("b.asl", HEARS), ("c.asl", HEARS_CALLS)];
        Self(SocietyFolder::with(&files))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.0.command(arguments)
    }

    fn see(&self, arguments: &[&str]) -> CommandOutput {
        self.0.see(arguments)
    }

    /// Runs the society, and waits until so many messages were said in all.
    #[track_caller]
    fn start(&self, arguments: &[&str], messages: u64) -> RunningProcess {
        let arguments = [&["run", "m.mas2j"], arguments].concat();
        let running = self.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let running = RunningProcess(running.expect("it runs"));
        let began = Instant::now();
        while last_of(&self.see(&["log", "--json"]).out) < messages {
            assert!(began.elapsed() < PATIENCE, "it takes too long: {}", self.see(&["log"]).err);
            std::thread::sleep(Duration::from_millis(20));
        }
        running
    }

    /// The lines of a log, the last of them with the cursor.
    #[track_caller]
    fn lines(&self, arguments: &[&str]) -> (Vec<Value>, String) {
        let CommandOutput { out, err, code, .. } = self.see(&[&["log", "--json"], arguments].concat());
        assert_eq!((err.as_str(), code), ("", Some(0)), "{arguments:?} printed {out}");
        let mut lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
        let end = lines.pop().expect("it has an end");
        assert_eq!(end["event"], "end");
        (lines, end["cursor"].as_str().expect("it is text").to_owned())
    }
}

/// The number of the last entry of the first node.
fn last_of(out: &str) -> u64 {
    let end: Value = out.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    let cursor = end["cursor"].as_str().unwrap_or_default();
    cursor.split(',').next().and_then(|first| first.rsplit_once(':')?.1.parse().ok()).unwrap_or_default()
}

/// Checks that the number in each message grows by one, however many processes sent them.
#[track_caller]
fn check_gapless(lines: &[Value]) {
    let mut expected = None;
    for line in lines {
        let number = line["number"].as_u64().expect("it has one");
        if line["event"] == "cut_short" {
            expected = None;
            continue;
        }
        let content = line["content"].as_str().expect("it is text");
        let count: u64 = content.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("it counts");
        assert!(expected.is_none_or(|expected| count == expected), "{expected:?} was to come, not {line}");
        expected = Some(count + 1);
        assert!(line["cursor"].as_str().is_some_and(|cursor| cursor == format!("n1:{number}")), "{line}");
    }
}

#[test]
fn cursor_continues_after_kill_nine() {
    let site = CountingSociety::new();
    let mut running = site.start(&["--log"], 50);
    let (first, cursor) = site.lines(&[]);
    let (second, cursor) = site.lines(&["--since", &cursor]);
    running.0.kill().expect("it is ours");
    running.0.wait().expect("it is ours");
    // Nobody runs: the folder tells the same.
    let folder = ["--folder", ".whimbrel/m.log"];
    let (third, cursor) = site.lines(&[&folder[..], &["--since", &cursor]].concat());
    let all = [first, second, third].concat();
    check_gapless(&all);
    let (whole, at_once) = site.lines(&folder);
    assert_eq!((&whole, &at_once), (&all, &cursor));
    // Another process goes on with the log, and the cursor with it.
    drop(site.start(&["--log"], all.len() as u64 + 50));
    let (fourth, _) = site.lines(&[&folder[..], &["--since", &cursor]].concat());
    assert_eq!(fourth[0]["event"], "cut_short", "{}", fourth[0]);
    check_gapless(&fourth[1..]);
    assert_eq!(fourth[1]["content"], "n(1)");
    assert_eq!(site.lines(&folder).0, [all, fourth].concat());
}

#[test]
fn killed_follower_continues_at_any_line() {
    let site = CountingSociety::new();
    let running = site.start(&["--log"], 10);
    let (mut all, mut cursor) = (Vec::new(), "n1:0".to_owned());
    for lines in [3, 40, 1, 25] {
        let arguments = ["log", "--follow", "--json", "--since", &cursor];
        let mut follower =
            RunningProcess(site.command(&arguments).stdout(Stdio::piped()).spawn().expect("the binary runs"));
        let output = BufReader::new(follower.0.stdout.take().expect("it is piped"));
        for line in output.lines().take(lines) {
            let line: Value = serde_json::from_str(&line.expect("it is text")).expect("it is JSON");
            cursor = line["cursor"].as_str().expect("it has one").to_owned();
            all.push(line);
        }
        follower.0.kill().expect("it is ours");
    }
    assert_eq!(all.len(), 69);
    check_gapless(&all);
    drop(running);
}

#[test]
fn queries_find_what_fits() {
    let site = CountingSociety::new();
    let running = site.start(&["--log=kept"], 60);
    let contents = |arguments: &[&str]| -> Vec<String> {
        let (lines, _) = site.lines(arguments);
        lines.iter().map(|line| line["content"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let fifths = contents(&["--performative", "CFP", "--from", "a", "--last", "1h"]);
    assert!(fifths.len() >= 10 && fifths[..2] == ["fifth(5)", "fifth(10)"], "{fifths:?}");
    assert!(contents(&["--to", "c"]).starts_with(&fifths));
    assert!(contents(&["--to", "b", "--performative", "tell"])[3].contains("n(4)"));
    assert_eq!(contents(&["--from", "b"]), [""; 0]);
    assert_eq!(contents(&["no-such-conversation"]), [""; 0]);
    for (name, what) in [("deal-7", "tea"), ("deal-8", "cake"), ("talk", "hello")] {
        let seen = site.see(&["send", "b", what, "--conversation", name]);
        assert_eq!(seen.code, Some(0), "{}", seen.err);
    }
    let began = Instant::now();
    while contents(&["talk"]).is_empty() {
        assert!(began.elapsed() < PATIENCE, "it takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(contents(&["deal-*"]), ["tea", "cake"]);
    let text = site.see(&["log", "--to", "c"]);
    assert!(
        text.out.lines().next().is_some_and(|line| line.contains("a -> c") && line.contains("fifth(5)")),
        "{}",
        text.out
    );
    assert!(text.err.contains("to continue: --since n1:"), "{}", text.err);
    // The folder is the process's as long as it runs.
    let seen = site.see(&["log", "--folder", "kept"]);
    assert!(seen.code == Some(1) && seen.err.contains(&running.0.id().to_string()), "{}", seen.err);
    for (arguments, why) in [
        (&["--since", "n1:99999999"][..], "no entry has number 99999999"),
        (&["--folder", "nowhere"], "cannot read the log in nowhere"),
    ] {
        let seen = site.see(&[&["log"], arguments].concat());
        assert_eq!(seen.code, Some(1));
        assert!(seen.err.contains(why) && !seen.err.contains("to continue"), "{}", seen.err);
    }
    assert_eq!(site.see(&["log", "--since", "soon"]).code, Some(2));
}

#[test]
fn one_cursor_covers_several_nodes() {
    let site = CountingSociety::new();
    let running = site.start(&["--log", "--nodes", "2"], 40);
    let began = Instant::now();
    while !site.see(&["log", "--json"]).out.contains(",n2:") {
        assert!(began.elapsed() < PATIENCE, "the second node cannot be asked");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (first, cursor) = site.lines(&[]);
    let times: Vec<u64> = first.iter().filter_map(|line| line["at_us"].as_u64()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(cursor.contains("n1:") && cursor.contains("n2:"), "{cursor}");
    let (second, cursor) = site.lines(&["--since", &cursor]);
    assert_eq!(site.see(&["stop"]).code, Some(0));
    drop(running);
    let began = Instant::now();
    while site.see(&["log", "--folder", ".whimbrel/m.log"]).code != Some(0) {
        assert!(began.elapsed() < PATIENCE, "a node still has its log");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (third, _) = site.lines(&["--folder", ".whimbrel/m.log", "--since", &cursor]);
    let counted = |line: &&Value| line["from"] == "a" && line["event"] == "sent";
    let all: Vec<Value> = [&first, &second, &third].into_iter().flatten().filter(counted).cloned().collect();
    let contents: Vec<String> = all.iter().map(|line| line["content"].to_string()).collect();
    let numbers: Vec<u64> = contents
        .iter()
        .map(|text| text.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("it counts"))
        .collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn node_without_log_says_so() {
    let site = CountingSociety::new();
    let running = RunningProcess(site.command(&["run", "m.mas2j"]).stdout(Stdio::null()).spawn().expect("it runs"));
    let began = Instant::now();
    while site.see(&["agents"]).code != Some(0) {
        assert!(began.elapsed() < PATIENCE, "it takes too long");
        std::thread::sleep(Duration::from_millis(20));
    }
    let seen = site.see(&["log"]);
    let why = "error: this node keeps no log of messages: run it with --log\n";
    assert_eq!((seen.err.as_str(), seen.code), (why, Some(1)));
    drop(running);
}
