//! Whole numbers as usually written, without a look at one digit after the other.

/// The number a text is, if it is just how a 64-bit number is written.
pub(super) fn numeric(text: &str) -> Option<i64> {
    numeric_inlined(text)
}

/// The same, for loops: it is half as long where its many constants are at hand.
#[inline(always)]
pub(super) fn numeric_inlined(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    // Signs are as good as random, so nothing branches on them.
    let negative = bytes.first() == Some(&b'-');
    let digits = bytes.get(usize::from(negative)..)?;
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let magnitude = magnitude(digits)?;
    let most = i64::MAX as u64 + u64::from(negative);
    let sign = -i64::from(negative);
    (magnitude <= most).then_some((magnitude as i64 ^ sign).wrapping_sub(sign))
}

/// What comes after eight digits.
const EIGHT: u64 = 100_000_000;

/// Eight zeros as text.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The number that up to 19 digits are: eight at a time, from the last one on.
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
    // What is before whole eights, at the end of one.
    let few = |few: usize| first.checked_shl(64 - 8 * few as u32).unwrap_or(0);
    let Some((rest, middle)) = rest.split_last_chunk::<8>() else {
        let before = few(rest.len());
        let is_number = are_digits(beyond_digits(last) | beyond_digits(before));
        return is_number.then(|| number_of_eight(before) * EIGHT + number_of_eight(last));
    };
    let (before, middle) = (few(rest.len()), values(middle));
    let is_number = are_digits(beyond_digits(last) | beyond_digits(middle) | beyond_digits(before));
    is_number.then(|| (number_of_eight(before) * EIGHT + number_of_eight(middle)) * EIGHT + number_of_eight(last))
}

/// Has the highest bit of a byte set, of eight, if the value of one of them is not below ten: adding to nine just does not
/// reach it. What is carried is from such a byte.
#[inline(always)]
fn beyond_digits(values: u64) -> u64 {
    values | values.wrapping_add(0x7676_7676_7676_7676)
}

#[inline(always)]
fn are_digits(beyond: u64) -> bool {
    beyond & 0x8080_8080_8080_8080 == 0
}

/// The number that eight digits of these values are, all put together at once.
#[inline(always)]
fn number_of_eight(values: u64) -> u64 {
    // Each product has in the upper half of its places what two neighbours are together.
    let pairs = values.wrapping_mul(10 << 8 | 1) >> 8 & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// So many numbers are written at once, group by group: a processor divides several small numbers at a time.
pub(super) const AT_ONCE: usize = 32;

/// Room for a number of 64 bits: 19 digits and a sign.
const CELL: usize = 20;

/// Numbers as text.
pub(super) struct Digits {
    /// The digits of each, zeros in front.
    cells: [[u8; CELL]; AT_ONCE],
    /// Where its text begins there.
    starts: [usize; AT_ONCE],
    count: usize,
}

impl Digits {
    /// The text of these, at most [`AT_ONCE`].
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

/// What each four digits of a number are.
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
    fn numbers_as_text_are_told_from_other_text() {
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
    fn what_is_no_digit_is_found_wherever_it_stands() {
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
    fn groups_are_taken_apart_exactly() {
        for number in (0..10_000_i64).step_by(AT_ONCE) {
            let numbers: Vec<i64> = (number..number + AT_ONCE as i64).collect();
            let mut place = numbers.iter();
            Digits::of(&numbers).for_each(|text| assert_eq!(Some(text), place.next().map(i64::to_string).as_deref()));
        }
    }
}
