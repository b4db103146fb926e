//! Numbers in a range, random numbers, and random elements.

use whimbrel_acl::Value;

use super::{Outcome, is_variable, nonsense};
use crate::prover::{ActionCall, Failure, QueryAnswer};

/// `.range(X, First, Last [, Step])`: each integer in turn.
pub fn range(call: &mut ActionCall<'_, '_>) -> Outcome {
    let bound = |place: usize, what: &str| -> Result<i64, Failure> {
        let arg = call.arg(place);
        let wrong = || call.wrong(&format!("{what} parameter ('{arg}') must be a number!"));
        arg.as_f64().map(|n| n as i64).ok_or_else(wrong)
    };
    let (first, last) = (bound(1, "second")?, bound(2, "third")?);
    let step = if call.args.len() > 3 { bound(3, "fourth")? } else { 1 };
    let x = call.arg(0);
    if !is_variable(x) {
        let x =
            x.as_f64().ok_or_else(|| nonsense(format!("the first argument must be a variable or a number, not {x}")))?
                as i64;
        return Ok((first..=last).contains(&x).into());
    }
    let goes_on = move |n: &i64| if step > 0 { *n <= last } else { step < 0 && *n >= last };
    let numbers = std::iter::successors(Some(first).filter(goes_on), move |n| n.checked_add(step).filter(goes_on));
    Ok(QueryAnswer::Each(x.clone(), Box::new(numbers.map(|n| Value::Num(n as f64)))))
}

/// `.random(X)`: a number of [0, 1). `.random(X, N)`: N of them in turn. `.random(List, X [, N])`: elements of the
/// list. N = 0 means without end.
pub fn random(call: &mut ActionCall<'_, '_>) -> Outcome {
    let first = call.arg(0);
    if first.is_list() {
        return random_elements(call, first);
    }
    if !is_variable(first) {
        return Err(call.wrong("first argument must be a variable."));
    }
    let count = how_many(call, 1, "second")?;
    let mut state = RandomSeries::seeded(call);
    Ok(QueryAnswer::Each(first.clone(), times(count, move || Value::Num(state.next()))))
}

fn random_elements(call: &ActionCall<'_, '_>, list: &Value) -> Outcome {
    let element = call.arg(1);
    if call.args.len() < 2 {
        return Err(call.wrong("first argument must be a variable."));
    }
    if !is_variable(element) {
        return Err(call.wrong("second argument must be a variable."));
    }
    let count = how_many(call, 2, "third")?;
    let items: Vec<Value> = list.items().cloned().collect();
    if items.is_empty() {
        return Ok(QueryAnswer::No);
    }
    let mut state = RandomSeries::seeded(call);
    let pick = move || items.get((state.next() * items.len() as f64) as usize).cloned().unwrap_or_default();
    Ok(super::each_part(element, times(count, pick)))
}

fn how_many(call: &ActionCall<'_, '_>, place: usize, what: &str) -> Result<usize, Failure> {
    match call.args.get(place) {
        None => Ok(1),
        Some(count) => {
            let count = count.as_f64().ok_or_else(|| call.wrong(&format!("{what} argument must be a number.")))?;
            Ok(if count as usize == 0 { usize::MAX } else { count as usize })
        }
    }
}

fn times(count: usize, make: impl FnMut() -> Value + 'static) -> Box<dyn Iterator<Item = Value>> {
    Box::new(std::iter::repeat_with(make).take(count))
}

/// Series of random numbers: the first is the agent's next one, the others follow from it (xorshift).
struct RandomSeries {
    first: Option<f64>,
    state: u64,
}

impl RandomSeries {
    fn seeded(call: &ActionCall<'_, '_>) -> Self {
        let first = call.solver.known.mind.random();
        Self { first: Some(first), state: first.to_bits() | 1 }
    }

    fn next(&mut self) -> f64 {
        self.first.take().unwrap_or_else(|| {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            (self.state >> 11) as f64 / (1_u64 << 53) as f64
        })
    }
}

/// `.set_random_seed(N)`: makes the following random numbers reproducible.
pub fn set_random_seed(call: &mut ActionCall<'_, '_>) -> Outcome {
    let seed = call.arg(0).as_f64().ok_or_else(|| nonsense(format!("a seed is a number, not {}", call.arg(0))))?;
    call.solver.known.mind.seed_random(seed as i64 as u64);
    Ok(QueryAnswer::Yes)
}
