//! Foreign calls in formulas: the turn waits for the host, which answers within its own bound.

use whimbrel_acl::{Symbol, Value};
use whimbrel_platform::foreign_actions::call_of;
use whimbrel_platform::services::LogLevel;

use super::{ActionCall, Failure, QueryAnswer};
use crate::numbering::Numbering;

/// Returns the failure of a call where no host carries out foreign actions.
pub fn no_foreign_host(name: Symbol) -> Failure {
    Failure::new("action_failed", format!("{name}: this place runs no Python, so it has no such action"))
}

/// Returns the last arguments of a call, which take this many results; `None` if there are not as many.
pub fn result_args<T>(args: &[T], results: usize) -> Option<&[T]> {
    args.get(args.len().checked_sub(results)?..)
}

/// Answers a call of a foreign action with its solutions, which are found on demand.
pub(super) fn foreign_query(call: &mut ActionCall<'_, '_>) -> Result<QueryAnswer, Failure> {
    let known = &call.solver.known;
    let name = call.call.name;
    let host = known.services.foreign_actions().ok_or_else(|| no_foreign_host(name))?;
    let mut vars = Numbering::default();
    let closed = call.args.iter().map(|arg| call.bindings.close(arg, &mut vars)).collect();
    let mut found = match host.solve(call_of(known.aid, name.as_str(), closed)) {
        Ok(found) => found,
        // A test that does not hold is no fault.
        Err(failure) if failure.error.as_str() == "ia_failed" => return Ok(QueryAnswer::No),
        Err(failure) => return Err(Failure::told(failure.error, Some(Value::from(failure.message)), failure.annots)),
    };
    let Some(first) = found.next() else { return Ok(QueryAnswer::No) };
    let Some(outputs) = result_args(call.args, first.len()) else {
        let text = format!("{name}: {} results for {} arguments", first.len(), call.args.len());
        known.services.log(known.aid, LogLevel::Warning, &text);
        return Ok(QueryAnswer::No);
    };
    if outputs.is_empty() {
        return Ok(QueryAnswer::Yes);
    }
    let target = Value::list(outputs.to_vec());
    let values = std::iter::once(first).chain(found).map(Value::list);
    Ok(QueryAnswer::Each(target, Box::new(values)))
}
