//! The time and date, in UTC.

use whimbrel_acl::Value;

use super::Outcome;
use crate::actions::{Answer, Call};

const MS_PER_DAY: u64 = 24 * 60 * 60 * 1000;

fn unify_all(call: &mut Call<'_, '_>, values: &[u64]) -> Outcome {
    let count = call.args.len();
    for (arg, value) in call.args.iter().zip(values).take(count) {
        if !call.bindings.unify(arg, &Value::Num(*value as f64)) {
            return Ok(Answer::No);
        }
    }
    Ok(Answer::Yes)
}

/// `.date(Year, Month, Day)`
pub fn date(call: &mut Call<'_, '_>) -> Outcome {
    let days = call.solver.known.services.wall_clock_ms() / MS_PER_DAY;
    let (year, month, day) = civil(days);
    unify_all(call, &[year, month, day])
}

/// Year, month and day, so many days after 1970-01-01. Years begin in March here, so that the leap day is the last.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_PER_ERA: u64 = 146_097;
    // Days since 0000-03-01.
    let days = days + 719_468;
    let (era, day_of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// `.time(Hours, Minutes, Seconds [, Milliseconds])`
pub fn time(call: &mut Call<'_, '_>) -> Outcome {
    let ms = call.solver.known.services.wall_clock_ms() % MS_PER_DAY;
    let seconds = ms / 1000;
    unify_all(call, &[seconds / 3600, seconds / 60 % 60, seconds % 60, ms % 1000])
}

/// `.nano_time(N)`: nanoseconds since some moment, for measuring.
pub fn nano_time(call: &mut Call<'_, '_>) -> Outcome {
    let now = call.solver.known.services.now().0 as f64 * 1000.0;
    call.unify(0, &Value::Num(now))
}

/// `system.time`: milliseconds since 1970.
pub fn system_time(call: &mut Call<'_, '_>) -> Option<Value> {
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
