//! Changes of a mind by its operator.

use whimbrel_acl::{Annot, Annots, Structure, sym};

use super::{Cycle, step_event_of};
use crate::code::{TriggerKind, TriggerOp};
use crate::logic::is_source;
use crate::mind::Event;

/// Change of a mind by an operator.
#[derive(Debug)]
pub(crate) enum Edit {
    Add(Structure),
    /// A belief to remove, with its number of variables.
    Remove(Structure, u32),
    Pursue(Structure),
}

impl Cycle<'_> {
    /// Changes the mind for an operator: as a plan's `+b` and `!!g` would.
    pub(crate) fn carry_out(&mut self, edit: Edit) {
        match edit {
            Edit::Add(literal) => {
                let event = step_event_of(TriggerOp::Add, literal, TriggerKind::Belief);
                if let Some(changed) = self.mind.beliefs.add(event.literal.clone(), false) {
                    self.add_event(Event { literal: changed, ..event });
                }
            }
            Edit::Remove(literal, variables) => self.disbelieve(&literal, variables),
            Edit::Pursue(literal) => self.add_initial_goal(literal.into_value()),
        }
    }

    /// Removes matching beliefs: without a source in the pattern all, whatever their sources; with one, as in a plan.
    fn disbelieve(&mut self, literal: &Structure, variables: u32) {
        self.take_up(None);
        self.bindings.extend(variables);
        let changed = if literal.annots.iter().any(is_source) {
            self.mind.beliefs.delete(literal, self.bindings, self.image).into_iter().collect()
        } else {
            let gone = self.mind.beliefs.abolish(literal, self.bindings);
            gone.iter().map(|gone| gone.with_annots(only_self())).collect::<Vec<_>>()
        };
        self.top = 0;
        self.bindings.truncate(0);
        self.put_down(None);
        for changed in changed {
            self.add_event(step_event_of(TriggerOp::Delete, changed, TriggerKind::Belief));
        }
    }
}

fn only_self() -> Annots {
    [Annot::Source(sym::SELF)].into_iter().collect()
}
