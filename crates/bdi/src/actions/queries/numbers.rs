//! Functions of numbers. A call whose arguments are not numbers (yet) has no value and stays as it is.

use whimbrel_acl::Value;
use whimbrel_platform::services::LogLevel;

use crate::prover::ActionCall;

/// Returns argument `place` as a number. Notes the fault if it never will be one.
fn number(call: &ActionCall<'_, '_>, place: usize) -> Option<f64> {
    let arg = call.arg(place);
    let number = arg.as_f64();
    if number.is_none() && arg.is_ground() {
        complain(call, &format!("The argument '{arg}' is not numeric!"));
    }
    number
}

fn complain(call: &ActionCall<'_, '_>, what: &str) {
    let args: Vec<String> = call.args.iter().map(ToString::to_string).collect();
    let text = format!("Error in '{}({})' -- {what}", call.call.name, args.join(","));
    call.solver.known.services.log(call.solver.known.aid, LogLevel::Severe, &text);
}

/// Returns the numbers of a list without its other elements; `None` if argument 0 is no list.
fn numbers(call: &ActionCall<'_, '_>) -> Option<Vec<f64>> {
    let list = call.arg(0);
    if list.is_list() {
        return Some(list.items().filter_map(Value::as_f64).collect());
    }
    if list.is_ground() {
        complain(call, &format!("{} is not implemented for type '{list}'.", call.call.name));
    }
    None
}

fn one(call: &ActionCall<'_, '_>, of: fn(f64) -> f64) -> Option<Value> {
    number(call, 0).map(|n| Value::Num(of(n)))
}

macro_rules! of_one_number {
    ($($(#[$doc:meta])* $name:ident = $of:expr;)*) => {
        $($(#[$doc])* pub fn $name(call: &mut ActionCall<'_, '_>) -> Option<Value> { one(call, $of) })*
    };
}

of_one_number! {
    /// `math.abs(N)`
    abs = f64::abs;
    /// `math.acos(N)`
    acos = f64::acos;
    /// `math.asin(N)`
    asin = f64::asin;
    /// `math.atan(N)`
    atan = f64::atan;
    /// `math.ceil(N)`
    ceil = f64::ceil;
    /// `math.cos(N)`
    cos = f64::cos;
    /// `math.floor(N)`
    floor = f64::floor;
    /// `math.log(N)`: the natural logarithm.
    log = f64::ln;
    /// `math.round(N)`: to the nearest integer, halves up.
    round = |n| if n - n.floor() < 0.5 { n.floor() } else { n.ceil() };
    /// `math.sin(N)`
    sin = f64::sin;
    /// `math.sqrt(N)`
    sqrt = f64::sqrt;
    /// `math.tan(N)`
    tan = f64::tan;
}

/// `math.pi`
pub fn pi(_: &mut ActionCall<'_, '_>) -> Option<Value> {
    Some(Value::Num(std::f64::consts::PI))
}

/// `math.e`
pub fn e(_: &mut ActionCall<'_, '_>) -> Option<Value> {
    Some(Value::Num(std::f64::consts::E))
}

/// `math.random`, `math.random(N)`: of [0, 1), or of [0, N).
pub fn random(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    let scale = if call.args.is_empty() { 1.0 } else { number(call, 0)? };
    Some(Value::Num(call.solver.known.mind.random() * scale))
}

fn extreme(call: &ActionCall<'_, '_>, of_none: f64, better: fn(f64, f64) -> f64) -> Option<Value> {
    if call.args.len() == 2 {
        return Some(Value::Num(better(number(call, 0)?, number(call, 1)?)));
    }
    if let Some(n) = call.arg(0).as_f64() {
        return Some(Value::Num(n));
    }
    Some(Value::Num(numbers(call)?.into_iter().reduce(better).unwrap_or(of_none)))
}

/// `math.max(M, N)`, `math.max(List)`
pub fn max(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    extreme(call, f64::from_bits(1), f64::max)
}

/// `math.min(M, N)`, `math.min(List)`
pub fn min(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    extreme(call, f64::MAX, f64::min)
}

/// `math.sum(List)`
pub fn sum(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    // Not `sum`, which begins with -0.
    Some(Value::Num(numbers(call)?.into_iter().fold(0.0, |sum, n| sum + n)))
}

fn mean_of(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// `math.average(List)`; not a number if the list is empty.
pub fn average(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    Some(Value::Num(mean_of(&numbers(call)?)))
}

/// Returns the numbers of a list that must have some.
fn some_numbers(call: &ActionCall<'_, '_>) -> Option<Vec<f64>> {
    let numbers = numbers(call)?;
    if numbers.is_empty() {
        complain(call, &format!("{} of the empty set '{}' is not defined.", call.call.name, call.arg(0)));
        return None;
    }
    Some(numbers)
}

/// `math.mean(List)`
pub fn mean(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    Some(Value::Num(mean_of(&some_numbers(call)?)))
}

/// `math.median(List)`
pub fn median(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    let mut numbers = some_numbers(call)?;
    numbers.sort_by(f64::total_cmp);
    let upper = numbers.get(numbers.len() / 2)?;
    let lower = numbers.get((numbers.len() - 1) / 2)?;
    Some(Value::Num(if numbers.len() % 2 == 1 { *upper } else { (lower + upper) / 2.0 }))
}

/// `math.std_dev(List)`: of a sample.
pub fn std_dev(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    let numbers = numbers(call)?;
    let mean = mean_of(&numbers);
    let squares: f64 = numbers.iter().map(|n| (n - mean) * (n - mean)).sum();
    Some(Value::Num((squares / (numbers.len() as f64 - 1.0)).sqrt()))
}
