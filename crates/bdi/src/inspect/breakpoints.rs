//! Breakpoints at which a debugged agent pauses.

use whimbrel_platform::inspection::{DebuggerLine, ProgramLine};
use whimbrel_platform::limits::BREAKPOINTS_MAX;

use super::{DebuggerBreakpoint, PlanName};
use crate::code::CompiledPlan;

/// Breakpoints of an operator: those that the program marks, except for some, and others.
#[derive(Debug, Default)]
pub(crate) struct Breakpoints {
    /// Plans for which the operator set or removed a breakpoint.
    set: Vec<(PlanName, bool)>,
    /// Lines before whose steps the agent pauses.
    lines: Vec<ProgramLine>,
    /// Breakpoints of the debuggers that are connected to the node.
    of_debuggers: Vec<DebuggerBreakpoint>,
}

impl Breakpoints {
    /// Returns true if this plan has a breakpoint.
    pub fn is_at(&self, plan: &CompiledPlan) -> bool {
        let name = PlanName::of(plan);
        let set = self.set.iter().find(|(other, _)| *other == name).map(|(_, on)| *on);
        set.unwrap_or_else(|| is_marked(plan))
    }

    /// Sets or removes a breakpoint, also one of the program. Returns false if there are too many of either.
    pub fn set(&mut self, plan: PlanName, on: bool) -> bool {
        self.set.retain(|(other, _)| *other != plan);
        let has_room = self.set.len() < BREAKPOINTS_MAX;
        self.set.extend(has_room.then_some((plan, on)));
        has_room
    }

    /// Returns the lines with breakpoints.
    pub fn lines(&self) -> &[ProgramLine] {
        &self.lines
    }

    /// Returns true if the operator set a breakpoint at the steps of this line.
    pub fn is_at_line(&self, file: &str, line: u32) -> bool {
        self.lines.iter().any(|at| at.line == line && at.file == file)
    }

    /// Returns the breakpoints of debuggers at the steps of this line.
    pub fn of_debuggers_at(&mut self, file: &str, line: u32) -> impl Iterator<Item = &mut DebuggerBreakpoint> {
        self.of_debuggers.iter_mut().filter(move |breakpoint| breakpoint.is_at(file, line))
    }

    /// Sets the breakpoints of the debuggers that are connected to the node. Those that stay keep their counts.
    pub fn set_of_debuggers(&mut self, lines: &[DebuggerLine]) {
        let mut old = std::mem::take(&mut self.of_debuggers);
        self.of_debuggers = lines
            .iter()
            .filter_map(|line| match old.iter().position(|old| old.line() == line) {
                Some(place) => Some(old.swap_remove(place)),
                // The node has refused what cannot be read.
                None => DebuggerBreakpoint::new(line).ok(),
            })
            .collect();
    }

    /// Returns true if nothing was set.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.lines.is_empty() && self.of_debuggers.is_empty()
    }

    /// Sets or removes the breakpoint of a line. Returns false if there are too many.
    pub fn set_line(&mut self, at: &ProgramLine, on: bool) -> bool {
        self.lines.retain(|other| other != at);
        let has_room = self.lines.len() < BREAKPOINTS_MAX;
        self.lines.extend((on && has_room).then(|| at.clone()));
        has_room || !on
    }
}

/// Returns true if the program marks its plan: `@label[breakpoint]`.
pub(super) fn is_marked(plan: &CompiledPlan) -> bool {
    plan.annots.iter().any(|annot| annot.to_value().functor().is_some_and(|name| name.as_str() == "breakpoint"))
}
