//! Output of agents: the lines that they print, and log entries about them.

use std::io::Write;

use whimbrel_acl::Aid;
use whimbrel_platform::output_log::OutputLog;
use whimbrel_platform::plain_text::{harmless, loggable, printable};
use whimbrel_platform::services::LogLevel;

use crate::clock::PlatformClock;
use crate::sync::{Mutex, MutexGuard, locked};

/// Sink for agents' output and log entries. Called from any worker, in the agent's turn, so it has to be quick.
pub trait Output: Send + Sync {
    /// Prints a line of an agent.
    fn print(&self, agent: Aid, text: &str);

    /// Prints text of an agent without its name and without ending the line, as agents with `verbose=0` do.
    fn print_bare(&self, agent: Aid, text: &str) {
        self.print(agent, text);
    }

    /// Logs an entry about an agent, for its operator.
    fn log(&self, agent: Aid, level: LogLevel, text: &str);
}

/// Output to the console: prints `[agent] text` to standard output, and log entries from [`LogLevel::Notice`] on to
/// standard error. Long lines are cut, and control characters of terminals are escaped (`platform::plain_text`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Console;

impl Output for Console {
    fn print(&self, agent: Aid, text: &str) {
        // The reader of standard output may be gone, which is no agent's fault.
        let _ = writeln!(std::io::stdout().lock(), "{}", line_of(agent, &printable(text)));
    }

    fn print_bare(&self, _agent: Aid, text: &str) {
        let _ = write!(std::io::stdout().lock(), "{}", printable(text));
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        let word = match level {
            LogLevel::Warning => "warning: ",
            LogLevel::Severe => "error: ",
            LogLevel::Notice => "",
            LogLevel::Debug | LogLevel::Info => return,
        };
        let _ = writeln!(std::io::stderr().lock(), "{word}{}", line_of(agent, &loggable(text)));
    }
}

/// Output that also keeps the newest lines for operators.
pub(crate) struct RecordedOutput {
    output: Box<dyn Output>,
    lines: Mutex<OutputLog>,
    clock: PlatformClock,
}

impl RecordedOutput {
    pub fn new(output: Box<dyn Output>, clock: PlatformClock) -> Self {
        Self { output, lines: Mutex::default(), clock }
    }

    /// Returns the log of the newest lines.
    pub fn kept(&self) -> MutexGuard<'_, OutputLog> {
        locked(&self.lines)
    }

    pub fn print(&self, agent: Aid, text: &str) {
        self.output.print(agent, text);
        self.kept().print(self.clock.now(), agent.name, text);
    }

    pub fn print_bare(&self, agent: Aid, text: &str) {
        self.output.print_bare(agent, text);
        self.kept().print_part(self.clock.now(), agent.name, text);
    }

    pub fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        self.output.log(agent, level, text);
        if level >= LogLevel::Notice {
            self.kept().note(self.clock.now(), agent.name, level, text);
        }
    }
}

fn line_of(agent: Aid, text: &str) -> String {
    format!("[{}] {text}", harmless(agent.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_lines_are_safe_and_short() {
        let line = line_of(Aid::local("bob\n[amy]"), &printable("a\u{1b}[2J\n[amy] b"));
        assert_eq!(line, "[bob\\n[amy]] a\\u{1b}[2J\n  [amy] b");
        assert!(printable(&"x".repeat(1 << 20)).len() < 100_000);
        assert!(loggable(&"x".repeat(1 << 20)).len() < 3_000);
    }
}
