//! Moments as A2A and HTTP write them.

use whimbrel_acl::codec::civil;

const MS_PER_DAY: u64 = 86_400_000;

/// Returns a moment as in `2026-11-26T12:46:10.383Z`, of milliseconds since 1970-01-01 UTC.
pub fn timestamp(wall_ms: u64) -> String {
    let (year, month, day) = civil(wall_ms / MS_PER_DAY);
    let ms = wall_ms % MS_PER_DAY;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1_000)
}

/// Returns a moment as in `Thu, 26 Nov 2026 12:46:10 GMT`, of milliseconds since 1970-01-01 UTC.
pub fn http_date(wall_ms: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let days = wall_ms / MS_PER_DAY;
    let (year, month, day) = civil(days);
    let ms = wall_ms % MS_PER_DAY;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    let weekday = DAYS.get((days % 7) as usize).copied().unwrap_or_default();
    let month = MONTHS.get((month as usize).saturating_sub(1)).copied().unwrap_or_default();
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_both_forms() {
        let moment_ms = 1_795_697_170_383;
        assert_eq!(timestamp(moment_ms), "2026-11-26T12:46:10.383Z");
        assert_eq!(http_date(moment_ms), "Thu, 26 Nov 2026 12:46:10 GMT");
    }
}
