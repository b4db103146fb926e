//! Columns of texts and of atoms.

use hashbrown::HashTable;

use super::DecodeError;
use super::digits::{self, Digits};
use super::ints;
use super::memory::hash_of;
use super::reader::Reader;
use super::tags::{self, column};
use super::varint;
use super::writer::Writer;

/// Kind of a column of texts: texts or atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Text,
    Atom,
}

/// Writes a column of texts, at least one.
pub(super) fn write(w: &mut Writer<'_>, rows: &[&str], kind: TextKind) {
    let Some((first, rest)) = rows.split_first() else { return };
    // Texts that are shared in memory are the same without a look at them.
    if rest.iter().all(|row| std::ptr::eq(*row, *first) || row == first) {
        w.tag(column::CONSTANT);
        return match kind {
            TextKind::Text => w.text(first),
            TextKind::Atom => w.atom(first),
        };
    }
    if kind == TextKind::Text {
        if let Some(numbers) = digits::all_numeric(rows) {
            w.tag(column::NUMERIC_TEXTS);
            return ints::write(w, &numbers);
        }
        if let Some(series) = series(rows) {
            return write_series(w, &series);
        }
    }
    write_texts(w, rows, kind);
}

fn write_texts(w: &mut Writer<'_>, rows: &[&str], kind: TextKind) {
    let distinct = Distinct::of(w, rows);
    let all_bytes: usize = rows.iter().map(|row| row.len()).sum();
    if distinct.bytes_as_refs < all_bytes + rows.len() {
        w.tag(if kind == TextKind::Text { column::TEXT_REFS } else { column::ATOM_REFS });
        let numbers: Vec<i64> = distinct.texts.iter().map(|text| i64::from(w.column_text(text))).collect();
        let refs: Vec<i64> = distinct.rows.iter().filter_map(|row| numbers.get(*row as usize).copied()).collect();
        return ints::write(w, &refs);
    }
    w.tag(if kind == TextKind::Text { column::TEXTS } else { column::ATOMS });
    ints::write_lengths(w, rows.iter().map(|row| row.len()));
    rows.iter().for_each(|row| w.out.extend_from_slice(row.as_bytes()));
}

/// The different texts of a column.
struct Distinct<'a> {
    texts: Vec<&'a str>,
    /// Index of each row's text.
    rows: Vec<u32>,
    /// Bytes of the column, roughly, if the dictionary has its texts.
    bytes_as_refs: usize,
}

impl<'a> Distinct<'a> {
    fn of(w: &Writer<'_>, rows: &[&'a str]) -> Self {
        let mut by_hash: HashTable<(u64, u32)> = HashTable::with_capacity(rows.len());
        let mut distinct = Self { texts: Vec::new(), rows: Vec::with_capacity(rows.len()), bytes_as_refs: 0 };
        for row in rows {
            let hash = hash_of(row);
            let texts = &mut distinct.texts;
            let found = by_hash.find(hash, |entry| entry.0 == hash && texts.get(entry.1 as usize) == Some(row));
            let number = match found {
                Some(entry) => entry.1,
                None => {
                    let number = texts.len() as u32;
                    by_hash.insert_unique(hash, (hash, number), |entry| entry.0);
                    texts.push(row);
                    distinct.bytes_as_refs += w.dictionary.text_cost(row);
                    number
                }
            };
            distinct.rows.push(number);
        }
        let bits = 32 - (distinct.texts.len() as u32).leading_zeros() as usize;
        distinct.bytes_as_refs += rows.len() * bits / 8;
        distinct
    }
}

/// Texts that differ only in a number.
struct Series<'a> {
    before: &'a str,
    after: &'a str,
    /// Digits of each number, zeros in front; 0 if there are no zeros in front.
    digits: usize,
    numbers: Vec<i64>,
}

/// Digits of numbers in series: they fit 63 bits.
const SERIES_DIGITS_MAX: usize = 18;
/// Fewer texts are no series.
const SERIES_ROWS_MIN: usize = 3;

fn series<'a>(rows: &[&'a str]) -> Option<Series<'a>> {
    let (first, rest) = rows.split_first()?;
    if rows.len() < SERIES_ROWS_MIN {
        return None;
    }
    let starts_alike = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let start = rest.iter().fold(first.len(), |alike, row| alike.min(starts_alike(first.as_bytes(), row.as_bytes())));
    let not_digit = |byte: &u8| !byte.is_ascii_digit();
    let start = first.as_bytes().get(..start)?.iter().rposition(not_digit).map_or(0, |last| last + 1);
    let tail = first.as_bytes().get(start..)?;
    let digits = tail.iter().position(not_digit).unwrap_or(tail.len());
    let after = first.get(start + digits..)?;
    let before = first.get(..start)?;
    if before.len() + after.len() == 0 {
        return None;
    }
    let middle = |row: &'a str| -> Option<&'a str> { row.get(start..)?.strip_suffix(after) };
    let padded = rows.iter().any(|row| middle(row).is_some_and(|digits| digits.len() > 1 && digits.starts_with('0')));
    let numbers = rows.iter().map(|row| {
        let text = middle(row)?;
        let fits = (1..=SERIES_DIGITS_MAX).contains(&text.len()) && (!padded || text.len() == digits);
        let is_number = fits && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    });
    let numbers = numbers.collect::<Option<_>>()?;
    Some(Series { before, after, digits: if padded { digits } else { 0 }, numbers })
}

fn write_series(w: &mut Writer<'_>, series: &Series<'_>) {
    w.tag(column::SERIES);
    w.tag(series.digits as u8);
    w.name(series.before);
    w.name(series.after);
    ints::write(w, &series.numbers);
}

/// The texts of a column, as the bytes hold them.
pub(super) enum Rows<'a> {
    /// Numbers in the dictionary.
    Refs(Vec<i64>),
    /// Lengths, and all texts as one.
    Plain(Vec<i64>, &'a str),
    /// Texts made of numbers.
    Made(TextMaker<'a>),
}

/// Maker of texts from numbers.
pub(super) struct TextMaker<'a> {
    before: &'a str,
    after: &'a str,
    digits: usize,
    numbers: Vec<i64>,
}

impl TextMaker<'_> {
    /// Calls `give` with each text.
    pub(super) fn for_each(&self, mut give: impl FnMut(&str)) {
        let is_plain = self.before.len() + self.after.len() + self.digits == 0;
        let mut whole = String::with_capacity(if is_plain { 0 } else { self.bytes_max() });
        for numbers in self.numbers.chunks(digits::AT_ONCE) {
            let digits = Digits::of(numbers);
            if is_plain {
                digits.for_each(&mut give);
                continue;
            }
            digits.for_each(|number| {
                whole.clear();
                whole.push_str(self.before);
                whole.extend(std::iter::repeat_n('0', self.digits.saturating_sub(number.len())));
                whole.push_str(number);
                whole.push_str(self.after);
                give(&whole);
            });
        }
    }

    /// Bytes a text takes, at most.
    pub(super) fn bytes_max(&self) -> usize {
        self.before.len() + self.after.len() + 20
    }
}

/// Reads a column of texts or atoms; the caller handles constant columns and those of any values.
pub(super) fn read<'a>(r: &mut Reader<'a>, tag: u8, count: usize, kind: TextKind) -> Result<Rows<'a>, DecodeError> {
    let (refs, texts) = match kind {
        TextKind::Text => (column::TEXT_REFS, column::TEXTS),
        TextKind::Atom => (column::ATOM_REFS, column::ATOMS),
    };
    match tag {
        tag if tag == refs => {
            let mut numbers = Vec::new();
            ints::read(r, count, &mut numbers)?;
            Ok(Rows::Refs(numbers))
        }
        tag if tag == texts => {
            let (lengths, sum) = ints::read_lengths(r, count, r.remaining())?;
            let at = r.at();
            let run = r.text_of(sum)?;
            let mut end = 0;
            for length in &lengths {
                end += *length as usize;
                if !run.is_char_boundary(end) {
                    return Err(DecodeError::Malformed { at, what: "a text that ends within a character" });
                }
            }
            Ok(Rows::Plain(lengths, run))
        }
        column::NUMERIC_TEXTS | column::SERIES if kind == TextKind::Text => {
            let (mut before, mut after, mut digits) = ("", "", 0);
            if tag == column::SERIES {
                digits = usize::from(r.byte()?);
                before = r.name_text()?;
                after = r.name_text()?;
                if digits > SERIES_DIGITS_MAX {
                    return Err(r.malformed("a series of too many digits"));
                }
            }
            let mut numbers = Vec::new();
            ints::read(r, count, &mut numbers)?;
            let is_negative = |number: &i64| *number < 0;
            if tag == column::SERIES && numbers.iter().any(is_negative) {
                return Err(r.malformed("a series with a negative number"));
            }
            Ok(Rows::Made(TextMaker { before, after, digits, numbers }))
        }
        _ => Err(r.mismatch("a column of texts or atoms")),
    }
}

/// Checks whether a column with this tag holds texts of this kind; constant columns have tags of their own.
pub(super) fn is_texts(tag: u8, kind: TextKind) -> bool {
    match kind {
        TextKind::Text => {
            matches!(tag, column::TEXTS | column::TEXT_REFS | column::NUMERIC_TEXTS | column::SERIES)
        }
        TextKind::Atom => matches!(tag, column::ATOMS | column::ATOM_REFS),
    }
}

/// Returns each text of a run, by its lengths.
pub(super) fn pieces<'a>(lengths: &'a [i64], run: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    let mut at = 0;
    lengths.iter().map(move |length| {
        let end = at + *length as usize;
        let piece = run.get(at..end).unwrap_or_default();
        at = end;
        piece
    })
}

/// Bytes a new text costs in a dictionary.
pub(super) fn new_text_cost(text: &str) -> usize {
    varint::length((text.len() as u64) << 2) + text.len()
}

/// Checks whether a value with this tag is text.
pub(super) fn is_text_value(tag: u8) -> bool {
    (tags::SHORT_TEXT..tags::SHORT_LIST).contains(&tag)
        || matches!(tag, tags::TEXT | tags::LONG_TEXT_REF | tags::NUMERIC_TEXT)
}
