//! Calls of query actions and functions, as the prover makes them.

use whimbrel_acl::{Symbol, Value};

use super::{Failure, SearchDecision, Solver};
use crate::code::{CallExpr, Formula};
use crate::logic::Bindings;
use crate::syntax::{FunctionId, QueryId};

/// Internal action that only reads.
pub type QueryAction = fn(&mut ActionCall<'_, '_>) -> Result<QueryAnswer, Failure>;

/// Function. Returns `None` if its arguments allow no value (yet): the call stays as it is then.
pub type NativeFunction = fn(&mut ActionCall<'_, '_>) -> Option<Value>;

/// Query actions and functions by name, in the order of their signatures.
#[derive(Debug)]
pub struct Queries {
    /// Query actions.
    pub actions: &'static [(&'static str, QueryAction)],
    /// Functions.
    pub functions: &'static [(&'static str, NativeFunction)],
}

impl Queries {
    /// Returns a query action.
    #[inline]
    pub fn action(&self, id: QueryId) -> Option<QueryAction> {
        self.actions.get(id.place()).map(|(_, action)| *action)
    }

    /// Returns a function.
    #[inline]
    pub fn function(&self, id: FunctionId) -> Option<NativeFunction> {
        self.functions.get(id.place()).map(|(_, function)| *function)
    }
}

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

    /// Returns argument `place` as a list.
    pub(crate) fn list(&self, place: usize, what: &str) -> Result<&Value, Failure> {
        let arg = self.arg(place);
        if arg.is_list() { Ok(arg) } else { Err(self.wrong(what)) }
    }

    /// Makes the failure for a wrong argument.
    pub(crate) fn wrong(&self, what: &str) -> Failure {
        Failure::wrong_argument(self.call, what)
    }

    /// Returns argument `place` as compiled, if it may be a formula.
    pub(crate) fn formula(&self, place: usize) -> Option<&Formula> {
        self.call.formulas.get(place)?.as_ref()
    }
}
