//! Durations as one types them: `10s`, `1.5m`, `200ms`.

use std::time::Duration;

pub use whimbrel_platform::duration::parse;

/// Shortest time without a sign of life after which a node is declared dead; a node gives four signs a second.
const TAKEOVER_MIN: Duration = Duration::from_secs(1);

/// The shortest time after which a node that cannot be reached may be taken for lost.
const LINK_TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// Reads how long a process may give no sign of life.
pub fn parse_takeover(text: &str) -> Result<Duration, String> {
    let time = parse(text)?;
    if time < TAKEOVER_MIN {
        return Err("a process that is well may give no sign of life for that long: 1s at least".to_owned());
    }
    Ok(time)
}

/// Parses a link timeout: not so short that a moment without the processor counts.
pub fn parse_link_timeout(text: &str) -> Result<Duration, String> {
    let time = parse(text)?;
    if time < LINK_TIMEOUT_MIN {
        return Err("a node that is well may be out of reach for that long: 1s at least".to_owned());
    }
    Ok(time)
}

/// Returns a duration as a person reads it.
pub fn readable(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 60.0 => format!("{s:.2} s"),
        s => format!("{} min {:.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// Formats an age roughly: `12s`, `5m`, `3h`, `2d`.
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
    fn durations_are_readable() {
        assert_eq!(readable(Duration::from_millis(250)), "250 ms");
        assert_eq!(readable(Duration::from_millis(2500)), "2.50 s");
        assert_eq!(readable(Duration::from_secs(90)), "1 min 30 s");
    }
}
