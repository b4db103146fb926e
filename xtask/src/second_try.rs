//! `cargo xtask test`: all tests, and a second try for those with real processes.
//!
//! The end-to-end tests start clusters, browsers and servers beside each other. On a busy machine one of a thousand
//! may run out of patience. Those that failed are therefore tried once more, one at a time; who fails then as well is
//! broken. What passed only alone is named, so that it gets mended. Unit, property and simulation tests are the same
//! each time and get no second try.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

use crate::times::{self, Times};

/// Selection of the tests that get a second try: those in `tests/it`.
const END_TO_END: &[&str] = &["--test", "it"];

/// If more than this many fail, it is not for want of patience.
const MOST: usize = 8;

/// Result of a run.
#[derive(Debug, Default)]
struct Outcome {
    success: bool,
    /// The names of tests that failed.
    failed: BTreeSet<String>,
    /// Number of tests that passed.
    passed: usize,
    /// Number of tests that failed, by the last line of each program.
    counted: usize,
    /// Number of programs that failed, as they say themselves and as cargo says.
    programs: (usize, usize),
    /// True while lines are names of tests that failed.
    listing: bool,
    /// Times of tests and programs.
    times: Times,
}

impl Outcome {
    /// Takes a line of what `cargo test` writes.
    fn read(&mut self, line: &str) {
        let listed = line.strip_prefix("    ").filter(|_| self.listing);
        if let Some(name) = listed {
            self.failed.insert(name.to_owned());
        } else if !line.is_empty() {
            self.listing = line == "failures:";
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            self.programs.0 += usize::from(result.starts_with("FAILED"));
            self.passed += count(result, "passed");
            self.counted += count(result, "failed");
        }
        self.programs.1 += usize::from(line.trim_start().starts_with("`-p "));
    }

    /// Returns true if all failures are tests with known names: no program was killed, and all compiled.
    fn names_all(&self) -> bool {
        self.counted == self.failed.len() && self.programs.0 == self.programs.1
    }
}

/// The number before a word.
fn count(result: &str, word: &str) -> usize {
    let words: Vec<&str> = result.split([' ', ';']).filter(|word| !word.is_empty()).collect();
    let number = words.windows(2).find_map(|pair| match pair {
        [number, found] if *found == word => number.parse().ok(),
        _ => None,
    });
    number.unwrap_or(0)
}

/// Runs all tests, and once more those with real processes that failed.
///
/// # Errors
/// Cargo cannot be started.
pub fn run() -> io::Result<ExitCode> {
    let first = cargo(&["--no-fail-fast"], &[])?;
    print!("{}", first.times.summary());
    if first.success {
        return Ok(ExitCode::SUCCESS);
    }
    if !first.names_all() || !(1..=MOST).contains(&first.failed.len()) {
        return Ok(ExitCode::FAILURE);
    }
    let names: Vec<&str> = first.failed.iter().map(String::as_str).collect();
    println!("\nsecond try, one at a time: {}\n", names.join(", "));
    let second = cargo(END_TO_END, &[&["--test-threads=1", "--exact"][..], &names].concat())?;
    // Names that are not among the end-to-end tests are not found there.
    if !second.success || second.passed < names.len() {
        return Ok(ExitCode::FAILURE);
    }
    println!("\nunsteady: passed alone only: {}", names.join(", "));
    Ok(ExitCode::SUCCESS)
}

/// Runs `cargo test` and shows what it writes.
fn cargo(options: &[&str], tests: &[&str]) -> io::Result<Outcome> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["--config", &times::runner()?, "test", "--quiet", "--locked", "--workspace"]);
    command.args(options).arg("--").args(tests);
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // It holds the ends of the pipe that are written to.
    drop(command);
    let (mut outcome, mut out) = (Outcome::default(), io::stdout().lock());
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        let text = String::from_utf8_lossy(&line);
        outcome.read(&text);
        if outcome.times.read(&text) {
            out.write_all(&line)?;
            out.write_all(b"\n")?;
        }
    }
    outcome.success = child.wait()?.success();
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    fn outcome(text: &str) -> Outcome {
        let mut outcome = Outcome::default();
        text.lines().for_each(|line| outcome.read(line));
        outcome
    }

    const ONE: &str = "
running 3 tests
a::b --- FAILED
.
failures:

---- a::b stdout ----
    of what it printed
failures:

failures:
    a::b
    c::d

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
";

    #[test]
    fn failed_tests_are_named() {
        let seen = outcome(&format!("{ONE}\nerror: 1 target failed:\n    `-p whimbrel --test it`\n"));
        assert_eq!(seen.failed.iter().map(String::as_str).collect::<Vec<_>>(), ["a::b", "c::d"]);
        assert_eq!((seen.passed, seen.counted, seen.programs), (1, 2, (1, 1)));
        assert!(seen.names_all());
    }

    #[test]
    fn killed_program_gets_no_second_try() {
        let killed = "error: 2 targets failed:\n    `-p whimbrel --test it`\n    `-p whimbrel-acl --lib`\n";
        assert!(!outcome(&format!("{ONE}{killed}")).names_all());
        assert!(outcome("error: could not compile `whimbrel` (lib) due to 1 previous error").failed.is_empty());
        let twice = outcome(&format!("{ONE}{ONE}\n    `-p a --test it`\n    `-p b --test it`\n"));
        assert!(!twice.names_all(), "two programs have a test of this name");
    }
}
