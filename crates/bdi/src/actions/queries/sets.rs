//! Lists as sets: in the standard order, each element once.

use whimbrel_acl::Value;

use super::{Outcome, is_variable};
use crate::prover::{ActionCall, Failure};

fn sorted(list: &Value) -> Vec<Value> {
    let mut items: Vec<Value> = list.items().cloned().collect();
    items.sort();
    items.dedup();
    items
}

fn combine(call: &mut ActionCall<'_, '_>, combine: fn(Vec<Value>, Vec<Value>) -> Vec<Value>) -> Outcome {
    let not_a_list =
        |place: &str, arg: &Value| -> Failure { call.wrong(&format!("{place} argument '{arg}'is not a list.")) };
    let (left, right, last) = (call.arg(0), call.arg(1), call.arg(2));
    if !left.is_list() {
        return Err(not_a_list("first", left));
    }
    if !right.is_list() {
        return Err(not_a_list("second", right));
    }
    if !last.is_list() && !is_variable(last) {
        return Err(call.wrong(&format!("last argument '{last}'is not a list nor a variable.")));
    }
    let combined = combine(sorted(left), sorted(right));
    call.unify(2, &Value::list(combined))
}

/// `.union(A, B, R)`
pub fn union(call: &mut ActionCall<'_, '_>) -> Outcome {
    combine(call, |mut left, right| {
        left.extend(right);
        left.sort();
        left.dedup();
        left
    })
}

/// `.intersection(A, B, R)`
pub fn intersection(call: &mut ActionCall<'_, '_>) -> Outcome {
    combine(call, |mut left, right| {
        left.retain(|item| right.binary_search(item).is_ok());
        left
    })
}

/// `.difference(A, B, R)`
pub fn difference(call: &mut ActionCall<'_, '_>) -> Outcome {
    combine(call, |mut left, right| {
        left.retain(|item| right.binary_search(item).is_err());
        left
    })
}
