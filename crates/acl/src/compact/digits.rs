//! Whole numbers as usually written, without a look at one digit after the other.

/// Returns the 64-bit number that a text is, if the number is written exactly so.
pub(super) fn numeric(text: &str) -> Option<i64> {
    numeric_inlined(text)
}

/// As [`numeric`], inlined for loops: there the many constants stay in registers, which halves the time.
#[inline(always)]
fn numeric_inlined(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    // Signs are as good as random, so nothing branches on them.
    let negative = bytes.first() == Some(&b'-');
    let digits = bytes.get(usize::from(negative)..)?;
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    signed(magnitude(digits)?, negative)
}

/// Returns the 64-bit numbers that texts are, if the numbers are written exactly so.
pub(super) fn all_numeric(texts: &[&str]) -> Option<Vec<i64>> {
    // Most texts are none, which the first one tells.
    numeric(texts.first()?)?;
    let mut numbers = Vec::with_capacity(texts.len());
    for texts in texts.chunks(AT_ONCE) {
        if read_long(texts, &mut numbers).is_none() {
            for text in texts {
                numbers.push(numeric_inlined(text)?);
            }
        }
    }
    Some(numbers)
}

/// Fewer numbers are read one by one.
const READ_AT_ONCE_MIN: usize = 8;

/// Digits before two times eight of a long number.
const DIGITS_BEFORE_MAX: usize = 3;

/// Room for the digits of a long number, eight at a time.
const LONG: usize = 24;

/// Appends the numbers in these texts, at most [`AT_ONCE`], if each has 16 to 19 digits: all digits are combined at a
/// time. Otherwise returns `None`, which says nothing about the texts.
fn read_long(texts: &[&str], out: &mut Vec<i64>) -> Option<()> {
    if texts.len() < READ_AT_ONCE_MIN {
        return None;
    }
    let (mut cells, mut signs) = ([[0; LONG]; AT_ONCE], [false; AT_ONCE]);
    for ((cell, sign), text) in cells.iter_mut().zip(&mut signs).zip(texts) {
        *sign = text.as_bytes().first() == Some(&b'-');
        take_apart(text.as_bytes().get(usize::from(*sign)..)?, cell)?;
    }
    let digits = cells.get(..texts.len())?.as_flattened();
    if digits.iter().fold(0, |most: u8, digit| most.max(*digit)) > 9 {
        return None;
    }
    let mut fours = [0; AT_ONCE * LONG / 4];
    for (four, digits) in fours.iter_mut().zip(digits.as_chunks::<4>().0) {
        *four = number_of_four(u32::from_le_bytes(*digits));
    }
    let start = out.len();
    for (four, negative) in fours.as_chunks::<{ LONG / 4 }>().0.iter().zip(&signs).take(texts.len()) {
        let [_, before, middle, middle_low, last, last_low] = four.map(u64::from);
        let (middle, last) = (middle * 10_000 + middle_low, last * 10_000 + last_low);
        let Some(number) = signed((before * EIGHT + middle) * EIGHT + last, *negative) else {
            out.truncate(start);
            return None;
        };
        out.push(number);
    }
    Some(())
}

/// Returns the number that four digit values make. The products are small, so a processor computes several at a time.
#[inline(always)]
fn number_of_four(values: u32) -> u32 {
    (values & 15) * 1000 + (values >> 8 & 15) * 100 + (values >> 16 & 15) * 10 + (values >> 24)
}

/// Puts the values of 16 to 19 digits into a cell, aligned to its end. Returns `None` for any other count, or if they
/// begin with a zero.
#[inline(always)]
fn take_apart(digits: &[u8], cell: &mut [u8; LONG]) -> Option<()> {
    let (rest, last) = digits.split_last_chunk::<8>()?;
    let (rest, middle) = rest.split_last_chunk::<8>()?;
    if rest.len() > DIGITS_BEFORE_MAX || digits.first() == Some(&b'0') {
        return None;
    }
    let before = before_eights(u64::from_le_bytes(*digits.first_chunk()?) ^ ZEROS, rest.len());
    let eights = [before, u64::from_le_bytes(*middle) ^ ZEROS, u64::from_le_bytes(*last) ^ ZEROS];
    for (place, eight) in cell.as_chunks_mut::<8>().0.iter_mut().zip(eights) {
        *place = eight.to_le_bytes();
    }
    Some(())
}

/// Moves the first few of eight digits' values to the end of eight.
#[inline(always)]
fn before_eights(first: u64, few: usize) -> u64 {
    first.wrapping_shl(56_u32.wrapping_sub(8 * few as u32)) << 8
}

/// Returns a number by its digits and its sign, if it is one of 64 bits.
#[inline(always)]
fn signed(magnitude: u64, negative: bool) -> Option<i64> {
    let most = i64::MAX as u64 + u64::from(negative);
    let sign = -i64::from(negative);
    (magnitude <= most).then_some((magnitude as i64 ^ sign).wrapping_sub(sign))
}

/// Factor of a number that eight digits follow.
const EIGHT: u64 = 100_000_000;

/// Eight zeros as text.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Returns the number that up to 19 digits are: eight at a time, from the last one on.
#[inline(always)]
fn magnitude(digits: &[u8]) -> Option<u64> {
    let (Some(first), Some((rest, last))) = (digits.first_chunk::<8>(), digits.split_last_chunk::<8>()) else {
        let mut eight = [b'0'; 8];
        eight.iter_mut().rev().zip(digits.iter().rev()).for_each(|(place, digit)| *place = *digit);
        let values = u64::from_le_bytes(eight) ^ ZEROS;
        return are_digits(beyond_digits(values)).then_some(number_of_eight(values));
    };
    let values = |digits: &[u8; 8]| u64::from_le_bytes(*digits) ^ ZEROS;
    let (last, first) = (values(last), values(first));
    let Some((rest, middle)) = rest.split_last_chunk::<8>() else {
        let before = before_eights(first, rest.len());
        let is_number = are_digits(beyond_digits(last) | beyond_digits(before));
        return is_number.then(|| number_of_eight(before) * EIGHT + number_of_eight(last));
    };
    let (before, middle) = (before_eights(first, rest.len()), values(middle));
    let is_number = are_digits(beyond_digits(last) | beyond_digits(middle) | beyond_digits(before));
    is_number.then(|| (number_of_eight(before) * EIGHT + number_of_eight(middle)) * EIGHT + number_of_eight(last))
}

/// Sets the highest bit of each of eight bytes whose value is not below ten: nine plus the addend just does not reach
/// that bit. A carry comes only from such a byte.
#[inline(always)]
fn beyond_digits(values: u64) -> u64 {
    values | values.wrapping_add(0x7676_7676_7676_7676)
}

#[inline(always)]
fn are_digits(beyond: u64) -> bool {
    beyond & 0x8080_8080_8080_8080 == 0
}

/// Returns the number that eight digits of these values are, all put together at once.
#[inline(always)]
fn number_of_eight(values: u64) -> u64 {
    // The upper half of each place of the product has the combined neighbours.
    let pairs = values.wrapping_mul(10 << 8 | 1) >> 8 & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// Numbers that are written at once, group by group: a processor divides several small numbers at a time.
pub(super) const AT_ONCE: usize = 32;

/// Room for a number of 64 bits: 19 digits and a sign.
const CELL: usize = 20;

/// Numbers as text.
pub(super) struct Digits {
    /// The digits of each, zeros in front.
    cells: [[u8; CELL]; AT_ONCE],
    /// Offset at which each text begins.
    starts: [usize; AT_ONCE],
    count: usize,
}

impl Digits {
    /// Returns the text of these, at most [`AT_ONCE`].
    pub(super) fn of(numbers: &[i64]) -> Self {
        let mut digits = Self { cells: [[0; CELL]; AT_ONCE], starts: [0; AT_ONCE], count: numbers.len().min(AT_ONCE) };
        write_digits(numbers, &mut digits.cells);
        for ((start, cell), number) in digits.starts.iter_mut().zip(&mut digits.cells).zip(numbers) {
            *start = begin(cell, *number < 0);
        }
        digits
    }

    /// Calls `give` with each text.
    pub(super) fn for_each(&self, mut give: impl FnMut(&str)) {
        // That digits are text is checked once for all of them.
        let mut rest = std::str::from_utf8(self.cells.as_flattened()).unwrap_or_default();
        for start in self.starts.iter().take(self.count) {
            let (cell, more) = rest.split_at_checked(CELL).unwrap_or_default();
            give(cell.get(*start..).unwrap_or_default());
            rest = more;
        }
    }
}

/// Writes each number's digits, twenty of them, without its sign.
fn write_digits(numbers: &[i64], cells: &mut [[u8; CELL]; AT_ONCE]) {
    let mut groups = [[0; CELL / 4]; AT_ONCE];
    for (group, number) in groups.iter_mut().zip(numbers) {
        *group = groups_of_four(number.unsigned_abs());
    }
    let mut pairs = [[0; 2]; AT_ONCE * CELL / 4];
    let groups = groups.get(..numbers.len()).unwrap_or_default().as_flattened();
    for (pair, group) in pairs.iter_mut().zip(groups) {
        // A hundredth, exact up to ten thousand.
        let hundreds = ((u32::from(*group) * 5243) >> 19) as u16;
        *pair = [hundreds, group - hundreds * 100];
    }
    let places = cells.as_flattened_mut().as_chunks_mut::<2>().0;
    let pairs = pairs.get(..groups.len()).unwrap_or_default().as_flattened();
    for (place, pair) in places.iter_mut().zip(pairs) {
        // A tenth, exact up to a hundred.
        let tens = (pair * 103) >> 10;
        *place = (tens | (pair - tens * 10) << 8 | ZEROS as u16).to_le_bytes();
    }
}

/// Splits a number into groups of four digits.
fn groups_of_four(number: u64) -> [u16; CELL / 4] {
    const FOUR: u64 = 10_000;
    let (high, low) = (number / EIGHT, number % EIGHT);
    let (first, middle) = (high / EIGHT, high % EIGHT);
    [first, middle / FOUR, middle % FOUR, low / FOUR, low % FOUR].map(|group| group as u16)
}

/// Puts a sign before the first digit that is not zero, or the last, and gives where the text begins.
#[inline]
fn begin(cell: &mut [u8; CELL], negative: bool) -> usize {
    let first_from = |at: usize| {
        let eight = u64::from_le_bytes(*cell.get(at..)?.first_chunk()?) ^ ZEROS;
        (eight != 0).then(|| at + eight.trailing_zeros() as usize / 8)
    };
    let start = first_from(0).or_else(|| first_from(8)).or_else(|| first_from(CELL - 8)).unwrap_or(CELL - 1);
    // No number has twenty digits, so there is one before it. Signs are as good as random: nothing branches on them.
    if let Some(before) = start.checked_sub(1).and_then(|before| cell.get_mut(before)) {
        *before = if negative { b'-' } else { b'0' };
    }
    start - usize::from(negative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_texts_are_recognized() {
        let tens = (0..19).flat_map(|power| [10_i64.pow(power) - 1, 10_i64.pow(power), 10_i64.pow(power) + 1]);
        let others = [7, 12_345_678, 1_234_567_890_123_456_789, i64::MAX];
        let numbers: Vec<i64> = tens.chain(others).flat_map(|n| [n, -n]).chain([i64::MIN]).collect();
        let mut written = Vec::new();
        for numbers in numbers.chunks(AT_ONCE) {
            Digits::of(numbers).for_each(|text| written.push(text.to_owned()));
        }
        assert_eq!(written, numbers.iter().map(i64::to_string).collect::<Vec<_>>());
        assert!(written.iter().map(|text| numeric(text)).eq(numbers.into_iter().map(Some)));
        let nines = "9".repeat(20);
        let other =
            ["", "-", "-0", "01", "+1", "1 ", "12345678x", "1234567:", "1234567/", "9223372036854775808", &nines];
        for text in other {
            assert_eq!(numeric(text), None, "{text}");
        }
    }

    #[test]
    fn nondigit_is_found_anywhere() {
        for digits in 1..=19 {
            for at in 0..digits {
                for byte in 0..128_u8 {
                    let mut text = "1".repeat(digits).into_bytes();
                    if let Some(place) = text.get_mut(at) {
                        *place = byte;
                    }
                    let text = String::from_utf8(text).unwrap();
                    let is_number = byte.is_ascii_digit() && (at > 0 || byte != b'0' || digits == 1);
                    let is_signed = byte == b'-' && at == 0 && digits > 1;
                    let number = if is_number || is_signed { text.parse().ok() } else { None };
                    assert_eq!(numeric(&text), number, "{text}");
                }
            }
        }
    }

    #[test]
    fn long_numbers_read_together() {
        for digits in 16..=19 {
            let numbers: Vec<i64> =
                (0..AT_ONCE as i64).map(|n| 10_i64.pow(digits - 1) + n).flat_map(|n| [n, -n]).collect();
            let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
            for (texts, numbers) in texts.chunks(AT_ONCE).zip(numbers.chunks(AT_ONCE)) {
                let mut read = Vec::new();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                assert_eq!((read_long(&texts, &mut read), read.as_slice()), (Some(()), numbers));
            }
        }
    }

    #[test]
    fn batch_of_numbers_reads_like_singles() {
        let one_by_one = |texts: &[&str]| texts.iter().map(|text| numeric(text)).collect::<Option<Vec<i64>>>();
        let check = |texts: &[String]| {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            assert_eq!(all_numeric(&texts), one_by_one(&texts), "{texts:?}");
        };
        let long = |place: usize| {
            let number = (place as i64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
            if place.is_multiple_of(7) { number / 1_000 } else { number }
        };
        for count in [READ_AT_ONCE_MIN - 1, READ_AT_ONCE_MIN, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE] {
            let texts: Vec<String> = (0..count).map(|place| long(place).to_string()).collect();
            assert!(all_numeric(&texts.iter().map(String::as_str).collect::<Vec<_>>()).is_some());
            let ends = [i64::MIN.to_string(), i64::MAX.to_string(), "0".to_owned(), "-12".to_owned()];
            let none =
                ["9223372036854775808", "-9223372036854775809", "0123456789012345678", "--123456789012345678", "", "-"];
            for place in [0, count / 2, count - 1] {
                for other in ends.iter().cloned().chain(none.map(str::to_owned)) {
                    let mut texts = texts.clone();
                    texts.splice(place..=place, [other]);
                    check(&texts);
                }
            }
        }
        // A byte that is no digit is seen wherever it stands.
        for digits in 15..=20 {
            for at in 0..digits {
                for byte in 0..128_u8 {
                    let mut spoilt = "1".repeat(digits).into_bytes();
                    spoilt.splice(at..=at, [byte]);
                    let mut texts: Vec<String> =
                        (0..READ_AT_ONCE_MIN).map(|place| long(place + 1).to_string()).collect();
                    texts.push(String::from_utf8(spoilt).unwrap());
                    check(&texts);
                }
            }
        }
        // All texts of a later batch may be wrong in the same way.
        let zeros = (0..AT_ONCE).map(|place| format!("0{:018}", place + 1));
        check(&(0..AT_ONCE).map(|place| long(place + 1).to_string()).chain(zeros).collect::<Vec<_>>());
        let letters: Vec<String> = (0..9).map(|place| format!("{}é", long(place + 1))).collect();
        check(&letters);
    }

    #[test]
    fn groups_are_taken_apart_exactly() {
        for number in (0..10_000_i64).step_by(AT_ONCE) {
            let numbers: Vec<i64> = (number..number + AT_ONCE as i64).collect();
            let mut place = numbers.iter();
            Digits::of(&numbers).for_each(|text| assert_eq!(Some(text), place.next().map(i64::to_string).as_deref()));
        }
    }
}
