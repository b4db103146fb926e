//! Times of tests and of their programs. Cargo runs each program through this one, which asks it for the time of each
//! test: an unstable option of Rust's test harness, allowed by a variable that only the program gets.

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitCode};

/// Command of this program that runs a test program.
pub const COMMAND: &str = "test-program";
/// Start of the line that announces a test program.
const ANNOUNCEMENT: &str = "test program ";
/// Part of the names of tests that measure real time, so that no others may run beside them.
const REAL_TIME: &str = "in_time";
/// Tests that run at once for each core: most of them wait for processes, timers and connections.
const TESTS_PER_CORE: usize = 3;
/// Tests and programs in a summary.
const SHOWN_MAX: usize = 10;

/// Times that a run's output tells, in seconds.
#[derive(Debug, Default)]
pub struct Times {
    /// Program whose output is read.
    program: String,
    programs: Vec<(f64, String)>,
    tests: Vec<(f64, String)>,
}

impl Times {
    /// Takes a line of a run's output, and returns false if nobody needs to see it.
    pub fn read(&mut self, line: &str) -> bool {
        if let Some(program) = line.strip_prefix(ANNOUNCEMENT) {
            program.clone_into(&mut self.program);
        }
        let finished = line.strip_prefix("test result: ").and_then(|result| result.split_once("finished in "));
        if let Some(seconds) = finished.and_then(|(_, time)| seconds(time)) {
            self.programs.push((seconds, self.program.clone()));
        }
        let test = line.strip_prefix("test ").and_then(|test| test.split_once(" ... "));
        let Some((name, (result, time))) = test.and_then(|(name, rest)| Some((name, rest.split_once(" <")?))) else {
            // A test that is left out has no time.
            return !test.is_some_and(|(_, result)| result.starts_with("ignored"));
        };
        if let Some(seconds) = time.strip_suffix('>').and_then(seconds) {
            self.tests.push((seconds, format!("{name} ({})", self.program)));
        }
        result != "ok"
    }

    /// Returns a table of the slowest tests and programs; empty if no test was timed.
    pub fn summary(&self) -> String {
        let tests = slowest("slowest tests", &self.tests);
        format!("{tests}{}", slowest("slowest test programs", &self.programs))
    }
}

fn slowest(title: &str, times: &[(f64, String)]) -> String {
    if times.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&(f64, String)> = times.iter().collect();
    sorted.sort_by(|one, other| other.0.total_cmp(&one.0));
    let sum: f64 = times.iter().map(|(seconds, _)| seconds).sum();
    let mut text = format!("\n{title} (of {}, {sum:.0} s in all)\n", times.len());
    for (seconds, name) in sorted.into_iter().take(SHOWN_MAX) {
        text += &format!("{seconds:>9.1} s  {name}\n");
    }
    text
}

/// Reads `1.25s`.
fn seconds(text: &str) -> Option<f64> {
    text.strip_suffix('s')?.parse().ok()
}

/// Returns the option with which cargo runs test programs through this one.
///
/// # Errors
/// The path of this program is not known.
pub fn runner() -> io::Result<String> {
    let program = std::env::current_exe()?;
    Ok(format!("target.'cfg(all())'.runner = [{:?}, {COMMAND:?}]", program.display().to_string()))
}

/// Runs a program of cargo's with its arguments. A test program tells the time of each test, and runs twice: first all
/// tests but those that measure real time, several at once, then those, one at a time.
///
/// # Errors
/// The program cannot be started.
pub fn run(program: &str, arguments: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
    println!("{ANNOUNCEMENT}{}", name(program, std::env::var("CARGO_PKG_NAME").ok().as_deref()));
    // The short form has no times.
    let arguments: Vec<OsString> = arguments.filter(|argument| argument != "--quiet").collect();
    let test = |options: &[&str]| {
        let mut command = Command::new(program);
        command.args(&arguments).args(options).args(["-Zunstable-options", "--report-time"]);
        // All examples are built before any test program runs.
        command.env("RUSTC_BOOTSTRAP", "1").env("WHIMBREL_EXAMPLES_BUILT", "1");
        command
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let together = code(&mut test(&["--skip", REAL_TIME, &format!("--test-threads={}", cores * TESTS_PER_CORE)]))?;
    let listed = test(&["--list", REAL_TIME]).output()?;
    if !String::from_utf8_lossy(&listed.stdout).contains(": test") {
        return Ok(together);
    }
    let alone = code(&mut test(&["--test-threads=1", REAL_TIME]))?;
    Ok(if together == ExitCode::SUCCESS { alone } else { together })
}

/// Runs a command, and returns its exit status; 1 if a signal ended it.
fn code(command: &mut Command) -> io::Result<ExitCode> {
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Returns the name of a test program: its package, and its own name without the hash at its end.
fn name(program: &str, package: Option<&str>) -> String {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let stem = file.rsplit_once('-').map_or(file, |(stem, _)| stem);
    format!("{} {stem}", package.unwrap_or_default()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "test program whimbrel-net it

running 4 tests
test a::quick ... ok <0.004s>
test a::slow has been running for over 60 seconds
test a::slow ... FAILED <61.250s>
test a::left_out ... ignored, takes minutes
test a::panics - should panic ... ok <0.100s>

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 61.30s";

    #[test]
    fn passed_and_ignored_tests_are_hidden() {
        let mut times = Times::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| times.read(line)).collect();
        assert_eq!(shown.len(), OUTPUT.lines().count() - 3, "{shown:?}");
        assert!(shown.contains(&"test a::slow ... FAILED <61.250s>"));
    }

    #[test]
    fn slowest_tests_come_first() {
        let mut times = Times::default();
        for line in OUTPUT.lines() {
            times.read(line);
        }
        let expected = "
slowest tests (of 3, 61 s in all)
     61.2 s  a::slow (whimbrel-net it)
      0.1 s  a::panics - should panic (whimbrel-net it)
      0.0 s  a::quick (whimbrel-net it)

slowest test programs (of 1, 61 s in all)
     61.3 s  whimbrel-net it
";
        assert_eq!(times.summary(), expected);
        assert_eq!(Times::default().summary(), "");
    }

    #[test]
    fn programs_are_called_after_packages() {
        assert_eq!(name("/x/target/debug/deps/it-45395a36", Some("whimbrel-net")), "whimbrel-net it");
        assert_eq!(name("it", None), "it");
    }
}
