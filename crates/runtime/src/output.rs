//! Where the lines go that agents print, and the notes the platform makes about them.

use std::io::Write;

use whimbrel_acl::Aid;
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

/// Prints `[agent] text` to standard output, and notes from [`LogLevel::Notice`] on to standard error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Console;

impl Output for Console {
    fn print(&self, agent: Aid, text: &str) {
        // Who reads our output may be gone; that is no agent's fault.
        let _ = writeln!(std::io::stdout().lock(), "[{}] {text}", agent.name);
    }

    fn print_bare(&self, _agent: Aid, text: &str) {
        let _ = write!(std::io::stdout().lock(), "{text}");
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        let word = match level {
            LogLevel::Warning => "warning: ",
            LogLevel::Notice | LogLevel::Severe => "",
            LogLevel::Debug | LogLevel::Info => return,
        };
        let _ = writeln!(std::io::stderr().lock(), "{word}[{}] {text}", agent.name);
    }
}
