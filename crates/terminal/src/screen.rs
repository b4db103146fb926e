//! Showing something once, or again and again in the same place.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::options::OutputOptions;
use crate::table::screened;

/// Space of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageRoom {
    /// Columns, if standard output is a terminal.
    pub columns: Option<usize>,
    /// Lines, if it is to stay on the terminal.
    pub lines: Option<usize>,
}

/// Returns the terminal's columns and lines, if standard output is one.
pub fn terminal_size() -> Option<(usize, usize)> {
    let (width, height) = terminal_size::terminal_size_of(io::stdout())?;
    Some((width.0.into(), height.0.into()))
}

/// Shows what `look` sees, as `page` draws it; as often as is asked for.
///
/// # Errors
/// Those of `look`, the first time; later, what is gone is said and may come back.
pub fn show<T: Serialize>(
    showing: &OutputOptions,
    mut look: impl FnMut() -> anyhow::Result<T>,
    page: impl Fn(&T, PageRoom) -> String,
) -> anyhow::Result<ExitCode> {
    let in_place = showing.watch.is_some() && !showing.json && io::stdout().is_terminal();
    let mut first = true;
    loop {
        let began = Instant::now();
        let size = terminal_size();
        let lines = size.map(|(_, lines)| lines).filter(|_| in_place);
        let room = PageRoom { columns: size.map(|(columns, _)| columns), lines };
        let text = match look() {
            Ok(seen) if showing.json => serde_json::to_string(&seen)?,
            Ok(seen) => page(&seen, room),
            Err(error) if first || !in_place => return Err(error),
            Err(error) => format!("{error:#}"),
        };
        let written = if in_place { replace(&text, first) } else { print(&text) };
        if is_closed(&written) {
            return Ok(ExitCode::SUCCESS);
        }
        written?;
        let Some(interval) = showing.watch else { return Ok(ExitCode::SUCCESS) };
        first = false;
        std::thread::sleep(interval.max(Duration::from_millis(50)).saturating_sub(began.elapsed()));
    }
}

/// Prints lines on standard output.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", screened(text)).and_then(|()| out.flush()).map_err(of_output)
}

/// Says that it is standard output that cannot be written.
fn of_output(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), OutputError(error))
}

/// Error of standard output.
#[derive(Debug)]
struct OutputError(io::Error);

impl std::fmt::Display for OutputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl std::error::Error for OutputError {}

/// Returns true for an error of a command whose reader has closed standard output: it has read enough.
pub fn is_output_closed(error: &anyhow::Error) -> bool {
    let of_output = |error: &io::Error| {
        error.kind() == ErrorKind::BrokenPipe && error.get_ref().is_some_and(|inner| inner.is::<OutputError>())
    };
    error.downcast_ref::<io::Error>().is_some_and(of_output)
}

/// Prints bytes unchanged, unless the output is a terminal.
///
/// # Errors
/// The bytes cannot be written.
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let written = match std::str::from_utf8(bytes) {
        Ok(text) if out.is_terminal() => out.write_all(screened(text).as_bytes()),
        _ => out.write_all(bytes),
    };
    written.and_then(|()| out.flush()).map_err(of_output)
}

/// Draws over what was drawn before, without a moment in which nothing is to be seen.
fn replace(text: &str, first: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let begin = if first { "\u{1b}[2J\u{1b}[H" } else { "\u{1b}[H" };
    let text = screened(text).replace('\n', "\u{1b}[K\n");
    write!(out, "{begin}{text}\u{1b}[K\n\u{1b}[J")?;
    out.flush()
}

/// Returns true if the reader has closed the output, which is no reason to complain.
pub fn is_closed(written: &io::Result<()>) -> bool {
    written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
