//! Inspection of a mind: plain data, made between two turns. Jason's mind inspector shows the same.

mod beliefs;
mod breakpoints;
mod debugger_breakpoints;
mod intentions;
mod plan_lines;
mod plans;
mod source_form;

use whimbrel_acl::{Annot, Annots, Structure, sym};
use whimbrel_platform::Time;
use whimbrel_platform::inspection::{Detail, EventSeen, Inspection, Texts};
use whimbrel_platform::limits::INSPECTION_EVENTS_MAX;

use crate::code::{Image, TriggerKind, TriggerOp};
use crate::mind::{Event, IntentionId, IntentionPlace, Mind, Pending};
use crate::reason::loaded_file;
pub(crate) use breakpoints::Breakpoints;
pub use debugger_breakpoints::check_breakpoint;
pub(crate) use debugger_breakpoints::{BreakpointVisit, DebuggerBreakpoint, DebuggerFormula, PlanFormulas};
pub use plan_lines::{PlanLines, plan_lines};
pub(crate) use plans::{PlanName, has_step, plan_names};
pub(crate) use source_form::head as step_text;

/// Sources of an inspection.
pub(crate) struct Inspector<'a> {
    pub image: &'a Image,
    pub mind: &'a Mind,
    /// Time by the mind's clock.
    pub now: Time,
    /// Breakpoints, if the agent is debugged.
    pub breakpoints: Option<&'a Breakpoints>,
}

impl Inspector<'_> {
    /// Inspects everything, the most important parts first in case there is no room for all.
    pub fn inspect(&self, texts: &mut Texts) -> Inspection {
        let current = next_intention(self.mind).map(|id| u64::from(id.number));
        let mut seen = Inspection { source_file: Some(self.mind.source.to_string()), current, ..Inspection::default() };
        if let Some(file) = loaded_file(&self.mind.namespace_properties) {
            seen.details.push(Detail::new("loaded", file));
        }
        self.see_intentions(&mut seen, texts);
        self.see_goals(&mut seen, texts);
        self.see_events(&mut seen, texts);
        self.see_beliefs(&mut seen, texts);
        self.see_plans(&mut seen, texts);
        seen
    }

    fn see_events(&self, seen: &mut Inspection, texts: &mut Texts) {
        let mind = self.mind;
        for event in mind.atomic_event.as_deref().into_iter().map(Pending::Written).chain(mind.events.pending()) {
            if seen.events.len() >= INSPECTION_EVENTS_MAX || texts.is_full() {
                seen.cut.events += 1;
                continue;
            }
            let event = event.event();
            let intention = event.intention.map(|id| u64::from(id.number));
            seen.events.push(EventSeen { text: texts.of(event_text(&event)), intention });
        }
    }
}

/// Returns the intention whose step is next, if one is ready.
pub(crate) fn next_intention(mind: &Mind) -> Option<IntentionId> {
    let is_ready =
        |id: &&IntentionId| mind.intentions.find(**id).is_some_and(|it| matches!(it.place, IntentionPlace::Ready));
    match &mind.atomic {
        Some(id) => Some(id).filter(is_ready),
        None => mind.ready.iter().find(is_ready),
    }
    .copied()
}

/// Writes an event for display, without marks of the agent itself as source.
pub(crate) fn event_text(event: &Event) -> String {
    trigger_text(event.op, event.kind, &event.literal)
}

/// Writes `+!serve(amy)`.
fn trigger_text(op: TriggerOp, kind: TriggerKind, literal: &Structure) -> String {
    let op = match op {
        TriggerOp::Add => "+",
        TriggerOp::Delete => "-",
        TriggerOp::Meta => "^",
    };
    format!("{op}{}{}", kind_text(kind), without_self(literal))
}

fn kind_text(kind: TriggerKind) -> &'static str {
    match kind {
        TriggerKind::Belief => "",
        TriggerKind::Achieve => "!",
        TriggerKind::Test => "?",
    }
}

fn without_self(literal: &Structure) -> Structure {
    let others: Annots = literal.annots.iter().filter(|annot| **annot != Annot::Source(sym::SELF)).cloned().collect();
    literal.with_annots(others)
}
