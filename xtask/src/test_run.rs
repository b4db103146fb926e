//! `cargo xtask test`: all tests of the workspace but documentation, once, and which of them are slow.
//!
//! Several test programs run at once, as the end of one is seldom busy. Tests that measure real time come last, alone.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::test_program::{self, Selection, TestProgram};
use crate::times::Times;

/// Clippy compiles the tests, as in the Makefile: nothing is compiled twice, and what is compiled is linted.
const LINTED: &str = "build.rustc-workspace-wrapper=\"clippy-driver\"";
/// Test program that takes longest, and so begins first.
const LONGEST: &str = "whimbrel-cli it";
/// Tests that a program runs at once: most of them wait for processes, timers and connections.
const TESTS_AT_ONCE: usize = 3;

/// Runs all tests, and lists the slowest ones.
///
/// # Errors
/// Cargo or a test program cannot be started.
pub fn run() -> io::Result<ExitCode> {
    let (mut programs, is_built) = programs()?;
    if !is_built {
        return Ok(ExitCode::FAILURE);
    }
    programs.sort_by_key(|program| program.name != LONGEST);
    let run = TestRun::default();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let run_next = || -> io::Result<()> {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            run.run(program, Selection::Together(TESTS_AT_ONCE))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..cores.max(2)).map(|_| scope.spawn(run_next)).collect();
        let ours = run_next();
        // A panic of a worker goes on here.
        let theirs =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault)));
        theirs.fold(ours, io::Result::and)
    })?;
    for program in &programs {
        if program.measures_real_time()? {
            run.run(program, Selection::RealTime)?;
        }
    }
    print!("{}", run.times.lock().unwrap_or_else(PoisonError::into_inner).summary());
    Ok(if run.has_failed.into_inner() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Builds all test programs. Returns them, and false if some could not be built.
fn programs() -> io::Result<(Vec<TestProgram>, bool)> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["--config", LINTED, "--config", &test_program::runner()?]);
    command.args(["test", "--quiet", "--locked", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    // Cargo started this program with variables about its package. Build scripts that look at them would run again.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut programs = Vec::new();
    for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
        let line = line?;
        match TestProgram::read(&line) {
            Some(program) => programs.push(program),
            None => println!("{line}"),
        }
    }
    Ok((programs, child.wait()?.success()))
}

/// Times and failures of the tests that ran.
#[derive(Debug, Default)]
struct TestRun {
    times: Mutex<Times>,
    has_failed: AtomicBool,
}

impl TestRun {
    /// Runs some tests of a program, and prints at their end what somebody needs to see.
    fn run(&self, program: &TestProgram, selection: Selection) -> io::Result<()> {
        let mut shown = format!("\ntest program {}\n", program.name).into_bytes();
        let has_passed = program.run(selection, |line| {
            let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
            if times.read(&program.name, &String::from_utf8_lossy(line)) {
                shown.extend_from_slice(line);
                shown.push(b'\n');
            }
        })?;
        if !has_passed {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        io::stdout().lock().write_all(&shown)
    }
}
