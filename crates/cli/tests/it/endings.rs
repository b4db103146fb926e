//! `--for`, Ctrl-C and SIGTERM end any society in time, whatever its agents do.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Scratch, whimbrel};

/// Longest time from the end that was promised to the end of the process. One second is promised; a debug build on a
/// busy machine takes longer, and without the shared time of all parts it takes ten: any time below tells these apart.
const LATE_AT_MOST: Duration = Duration::from_secs(8);
/// The time that `--for` is given.
const TIME: Duration = Duration::from_millis(300);

/// Programs that end by themselves never, or not for years. Each prints a line when it begins.
const ENDLESS: [(&str, &str); 4] = [
    (
        "proof.asl",
        "n(0). n(1). n(2). n(3). n(4). n(5). n(6). n(7). n(8). n(9). !go.
         +!go <- .print(begun); .wait(1); .count(n(A) & n(B) & n(C) & n(D) & n(E) & n(F) & n(G) & n(H) & n(I) & n(J) & n(K), N); .print(N).",
    ),
    ("loop.asl", "!go. +!go <- .print(begun); while (true) { X = 1 }."),
    ("chatter.asl", "!go. +!go <- .print(again); !!go."),
    ("sleeper.asl", "!go. +!go <- .print(begun); .wait(3600000)."),
];

/// Cause of a society's end.
#[derive(Clone, Copy, Debug)]
enum EndCause {
    Time,
    Signal(&'static str),
}

const CAUSES: [EndCause; 3] = [EndCause::Time, EndCause::Signal("-INT"), EndCause::Signal("-TERM")];

impl EndCause {
    /// Starts a society that this is to end.
    fn start(self, folder: &Path, arguments: &[&str]) -> RunningSociety {
        let mut command = whimbrel();
        command.args(arguments).current_dir(folder);
        if matches!(self, Self::Time) {
            command.args(["--for", &format!("{}ms", TIME.as_millis())]);
        }
        RunningSociety::start(command, self)
    }
}

/// A society that printed a line.
struct RunningSociety {
    child: Child,
    /// Not read any more: it fills up.
    _out: BufReader<ChildStdout>,
    began: Instant,
    cause: EndCause,
}

impl RunningSociety {
    fn start(mut command: Command, cause: EndCause) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary runs");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let printed = out.read_line(&mut String::new()).expect("it can be read") > 0;
        // On a busy machine the time may be over before the first line: the society has ended in time then.
        assert!(printed || matches!(cause, EndCause::Time), "the society began");
        Self { child, _out: out, began: Instant::now(), cause }
    }

    /// Checks that the society ends in time.
    #[track_caller]
    fn ends_in_time(mut self, what: &str) {
        let (promised, code) = match self.cause {
            EndCause::Time => (self.began + TIME, 0),
            EndCause::Signal(signal) => {
                let killed = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
                assert!(killed.expect("kill runs").success());
                (Instant::now(), 130)
            }
        };
        let status = self.child.wait().expect("it ends");
        let late = promised.elapsed();
        assert!(late < LATE_AT_MOST, "{what} by {:?}: {late:?} late", self.cause);
        assert_eq!(status.code(), Some(code), "{what} by {:?}", self.cause);
    }
}

#[track_caller]
pub(super) fn all_end_in_time(scratch: &Scratch, arguments: &[&str]) {
    for cause in CAUSES {
        cause.start(scratch.path(), arguments).ends_in_time(&arguments.join(" "));
    }
}

#[test]
fn endless_programs_end_in_time() {
    let scratch = Scratch::with(&ENDLESS);
    for (file, _) in ENDLESS {
        all_end_in_time(&scratch, &["run", file]);
        all_end_in_time(&scratch, &["run", file, "--agents", "20", "--summary"]);
    }
}

#[test]
fn endless_durable_programs_end_in_time() {
    for (file, program) in ENDLESS {
        for cause in CAUSES {
            let scratch = Scratch::with(&[(file, program)]);
            cause.start(scratch.path(), &["run", file, "--store", "kept"]).ends_in_time(file);
        }
    }
}

#[test]
fn endless_programs_on_nodes_end_in_time() {
    let scratch = Scratch::with(&ENDLESS);
    all_end_in_time(&scratch, &["run", "proof.asl", "--agents", "3", "--nodes", "3"]);
}

#[test]
fn many_agents_end_in_time() {
    let [proof, ..] = ENDLESS;
    let society = |count: u32| {
        let project = format!("MAS many {{ agents: sleeper silent.asl #{count}; proof; }}");
        Scratch::with(&[("many.mas2j", project.as_str()), ("silent.asl", "!go. +!go <- .wait(3600000)."), proof])
    };
    all_end_in_time(&society(50_000), &["run", "."]);
    let kept = society(10_000);
    EndCause::Signal("-TERM")
        .start(kept.path(), &["run", ".", "--store", "kept"])
        .ends_in_time("10,000 durable agents");
}

/// Nobody reads what the agents print, so the end is forced.
#[test]
fn forced_partial_end_fails() {
    let [.., (_, chatter), _] = ENDLESS;
    let project = ("part.mas2j", "MAS part { agents: chatter; ann; }");
    let scratch = Scratch::with(&[project, ("chatter.asl", chatter), ("ann.asl", "!go")]);
    let mut command = whimbrel();
    command.args(["run", ".", "--for", "300ms", "--summary"]).current_dir(scratch.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let noted = BufReader::new(child.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    let last = noted.last();
    let status = child.wait().expect("it ends");
    assert_eq!(last.as_deref(), Some("error: 1 agent is not started: ann (ann.asl has errors)"));
    assert_eq!(status.code(), Some(1));
}

/// Creating so many takes seconds.
#[test]
fn agents_being_created_end_in_time() {
    let scratch = Scratch::with(&[
        ("many.mas2j", "MAS many { agents: first; others silent.asl #300000; }"),
        ("first.asl", "!go. +!go <- .print(begun)."),
        ("silent.asl", "k."),
    ]);
    let cause = EndCause::Signal("-INT");
    cause.start(scratch.path(), &["run", "."]).ends_in_time("300,000 agents");
}

#[test]
fn joined_nodes_end_in_time() {
    let scratch = Scratch::with(&ENDLESS);
    let signal = EndCause::Signal("-TERM");
    for (file, _) in ENDLESS {
        let mut command = whimbrel();
        command
            .args(["run", file, "--name", "home", "--listen", "127.0.0.1:0", "--token", "t"])
            .current_dir(scratch.path());
        let mut host = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let mut noted = BufReader::new(host.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
        let address = noted.find_map(|line| Some(line.split_once("join at ")?.1.to_owned())).expect("it listens");
        let mut out = BufReader::new(host.stdout.take().expect("it is piped"));
        assert!(out.read_line(&mut String::new()).expect("it can be read") > 0, "the society began");
        std::fs::copy(scratch.path().join(file), scratch.path().join("guest.asl")).expect("it can be copied");
        let joined = signal.start(scratch.path(), &["join", &address, "guest.asl", "--name", "away", "--token", "t"]);
        let host = RunningSociety { child: host, _out: out, began: Instant::now(), cause: signal };
        joined.ends_in_time(&format!("join {file}"));
        host.ends_in_time(&format!("host of {file}"));
    }
}
