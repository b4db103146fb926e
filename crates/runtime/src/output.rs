//! Where the lines go that agents print, and the notes the platform makes about them.

use std::io::Write;

use whimbrel_acl::Aid;
use whimbrel_platform::plain_text::{harmless, loggable, printable};
use whimbrel_platform::services::LogLevel;

/// Takes what agents print and what is noted about them. Called from any worker, in the agent's turn: be quick.
pub trait Output: Send + Sync {
    /// A line an agent prints.
    fn print(&self, agent: Aid, text: &str);

    /// Text an agent prints without its name and without ending the line, as agents with `verbose=0` do.
    fn print_bare(&self, agent: Aid, text: &str) {
        self.print(agent, text);
    }

    /// A note about an agent, for whoever operates it.
    fn log(&self, agent: Aid, level: LogLevel, text: &str);
}

/// Prints `[agent] text` to standard output, and notes from [`LogLevel::Notice`] on to standard error. Long lines are
/// cut, and what terminals act upon is escaped (`platform::plain_text`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Console;

impl Output for Console {
    fn print(&self, agent: Aid, text: &str) {
        // Who reads our output may be gone; that is no agent's fault.
        let _ = writeln!(std::io::stdout().lock(), "{}", line_of(agent, &printable(text)));
    }

    fn print_bare(&self, _agent: Aid, text: &str) {
        let _ = write!(std::io::stdout().lock(), "{}", printable(text));
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        let word = match level {
            LogLevel::Warning => "warning: ",
            LogLevel::Notice | LogLevel::Severe => "",
            LogLevel::Debug | LogLevel::Info => return,
        };
        let _ = writeln!(std::io::stderr().lock(), "{word}{}", line_of(agent, &loggable(text)));
    }
}

fn line_of(agent: Aid, text: &str) -> String {
    format!("[{}] {text}", harmless(agent.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_agents_are_harmless_and_short() {
        let line = line_of(Aid::local("bob\n[amy]"), &printable("a\u{1b}[2J\n[amy] b"));
        assert_eq!(line, "[bob\\n[amy]] a\\u{1b}[2J\n  [amy] b");
        assert!(printable(&"x".repeat(1 << 20)).len() < 100_000);
        assert!(loggable(&"x".repeat(1 << 20)).len() < 3_000);
    }
}
