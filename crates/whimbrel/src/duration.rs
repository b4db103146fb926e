//! Durations as one types them: `10s`, `1.5m`, `200ms`.

use std::time::Duration;

/// Reads a number and a unit: `ms`, `s`, `m` or `h`; seconds if there is none.
pub fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).unwrap_or((text, ""));
    let unit_s = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("`{other}` is no unit of time: use ms, s, m or h, as in `10s`")),
    };
    let number: f64 = number.parse().map_err(|_| "expected a number and a unit, as in `10s` or `200ms`".to_owned())?;
    Duration::try_from_secs_f64(number * unit_s).map_err(|_| "that is too long".to_owned())
}

/// The shortest time after which somebody who shows four times a second that he is alive may be thought dead.
const TAKEOVER_MIN: Duration = Duration::from_secs(1);

/// Reads how long a process may give no sign of life.
pub fn parse_takeover(text: &str) -> Result<Duration, String> {
    let time = parse(text)?;
    if time < TAKEOVER_MIN {
        return Err("a process that is well may give no sign of life for that long: 1s at least".to_owned());
    }
    Ok(time)
}

/// A duration as a person reads it.
pub fn readable(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 60.0 => format!("{s:.2} s"),
        s => format!("{} min {:.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// How long something has lasted, roughly: `12s`, `5m`, `3h`, `2d`.
pub fn age(duration: Duration) -> String {
    match duration.as_secs() {
        s if s < 100 => format!("{s}s"),
        s if s < 100 * 60 => format!("{}m", s / 60),
        s if s < 48 * 3600 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_back() {
        assert_eq!(parse("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse("10"), Ok(Duration::from_secs(10)));
        assert_eq!(parse("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse("1.5 m"), Ok(Duration::from_secs(90)));
        assert!(parse("10 parsecs").is_err_and(|error| error.contains("parsecs")));
        assert!(parse("soon").is_err());
        assert!(parse("").is_err());
        assert!(parse("99999999999999999999h").is_err());
    }

    #[test]
    fn durations_are_readable() {
        assert_eq!(readable(Duration::from_millis(250)), "250 ms");
        assert_eq!(readable(Duration::from_millis(2500)), "2.50 s");
        assert_eq!(readable(Duration::from_secs(90)), "1 min 30 s");
    }
}
