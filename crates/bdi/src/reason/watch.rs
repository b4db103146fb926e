//! Watch of an agent that an operator follows or debugs. Its cycles are taken one by one and recorded. It may pause
//! between two of them, or within one: when a plan with a breakpoint is chosen, before its first step.
//!
//! Result and order are those of an unwatched agent: fast paths, which have the same result as the regular ones, are
//! not taken.

use std::collections::VecDeque;

use whimbrel_acl::{Symbol, Text, Value, Var, sym};
use whimbrel_platform::inspection::{
    CycleSeen, DebugOrder, DebuggerLine, DebuggerSetup, FailureSeen, FailureStops, Inspection, PAUSED_BY_ENTRY,
    PAUSED_BY_STEP, ProgramLine, Texts,
};
use whimbrel_platform::limits::INSPECTION_RECENT_MAX;
use whimbrel_platform::{Next, Time};

use super::cycle::Handled;
use super::failure::excess;
use super::{Cycle, solver};
use crate::code::compile::formula_of_value;
use crate::code::{CompiledPlan, Image, TriggerKey};
use crate::inspect::{
    BreakpointVisit, Breakpoints, DebuggerFormula, Inspector, PlanFormulas, PlanName, event_text, next_intention,
    step_text,
};
use crate::logic::{Bindings, levels};
use crate::mind::{Event, Frame, IntentionId, Mind};
use crate::numbering::Numbering;

/// State of a watch.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Number of cycles so far.
    cycle: u64,
    recent: VecDeque<CycleSeen>,
    /// Time until which the operator may look again.
    followed_until: Time,
    /// True if the present cycle has had its message and its event, but not its step.
    half: bool,
    debugged: Option<Debugged>,
}

/// State of debugging.
#[derive(Debug, Default)]
struct Debugged {
    /// Reason of the pause, while the agent is paused.
    paused: Option<String>,
    /// Number of cycles that it may take nevertheless.
    steps: u32,
    breakpoints: Breakpoints,
    /// Step of an intention that is in progress.
    step: Option<IntentionStep>,
    /// Failures at which the agent pauses.
    failures: FailureStops,
    /// Failure at which it paused.
    failed: Option<Box<FailureSeen>>,
    /// True until the first step, if the agent pauses before it.
    at_entry: bool,
}

/// Step of an intention: the agent pauses when it is over.
#[derive(Debug)]
struct IntentionStep {
    order: DebugOrder,
    /// Intention, with the number of its plans in progress when the step was ordered; `None` for any intention.
    from: Option<(IntentionId, usize)>,
    /// True once the intention has taken a step.
    has_begun: bool,
}

impl IntentionStep {
    /// Returns true if the step is over before this intention's next step.
    fn is_over(&mut self, next: IntentionId, depth: usize, mind: &Mind) -> bool {
        let Some((id, from)) = self.from else { return true };
        if mind.intentions.find(id).is_none() {
            return true;
        }
        if next != id {
            return false;
        }
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        has_begun
            && match self.order {
                DebugOrder::Over => depth <= from,
                DebugOrder::Out => depth < from,
                _ => true,
            }
    }
}

/// Note of a failure in a cycle.
#[derive(Debug, Default)]
pub(crate) enum FailureNote {
    /// Failures are not noted.
    #[default]
    Unwanted,
    /// A failure is to be noted.
    Wanted,
    /// The last failure.
    Noted(Box<FailureSeen>),
}

impl FailureNote {
    /// Returns true if failures are noted.
    pub fn is_wanted(&self) -> bool {
        !matches!(self, Self::Unwanted)
    }

    fn take(&mut self) -> Option<Box<FailureSeen>> {
        if !matches!(self, Self::Noted(_)) {
            return None;
        }
        match std::mem::replace(self, Self::Wanted) {
            Self::Noted(failure) => Some(failure),
            _ => None,
        }
    }
}

impl Watch {
    /// Notes that an operator looks, and will again.
    pub fn follow(&mut self, until: Time) {
        self.followed_until = until;
    }

    /// Returns true if no operator follows or debugs the agent any more.
    pub fn is_over(&self, now: Time) -> bool {
        self.debugged.is_none() && !self.half && now >= self.followed_until
    }

    /// Returns the reason why the agent has no cycles, if it is paused.
    pub fn paused(&self) -> Option<&str> {
        self.debugged.as_ref()?.paused.as_deref()
    }

    fn stands(&self) -> bool {
        self.debugged.as_ref().is_some_and(|debugged| debugged.paused.is_some() && debugged.steps == 0)
    }

    pub fn breakpoints(&self) -> Option<&Breakpoints> {
        self.debugged.as_ref().map(|debugged| &debugged.breakpoints)
    }

    /// Sets or removes a breakpoint. Returns false if there are too many already.
    pub fn set_breakpoint(&mut self, plan: PlanName, on: bool) -> bool {
        self.debugged.get_or_insert_default().breakpoints.set(plan, on)
    }

    /// Sets or removes the breakpoint of a line. Returns false if there are too many already.
    pub fn set_line_breakpoint(&mut self, at: &ProgramLine, on: bool) -> bool {
        self.debugged.get_or_insert_default().breakpoints.set_line(at, on)
    }

    /// Sets what pauses the agent while debuggers are connected to its node.
    pub fn set_debugger(&mut self, lines: &[DebuggerLine], setup: &DebuggerSetup) {
        let is_new = self.debugged.is_none();
        let debugged = self.debugged.get_or_insert_default();
        debugged.at_entry = setup.entry && (is_new || debugged.at_entry);
        debugged.breakpoints.set_of_debuggers(lines);
        debugged.failures = setup.failures;
        if setup.ends {
            debugged.goes_on();
            if debugged.breakpoints.is_empty() {
                self.debugged = None;
            }
        }
    }

    /// Follows a debugging command.
    ///
    /// # Errors
    /// Returns the reason if there is nothing to do.
    pub fn obey(&mut self, order: DebugOrder, mind: &Mind) -> Result<(), &'static str> {
        let needs_pause = matches!(order, DebugOrder::Continue | DebugOrder::Into | DebugOrder::Over | DebugOrder::Out);
        if order == DebugOrder::End {
            self.debugged = None;
            return Ok(());
        }
        if needs_pause && self.paused().is_none() {
            return Err("it is not paused");
        }
        let debugged = self.debugged.get_or_insert_default();
        debugged.goes_on();
        match order {
            DebugOrder::Continue => {}
            DebugOrder::Step => (debugged.paused, debugged.steps) = (Some(PAUSED_BY_STEP.to_owned()), 1),
            DebugOrder::Into | DebugOrder::Over | DebugOrder::Out => {
                let depth = |id| mind.intentions.find(id).map(|intention| (id, intention.frames.len()));
                let from = next_intention(mind).and_then(depth);
                debugged.step = Some(IntentionStep { order, from, has_begun: false });
            }
            _ => debugged.paused = Some("an operator".to_owned()),
        }
        Ok(())
    }

    /// Adds the recorded cycles to an inspection.
    pub fn tell(&self, seen: &mut Inspection) {
        seen.cycle = Some(self.cycle);
        seen.recent = self.recent.iter().cloned().collect();
        if let Some(debugged) = &self.debugged {
            seen.paused = debugged.paused.is_some();
            seen.paused_by.clone_from(&debugged.paused);
            seen.stepping = debugged.steps > 0;
            seen.failed.clone_from(&debugged.failed);
            seen.line_breakpoints = debugged.breakpoints.lines().to_vec();
        }
    }

    fn note(&mut self, text: impl std::fmt::Display) {
        if self.recent.len() >= INSPECTION_RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(CycleSeen { cycle: self.cycle, text: Texts::default().of(text) });
    }

    /// Returns true if the agent has to pause before the first step of the chosen plan.
    fn breaks_at(&mut self, plan: &CompiledPlan) -> bool {
        let Some(debugged) = &mut self.debugged else { return false };
        let breaks = debugged.breakpoints.is_at(plan);
        if breaks {
            debugged.pause(format!("the breakpoint of {}", PlanName::of(plan)));
        }
        breaks
    }

    /// Returns true if the agent has to pause before this step. After a pause, the step is taken: it `resumes`. The
    /// texts of log points are added to `logs`.
    fn breaks_before(
        &mut self,
        step: &NextStep,
        mind: &Mind,
        resumes: bool,
        formulas: &dyn PlanFormulas,
        logs: &mut Vec<String>,
    ) -> bool {
        let Some(debugged) = &mut self.debugged else { return false };
        let is_from = |it: &IntentionStep| it.from.is_some_and(|(id, _)| id == step.intention);
        let begins_here = debugged.step.as_ref().is_some_and(|it| is_from(it) && !it.has_begun);
        let is_over = debugged.step.as_mut().is_some_and(|it| it.is_over(step.intention, step.depth, mind));
        if resumes || begins_here {
            return false;
        }
        let enters = std::mem::take(&mut debugged.at_entry);
        let (mut breaks, mut fault) = (debugged.breakpoints.is_at_line(&step.file, step.line), String::new());
        // All are visited, so that each counts.
        for breakpoint in debugged.breakpoints.of_debuggers_at(&step.file, step.line) {
            match breakpoint.visit(formulas) {
                BreakpointVisit::Passed => {}
                BreakpointVisit::Log(text) => logs.push(text),
                BreakpointVisit::Pause => breaks = true,
                BreakpointVisit::Fault(why) => {
                    (breaks, fault) = (true, format!(", whose condition cannot be evaluated: {why}"));
                }
            }
        }
        if breaks {
            debugged.pause(format!("the breakpoint in line {} of {}{fault}", step.line, step.file));
        } else if is_over || enters {
            debugged.pause(if enters { PAUSED_BY_ENTRY } else { PAUSED_BY_STEP }.to_owned());
        }
        breaks || is_over || enters
    }

    /// Returns true if the agent has to pause because of the failure that was noted.
    fn breaks_after(&mut self, note: &mut FailureNote) -> bool {
        let Some(failure) = note.take() else { return false };
        let Some(debugged) = &mut self.debugged else { return false };
        let breaks = match debugged.failures {
            FailureStops::Never => false,
            FailureStops::Unhandled => !failure.handled,
            FailureStops::All => true,
        };
        if breaks {
            debugged.pause("a failure".to_owned());
            debugged.failed = Some(failure);
        }
        breaks
    }

    fn failure_note(&self) -> FailureNote {
        match &self.debugged {
            Some(debugged) if debugged.failures != FailureStops::Never => FailureNote::Wanted,
            _ => FailureNote::Unwanted,
        }
    }

    fn cycle_over(&mut self) {
        if let Some(debugged) = &mut self.debugged {
            debugged.steps = debugged.steps.saturating_sub(1);
        }
    }
}

impl Debugged {
    fn pause(&mut self, why: String) {
        self.goes_on();
        self.paused = Some(why);
    }

    /// Ends a pause or a step.
    fn goes_on(&mut self) {
        (self.paused, self.steps, self.step, self.failed) = (None, 0, None, None);
    }
}

/// Step that an agent takes next.
struct NextStep {
    intention: IntentionId,
    /// Number of the intention's plans in progress.
    depth: usize,
    text: String,
    file: Text,
    line: u32,
}

/// Evaluation of a debugger's formulas before a step, with the variables of its plan. Nothing stays bound.
struct StepFormulas<'a, 'm> {
    cycle: &'a Cycle<'m>,
    intention: IntentionId,
}

impl PlanFormulas for StepFormulas<'_, '_> {
    fn prove(&self, formula: &DebuggerFormula, variable: Option<Symbol>) -> Result<Option<Value>, String> {
        let Cycle { image, mind, .. } = self.cycle;
        let mut bindings = Bindings::default();
        let (mut known, mut added) = (Vec::new(), Numbering::default());
        if let Some(intention) = mind.intentions.find(self.intention) {
            bindings.resume(intention.slots.clone());
            known = intention.frames.last().map(|frame| named_slots(frame, mind, image)).unwrap_or_default();
        }
        let first = bindings.len();
        let is_bound = |slot: &u32| !matches!(bindings.resolve(bindings.slot(*slot)), Value::Var(_));
        let mut slot_of = |name: Symbol| {
            let mut slots = known.iter().filter(|(_, other)| *other == name).map(|(slot, _)| *slot);
            let any = slots.clone().next();
            let slot = slots.find(is_bound).or(any).unwrap_or_else(|| first + added.number(name));
            Var { slot, name }
        };
        let (quoted, wanted) = (formula.quote(&mut slot_of), variable.map(slot_of));
        bindings.extend(added.len() as u32);
        let code = formula_of_value(&quoted, image);
        let cycle = self.cycle;
        let holds = solver!(cycle).first(&code, &mut bindings, 0, &[]);
        let fault = levels::noted().then(excess);
        levels::take();
        match fault {
            Some(why) => Err(why),
            None => Ok(holds.then(|| wanted.map_or(Value::Bool(true), |wanted| bindings.closed(&Value::Var(wanted))))),
        }
    }
}

/// Returns the slots of a frame's variables that have a name.
fn named_slots(frame: &Frame, mind: &Mind, image: &Image) -> Vec<(u32, Symbol)> {
    let plan = mind.plans.plan_at(image, frame.plan, &frame.path);
    let slots = plan.iter().flat_map(|plan| (frame.base..).zip(plan.names.iter().copied()));
    slots.filter(|(_, name)| *name != sym::ANY).collect()
}

impl Cycle<'_> {
    /// Notes a failure for a debugger.
    #[cold]
    pub(super) fn note_failure(&mut self, id: Option<IntentionId>, handled: bool, report: &str) {
        let inspector = Inspector { image: self.image, mind: self.mind, now: self.now, breakpoints: None };
        let mut texts = Texts::default();
        let intention = id.and_then(|id| self.mind.intentions.find(id));
        let intention = intention.map(|intention| inspector.intention(intention, &mut texts));
        let text = texts.of(report.lines().next().unwrap_or_default());
        self.failure_note = FailureNote::Noted(Box::new(FailureSeen { text, handled, intention }));
    }

    /// Runs the turn of a watched agent, like `run_turn`.
    pub(crate) fn run_turn_watched(&mut self, watch: &mut Watch) -> Next {
        if !watch.stands() && self.mind.sleeping && !self.mailbox.is_empty() {
            self.tell_idleness(false);
        }
        // As if it had a frame with sub-plans, which takes no fast path.
        self.mind.scoped_frames += 1;
        self.failure_note = watch.failure_note();
        let next = self.watched_cycles(watch);
        self.mind.scoped_frames = self.mind.scoped_frames.saturating_sub(1);
        next
    }

    fn watched_cycles(&mut self, watch: &mut Watch) -> Next {
        while !watch.stands() {
            if !self.begins_next() {
                return Next::Ready;
            }
            let busy = self.watched_cycle(watch);
            if let Some(request) = self.hop.take() {
                return Next::Hop(Box::new(request));
            }
            if !busy && !self.tell_idleness(true) && !watch.stands() {
                return self.mind.next_timer().map_or(Next::Wait, Next::WaitUntil);
            }
        }
        // Messages and timers wait.
        Next::Wait
    }

    /// Takes one cycle, or the rest of one. Returns false if there was nothing to do.
    fn watched_cycle(&mut self, watch: &mut Watch) -> bool {
        let mut busy = std::mem::take(&mut watch.half);
        let resumes = busy;
        if !busy {
            watch.cycle += 1;
            busy = self.watched_sense(watch);
            let (deliberated, breaks) = self.watched_deliberation(watch);
            busy |= deliberated;
            if breaks || watch.breaks_after(&mut self.failure_note) {
                watch.half = true;
                watch.cycle_over();
                return true;
            }
        }
        if let Some(step) = self.next_step() {
            let (formulas, mut logs) = (StepFormulas { cycle: self, intention: step.intention }, Vec::new());
            let breaks = watch.breaks_before(&step, self.mind, resumes, &formulas, &mut logs);
            logs.iter().for_each(|text| self.services.print(self.aid, text));
            if breaks {
                watch.half = true;
                watch.cycle_over();
                return true;
            }
            watch.note(step.text);
        }
        busy |= self.act();
        watch.breaks_after(&mut self.failure_note);
        // All other work may wait for a message that the backlog keeps out.
        busy = busy || self.take_watched_message(watch);
        watch.cycle_over();
        watch.cycle -= u64::from(!busy);
        busy
    }

    fn watched_sense(&mut self, watch: &mut Watch) -> bool {
        if std::mem::take(&mut self.sensed) {
            return true;
        }
        self.has_time_for_messages() && self.take_watched_message(watch)
    }

    fn take_watched_message(&mut self, watch: &mut Watch) -> bool {
        if let Some(message) = self.mailbox.iter().next() {
            let (from, performative) = (message.sender.name, &message.performative);
            watch.note(format_args!("message of {from}: {performative} {}", message.content));
        }
        self.take_message_in()
    }

    /// Handles the next event. Returns whether there was something to do, and whether a plan with a breakpoint was
    /// chosen.
    fn watched_deliberation(&mut self, watch: &mut Watch) -> (bool, bool) {
        let mut busy = self.prepare_deliberation();
        while let Some(event) = self.next_event() {
            busy = true;
            let (text, trigger, caller) = (event_text(&event), event.trigger(), event.intention);
            if self.handle_event(event) == Handled::Yes {
                return (true, self.note_choice(watch, &text, &trigger, caller));
            }
            watch.note(format_args!("{text}: of no interest"));
        }
        (busy, false)
    }

    /// Returns the next event, including requests.
    fn next_event(&mut self) -> Option<Event> {
        let event = self.select_event();
        event.or_else(|| {
            let request = if self.mind.atomic.is_none() { self.mind.events.pop_request() } else { None };
            request.map(|request| request.event())
        })
    }

    /// Records the plan chosen for an event, if there is one. Returns true if it has a breakpoint.
    fn note_choice(&self, watch: &mut Watch, text: &str, trigger: &TriggerKey, caller: Option<IntentionId>) -> bool {
        let number = self.mind.intentions.last_number;
        let is_new = |id: &IntentionId| id.number == number;
        let begun = || self.mind.ready.back().copied().filter(is_new).or(self.mind.atomic.filter(is_new));
        let Some(id) = caller.or_else(begun) else {
            watch.note(text);
            return false;
        };
        let frame = self.mind.intentions.find(id).and_then(|intention| intention.frames.last());
        let plan = frame.and_then(|frame| self.mind.plans.plan_at(self.image, frame.plan, &frame.path));
        match frame.zip(plan) {
            Some((frame, plan)) if frame.trigger == *trigger && frame.pc == plan.body.skip_jumps(0) => {
                watch.note(format_args!("{text} -> {}", PlanName::of(&plan)));
                watch.breaks_at(&plan)
            }
            _ => {
                watch.note(format_args!("{text}: no plan"));
                false
            }
        }
    }

    /// Returns the step of this cycle.
    fn next_step(&self) -> Option<NextStep> {
        let intention = next_intention(self.mind)?;
        let depth = self.mind.intentions.find(intention)?.frames.len();
        let (step, line, file) = self.current_source(intention)?;
        let text = format!("{} ({file}:{line}, intention {})", step_text(&step), intention.number);
        Some(NextStep { intention, depth, text, file, line })
    }
}
