//! Debuggers that are connected to a node: what all of its agents pause at, and where breakpoints may be.

use std::sync::{Mutex, MutexGuard, PoisonError};

use whimbrel_acl::Symbol;
use whimbrel_bdi::check_breakpoint;
use whimbrel_operator::{Answer, DebuggerWanted, Reason, Refusal, StepLinesFound};
use whimbrel_platform::ams::AgentQuery;
use whimbrel_platform::inspection::{AgentActivity, DebuggerSetup, ProgramLine};
use whimbrel_platform::limits::DEBUGGER_LINES_MAX;
use whimbrel_runtime::Platform;

use super::name_order;
use crate::programs::SocietyLoader;

/// Debuggers with their wishes, by number.
#[derive(Debug, Default)]
pub(super) struct ConnectedDebuggers {
    all: Mutex<NumberedWishes>,
}

#[derive(Debug, Default)]
struct NumberedWishes {
    last: u64,
    wishes: Vec<(u64, DebuggerWanted)>,
}

/// Connection of a debugger. When it is dropped, agents do not pause for it any more.
pub(super) struct ConnectedDebugger<'a> {
    debuggers: &'a ConnectedDebuggers,
    platform: &'a Platform,
    number: u64,
}

impl ConnectedDebuggers {
    /// Has all agents pause as a further debugger wants it.
    pub fn enter<'a>(
        &'a self,
        platform: &'a Platform,
        wanted: DebuggerWanted,
    ) -> Result<ConnectedDebugger<'a>, Refusal> {
        if wanted.lines.len() > DEBUGGER_LINES_MAX {
            let text = format!("{} breakpoints: at most {DEBUGGER_LINES_MAX} are set", wanted.lines.len());
            return Err(Refusal::new(Reason::BadRequest, text));
        }
        for line in &wanted.lines {
            check_breakpoint(line).map_err(|why| {
                let ProgramLine { file, line } = &line.at;
                Refusal::new(Reason::BadRequest, format!("the breakpoint in line {line} of {file}: {why}"))
            })?;
        }
        let mut all = self.locked();
        all.last += 1;
        let number = all.last;
        all.wishes.push((number, wanted));
        platform.set_debugger(all.setup());
        Ok(ConnectedDebugger { debuggers: self, platform, number })
    }

    fn locked(&self) -> MutexGuard<'_, NumberedWishes> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NumberedWishes {
    /// Returns the setup that has the wishes of all.
    fn setup(&self) -> DebuggerSetup {
        let mut setup = DebuggerSetup { ends: self.wishes.is_empty(), ..DebuggerSetup::default() };
        for (_, wanted) in &self.wishes {
            setup.failures = setup.failures.max(wanted.failures);
            setup.entry |= wanted.entry;
            for line in &wanted.lines {
                if !setup.lines.contains(line) {
                    setup.lines.push(line.clone());
                }
            }
        }
        setup
    }
}

impl Drop for ConnectedDebugger<'_> {
    fn drop(&mut self) {
        let mut all = self.debuggers.locked();
        all.wishes.retain(|(number, _)| *number != self.number);
        self.platform.set_debugger(all.setup());
    }
}

/// Returns the lines where breakpoints may be.
pub(super) fn step_lines(programs: Option<&SocietyLoader>) -> StepLinesFound {
    StepLinesFound { files: programs.map(SocietyLoader::step_lines).unwrap_or_default() }
}

/// Returns the names of paused agents.
pub(super) fn paused(platform: &Platform, limit: usize) -> Answer {
    let all: Vec<Symbol> = platform.search(&AgentQuery::named("")).into_iter().map(|agent| agent.aid.name).collect();
    let figures = platform.figures_of(&all).into_iter();
    let paused = figures.filter(|figures| figures.activity == AgentActivity::Paused);
    let mut agents: Vec<String> = paused.map(|figures| figures.name.to_string()).collect();
    let total = agents.len() as u64;
    agents.sort_by(|one, other| name_order::compare(one, other));
    agents.truncate(limit);
    Answer::Paused { agents, total }
}
