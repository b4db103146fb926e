//! Internal actions and functions.
//!
//! A *query* action only reads: it may stand in a context, a rule or a plan body, and may have several solutions. A
//! *step* action changes the agent. Where Jason allows one in a formula, it is a [`RequestedStep`]: executed as soon as
//! the formula is decided.

mod queries;
mod registry;
mod steps;

use whimbrel_acl::Value;

use crate::code::{CallExpr, InternalAction};
use crate::logic::{Bindings, Numbering};
use crate::reason::StepAction;

pub(crate) use queries::is_open_arithmetic;
pub use registry::{acts_in_formulas, formula_place, function, lookup, names};
pub(crate) use steps::{taught_label, taught_plan};

/// Step action that a formula requests.
#[derive(Clone, Debug)]
pub struct RequestedStep {
    /// Step action to execute.
    pub action: StepAction,
    /// Arguments of the action; their variables are numbered from 0.
    pub args: Vec<Value>,
    /// Number of variables in the arguments.
    pub slots: u32,
    /// The call as compiled.
    pub call: CallExpr,
}

impl RequestedStep {
    /// Returns the effect of a call in a formula; `None` if the action is not allowed there.
    pub fn of(call: &CallExpr, args: &[Value], bindings: &Bindings) -> Option<Self> {
        let InternalAction::Step(action) = call.action else { return None };
        let name = call.name.as_str();
        if !acts_in_formulas(name) {
            return None;
        }
        let mut vars = Numbering::default();
        let args: Vec<Value> = args.iter().map(|arg| bindings.close(arg, &mut vars)).collect();
        // Answers of these actions would arrive when no step waits for them any more.
        let answers =
            matches!(name, ".create_agent" | ".include") && args.iter().any(|arg| matches!(arg, Value::Var(_)));
        (!answers).then(|| Self { action, args, slots: vars.len() as u32, call: call.clone() })
    }
}
