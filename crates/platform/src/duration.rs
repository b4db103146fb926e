//! Durations as people type them: `10s`, `1.5m`, `200ms`.

use std::time::Duration;

/// Reads a number and a unit: `ms`, `s`, `m` or `h`; seconds if there is none.
///
/// # Errors
/// The text is no duration, or one that is too long.
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
}
