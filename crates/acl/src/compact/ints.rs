//! Columns of whole numbers: packed by their distance from the least, or from the one before, or as varints, whichever
//! takes the fewest bytes.

use super::DecodeError;
use super::bits;
use super::reader::Reader;
use super::tags::column;
use super::varint;
use super::writer::Writer;

/// How a column is written, and the bytes it takes, tag included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    form: Form,
    pub(super) bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// From the least, in so many bits.
    Packed {
        least: i64,
        width: u32,
    },
    /// The first, then what each is more than the one before, from the least such step, in so many bits.
    Steps {
        first: i64,
        least: i64,
        width: u32,
    },
    Varints,
}

/// Bits that a distance needs.
fn width_of(distance: u64) -> u32 {
    64 - distance.leading_zeros()
}

/// The best way to write these numbers, of which there is at least one.
pub(super) fn plan(values: &[i64]) -> Plan {
    let first = values.first().copied().unwrap_or_default();
    let (mut least, mut most) = (first, first);
    for value in values {
        least = least.min(*value);
        most = most.max(*value);
    }
    plan_between(values, least, most)
}

/// The same, if the least and the most are known.
pub(super) fn plan_between(values: &[i64], least: i64, most: i64) -> Plan {
    let width = width_of(most.wrapping_sub(least) as u64);
    let count = values.len();
    let packed = 1 + varint::length(varint::zigzag(least)) + bits::packed_bytes(count, width);
    let mut best = Plan { form: Form::Packed { least, width }, bytes: packed };
    if width == 0 {
        return best;
    }
    if count >= STEPS_COUNT_MIN
        && let Some(steps) = plan_steps(values, width, best.bytes)
    {
        best = steps;
    }
    match varint_bytes(values, best.bytes) {
        Some(bytes) => Plan { form: Form::Varints, bytes },
        None => best,
    }
}

/// Bytes of a column of varints if they are fewer than `limit`; most columns show soon that they are not.
fn varint_bytes(values: &[i64], limit: usize) -> Option<usize> {
    // Each takes a byte at least; those of more than seven bits another one.
    let mut least_bytes = 1 + values.len();
    for values in values.chunks(STEPS_TRIED) {
        if least_bytes >= limit {
            return None;
        }
        least_bytes += values.iter().filter(|value| !(-64..64).contains(*value)).count();
    }
    let bytes = 1 + values.iter().map(|value| varint::length(varint::zigzag(*value))).sum::<usize>();
    (bytes < limit).then_some(bytes)
}

/// So many steps show whether the others are worth a look.
const STEPS_TRIED: usize = 16;

fn plan_steps(values: &[i64], packed_width: u32, best_bytes: usize) -> Option<Plan> {
    let first = values.first().copied()?;
    // A step that does not fit 64 bits wraps; so it does on the way back.
    let range = |values: &[i64]| {
        let steps = values.iter().zip(values.get(1..).unwrap_or_default()).map(|(a, b)| b.wrapping_sub(*a));
        steps.fold((i64::MAX, i64::MIN), |(least, most), step| (least.min(step), most.max(step)))
    };
    let width = |(least, most): (i64, i64)| width_of(most.wrapping_sub(least) as u64);
    // All of them differ at least as much as the first of them; if the first need as many bits, so will all.
    if width(range(values.get(..=STEPS_TRIED).unwrap_or(values))) >= packed_width {
        return None;
    }
    let (least, most) = range(values);
    let width = width((least, most));
    let heads = varint::length(varint::zigzag(first)) + varint::length(varint::zigzag(least));
    let bytes = 1 + heads + bits::packed_bytes(values.len() - 1, width);
    (bytes < best_bytes).then_some(Plan { form: Form::Steps { first, least, width }, bytes })
}

/// Whether a list of so many whole numbers takes fewer bytes as an array than as values one after another.
pub(super) fn pays(count: usize, values: impl Iterator<Item = i64> + Clone) -> bool {
    if count > super::column::ROWS {
        return true;
    }
    if count < PACKED_COUNT_MIN {
        return false;
    }
    let alone: usize = values.clone().map(Writer::int_bytes).sum();
    plan(&values.collect::<Vec<_>>()).bytes < alone
}

/// Fewer numbers are never an array.
const PACKED_COUNT_MIN: usize = 4;

/// Below this many numbers, steps are not tried.
const STEPS_COUNT_MIN: usize = 4;

/// Writes a column of whole numbers.
pub(super) fn write(w: &mut Writer<'_>, values: &[i64]) {
    write_planned(w, values, plan(values));
}

/// Writes a column as planned.
pub(super) fn write_planned(w: &mut Writer<'_>, values: &[i64], plan: Plan) {
    match plan.form {
        Form::Packed { least, width } => {
            w.tag(column::PACKED + width as u8);
            w.number(varint::zigzag(least));
            bits::pack(w.out, values, least, width);
        }
        Form::Steps { first, least, width } => {
            w.tag(column::STEPS + width as u8);
            w.number(varint::zigzag(first));
            w.number(varint::zigzag(least));
            let steps: Vec<i64> =
                values.iter().zip(values.get(1..).unwrap_or_default()).map(|(a, b)| b.wrapping_sub(*a)).collect();
            bits::pack(w.out, &steps, least, width);
        }
        Form::Varints => {
            w.tag(column::VARINTS);
            values.iter().for_each(|value| w.number(varint::zigzag(*value)));
        }
    }
}

/// Whether a column with this tag is one of whole numbers.
pub(super) fn is_ints(tag: u8) -> bool {
    tag == column::VARINTS || (column::PACKED..=column::STEPS + 64).contains(&tag)
}

/// Appends the `count` numbers of the column whose tag was read.
pub(super) fn read_tagged(r: &mut Reader<'_>, tag: u8, count: usize, out: &mut Vec<i64>) -> Result<(), DecodeError> {
    if !(column::PACKED..column::STEPS).contains(&tag) {
        out.reserve(count);
        return for_each_tagged(r, tag, count, |n| out.push(n));
    }
    read_packed(r, tag, count, out, |n| n)
}

/// Appends what `make` makes of the `count` numbers of a column of distances whose tag was read.
pub(super) fn read_packed<T: Copy + Default>(
    r: &mut Reader<'_>,
    tag: u8,
    count: usize,
    out: &mut Vec<T>,
    make: impl Fn(i64) -> T,
) -> Result<(), DecodeError> {
    let width = u32::from(tag - column::PACKED);
    let least = r.signed()?;
    let packed = take_packed(r, count, width)?;
    let start = out.len();
    out.resize(start + count, T::default());
    let places = out.get_mut(start..).unwrap_or_default();
    bits::unpack_into(packed, width, places, |n| make(least.wrapping_add(n as i64)));
    Ok(())
}

/// The least and the most that a column whose tag was read may hold, if its first bytes tell.
pub(super) fn bounds(r: &Reader<'_>, tag: u8) -> Option<(i64, i64)> {
    let width = u32::from(tag.checked_sub(column::PACKED).filter(|width| *width < 63)?);
    let least = r.peek_signed()?;
    Some((least, least.checked_add((1 << width) - 1)?))
}

/// Calls `give` with each of the `count` numbers of the column whose tag was read.
#[inline]
pub(super) fn for_each_tagged(
    r: &mut Reader<'_>,
    tag: u8,
    count: usize,
    mut give: impl FnMut(i64),
) -> Result<(), DecodeError> {
    match tag {
        column::VARINTS => {
            for _ in 0..count {
                give(r.signed()?);
            }
        }
        column::PACKED..column::STEPS => {
            let width = u32::from(tag - column::PACKED);
            let least = r.signed()?;
            let packed = take_packed(r, count, width)?;
            bits::unpack(packed, count, width, |n| give(least.wrapping_add(n as i64)));
        }
        column::STEPS..=column::STEPS_LAST => {
            let width = u32::from(tag - column::STEPS);
            let (mut value, least) = (r.signed()?, r.signed()?);
            let count = count.saturating_sub(1);
            let packed = take_packed(r, count, width)?;
            give(value);
            bits::unpack(packed, count, width, |n| {
                value = value.wrapping_add(least).wrapping_add(n as i64);
                give(value);
            });
        }
        _ => return Err(r.mismatch("a column of whole numbers")),
    }
    Ok(())
}

/// Moves past the column whose tag was read.
pub(super) fn skip_tagged(r: &mut Reader<'_>, tag: u8, count: usize) -> Result<(), DecodeError> {
    match tag {
        column::VARINTS => {
            for _ in 0..count {
                r.number()?;
            }
        }
        column::PACKED..column::STEPS => {
            r.number()?;
            take_packed(r, count, u32::from(tag - column::PACKED))?;
        }
        _ => {
            r.number()?;
            r.number()?;
            take_packed(r, count.saturating_sub(1), u32::from(tag.saturating_sub(column::STEPS)))?;
        }
    }
    Ok(())
}

fn take_packed<'a>(r: &mut Reader<'a>, count: usize, width: u32) -> Result<&'a [u8], DecodeError> {
    let packed = r.take(bits::packed_bytes(count, width))?;
    if !bits::ends_clean(packed, count * width as usize) {
        return Err(r.malformed("bits beyond the last number"));
    }
    Ok(packed)
}

/// Appends the `count` numbers of a column.
pub(super) fn read(r: &mut Reader<'_>, count: usize, out: &mut Vec<i64>) -> Result<(), DecodeError> {
    let tag = r.byte()?;
    read_tagged(r, tag, count, out)
}

/// Reads a column of counts or lengths: none is negative, and their sum is at most `sum_max`.
pub(super) fn read_lengths(r: &mut Reader<'_>, count: usize, sum_max: usize) -> Result<(Vec<i64>, usize), DecodeError> {
    let at = r.at();
    let mut lengths = Vec::new();
    read(r, count, &mut lengths)?;
    let mut sum = 0_usize;
    for length in &lengths {
        let length = usize::try_from(*length).unwrap_or(usize::MAX);
        sum = sum.saturating_add(length);
        if sum > sum_max {
            return Err(DecodeError::Malformed { at, what: "lengths beyond what there is" });
        }
    }
    Ok((lengths, sum))
}

#[cfg(test)]
mod tests {
    use super::super::writer::Dictionary;
    use super::*;
    use crate::compact::Limits;

    fn check(values: &[i64], bytes: usize) {
        let (mut out, mut dictionary) = (Vec::new(), Dictionary::default());
        write(&mut Writer::new(&mut out, &mut dictionary), values);
        assert_eq!((out.len(), plan(values).bytes), (bytes, bytes), "{values:?}");
        let mut reader = Reader::bare(&out, Limits::DEFAULT);
        let mut read_back = Vec::new();
        assert_eq!(read(&mut reader, values.len(), &mut read_back), Ok(()));
        assert_eq!(read_back, values);
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn each_form_is_used_where_it_is_best() {
        check(&[7; 1000], 2);
        check(&[0, 1, 2, 3, 4, 5, 6, 7], 3);
        check(&[5, 1, 9, 3], 1 + 1 + 2);
        check(&[1_000_000, 1_000_003, 1_000_004], 1 + 3 + 2);
        check(&[1, 1, 1, 1, 1, 1, i64::MAX], 1 + 6 + 9);
        check(&[i64::MIN, i64::MAX], 1 + 9 + 9);
        check(&[1_700_000_000_000, 1_700_000_000_250, 1_700_000_000_500, 1_700_000_000_750], 1 + 6 + 2);
    }
}
