//! Moments as Python's `isoformat` writes them: SPADE's agents say `reply-by` so.

use whimbrel_acl::codec::{civil, days_from_civil};

const MS_PER_DAY: u64 = 86_400_000;

/// Returns a moment as in `2026-11-28T10:00:00.000+00:00`, of milliseconds since 1970-01-01 UTC.
pub fn written(wall_ms: u64) -> String {
    let (year, month, day) = civil(wall_ms / MS_PER_DAY);
    let ms = wall_ms % MS_PER_DAY;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}+00:00", ms % 1_000)
}

/// Reads a moment; without a zone it is UTC, since nobody says where the sender is.
pub fn read(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut parts = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let days = days_from_civil(year, month, day)?;
    let (time, zone) = match time.find(['Z', '+', '-']) {
        Some(at) => (time.get(..at)?, time.get(at..)?),
        None => (time, "Z"),
    };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = clock.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    let is_number = !fraction.is_empty() && fraction.chars().all(|c| c.is_ascii_digit());
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 || !is_number {
        return None;
    }
    let ms = format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?;
    let local = days * MS_PER_DAY + hour * 3_600_000 + minute * 60_000 + second * 1_000 + ms;
    let Some(offset) = zone.strip_prefix(['+', '-']) else { return (zone == "Z").then_some(local) };
    let (hours, minutes) = offset.split_once(':')?;
    let offset = hours.parse::<u64>().ok()? * 3_600_000 + minutes.parse::<u64>().ok()? * 60_000;
    if zone.starts_with('+') { local.checked_sub(offset) } else { Some(local + offset) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_back() {
        for wall_ms in [0, 1, 951_782_399_999, 1_795_860_000_123, 253_402_300_799_999] {
            assert_eq!(read(&written(wall_ms)), Some(wall_ms));
        }
    }

    #[test]
    fn forms_of_python_are_read() {
        let noon = read("2026-11-28T12:00:00+00:00");
        for text in
            ["2026-11-28T12:00:00", "2026-11-28 12:00", "2026-11-28T13:30:00.000000+01:30", "2026-11-28T12:00:00Z"]
        {
            assert_eq!(read(text), noon, "{text}");
        }
        assert_eq!(read("2026-11-28T07:00:00.5-05:00"), noon.map(|noon| noon + 500));
        for text in ["", "2026-11-28", "2026-02-30T00:00:00", "2026-11-28T24:00:00", "2026-11-28T12:00:00.x", "soon"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
