//! Columns of whole numbers: packed by their distance from the least, or from the one before, or as varints, whichever
//! takes the fewest bytes.

use super::DecodeError;
use super::bits;
use super::reader::Reader;
use super::tags::{self, column};
use super::varint;
use super::writer::Writer;

/// Form in which a column is written, and its size in bytes, tag included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IntsPlan {
    form: IntsForm,
    pub(super) bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntsForm {
    /// Distances from the least number, in this number of bits.
    Packed {
        least: i64,
        width: u32,
    },
    /// The first number, then the steps between neighbours as distances from the least step, in this number of bits.
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

/// Whole numbers, of any width: of narrow ones a processor handles several at once.
pub(super) trait Whole: Copy + Ord + Default + Into<i64> + TryFrom<i64> {
    /// Returns the least and the most of these, if there are any.
    fn range(values: &[Self]) -> Option<(Self, Self)> {
        let first = *values.first()?;
        Some(values.iter().fold((first, first), |(least, most), n| (least.min(*n), most.max(*n))))
    }
}

macro_rules! whole { ($($type:ty)*) => { $(impl Whole for $type {})* } }
whole! { i8 i16 u16 u32 i64 }

impl Whole for i32 {
    /// Returns the least and the most. Most numbers are small, and every processor compares 16-bit numbers fast.
    fn range(values: &[Self]) -> Option<(Self, Self)> {
        let narrow = |n: Self| n.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        let (mut least, mut most) = (i16::MAX, i16::MIN);
        for some in values.chunks(NARROW_TRIED) {
            (least, most) = some.iter().fold((least, most), |(l, m), n| (l.min(narrow(*n)), m.max(narrow(*n))));
            if least == i16::MIN || most == i16::MAX {
                return Some(values.iter().fold((Self::MAX, Self::MIN), |(l, m), n| (l.min(*n), m.max(*n))));
            }
        }
        (!values.is_empty()).then_some((least.into(), most.into()))
    }
}

/// Numbers that are tried before the check whether all are small.
const NARROW_TRIED: usize = 256;

/// Returns the best plan for these numbers, at least one.
pub(super) fn plan<T: Whole>(values: &[T]) -> IntsPlan {
    let (lowest, highest) = T::range(values).unwrap_or_default();
    let (least, most): (i64, i64) = (lowest.into(), highest.into());
    let width = width_of(most.wrapping_sub(least) as u64);
    let count = values.len();
    let packed = 1 + varint::length(varint::zigzag(least)) + bits::packed_bytes(count, width);
    let mut best = IntsPlan { form: IntsForm::Packed { least, width }, bytes: packed };
    if width == 0 {
        return best;
    }
    if count >= STEPS_COUNT_MIN
        && let Some(steps) = plan_steps(values, width, best.bytes)
    {
        best = steps;
    }
    match varint_bytes(values, (lowest, highest), width, best.bytes) {
        Some(bytes) => IntsPlan { form: IntsForm::Varints, bytes },
        None => best,
    }
}

/// Returns the size of a column of varints if it is below `limit`, the size at about `width` bits for each number.
/// For most columns the sum exceeds it soon.
fn varint_bytes<T: Whole>(values: &[T], (least, most): (T, T), width: u32, limit: usize) -> Option<usize> {
    // Numbers near zero are shorter as varints; each of the others takes at least `others_bytes`.
    let others_bytes = width as usize / 8 + 1;
    let near = 1_i64 << (7 * (others_bytes - 1)) >> 1;
    let (near_least, near_most) = (T::try_from(-near).unwrap_or(least), T::try_from(near - 1).unwrap_or(most));
    let mut least_bytes = 1 + values.len();
    for values in values.chunks(VARINTS_TRIED) {
        if least_bytes >= limit {
            return None;
        }
        let near: u32 = values.iter().map(|value| u32::from((near_least..=near_most).contains(value))).sum();
        least_bytes += (values.len() - near as usize) * (others_bytes - 1);
    }
    if least_bytes >= limit {
        return None;
    }
    let bytes = 1 + values.iter().map(|value| varint::length(varint::zigzag((*value).into()))).sum::<usize>();
    (bytes < limit).then_some(bytes)
}

/// Numbers that are tried before each check whether varints may still be shorter.
const VARINTS_TRIED: usize = 64;

/// Steps that are tried before the check whether the others are worth a look.
const STEPS_TRIED: usize = 16;

/// Iterates over the differences between neighbours. A difference that does not fit 64 bits wraps, and wraps back
/// when it is decoded.
fn steps<T: Whole>(values: &[T]) -> impl Iterator<Item = i64> {
    values.iter().zip(values.get(1..).unwrap_or_default()).map(|(a, b)| (*b).into().wrapping_sub((*a).into()))
}

fn plan_steps<T: Whole>(values: &[T], packed_width: u32, best_bytes: usize) -> Option<IntsPlan> {
    let first = (*values.first()?).into();
    let range = |values: &[T]| {
        steps(values).fold((i64::MAX, i64::MIN), |(least, most), step| (least.min(step), most.max(step)))
    };
    let width = |(least, most): (i64, i64)| width_of(most.wrapping_sub(least) as u64);
    // The range of all steps is at least that of the first ones. If the first need as many bits, so will all.
    if width(range(values.get(..=STEPS_TRIED).unwrap_or(values))) >= packed_width {
        return None;
    }
    let (least, most) = range(values);
    let width = width((least, most));
    let heads = varint::length(varint::zigzag(first)) + varint::length(varint::zigzag(least));
    let bytes = 1 + heads + bits::packed_bytes(values.len() - 1, width);
    (bytes < best_bytes).then_some(IntsPlan { form: IntsForm::Steps { first, least, width }, bytes })
}

/// Checks whether a list of whole numbers takes fewer bytes as an array than as single values.
pub(super) fn pays<T: Whole>(values: &[T]) -> bool {
    values.len() > super::column::ROWS || paying_plan(values).is_some()
}

/// Returns the plan for at most a column of whole numbers, if a column takes fewer bytes than single values.
fn paying_plan<T: Whole>(values: &[T]) -> Option<IntsPlan> {
    if values.len() < PACKED_COUNT_MIN {
        return None;
    }
    let alone: usize = values.iter().map(|value| Writer::int_bytes((*value).into())).sum();
    Some(plan(values)).filter(|plan| plan.bytes < alone)
}

/// Writes a list of whole numbers as a value.
pub(super) fn write_list<T: Whole>(w: &mut Writer<'_>, values: &[T]) {
    let is_one_column = values.len() <= super::column::ROWS;
    let plan = if is_one_column { paying_plan(values) } else { None };
    if is_one_column && plan.is_none() {
        w.list(values.len());
        return w.nested(|w| values.iter().for_each(|value| w.int((*value).into())));
    }
    w.tag(tags::ARRAY);
    w.number(values.len() as u64);
    w.nested(|w| match plan {
        Some(plan) => write_planned(w, values, plan),
        None => values.chunks(super::column::ROWS).for_each(|rows| write(w, rows)),
    });
}

/// Fewer numbers are never an array.
const PACKED_COUNT_MIN: usize = 4;

/// Below this many numbers, steps are not tried.
const STEPS_COUNT_MIN: usize = 4;

/// Writes a column of whole numbers.
pub(super) fn write<T: Whole>(w: &mut Writer<'_>, values: &[T]) {
    write_planned(w, values, plan(values));
}

/// Writes a column as planned.
pub(super) fn write_planned<T: Whole>(w: &mut Writer<'_>, values: &[T], plan: IntsPlan) {
    match plan.form {
        IntsForm::Packed { least, width } => {
            w.tag(column::PACKED + width as u8);
            w.number(varint::zigzag(least));
            bits::pack(w.out, values, width, |value| value.into().wrapping_sub(least) as u64);
        }
        IntsForm::Steps { first, least, width } => {
            w.tag(column::STEPS + width as u8);
            w.number(varint::zigzag(first));
            w.number(varint::zigzag(least));
            let steps: Vec<i64> = steps(values).collect();
            bits::pack(w.out, &steps, width, |step| step.wrapping_sub(least) as u64);
        }
        IntsForm::Varints => {
            w.tag(column::VARINTS);
            values.iter().for_each(|value| w.number(varint::zigzag((*value).into())));
        }
    }
}

/// Checks whether a column with this tag holds whole numbers.
pub(super) fn is_ints(tag: u8) -> bool {
    tag == column::VARINTS || (column::PACKED..=column::STEPS + 64).contains(&tag)
}

/// A column of whole numbers, as it lies in the bytes; all of it was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedNumbers<'a> {
    count: usize,
    bytes: &'a [u8],
    form: IntsForm,
}

impl<'a> PackedNumbers<'a> {
    /// Takes the column of `count` numbers after its tag.
    pub(super) fn take(r: &mut Reader<'a>, tag: u8, count: usize) -> Result<Self, DecodeError> {
        let (form, bytes) = match tag {
            column::VARINTS => {
                let start = r.at();
                for _ in 0..count {
                    r.number()?;
                }
                (IntsForm::Varints, r.slice(start, r.at()))
            }
            column::PACKED..column::STEPS => {
                let width = u32::from(tag - column::PACKED);
                (IntsForm::Packed { least: r.signed()?, width }, take_packed(r, count, width)?)
            }
            column::STEPS..=column::STEPS_LAST => {
                let width = u32::from(tag - column::STEPS);
                let form = IntsForm::Steps { first: r.signed()?, least: r.signed()?, width };
                (form, take_packed(r, count.saturating_sub(1), width)?)
            }
            _ => return Err(r.mismatch("a column of whole numbers")),
        };
        Ok(Self { count, bytes, form })
    }

    /// Returns the number of rows.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number that all items are, if the column has it once only.
    pub(super) fn constant(&self) -> Option<i64> {
        if let IntsForm::Packed { least, width: 0 } = self.form { Some(least) } else { None }
    }

    /// Returns the sum of the numbers as lengths. A negative one counts as longer than anything.
    pub(super) fn sum_of_lengths(&self) -> usize {
        let size = |length| usize::try_from(length).unwrap_or(usize::MAX);
        if let Some(length) = self.constant() {
            return size(length).saturating_mul(self.count);
        }
        let mut sum = 0_usize;
        self.for_each(|length| sum = sum.saturating_add(size(length)));
        sum
    }

    /// Calls `give` with each number, in order.
    // `self` is consumed: as nothing else refers to it, the compiler can keep the caller's state in registers.
    #[inline(always)]
    pub(super) fn for_each(mut self, mut give: impl FnMut(i64)) {
        if let IntsForm::Packed { least, width: width @ ..=bits::NARROW } = self.form {
            let mut block = bits::Block::default();
            while self.count > 0 {
                let numbers = bits::unpack_block(&mut self.bytes, self.count.min(bits::BLOCK), width, &mut block);
                numbers.iter().for_each(|number| give(least.wrapping_add(i64::from(*number))));
                self.count -= numbers.len();
            }
            return;
        }
        let mut block = [0; bits::BLOCK];
        while self.count > 0 {
            self.next_block(&mut block).iter().for_each(|number| give(*number));
        }
    }

    /// Takes the next of the numbers, as many as fit.
    fn next_block<'b>(&mut self, block: &'b mut [i64; bits::BLOCK]) -> &'b [i64] {
        let count = self.count.min(block.len());
        self.count -= count;
        let block = block.get_mut(..count).unwrap_or_default();
        match &mut self.form {
            IntsForm::Varints => {
                let mut at = 0;
                for place in &mut *block {
                    *place = varint::read(self.bytes, &mut at).map(varint::unzigzag).unwrap_or_default();
                }
                self.bytes = self.bytes.get(at..).unwrap_or_default();
            }
            IntsForm::Packed { least, width } => {
                bits::unpack(self.bytes, *width, *least, block);
                self.bytes = self.bytes.get(bits::packed_bytes(bits::BLOCK, *width)..).unwrap_or_default();
            }
            IntsForm::Steps { first, least, width } => {
                bits::unpack(self.bytes, *width, *least, block);
                self.bytes = self.bytes.get(bits::packed_bytes(bits::BLOCK, *width)..).unwrap_or_default();
                for place in &mut *block {
                    let step = std::mem::replace(place, *first);
                    *first = first.wrapping_add(step);
                }
            }
        }
        block
    }
}

/// Appends the `count` numbers of a column after its tag.
pub(super) fn read_tagged(r: &mut Reader<'_>, tag: u8, count: usize, out: &mut Vec<i64>) -> Result<(), DecodeError> {
    match tag {
        column::PACKED..column::STEPS => read_packed(r, tag, count, out, |n| n),
        column::VARINTS => {
            out.reserve(count);
            for _ in 0..count {
                out.push(r.signed()?);
            }
            Ok(())
        }
        _ => {
            let numbers = PackedNumbers::take(r, tag, count)?;
            out.reserve(count);
            numbers.for_each(|number| out.push(number));
            Ok(())
        }
    }
}

/// Appends `make` of each of the `count` numbers of a column of distances after its tag.
pub(super) fn read_packed<T>(
    r: &mut Reader<'_>,
    tag: u8,
    count: usize,
    out: &mut Vec<T>,
    make: impl Fn(i64) -> T,
) -> Result<(), DecodeError> {
    let width = u32::from(tag - column::PACKED);
    let least = r.signed()?;
    let packed = take_packed(r, count, width)?;
    bits::unpack_to(packed, count, width, out, |n| make(least.wrapping_add(n as i64)));
    Ok(())
}

/// Returns the bounds of the numbers in a column after its tag, if its first bytes tell.
pub(super) fn bounds(r: &Reader<'_>, tag: u8) -> Option<(i64, i64)> {
    let width = u32::from(tag.checked_sub(column::PACKED).filter(|width| *width < 63)?);
    let least = r.peek_signed()?;
    Some((least, least.checked_add((1 << width) - 1)?))
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

/// Writes a column of counts or lengths.
pub(super) fn write_lengths(w: &mut Writer<'_>, mut lengths: impl Iterator<Item = usize> + Clone) {
    let rest = lengths.clone();
    let Some(first) = lengths.next() else { return };
    if lengths.all(|length| length == first) {
        // Any number of equal numbers is written like one.
        return write(w, &[first as i64]);
    }
    write(w, &rest.map(|length| length as i64).collect::<Vec<_>>());
}

/// Reads a column of counts or lengths: none is negative, and their sum is at most `sum_max`.
pub(super) fn read_lengths(r: &mut Reader<'_>, count: usize, sum_max: usize) -> Result<(Vec<i64>, usize), DecodeError> {
    let at = r.at();
    let tag = r.byte()?;
    let numbers = PackedNumbers::take(r, tag, count)?;
    let sum = numbers.sum_of_lengths();
    if sum > sum_max {
        return Err(DecodeError::Malformed { at, what: "lengths beyond what there is" });
    }
    let mut lengths = Vec::with_capacity(count);
    match numbers.constant() {
        Some(length) => lengths.resize(count, length),
        None => numbers.for_each(|length| lengths.push(length)),
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

        let mut reader = Reader::bare(&out, Limits::DEFAULT);
        let tag = reader.byte().unwrap();
        let numbers = PackedNumbers::take(&mut reader, tag, values.len()).unwrap();
        let mut given = Vec::new();
        numbers.for_each(|number| given.push(number));
        assert_eq!(given, values);
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn shortest_form_is_chosen() {
        check(&[7; 1000], 2);
        check(&[0, 1, 2, 3, 4, 5, 6, 7], 3);
        check(&[5, 1, 9, 3], 1 + 1 + 2);
        check(&[1_000_000, 1_000_003, 1_000_004], 1 + 3 + 2);
        check(&[1, 1, 1, 1, 1, 1, i64::MAX], 1 + 6 + 9);
        check(&[i64::MIN, i64::MAX], 1 + 9 + 9);
        check(&[1_700_000_000_000, 1_700_000_000_250, 1_700_000_000_500, 1_700_000_000_750], 1 + 6 + 2);
    }

    #[test]
    fn long_columns_survive_a_round_trip() {
        let count = 3 * bits::BLOCK as i64 + 5;
        let values = |value: fn(i64) -> i64| (0..count).map(value).collect::<Vec<i64>>();
        check(&values(|n| n * n % 1000), 1 + 1 + 487);
        check(&values(|n| (n * n % 1000) << 30), 1 + 1 + 1945);
        check(&values(|n| n * 1000 + n % 7), 1 + 1 + 2 + 146);
        check(&values(|n| if n % 100 == 0 { 1 << 40 } else { n % 50 }), 1 + 385 + 4 * 6);
    }

    #[test]
    fn least_and_most_are_found_anywhere() {
        assert_eq!(<i32 as Whole>::range(&[]), None);
        let edges = [i32::MIN, -32_769, -32_768, -32_767, -1, 0, 32_766, 32_767, 32_768, i32::MAX];
        for (edge, count) in edges.into_iter().flat_map(|edge| [1, 7, 300, 600].map(|count| (edge, count))) {
            for at in [0, count / 2, count - 1] {
                let values: Vec<i32> = (0..count).map(|place| if place == at { edge } else { place % 50 }).collect();
                let range = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
                assert_eq!(Whole::range(&values), Some(range), "{edge} at {at} of {count}");
            }
        }
    }

    #[test]
    fn varints_are_used_where_shortest() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 8
        };
        let mut used = 0;
        for round in 0..3_000 {
            let (few, many) = (1 + random() % 20, 1 + random() % 54);
            let values: Vec<i64> = (0..1 + round % 150)
                .map(|_| {
                    let bits = if random() % 8 == 0 { many } else { few };
                    (random() % (1 << bits)) as i64 - (random() % (1 << (bits - 1))) as i64
                })
                .collect();
            let varints = 1 + values.iter().map(|value| varint::length(varint::zigzag(*value))).sum::<usize>();
            let plan = plan(&values);
            assert!(plan.bytes <= varints, "{values:?}");
            used += u32::from(plan.form == IntsForm::Varints);
            check(&values, plan.bytes);
            let narrow: Vec<i32> = values.iter().map(|value| *value as i32).collect();
            let wide: Vec<i64> = narrow.iter().map(|value| i64::from(*value)).collect();
            assert_eq!(super::plan(&narrow), super::plan(&wide));
        }
        assert!(used > 100, "{used}");
    }
}
