//! Foreign calls in plan bodies: the intention waits until the host answers; other intentions continue.

use whimbrel_acl::{AclMessage, Aid, Performative, Text, Value, sym};
use whimbrel_platform::foreign_actions::{ANSWERER, ForeignFailure, PROTOCOL, call_of};

use super::messages::waits_for_answer;
use super::step_outcome::{At, Stepped, unfit};
use super::{Cycle, ExpectedAnswer, solver};
use crate::code::CallExpr;
use crate::logic::{Bindings, levels, variables};
use crate::mind::{IntentionId, IntentionPlace, Resumption, WaitFor};
use crate::numbering::Numbering;
use crate::prover::{Failure, build_args, no_foreign_host, result_args};

/// Returns true for the answer of a call, which only the platform sends.
pub(super) fn is_foreign_answer(message: &AclMessage) -> bool {
    message.sender.name == sym::AMS && message.extras().protocol.is_some_and(|protocol| protocol.as_str() == PROTOCOL)
}

impl Cycle<'_> {
    /// Begins a call. The host gets it once this step is in the journal, if there is one.
    pub(super) fn begin_foreign(&mut self, call: &CallExpr, at: At<'_>) -> Stepped {
        let solver = solver!(self);
        let args = build_args(&solver, self.bindings, at.base, at.names, &call.args);
        if levels::noted() {
            return unfit();
        }
        let Some(host) = self.services.foreign_actions() else {
            return Stepped::Failed(no_foreign_host(call.name));
        };
        let Some(ticket) = self.question_id(ExpectedAnswer::WaitedFor) else {
            return Stepped::Failed(Failure::said_no());
        };
        let mut vars = Numbering::default();
        let closed = args.iter().map(|arg| self.bindings.close(arg, &mut vars)).collect();
        let until = WaitFor::Answer {
            id: ticket.clone(),
            many: false,
            missing: vec![Aid::local(ANSWERER)],
            answers: Vec::new(),
            target: Value::list(args.to_vec()),
            all: false,
        };
        self.put_down(Some(at.id));
        self.wait_for(at.id, until, None, None);
        let begun = call_of(self.aid, call.name.as_str(), closed);
        self.services.once_written(Box::new(move || host.begin(begun, ticket)));
        Stepped::Moved
    }

    /// Takes in the answer of a call.
    pub(super) fn foreign_answered(&mut self, performative: Performative, ticket: &Text, content: &Value) {
        let asked = self.mind.intentions.iter().find(|intention| waits_for_answer(&intention.place, ticket));
        let Some(id) = asked.map(|intention| intention.id) else { return };
        let failure = match performative {
            Performative::Inform if self.take_results(id, content) => {
                return self.wake(id, Resumption::Answered(ticket.clone()));
            }
            _ if levels::noted() => return self.wait_failed_for_excess(id),
            Performative::Inform => {
                let results: Vec<String> = content.items().map(Value::to_string).collect();
                ForeignFailure::new("ia_failed", format!("the result {} is not that of the call", results.join(", ")))
            }
            _ => ForeignFailure::of_value(content),
        };
        let reason = failure.error.to_string();
        let mut annots = super::failure::error_annots(&reason, Value::from(failure.message));
        annots.extend(failure.annots);
        self.wake(id, Resumption::Failed(annots, reason));
    }

    /// Unifies the last arguments of a call with its results. Returns false, and binds nothing, if they differ.
    fn take_results(&mut self, id: IntentionId, results: &Value) -> bool {
        let target = match self.mind.intentions.find(id).map(|intention| &intention.place) {
            Some(IntentionPlace::Waiting(wait)) => match &wait.until {
                WaitFor::Answer { target, .. } => target.clone(),
                _ => return false,
            },
            _ => return false,
        };
        let (args, results): (Vec<&Value>, Vec<&Value>) = (target.items().collect(), results.items().collect());
        let Some(outputs) = result_args(&args, results.len()) else { return false };
        self.take_up(Some(id));
        let mark = self.bindings.mark();
        let unified = outputs.iter().zip(results).all(|(output, result)| {
            let highest = variables(result).iter().map(|var| var.slot + 1).max().unwrap_or(0);
            let base = self.bindings.extend(highest);
            self.bindings.unify(output, &Bindings::rename(result, base))
        });
        if !unified {
            self.bindings.undo(mark);
        }
        self.put_down(Some(id));
        unified && !levels::noted()
    }
}
