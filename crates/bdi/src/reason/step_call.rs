//! Calls of step actions, as the cycle makes them.

use std::time::Duration;

use smallvec::SmallVec;
use whimbrel_acl::Value;
use whimbrel_platform::Time;

use super::{Cycle, solver};
use crate::code::CallExpr;
use crate::mind::IntentionId;
use crate::prover::{Failure, Queries};
use crate::syntax::StepId;

/// Internal action that changes the agent.
pub type StepAction = fn(&mut StepCall<'_, '_>) -> Result<StepProgress, Failure>;

/// All internal actions and functions: the engine calls those that a program names.
#[derive(Debug)]
pub struct Actions {
    /// Query actions and functions.
    pub queries: Queries,
    /// Step actions by name, in the order of their signatures.
    pub steps: &'static [(&'static str, StepAction)],
}

impl Actions {
    /// Returns a step action.
    #[inline]
    pub fn step(&self, id: StepId) -> Option<StepAction> {
        self.steps.get(id.place()).map(|(_, action)| *action)
    }
}

/// State of an intention after a step action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepProgress {
    /// The intention continues with the next step.
    Done,
    /// The intention waits; the action has set its wait.
    Waiting,
    /// The action itself has moved the intention: ended, failed, or put elsewhere.
    Moved,
}

/// Call of a step action. The intention's variables are in `cycle.bindings` while it runs.
pub struct StepCall<'c, 'm> {
    /// Reasoning cycle: the mind, the platform.
    pub cycle: &'c mut Cycle<'m>,
    /// Intention whose step this is.
    pub intention: IntentionId,
    /// Arguments: bound variables replaced, arithmetic done.
    pub args: SmallVec<[Value; 4]>,
    /// Call as compiled.
    pub call: &'c CallExpr,
}

impl StepCall<'_, '_> {
    /// Returns argument `place`, counted from 0; null if there is none.
    pub fn arg(&self, place: usize) -> &Value {
        self.args.get(place).unwrap_or(&Value::Null)
    }

    /// Returns the time `ms` milliseconds from now.
    pub fn after(&self, ms: f64) -> Time {
        self.cycle.now + Duration::from_micros((ms.max(0.0) * 1000.0) as u64)
    }

    /// Returns true if argument `place`, taken as a formula, holds. The bindings of its first solution stay.
    pub fn holds(&mut self, place: usize) -> bool {
        let frame = self.cycle.mind.intentions.find(self.intention).and_then(|i| i.frames.last());
        let base = frame.map_or(0, |frame| frame.base);
        let solver = solver!(self.cycle);
        let dynamic;
        let (formula, base) = match self.call.formulas.get(place) {
            Some(Some(formula)) => (formula, base),
            _ => {
                let value = self.args.get(place).unwrap_or(&Value::Null);
                dynamic = crate::code::compile::formula_of_value(value, self.cycle.image);
                (&dynamic, 0)
            }
        };
        solver.first(formula, self.cycle.bindings, base, &[])
    }

    /// Unifies argument `place` with a value.
    ///
    /// # Errors
    /// Returns an error if they do not unify.
    pub fn unify(&mut self, place: usize, value: &Value) -> Result<StepProgress, Failure> {
        let arg = self.args.get(place).unwrap_or(&Value::Null);
        if self.cycle.bindings.unify(arg, value) { Ok(StepProgress::Done) } else { Err(Failure::said_no()) }
    }
}
