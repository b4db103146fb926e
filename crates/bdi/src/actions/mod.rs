//! Internal actions and functions.
//!
//! A *query* action only looks: it may stand in a context, a rule or a plan body, and may have several solutions. A
//! *step* action changes the agent. Where a formula asks for one that Jason allows there, it is an [`Effect`]: done as soon
//! as the formula is decided.

mod queries;
mod registry;
mod steps;

use std::time::Duration;

use smallvec::SmallVec;
use whimbrel_acl::{Symbol, Value};
use whimbrel_platform::Time;

use crate::code::{CallExpr, Formula};
use crate::logic::{Bindings, Found, Solver};
use crate::mind::IntentionId;
use crate::reason::Cycle;

pub(crate) use queries::is_open_arithmetic;
pub use registry::{acts_in_formulas, formula_place, function, lookup, names};
pub(crate) use steps::{taught_label, taught_plan};

/// What an internal action is.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// It only looks.
    Query(QueryAction),
    /// It changes the agent.
    Step(StepAction),
    /// It does not take that many arguments.
    WrongCount,
    /// There is none of this name.
    Unknown,
}

/// An action that only looks.
pub type QueryAction = fn(&mut Call<'_, '_>) -> Result<Answer, Failure>;

/// An action that changes the agent.
pub type StepAction = fn(&mut StepCall<'_, '_>) -> Result<Progress, Failure>;

/// A step action that a formula asks for.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Step action to execute.
    pub action: StepAction,
    /// Arguments of the action; their variables are numbered from 0.
    pub args: Vec<Value>,
    /// Number of variables in the arguments.
    pub slots: u32,
    /// The call as compiled.
    pub call: CallExpr,
}

impl Effect {
    /// Returns the effect of a call in a formula; `None` if the action cannot be asked for there.
    pub fn of(call: &CallExpr, args: &[Value], bindings: &Bindings) -> Option<Self> {
        let Action::Step(action) = call.action else { return None };
        let name = call.name.as_str();
        if !acts_in_formulas(name) {
            return None;
        }
        let mut vars = Vec::new();
        let args: Vec<Value> = args.iter().map(|arg| bindings.close(arg, &mut vars)).collect();
        // Answers of these actions would arrive when nothing waits for them any more.
        let answers =
            matches!(name, ".create_agent" | ".include") && args.iter().any(|arg| matches!(arg, Value::Var(_)));
        (!answers).then(|| Self { action, args, slots: vars.len() as u32, call: call.clone() })
    }
}

/// A function; none if its arguments do not allow a value (yet), so that the call stays as it is.
pub type NativeFunction = fn(&mut Call<'_, '_>) -> Option<Value>;

/// What a query action answers.
pub enum Answer {
    /// Yes, with what it has bound.
    Yes,
    /// No.
    No,
    /// Each of the values that unifies with the target.
    Each(Value, Box<dyn Iterator<Item = Value>>),
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// What becomes of an intention after a step action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It goes on with the next step.
    Done,
    /// It waits; the action has said for what.
    Waiting,
    /// It has been moved by the action itself: ended, failed, or put elsewhere.
    Moved,
}

/// Reason of a failure, in words. It is never empty, so that every reader learns the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(String);

/// Reason of a failure for which none was given.
const UNTOLD: &str = "no reason is known";

impl<T: Into<String>> From<T> for Reason {
    fn from(text: T) -> Self {
        let text = text.into();
        Self(if text.trim().is_empty() { UNTOLD.to_owned() } else { text })
    }
}

/// An internal action's failure: what a failure plan finds in its annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// `error(..)`
    pub error: Symbol,
    /// `error_msg(..)`: a [`Reason`], empty if the action answered no, or a program's own message.
    message: Option<Value>,
    /// Further annotations.
    pub annots: Vec<Value>,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(error: &str, reason: impl Into<Reason>) -> Self {
        let Reason(reason) = reason.into();
        Self { error: Symbol::new(error), message: Some(Value::from(reason)), annots: Vec::new() }
    }

    /// The action answered no: that is all there is to say.
    pub fn said_no() -> Self {
        Self { error: Symbol::new("ia_failed"), message: Some(Value::from("")), annots: Vec::new() }
    }

    /// Failure of a call to an internal action that does not exist.
    pub fn unknown_action(name: Symbol) -> Self {
        let like = crate::syntax::similar_action(name.as_str());
        let advice = like.map(|like| format!(": did you mean .{like}?")).unwrap_or_default();
        // Jason tries such a call as an action on the environment, which fails so.
        Self::new("action_failed", format!("there is no internal action {name}{advice}"))
    }

    /// Failure whose message comes from elsewhere: a program, or the environment.
    pub fn told(error: Symbol, message: Option<Value>, annots: Vec<Value>) -> Self {
        Self { error, message, annots }
    }

    /// Returns the content of `error_msg(..)` and the further annotations.
    pub fn into_message(self) -> (Option<Value>, Vec<Value>) {
        (self.message, self.annots)
    }

    /// An argument is not what it should be: `Wrong argument for internal action 'name': what`.
    pub fn wrong_argument(call: &CallExpr, what: &str) -> Self {
        let name = call.name.as_str();
        let name = name.rsplit('.').next().unwrap_or(name);
        Self::new("wrong_arguments", format!("Wrong argument for internal action '{name}': {what}"))
    }

    /// It does not take that many arguments, in Jason's words.
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

    /// The message as text.
    pub fn message(&self) -> String {
        match &self.message {
            Some(Value::Str(text)) => text.to_string(),
            Some(other) => other.to_string(),
            None => self.error.to_string(),
        }
    }
}

/// A call of a query action or a function.
pub struct Call<'c, 'm> {
    /// The prover, and all that is known.
    pub solver: &'c Solver<'m>,
    /// The variables.
    pub bindings: &'c mut Bindings,
    /// Where the caller's variables begin.
    pub base: u32,
    /// The names of the caller's variables.
    pub names: &'c [Symbol],
    /// The arguments, bound variables replaced, arithmetic done; null in place of a formula known when it was compiled.
    pub args: &'c [Value],
    /// The call as compiled.
    pub call: &'c CallExpr,
}

impl Call<'_, '_> {
    /// Argument `place`, counted from 0; null if there is none.
    pub fn arg(&self, place: usize) -> &Value {
        self.args.get(place).unwrap_or(&Value::Null)
    }

    /// Unifies argument `place` with a value.
    pub fn unify(&mut self, place: usize, value: &Value) -> Result<Answer, Failure> {
        let arg = self.args.get(place).unwrap_or(&Value::Null);
        Ok(self.bindings.unify(arg, value).into())
    }

    /// The number argument `place` is.
    ///
    /// # Errors
    /// It is none.
    pub fn number(&self, place: usize) -> Result<f64, Failure> {
        let arg = self.arg(place);
        arg.as_f64().ok_or_else(|| Failure::wrong_argument(self.call, &format!("{arg} is not a number")))
    }

    /// The values of `template` in each solution of argument `place` taken as a formula, at most `limit`.
    pub fn solutions(&mut self, place: usize, template: &Value, limit: usize) -> Vec<Value> {
        let mut found = Vec::new();
        let solver = self.solver;
        self.each_solution(place, |bindings| {
            let value = bindings.close(template, &mut Vec::new());
            found.push(solver.compute(bindings, value));
            if found.len() < limit { Found::More } else { Found::Enough }
        });
        found
    }

    /// Calls `on_solution` for each solution of argument `place` taken as a formula; nothing stays bound.
    pub fn each_solution(&mut self, place: usize, mut on_solution: impl FnMut(&mut Bindings) -> Found) {
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

    /// Whether argument `place`, taken as a formula, holds; its first solution's bindings stay.
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

/// A call of a step action. The intention's variables are in `cycle.bindings` while it runs.
pub struct StepCall<'c, 'm> {
    /// The reasoning cycle: the mind, the platform.
    pub cycle: &'c mut Cycle<'m>,
    /// The intention whose step this is.
    pub intention: IntentionId,
    /// The arguments, bound variables replaced, arithmetic done.
    pub args: SmallVec<[Value; 4]>,
    /// The call as compiled.
    pub call: &'c CallExpr,
}

impl StepCall<'_, '_> {
    /// Argument `place`, counted from 0; null if there is none.
    pub fn arg(&self, place: usize) -> &Value {
        self.args.get(place).unwrap_or(&Value::Null)
    }

    /// The time `ms` milliseconds from now.
    pub fn after(&self, ms: f64) -> Time {
        self.cycle.now + Duration::from_micros((ms.max(0.0) * 1000.0) as u64)
    }

    /// Whether argument `place`, taken as a formula, holds; its first solution's bindings stay.
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

    /// Unifies argument `place` with a value; a failure if they do not.
    ///
    /// # Errors
    /// They do not unify.
    pub fn unify(&mut self, place: usize, value: &Value) -> Result<Progress, Failure> {
        let arg = self.args.get(place).unwrap_or(&Value::Null);
        if self.cycle.bindings.unify(arg, value) { Ok(Progress::Done) } else { Err(Failure::said_no()) }
    }
}
