//! Internal actions and functions.
//!
//! A *query* action only reads: it may stand in a context, a rule or a plan body, and may have several solutions. A
//! *step* action changes the agent. Where Jason allows one in a formula, it is a [`RequestedStep`]: executed as soon as
//! the formula is decided.

mod queries;
mod registry;
mod steps;

use std::time::Duration;

use smallvec::SmallVec;
use whimbrel_acl::{Symbol, Value};
use whimbrel_platform::Time;

use crate::code::{CallExpr, Formula};
use crate::logic::{Bindings, Numbering, SearchDecision, Solver};
use crate::mind::IntentionId;
use crate::reason::Cycle;

pub(crate) use queries::is_open_arithmetic;
pub use registry::{acts_in_formulas, formula_place, function, lookup, names};
pub(crate) use steps::{taught_label, taught_plan};

/// Implementation of an internal action.
#[derive(Clone, Copy, Debug)]
pub enum InternalAction {
    /// A query action, which only reads.
    Query(QueryAction),
    /// A step action, which changes the agent.
    Step(StepAction),
    /// The action does not take that many arguments.
    WrongCount,
    /// No action has this name.
    Unknown,
}

/// Internal action that only reads.
pub type QueryAction = fn(&mut ActionCall<'_, '_>) -> Result<QueryAnswer, Failure>;

/// Internal action that changes the agent.
pub type StepAction = fn(&mut StepCall<'_, '_>) -> Result<StepProgress, Failure>;

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

/// Function. Returns `None` if its arguments allow no value (yet): the call stays as it is then.
pub type NativeFunction = fn(&mut ActionCall<'_, '_>) -> Option<Value>;

/// Answer of a query action.
pub enum QueryAnswer {
    /// Success, with the bindings made.
    Yes,
    /// Failure.
    No,
    /// Each of these values that unifies with the target. Variables in a value are its own, numbered from 0.
    Each(Value, Box<dyn Iterator<Item = Value>>),
    /// Each of these values that unifies with the target. Variables in the values are the caller's.
    Parts(Value, Box<dyn Iterator<Item = Value>>),
}

impl From<bool> for QueryAnswer {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
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

/// Reason of a failure, in words. It is never empty, so that every reader learns the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureText(String);

/// Reason of a failure for which none was given.
const UNTOLD: &str = "no reason is known";

impl<T: Into<String>> From<T> for FailureText {
    fn from(text: T) -> Self {
        let text = text.into();
        Self(if text.trim().is_empty() { UNTOLD.to_owned() } else { text })
    }
}

/// Failure of an internal action: a failure plan finds its parts as annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// `error(..)`
    pub error: Symbol,
    /// `error_msg(..)`: a [`FailureText`], empty if the action answered no, or a program's own message.
    message: Option<Value>,
    /// Further annotations.
    pub annots: Vec<Value>,
}

impl Failure {
    /// Creates a failure of this kind.
    pub fn new(error: &str, reason: impl Into<FailureText>) -> Self {
        let FailureText(reason) = reason.into();
        Self { error: Symbol::new(error), message: Some(Value::from(reason)), annots: Vec::new() }
    }

    /// Creates the failure of an action that answered no, without a message.
    pub fn said_no() -> Self {
        Self { error: Symbol::new("ia_failed"), message: Some(Value::from("")), annots: Vec::new() }
    }

    /// Creates the failure of a call to an internal action that does not exist.
    pub fn unknown_action(name: Symbol) -> Self {
        let like = crate::syntax::similar_action(name.as_str());
        let advice = like.map(|like| format!(": did you mean .{like}?")).unwrap_or_default();
        // Jason tries such a call as an action on the environment, which fails like this.
        Self::new("action_failed", format!("there is no internal action {name}{advice}"))
    }

    /// Creates a failure whose message comes from elsewhere: a program, or the environment.
    pub fn told(error: Symbol, message: Option<Value>, annots: Vec<Value>) -> Self {
        Self { error, message, annots }
    }

    /// Returns the content of `error_msg(..)` and the further annotations.
    pub fn into_message(self) -> (Option<Value>, Vec<Value>) {
        (self.message, self.annots)
    }

    /// Creates the failure for a wrong argument: `Wrong argument for internal action 'name': what`.
    pub fn wrong_argument(call: &CallExpr, what: &str) -> Self {
        let name = call.name.as_str();
        let name = name.rsplit('.').next().unwrap_or(name);
        Self::new("wrong_arguments", format!("Wrong argument for internal action '{name}': {what}"))
    }

    /// Creates the failure for a wrong number of arguments, in Jason's words.
    pub fn wrong_count(call: &CallExpr) -> Self {
        let name = call.name.as_str();
        let arity = crate::syntax::action_arity(name.strip_prefix("jason.stdlib").unwrap_or(name)).unwrap_or(0..=0);
        let expected = match (*arity.start(), *arity.end()) {
            (1, 1) => "One argument is expected.".to_owned(),
            (least, most) if least == most => format!("{least} arguments are expected."),
            (least, most) => format!("From {least} to {} arguments are expected.", most.min(i32::MAX as usize)),
        };
        let name = name.rsplit('.').next().unwrap_or(name);
        let message =
            format!("The internal action '{name}' has not received the required number of argument(s). {expected}");
        Self::new("wrong_arguments", message)
    }

    /// Returns the message as text.
    pub fn message(&self) -> String {
        match &self.message {
            Some(Value::Str(text)) => text.to_string(),
            Some(other) => other.to_string(),
            None => self.error.to_string(),
        }
    }
}

/// Call of a query action or a function.
pub struct ActionCall<'c, 'm> {
    /// Prover, with the agent's knowledge.
    pub solver: &'c Solver<'m>,
    /// Variables.
    pub bindings: &'c mut Bindings,
    /// First slot of the caller's variables.
    pub base: u32,
    /// Names of the caller's variables.
    pub names: &'c [Symbol],
    /// Arguments: bound variables replaced, arithmetic done; null in place of a formula known to the compiler.
    pub args: &'c [Value],
    /// Call as compiled.
    pub call: &'c CallExpr,
}

impl ActionCall<'_, '_> {
    /// Returns argument `place`, counted from 0; null if there is none.
    pub fn arg(&self, place: usize) -> &Value {
        self.args.get(place).unwrap_or(&Value::Null)
    }

    /// Unifies argument `place` with a value.
    pub fn unify(&mut self, place: usize, value: &Value) -> Result<QueryAnswer, Failure> {
        let arg = self.args.get(place).unwrap_or(&Value::Null);
        Ok(self.bindings.unify(arg, value).into())
    }

    /// Returns argument `place` as a number.
    ///
    /// # Errors
    /// Returns an error if the argument is not a number.
    pub fn number(&self, place: usize) -> Result<f64, Failure> {
        let arg = self.arg(place);
        arg.as_f64().ok_or_else(|| Failure::wrong_argument(self.call, &format!("{arg} is not a number")))
    }

    /// Returns the values of `template` in each solution of argument `place` taken as a formula, at most `limit`.
    pub fn solutions(&mut self, place: usize, template: &Value, limit: usize) -> Vec<Value> {
        let mut found = Vec::new();
        let solver = self.solver;
        self.each_solution(place, |bindings| {
            let value = bindings.closed(template);
            found.push(solver.compute(bindings, value));
            if found.len() < limit { SearchDecision::More } else { SearchDecision::Enough }
        });
        found
    }

    /// Calls `on_solution` for each solution of argument `place` taken as a formula. Leaves nothing bound.
    pub fn each_solution(&mut self, place: usize, mut on_solution: impl FnMut(&mut Bindings) -> SearchDecision) {
        let mark = self.bindings.mark();
        let dynamic;
        let (formula, base, names) = match self.call.formulas.get(place) {
            Some(Some(formula)) => (formula, self.base, self.names),
            _ => {
                dynamic = crate::code::compile::formula_of_value(self.arg(place), self.solver.known.image);
                (&dynamic, 0, &[] as &[Symbol])
            }
        };
        self.solver.each(formula, self.bindings, base, names, &mut on_solution);
        self.bindings.undo(mark);
    }

    /// Returns true if argument `place`, taken as a formula, holds. The bindings of its first solution stay.
    pub fn holds(&mut self, place: usize) -> bool {
        let dynamic;
        let (formula, base, names) = match self.call.formulas.get(place) {
            Some(Some(formula)) => (formula, self.base, self.names),
            _ => {
                dynamic = crate::code::compile::formula_of_value(self.arg(place), self.solver.known.image);
                (&dynamic, 0, &[] as &[Symbol])
            }
        };
        let formula: &Formula = formula;
        self.solver.first(formula, self.bindings, base, names)
    }
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
        let solver = crate::reason::solver!(self.cycle);
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
