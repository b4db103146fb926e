//! One test program. Cargo knows in which folder and with which variables it runs, so cargo calls this program with it,
//! which only [prints](record) that.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Command of this program that prints how cargo runs a test program.
pub const COMMAND: &str = "test-program";
/// Part of the names of tests that measure real time, so that no others may run beside them.
const REAL_TIME: &str = "in_time";
/// Start of a record, and the character between its parts.
const RECORD: &str = "test program";
const SEPARATOR: char = '\u{1f}';

/// Which of a program's tests run.
#[derive(Clone, Copy, Debug)]
pub enum Selection {
    /// All but those that measure real time, this many at once.
    Together(usize),
    /// Tests that measure real time, one at a time.
    RealTime,
}

/// A test program, and how cargo runs it.
#[derive(Debug, PartialEq, Eq)]
pub struct TestProgram {
    /// Package, and name of the program: `whimbrel-net it`.
    pub name: String,
    path: PathBuf,
    folder: PathBuf,
    variables: Vec<(String, String)>,
}

/// Returns the option with which cargo calls this program instead of test programs.
///
/// # Errors
/// The path of this program is not known.
pub fn runner() -> io::Result<String> {
    let program = std::env::current_exe()?;
    Ok(format!("target.'cfg(all())'.runner = [{:?}, {COMMAND:?}]", program.display().to_string()))
}

/// Prints how cargo runs a program.
///
/// # Errors
/// The current folder is not known.
pub fn record(program: &str) -> io::Result<()> {
    let variables = std::env::vars().filter(|(name, value)| is_cargos(name) && !value.contains(['\n', SEPARATOR]));
    println!("{}", written(program, &std::env::current_dir()?.display().to_string(), variables));
    Ok(())
}

fn written(program: &str, folder: &str, variables: impl Iterator<Item = (String, String)>) -> String {
    let mut record = [RECORD, program, folder].join(&SEPARATOR.to_string());
    for (name, value) in variables {
        record += &format!("{SEPARATOR}{name}={value}");
    }
    record
}

fn is_cargos(variable: &str) -> bool {
    variable.starts_with("CARGO") || variable.ends_with("LIBRARY_PATH")
}

impl TestProgram {
    /// Reads a record; `None` for any other line.
    pub fn read(line: &str) -> Option<Self> {
        let mut parts = line.split(SEPARATOR);
        if parts.next() != Some(RECORD) {
            return None;
        }
        let (path, folder) = (parts.next()?, parts.next()?);
        let variables: Vec<(String, String)> =
            parts.filter_map(|one| one.split_once('=')).map(|(name, value)| (name.into(), value.into())).collect();
        let package = variables.iter().find(|(name, _)| name == "CARGO_PKG_NAME").map_or("", |(_, value)| value);
        Some(Self { name: name(path, package), path: path.into(), folder: folder.into(), variables })
    }

    /// Runs some of its tests, and hands over each line that is printed. Returns true if none failed.
    ///
    /// # Errors
    /// The program cannot be started, or its output cannot be read.
    pub fn run(&self, selection: Selection, mut take_line: impl FnMut(&[u8])) -> io::Result<bool> {
        let (reader, writer) = io::pipe()?;
        let mut command = self.command();
        match selection {
            Selection::Together(at_once) => command.args(["--skip", REAL_TIME, &format!("--test-threads={at_once}")]),
            Selection::RealTime => command.args(["--test-threads=1", REAL_TIME]),
        };
        // The time of each test is an unstable option of Rust's test harness, which a variable allows.
        command.args(["-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
        let mut child = command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).spawn()?;
        // It holds the ends of the pipe that are written to.
        drop(command);
        for line in BufReader::new(reader).split(b'\n') {
            take_line(&line?);
        }
        Ok(child.wait()?.success())
    }

    /// Checks whether some of its tests measure real time.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn measures_real_time(&self) -> io::Result<bool> {
        let listed = self.command().args(["--list", REAL_TIME]).output()?;
        Ok(String::from_utf8_lossy(&listed.stdout).contains(": test"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        // Cargo started this program, too, with variables about its package.
        let ours: Vec<OsString> = std::env::vars_os().map(|(name, _)| name).collect();
        for name in ours.iter().filter(|name| name.to_str().is_some_and(is_cargos)) {
            command.env_remove(name);
        }
        command.current_dir(&self.folder).envs(self.variables.iter().map(|(name, value)| (name, value)));
        // All examples are built before any test program runs.
        command.env("WHIMBREL_EXAMPLES_BUILT", "1");
        command
    }
}

/// Returns the name of a test program: its package, and its own name without the hash at its end.
fn name(program: &str, package: &str) -> String {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let stem = file.rsplit_once('-').map_or(file, |(stem, _)| stem);
    format!("{package} {stem}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_called_after_packages() {
        assert_eq!(name("/x/target/debug/deps/it-45395a36", "whimbrel-net"), "whimbrel-net it");
        assert_eq!(name("it", ""), "it");
    }

    #[test]
    fn record_is_read_back() {
        let variables = [("CARGO_PKG_NAME", "whimbrel-net"), ("CARGO", "/bin/cargo"), ("CARGO_X", "a=b")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let line = written("/x/deps/it-4539", "/x/crates/net", variables.clone().into_iter());
        let expected = TestProgram {
            name: "whimbrel-net it".to_owned(),
            path: "/x/deps/it-4539".into(),
            folder: "/x/crates/net".into(),
            variables: variables.into(),
        };
        assert_eq!(TestProgram::read(&line), Some(expected));
        assert_eq!(TestProgram::read("test program is late"), None);
    }
}
