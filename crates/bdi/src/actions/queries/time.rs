//! Time and date, in UTC.

use whimbrel_acl::Value;
use whimbrel_acl::codec::civil;

use super::Outcome;
use crate::prover::{ActionCall, QueryAnswer};

const MS_PER_DAY: u64 = 24 * 60 * 60 * 1000;

fn unify_all(call: &mut ActionCall<'_, '_>, values: &[u64]) -> Outcome {
    let count = call.args.len();
    for (arg, value) in call.args.iter().zip(values).take(count) {
        if !call.bindings.unify(arg, &Value::Num(*value as f64)) {
            return Ok(QueryAnswer::No);
        }
    }
    Ok(QueryAnswer::Yes)
}

/// `.date(Year, Month, Day)`
pub fn date(call: &mut ActionCall<'_, '_>) -> Outcome {
    let days = call.solver.known.services.wall_clock_ms() / MS_PER_DAY;
    let (year, month, day) = civil(days);
    unify_all(call, &[year, month, day])
}

/// `.time(Hours, Minutes, Seconds [, Milliseconds])`
pub fn time(call: &mut ActionCall<'_, '_>) -> Outcome {
    let ms = call.solver.known.services.wall_clock_ms() % MS_PER_DAY;
    let seconds = ms / 1000;
    unify_all(call, &[seconds / 3600, seconds / 60 % 60, seconds % 60, ms % 1000])
}

/// `.nano_time(N)`: nanoseconds since an arbitrary moment, for measurements.
pub fn nano_time(call: &mut ActionCall<'_, '_>) -> Outcome {
    let now = call.solver.known.services.now().0 as f64 * 1000.0;
    call.unify(0, &Value::Num(now))
}

/// `system.time`: milliseconds since 1970.
pub fn system_time(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    Some(Value::Num(call.solver.known.services.wall_clock_ms() as f64))
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_have_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(19_783), (2024, 3, 1));
        assert_eq!(civil(20_453), (2025, 12, 31));
        assert_eq!(civil(11_016), (2000, 2, 29));
    }
}
