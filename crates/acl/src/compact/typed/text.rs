//! Text, shared or not, and names.

use std::sync::Arc;

use super::super::tags::{self, column};
use super::super::texts::{self, Rows, TextKind};
use super::{Decode, Encode, Few, Reader, Result, Writer, constant};
use crate::{Name, Symbol, Text};

/// A type that is text.
trait Textual: Sized + Clone {
    /// True for types whose clones take no memory of their own.
    const IS_SHARED: bool;

    fn of(text: &str) -> Self;
    fn of_dictionary(r: &mut Reader<'_>, number: u64) -> Result<Self>;

    /// Returns true if both are known to share their memory, without a look at the text.
    fn is_one(&self, other: &Self) -> bool {
        let _ = other;
        false
    }
}

impl Textual for String {
    const IS_SHARED: bool = false;

    fn of(text: &str) -> Self {
        text.to_owned()
    }

    fn of_dictionary(r: &mut Reader<'_>, number: u64) -> Result<Self> {
        let text = r.dictionary_text(number)?.text;
        r.charge(text.len())?;
        Ok(text.to_owned())
    }
}

impl Textual for Text {
    const IS_SHARED: bool = true;

    fn of(text: &str) -> Self {
        Self::from(text)
    }

    fn of_dictionary(r: &mut Reader<'_>, number: u64) -> Result<Self> {
        r.shared_text(number)
    }

    fn is_one(&self, other: &Self) -> bool {
        Self::ptr_eq(self, other)
    }
}

impl Textual for Arc<str> {
    const IS_SHARED: bool = true;

    fn of(text: &str) -> Self {
        text.into()
    }

    fn of_dictionary(r: &mut Reader<'_>, number: u64) -> Result<Self> {
        r.counted_text(number)
    }

    fn is_one(&self, other: &Self) -> bool {
        Self::ptr_eq(self, other)
    }
}

fn decode_text<T: Textual>(r: &mut Reader<'_>) -> Result<T> {
    let tag = r.byte()?;
    let length = match tag {
        tags::SHORT_TEXT..tags::TEXT_REF => usize::from(tag - tags::SHORT_TEXT),
        tags::TEXT_REF..tags::SHORT_LIST => return T::of_dictionary(r, u64::from(tag - tags::TEXT_REF)),
        tags::LONG_TEXT_REF => {
            let number = r.number()?;
            return T::of_dictionary(r, number);
        }
        tags::NUMERIC_TEXT => return Ok(T::of(&r.signed()?.to_string())),
        tags::TEXT => r.count_of_bytes(1)?,
        _ => return Err(r.mismatch("text")),
    };
    r.charge(length)?;
    Ok(T::of(r.text_of(length)?))
}

fn decode_texts<T: Textual + Decode>(r: &mut Reader<'_>, count: usize, out: &mut Vec<T>) -> Result<()> {
    let tag = r.byte()?;
    match tag {
        column::ANY => return super::any_tagged(r, tag, count, out),
        column::CONSTANT => {
            let spent = r.spent_bytes();
            let text: T = decode_text(r)?;
            if !T::IS_SHARED {
                r.charge((r.spent_bytes() - spent).saturating_mul(count))?;
            }
            out.extend(std::iter::repeat_n(text, count));
            return Ok(());
        }
        _ => {}
    }
    match texts::read(r, tag, count, TextKind::Text)? {
        Rows::Refs(numbers) => {
            for number in numbers {
                out.push(T::of_dictionary(r, u64::try_from(number).unwrap_or(u64::MAX))?);
            }
        }
        Rows::Plain(lengths, run) => {
            r.charge(run.len())?;
            out.extend(texts::pieces(&lengths, run).map(T::of));
        }
        Rows::Made(maker) => {
            r.charge(count.saturating_mul(maker.bytes_max()))?;
            out.reserve(count);
            maker.for_each(|text| out.push(T::of(text)));
        }
    }
    Ok(())
}

macro_rules! textual {
    ($($type:ty)*) => {$(
        impl Encode for $type {
            fn encode(&self, w: &mut Writer<'_>) {
                w.text(self);
            }

            fn same(&self, other: &Self) -> bool {
                self.is_one(other) || **self == **other
            }

            fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
                if !constant(rows, w) {
                    let mut texts = Few::<&str>::new();
                    texts.extend(rows.iter().map(|row| &***row));
                    texts::write(w, &texts, TextKind::Text);
                }
            }

            fn pays(items: &[Self]) -> bool {
                items.len() >= 4
            }
        }

        impl Decode for $type {
            fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
                super::repeat_clones(self, count, out)
            }

            fn decode(r: &mut Reader<'_>) -> Result<Self> {
                decode_text(r)
            }

            fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
                decode_texts(r, count, out)
            }
        }
    )*};
}

textual! { String Text Arc<str> }

/// A type that is an atom.
trait Atomic: Sized {
    fn of(r: &mut Reader<'_>, text: &str) -> Result<Self>;
    fn of_dictionary(r: &mut Reader<'_>, number: u64) -> Result<Self>;
}

impl Atomic for Symbol {
    fn of(_: &mut Reader<'_>, text: &str) -> Result<Self> {
        Ok(Self::new(text))
    }

    fn of_dictionary(r: &mut Reader<'_>, number: u64) -> Result<Self> {
        r.symbol(number)
    }
}

/// Bytes that a counted name takes beyond its text, roughly.
const NAME_BYTES: usize = 128;

impl Atomic for Name {
    fn of(r: &mut Reader<'_>, text: &str) -> Result<Self> {
        r.charge(text.len() + NAME_BYTES)?;
        Ok(Self::new(text))
    }

    fn of_dictionary(r: &mut Reader<'_>, number: u64) -> Result<Self> {
        let text = r.dictionary_text(number)?.text;
        Self::of(r, text)
    }
}

fn decode_atom<T: Atomic>(r: &mut Reader<'_>) -> Result<T> {
    match r.byte()? {
        tag @ tags::ATOM_REF..tags::SMALL_NUM => T::of_dictionary(r, u64::from(tag - tags::ATOM_REF)),
        tags::LONG_ATOM_REF => {
            let number = r.number()?;
            T::of_dictionary(r, number)
        }
        tags::ATOM => {
            let text = r.plain_text()?;
            T::of(r, text)
        }
        tags::TRUE => T::of(r, "true"),
        tags::FALSE => T::of(r, "false"),
        _ => Err(r.mismatch("an atom")),
    }
}

fn decode_atoms<T: Atomic + Decode>(r: &mut Reader<'_>, count: usize, out: &mut Vec<T>) -> Result<()> {
    let tag = r.byte()?;
    if !texts::is_texts(tag, TextKind::Atom) {
        return super::any_tagged(r, tag, count, out);
    }
    match texts::read(r, tag, count, TextKind::Atom)? {
        Rows::Refs(numbers) => {
            for number in numbers {
                out.push(T::of_dictionary(r, u64::try_from(number).unwrap_or(u64::MAX))?);
            }
        }
        Rows::Plain(lengths, run) => {
            for text in texts::pieces(&lengths, run) {
                out.push(T::of(r, text)?);
            }
        }
        Rows::Made(_) => return Err(r.mismatch("a column of atoms")),
    }
    Ok(())
}

macro_rules! atomic {
    ($($(#[$doc:meta])* $type:ty)*) => {$(
        $(#[$doc])*
        impl Encode for $type {
            fn encode(&self, w: &mut Writer<'_>) {
                w.atom(self.as_str());
            }

            fn same(&self, other: &Self) -> bool {
                self == other
            }

            fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
                texts::write(w, &rows.iter().map(|row| row.as_str()).collect::<Vec<&str>>(), TextKind::Atom);
            }

            fn pays(items: &[Self]) -> bool {
                items.len() >= 4
            }
        }

        impl Decode for $type {
            fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
                super::repeat_clones(self, count, out)
            }

            fn decode(r: &mut Reader<'_>) -> Result<Self> {
                decode_atom(r)
            }

            fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
                decode_atoms(r, count, out)
            }
        }
    )*};
}

atomic! {
    /// A name is an atom.
    Symbol
    /// As a symbol, but without a permanent entry.
    Name
}
