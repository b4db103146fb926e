//! Moments as FIPA writes them: `20261231T235959999Z`.
//= fipa00070 2.4

use super::{DecodeError, DecodeErrorKind};

const MS_PER_DAY: u64 = 86_400_000;
/// The first moment of the year 10000, which four digits cannot say.
const BEYOND_MS: u64 = 253_402_300_800_000;

/// Year, month, day, hour, minute, second, millisecond.
type Fields = [u64; 7];

/// A moment, or a time from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FipaTime {
    /// Milliseconds since 1970-01-01 UTC.
    Absolute(u64),
    /// Milliseconds after the message's arrival.
    After(u64),
    /// Milliseconds before 1970-01-01 UTC.
    Before(u64),
}

impl FipaTime {
    /// Returns the moment, in milliseconds since 1970-01-01 UTC, if the message arrived at `now_ms`.
    pub fn resolve(self, now_ms: Option<u64>) -> Option<u64> {
        match self {
            Self::Absolute(ms) => Some(ms),
            Self::After(ms) => now_ms.map(|now| now.saturating_add(ms)),
            Self::Before(ms) => now_ms.map(|now| now.saturating_sub(ms)),
        }
    }
}

/// Returns the moment in FIPA's notation, with the designator of UTC; `None` beyond the year 9999.
pub(crate) fn write(ms: u64) -> Option<String> {
    if ms >= BEYOND_MS {
        return None;
    }
    let (year, month, day) = civil(ms / MS_PER_DAY);
    Some(format!("{year:04}{month:02}{day:02}T{}Z", clock(ms % MS_PER_DAY)))
}

/// Returns a duration in FIPA's notation, without its sign: days, then hours and the rest. `None` beyond 9999 years.
pub(crate) fn write_duration(ms: u64) -> Option<String> {
    let days = ms / MS_PER_DAY;
    let (years, months, days) = (days / 365, days % 365 / 30, days % 365 % 30);
    // Twelve months of 30 days leave the last days of a year to be counted as such.
    let (months, days) = if months == 12 { (11, days + 30) } else { (months, days) };
    (years <= 9999).then(|| format!("{years:04}{months:02}{days:02}T{}", clock(ms % MS_PER_DAY)))
}

fn clock(ms: u64) -> String {
    format!("{:02}{:02}{:02}{:03}", ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000)
}

/// Checks whether `text` has the form of a time.
pub(crate) fn is_time(text: &str) -> bool {
    split(text).is_some()
}

/// Reads a time. A time without a designator is UTC; the designators of other zones are those of ISO 8601.
pub(crate) fn read(text: &str, at: usize) -> Result<FipaTime, DecodeError> {
    let wrong = || DecodeError::new(at, DecodeErrorKind::Time(text.chars().take(40).collect()));
    let (sign, fields, zone) = split(text).ok_or_else(wrong)?;
    if sign == 0 {
        let local = moment(fields).ok_or_else(wrong)?;
        let hours = zone_hours(zone).ok_or_else(wrong)?;
        return Ok(FipaTime::Absolute(local.checked_add_signed(-hours * 3_600_000).ok_or_else(wrong)?));
    }
    let [years, months, days, hours, minutes, seconds, ms] = fields;
    let days = years * 365 + months * 30 + days;
    let span = days * MS_PER_DAY + ((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms;
    Ok(if sign > 0 { FipaTime::After(span) } else { FipaTime::Before(span) })
}

/// Splits a time into its sign (1, -1, or 0 for none), fields and type designator.
fn split(text: &str) -> Option<(i8, Fields, Option<u8>)> {
    let bytes = text.as_bytes();
    let (sign, bytes) = match bytes {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => (0, bytes),
    };
    let (date, rest) = bytes.split_at_checked(8)?;
    let (b'T' | b't', rest) = (*rest.first()?, rest.get(1..)?) else { return None };
    let (time, rest) = rest.split_at_checked(9)?;
    let zone = match rest {
        [] => None,
        [letter] if letter.is_ascii_alphabetic() => Some(letter.to_ascii_uppercase()),
        _ => return None,
    };
    let field = |digits: &[u8]| -> Option<u64> {
        let digit = |n: u64, byte: &u8| byte.is_ascii_digit().then(|| n * 10 + u64::from(byte - b'0'));
        digits.iter().try_fold(0, digit)
    };
    let fields = [
        field(date.get(..4)?)?,
        field(date.get(4..6)?)?,
        field(date.get(6..)?)?,
        field(time.get(..2)?)?,
        field(time.get(2..4)?)?,
        field(time.get(4..6)?)?,
        field(time.get(6..)?)?,
    ];
    Some((sign, fields, zone))
}

/// Returns the hours by which a zone is ahead of UTC.
fn zone_hours(zone: Option<u8>) -> Option<i64> {
    match zone {
        None | Some(b'Z') => Some(0),
        Some(letter @ b'A'..=b'I') => Some(i64::from(letter - b'A') + 1),
        Some(letter @ b'K'..=b'M') => Some(i64::from(letter - b'K') + 10),
        Some(letter @ b'N'..=b'Y') => Some(-i64::from(letter - b'N') - 1),
        Some(_) => None,
    }
}

fn moment(fields: Fields) -> Option<u64> {
    let [year, month, day, hour, minute, second, ms] = fields;
    let days = days_from_civil(year, month, day)?;
    // 60 is a leap second.
    let fits = hour < 24 && minute < 60 && second <= 60;
    fits.then(|| days * MS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1_000 + ms)
}

/// Converts days since 1970-01-01 to year, month and day of the Gregorian calendar. The computation begins years in
/// March, so that a leap day is the last of its year.
pub fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Returns the days from 1970-01-01 to a date: the inverse of [`civil`]. Returns `None` for a date that no calendar
/// has, and for one before 1970.
pub fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (shifted / 400, shifted % 400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    (civil(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_back() {
        for (ms, text) in [
            (0, "19700101T000000000Z"),
            (951_782_400_000, "20000229T000000000Z"),
            (1_735_689_600_000, "20250101T000000000Z"),
            (1_798_761_599_999, "20261231T235959999Z"),
            (BEYOND_MS - 1, "99991231T235959999Z"),
        ] {
            assert_eq!(write(ms).as_deref(), Some(text));
            assert_eq!(read(text, 0), Ok(FipaTime::Absolute(ms)));
        }
        assert_eq!(write(BEYOND_MS), None);
        for day in (0..BEYOND_MS / MS_PER_DAY).step_by(13) {
            let ms = day * MS_PER_DAY + day;
            assert_eq!(read(&write(ms).expect("in range"), 0), Ok(FipaTime::Absolute(ms)));
        }
    }

    #[test]
    fn zones_and_spans_are_understood() {
        let noon = read("20250101T120000000Z", 0).expect("UTC");
        assert_eq!(read("20250101T120000000", 0), Ok(noon), "no designator is taken for UTC");
        assert_eq!(read("20250101T140000000b", 0), Ok(noon), "B is two hours ahead");
        assert_eq!(read("20250101T110000000N", 0), Ok(noon));
        assert_eq!(read("+00000001T000010000", 0), Ok(FipaTime::After(86_410_000)));
        assert_eq!(read("-00000000T000000001Z", 0), Ok(FipaTime::Before(1)));
        assert_eq!(FipaTime::After(5).resolve(Some(10)), Some(15));
        assert_eq!(FipaTime::Before(50).resolve(Some(10)), Some(0));
        assert_eq!(FipaTime::After(5).resolve(None), None);
        for ms in [0, 1, 86_399_999, 86_400_000, 31_104_000_000, 31_535_999_999, 31_536_000_000, 1 << 44] {
            let text = write_duration(ms).expect("in range");
            assert_eq!(read(&format!("+{text}"), 0), Ok(FipaTime::After(ms)), "{text}");
        }
    }

    #[test]
    fn zone_letters_have_hours() {
        let noon = read("20250101T120000000Z", 0).expect("UTC");
        let ahead = (13..=23).chain([0]).zip("ABCDEFGHIKLM".chars());
        let behind = (0..12).rev().zip("NOPQRSTUVWXY".chars());
        for (hour, letter) in ahead.chain(behind) {
            let day = if letter == 'M' { "02" } else { "01" };
            assert_eq!(read(&format!("202501{day}T{hour:02}0000000{letter}"), 0), Ok(noon), "{letter}");
        }
        assert!(read("20250101T120000000J", 0).is_err(), "J is the local time of nobody in particular");
    }

    #[test]
    fn invalid_time_is_refused() {
        for text in [
            "",
            "2025",
            "20250230T000000000Z",
            "20251301T000000000Z",
            "20250101T240000000Z",
            "20250101T000000000J",
            "20250101 000000000",
            "20250101T00000000Z",
            "20250101T000000000ZZ",
            "19691231T235959999Z",
            "2025é101T000000000",
        ] {
            let error = read(text, 7).expect_err(text);
            assert_eq!((error.offset, error.kind), (7, DecodeErrorKind::Time(text.to_owned())));
        }
        assert_eq!(read("19700101T003000000A", 0).map_err(|error| error.offset), Err(0), "before 1970 in UTC");
    }
}
