//! Numbers and truth.

use std::borrow::Cow;

use super::super::column::ROWS;
use super::super::tags::{self, column};
use super::super::{bits, blobs, floats, ints};
use super::{Decode, Encode, Reader, Result, Writer, any_tagged, constant, repeat_clones, repeat_copies};

/// Reads a whole number.
fn whole(r: &mut Reader<'_>) -> Result<i64> {
    let tag = r.byte()?;
    r.int(tag)?.ok_or_else(|| r.mismatch("a whole number"))
}

fn whole_column(r: &mut Reader<'_>, count: usize) -> Result<Vec<i64>> {
    let mut numbers = Vec::with_capacity(count);
    let tag = r.byte()?;
    if ints::is_ints(tag) {
        ints::read_tagged(r, tag, count, &mut numbers)?;
    } else {
        any_tagged(r, tag, count, &mut numbers)?;
    }
    Ok(numbers)
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {$(
        impl Encode for $type {
            fn encode(&self, w: &mut Writer<'_>) {
                w.int(i64::from(*self));
            }

            fn same(&self, other: &Self) -> bool {
                self == other
            }

            fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
                ints::write(w, &rows.iter().map(|row| **row).collect::<Vec<Self>>());
            }

            fn encode_list(items: &[Self], w: &mut Writer<'_>) {
                ints::write_list(w, items);
            }

            fn encode_elements(rows: &[&[Self]], w: &mut Writer<'_>) {
                together(rows).chunks(ROWS).for_each(|rows| ints::write(w, rows));
            }

            fn same_lists(a: &[Self], b: &[Self]) -> bool {
                a == b
            }
        }

        impl Decode for $type {
            fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
                repeat_clones(self, count, out)
            }

            fn repeat_list(list: &[Self], count: usize, out: &mut Vec<Vec<Self>>) -> bool {
                repeat_copies(list, count, out)
            }

            fn decode(r: &mut Reader<'_>) -> Result<Self> {
                let number = whole(r)?;
                Self::try_from(number).map_err(|_| r.mismatch(concat!("a number that fits ", stringify!($type))))
            }

            fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
                let tag = r.peek()?;
                if ints::is_ints(tag) {
                    r.byte()?;
                    let fits = |(least, most)| Self::try_from(least).is_ok() && Self::try_from(most).is_ok();
                    if ints::bounds(r, tag).is_some_and(fits) {
                        return ints::read_packed(r, tag, count, out, |number| number as $type);
                    }
                    r.return_to(r.at() - 1);
                }
                for number in whole_column(r, count)? {
                    let fitting = Self::try_from(number);
                    out.push(fitting.map_err(|_| r.mismatch(concat!("numbers that fit ", stringify!($type))))?);
                }
                Ok(())
            }

            fn split(elements: Vec<Self>, lengths: &[i64], out: &mut Vec<Vec<Self>>) {
                split_copies(&elements, lengths, out);
            }
        }
    )*};
}

whole_numbers! { i8 i16 i32 u16 u32 }

/// Returns all elements of these lists.
fn together<'a, T: Copy>(rows: &[&'a [T]]) -> Cow<'a, [T]> {
    if let [one] = rows { Cow::Borrowed(one) } else { Cow::Owned(rows.concat()) }
}

/// Cuts elements that are cheaply copied into lists of these lengths.
fn split_copies<T: Copy>(elements: &[T], lengths: &[i64], out: &mut Vec<Vec<T>>) {
    let mut rest = elements;
    out.extend(lengths.iter().map(|length| {
        let (row, more) = rest.split_at_checked(*length as usize).unwrap_or((rest, &[]));
        rest = more;
        row.to_vec()
    }));
}

impl Encode for i64 {
    fn encode(&self, w: &mut Writer<'_>) {
        w.int(*self);
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        ints::write(w, &rows.iter().map(|row| **row).collect::<Vec<_>>());
    }

    fn encode_list(items: &[Self], w: &mut Writer<'_>) {
        ints::write_list(w, items);
    }

    fn encode_elements(rows: &[&[Self]], w: &mut Writer<'_>) {
        together(rows).chunks(ROWS).for_each(|rows| ints::write(w, rows));
    }

    fn same_lists(a: &[Self], b: &[Self]) -> bool {
        a == b
    }
}

impl Decode for i64 {
    fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
        repeat_clones(self, count, out)
    }

    fn repeat_list(list: &[Self], count: usize, out: &mut Vec<Vec<Self>>) -> bool {
        repeat_copies(list, count, out)
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        whole(r)
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        let tag = r.byte()?;
        if ints::is_ints(tag) { ints::read_tagged(r, tag, count, out) } else { any_tagged(r, tag, count, out) }
    }

    fn split(elements: Vec<Self>, lengths: &[i64], out: &mut Vec<Vec<Self>>) {
        split_copies(&elements, lengths, out);
    }
}

/// Implements the codec for unsigned numbers of up to 64 bits; those beyond 63 bits are written as digits.
macro_rules! large_numbers {
    ($($type:ty)*) => {$(
        impl Encode for $type {
            fn encode(&self, w: &mut Writer<'_>) {
                match i64::try_from(*self) {
                    Ok(number) => w.int(number),
                    Err(_) => w.text(&self.to_string()),
                }
            }

            fn same(&self, other: &Self) -> bool {
                self == other
            }

            fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
                match rows.iter().map(|row| i64::try_from(**row)).collect::<std::result::Result<Vec<_>, _>>() {
                    Ok(numbers) => ints::write(w, &numbers),
                    Err(_) => super::any(rows, w),
                }
            }

            fn pays(items: &[Self]) -> bool {
                let numbers = items.iter().map(|item| i64::try_from(*item).ok()).collect::<Option<Vec<i64>>>();
                numbers.is_some_and(|numbers| ints::pays(&numbers))
            }
        }

        impl Decode for $type {
            fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
                repeat_clones(self, count, out)
            }

            fn repeat_list(list: &[Self], count: usize, out: &mut Vec<Vec<Self>>) -> bool {
                repeat_copies(list, count, out)
            }

            fn decode(r: &mut Reader<'_>) -> Result<Self> {
                if super::super::texts::is_text_value(r.peek()?) {
                    let text = String::decode(r)?;
                    return text.parse().map_err(|_| r.mismatch("a number as text"));
                }
                let number = whole(r)?;
                Self::try_from(number).map_err(|_| r.mismatch("a number that is not negative"))
            }

            fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
                let tag = r.byte()?;
                if !ints::is_ints(tag) {
                    return any_tagged(r, tag, count, out);
                }
                let mut numbers = Vec::with_capacity(count);
                ints::read_tagged(r, tag, count, &mut numbers)?;
                for number in numbers {
                    out.push(Self::try_from(number).map_err(|_| r.mismatch("numbers that are not negative"))?);
                }
                Ok(())
            }
        }
    )*};
}

large_numbers! { u64 usize }

/// A list of these is bytes.
impl Encode for u8 {
    fn encode(&self, w: &mut Writer<'_>) {
        w.int(i64::from(*self));
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        ints::write(w, &rows.iter().map(|row| i64::from(**row)).collect::<Vec<_>>());
    }

    fn encode_list(items: &[Self], w: &mut Writer<'_>) {
        blobs::write(w, items);
    }

    fn encode_lists(rows: &[&[Self]], w: &mut Writer<'_>) {
        w.tag(column::BYTES);
        ints::write_lengths(w, rows.iter().map(|row| row.len()));
        rows.iter().for_each(|row| w.out.extend_from_slice(row));
    }

    fn same_lists(a: &[Self], b: &[Self]) -> bool {
        a == b
    }
}

impl Decode for u8 {
    fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
        repeat_clones(self, count, out)
    }

    fn repeat_list(list: &[Self], count: usize, out: &mut Vec<Vec<Self>>) -> bool {
        repeat_copies(list, count, out)
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        let number = whole(r)?;
        Self::try_from(number).map_err(|_| r.mismatch("a number that fits u8"))
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        for number in whole_column(r, count)? {
            out.push(Self::try_from(number).map_err(|_| r.mismatch("numbers that fit u8"))?);
        }
        Ok(())
    }

    fn decode_list(r: &mut Reader<'_>) -> Result<Vec<Self>> {
        let tag = r.byte()?;
        blobs::read(r, tag)?.ok_or_else(|| r.mismatch("bytes"))
    }

    fn decode_lists(r: &mut Reader<'_>, count: usize, out: &mut Vec<Vec<Self>>) -> Result<()> {
        let (lengths, sum) = ints::read_lengths(r, count, r.remaining())?;
        r.charge(sum)?;
        split_copies(r.take(sum)?, &lengths, out);
        Ok(())
    }
}

impl Encode for bool {
    fn encode(&self, w: &mut Writer<'_>) {
        w.tag(if *self { tags::TRUE } else { tags::FALSE });
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        if !constant(rows, w) {
            w.tag(column::BOOLS);
            bits::pack_bools(w.out, rows.iter().map(|row| **row));
        }
    }

    fn encode_elements(rows: &[&[Self]], w: &mut Writer<'_>) {
        for rows in together(rows).chunks(ROWS) {
            let first = rows.first().copied().unwrap_or_default();
            if rows.iter().all(|row| *row == first) {
                w.tag(column::CONSTANT);
                first.encode(w);
            } else {
                w.tag(column::BOOLS);
                bits::pack_bool_slice(w.out, rows);
            }
        }
    }

    fn pays(items: &[Self]) -> bool {
        items.len() >= 5
    }

    fn same_lists(a: &[Self], b: &[Self]) -> bool {
        a == b
    }
}

impl Decode for bool {
    fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
        repeat_clones(self, count, out)
    }

    fn repeat_list(list: &[Self], count: usize, out: &mut Vec<Vec<Self>>) -> bool {
        repeat_copies(list, count, out)
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        match r.byte()? {
            tags::FALSE => Ok(false),
            tags::TRUE => Ok(true),
            _ => Err(r.mismatch("true or false")),
        }
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        let tag = r.byte()?;
        if tag != column::BOOLS {
            return any_tagged(r, tag, count, out);
        }
        let packed = r.take(count.div_ceil(8))?;
        if !bits::ends_clean(packed, count) {
            return Err(r.malformed("bits beyond the last row"));
        }
        bits::unpack_bools(out, packed, count);
        Ok(())
    }

    fn split(elements: Vec<Self>, lengths: &[i64], out: &mut Vec<Vec<Self>>) {
        split_copies(&elements, lengths, out);
    }
}

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Encode for $type {
            fn encode(&self, w: &mut Writer<'_>) {
                floats::write_one(w, f64::from(*self));
            }

            fn same(&self, other: &Self) -> bool {
                self.to_bits() == other.to_bits()
            }

            fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
                floats::write(w, &rows.iter().map(|row| f64::from(**row)).collect::<Vec<_>>());
            }

            fn pays(items: &[Self]) -> bool {
                items.len() >= 4
            }
        }

        impl Decode for $type {
            fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
                repeat_clones(self, count, out)
            }

            fn repeat_list(list: &[Self], count: usize, out: &mut Vec<Vec<Self>>) -> bool {
                repeat_copies(list, count, out)
            }

            /// Decodes a number; whole numbers are doubles, too.
            fn decode(r: &mut Reader<'_>) -> Result<Self> {
                let tag = r.byte()?;
                if let Some(number) = r.int(tag)? {
                    return Ok(number as $type);
                }
                match tag {
                    tags::SMALL_NUM..=tags::SMALL_NUM_LAST => Ok(f64::from(tag - tags::SMALL_NUM) as $type),
                    tags::F64 | tags::F32 | tags::WHOLE_NUM | tags::DECIMAL_NUM => {
                        floats::read_one(r, tag).map(|n| n as $type)
                    }
                    _ => Err(r.mismatch("a number")),
                }
            }

            fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
                let tag = r.byte()?;
                if ints::is_ints(tag) {
                    let mut numbers = Vec::with_capacity(count);
                    ints::read_tagged(r, tag, count, &mut numbers)?;
                    out.extend(numbers.iter().map(|number| *number as $type));
                } else if floats::is_floats(tag) {
                    let mut numbers = Vec::with_capacity(count);
                    floats::read_tagged(r, tag, count, &mut numbers)?;
                    out.extend(numbers.iter().map(|number| *number as $type));
                } else {
                    any_tagged(r, tag, count, out)?;
                }
                Ok(())
            }
        }
    )*};
}

floats! { f32 f64 }
