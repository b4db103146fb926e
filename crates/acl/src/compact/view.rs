//! Bytes read where they lie: texts and bytes are borrowed, columns stay packed until they are asked for. For readers
//! that want some fields of much, or sums over all of it.

use std::rc::Rc;

use super::reader::{ObjectShape, Reader, ShapeKind};
use super::tags::{self, column};
use super::texts::{self, TextKind};
use super::{DecodeError, Limits, bits, column as columns, floats, ints, value_in};
use crate::Value;

/// The first and the last tag of larger whole numbers.
const MORE: u8 = tags::MORE[0];
const LESS: u8 = tags::LESS[3];

type Result<T> = std::result::Result<T, DecodeError>;

/// A value in a document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ValueView<'a> {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A double.
    Num(f64),
    /// Text.
    Text(&'a str),
    /// Text that is this number, as it is usually written.
    NumericText(i64),
    /// An atom.
    Atom(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Values of any kinds.
    List(Vec<ValueView<'a>>),
    /// Values of one kind.
    Array(Array<'a>),
    /// An object.
    Object(ObjectView<'a>),
    /// A map that is no object: its keys, and its values in their order.
    Map(Box<(Array<'a>, Array<'a>)>),
    /// Any other value, decoded: terms, variables, containers, shared values.
    Value(Value),
}

/// An object: a record, or a map with texts as keys.
#[derive(Clone, Debug)]
pub struct ObjectView<'a> {
    shape: Rc<ObjectShape<'a>>,
    fields: Vec<ValueView<'a>>,
}

impl<'a> ObjectView<'a> {
    /// Returns the name of its type; empty for a map.
    pub fn name(&self) -> &'a str {
        self.shape.name
    }

    /// Returns true for a record, and false for a map.
    pub fn is_record(&self) -> bool {
        self.shape.kind == ShapeKind::Record
    }

    /// Returns the field `name`, if it has it.
    pub fn field(&self, name: &str) -> Option<&ValueView<'a>> {
        self.fields.get(self.shape.fields.iter().position(|field| *field == name)?)
    }

    /// Returns all fields, by name.
    pub fn fields(&self) -> impl Iterator<Item = (&'a str, &ValueView<'a>)> {
        self.shape.fields.iter().copied().zip(&self.fields)
    }
}

/// Many values of one kind: columns of 1024 rows, the last one shorter.
#[derive(Clone, Debug)]
pub struct Array<'a> {
    count: usize,
    columns: Vec<Column<'a>>,
}

impl<'a> Array<'a> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if the array has no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the columns, in the order of the rows.
    pub fn columns(&self) -> &[Column<'a>] {
        &self.columns
    }
}

/// The values of up to 1024 rows.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    rows: usize,
    cells: Cells<'a>,
}

/// Layout of a column's values in the bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cells<'a> {
    /// One value for all rows.
    Constant(Box<ValueView<'a>>),
    /// A value per row.
    Any(Vec<ValueView<'a>>),
    /// Whole numbers.
    Ints(Ints<'a>),
    /// Doubles that are whole numbers divided by this power of ten.
    Decimals(Ints<'a>, f64),
    /// Doubles of four or eight bytes.
    Floats(&'a [u8]),
    /// A bit per row.
    Bools(&'a [u8]),
    /// Texts, by the number in the document's dictionary.
    TextRefs(Ints<'a>),
    /// Atoms, by the number in the document's dictionary.
    AtomRefs(Ints<'a>),
    /// Texts: lengths, and all of them as one.
    Texts(Ints<'a>, &'a str),
    /// Atoms: lengths, and all of them as one.
    Atoms(Ints<'a>, &'a str),
    /// Texts that are numbers.
    NumericTexts(Ints<'a>),
    /// Texts of a number between two texts, in this number of digits (0: as many as needed).
    Series(Box<(&'a str, &'a str, usize)>, Ints<'a>),
    /// Runs of bytes: lengths, and all of them as one.
    Bytes(Ints<'a>, &'a [u8]),
    /// Lists: how many elements each row has, and all of them.
    Lists(Ints<'a>, Array<'a>),
    /// Maps: how many entries each row has, and all keys and values.
    Maps(Ints<'a>, Box<(Array<'a>, Array<'a>)>),
    /// Objects.
    Table(ObjectTable<'a>),
    /// A bit per row, set if it is not null, and the values of those rows.
    Nulls(&'a [u8], Box<Column<'a>>),
    /// A bit per row, set if it has the field, and the values of those rows.
    Absent(&'a [u8], Box<Column<'a>>),
}

/// Objects of one shape: a column per field.
#[derive(Clone, Debug)]
pub struct ObjectTable<'a> {
    shape: Rc<ObjectShape<'a>>,
    columns: Vec<Column<'a>>,
}

impl<'a> ObjectTable<'a> {
    /// Returns the name of the objects' type, or the terms' functor; empty for maps.
    pub fn name(&self) -> &'a str {
        self.shape.name
    }

    /// Returns true if the rows are records, neither maps nor terms.
    pub fn is_record(&self) -> bool {
        self.shape.kind == ShapeKind::Record
    }

    /// Returns the column of the field `name`.
    pub fn column(&self, name: &str) -> Option<&Column<'a>> {
        self.columns.get(self.shape.fields.iter().position(|field| *field == name)?)
    }

    /// Returns all columns, in the order of the fields.
    pub fn columns(&self) -> &[Column<'a>] {
        &self.columns
    }

    /// Returns the fields' names; terms' arguments have none.
    pub fn names(&self) -> &[&'a str] {
        &self.shape.fields
    }
}

impl<'a> Column<'a> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the values.
    pub fn cells(&self) -> &Cells<'a> {
        &self.cells
    }
}

/// Whole numbers, packed.
#[derive(Clone, Copy, Debug)]
pub struct Ints<'a>(ints::PackedNumbers<'a>);

impl Ints<'_> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.0.count()
    }

    /// Calls `give` with each, in order.
    #[inline(always)]
    pub fn for_each(&self, give: impl FnMut(i64)) {
        self.0.for_each(give);
    }

    /// Returns all numbers.
    pub fn to_vec(&self) -> Vec<i64> {
        let mut all = Vec::with_capacity(self.rows());
        self.for_each(|n| all.push(n));
        all
    }
}

/// A document, looked at where it lies.
#[derive(Debug)]
pub struct View<'a> {
    texts: Vec<&'a str>,
    root: ValueView<'a>,
}

impl<'a> View<'a> {
    /// Looks at a document that holds a value.
    ///
    /// # Errors
    /// The bytes are no such document. Numbers inside columns are not looked at.
    pub fn open(document: &'a [u8], limits: Limits) -> Result<Self> {
        Self::open_body(super::value_document(document)?, limits)
    }

    /// Looks at a self-contained body.
    ///
    /// # Errors
    /// As for [`View::open`].
    pub fn open_body(body: &'a [u8], limits: Limits) -> Result<Self> {
        let mut r = Reader::new(body, limits)?;
        let root = node(&mut r)?;
        r.end()?;
        Ok(Self { texts: r.texts.iter().map(|entry| entry.text).collect(), root })
    }

    /// Returns the root value.
    pub fn root(&self) -> &ValueView<'a> {
        &self.root
    }

    /// Returns the dictionary's text with this number, if there is one.
    pub fn text(&self, number: i64) -> Option<&'a str> {
        self.texts.get(usize::try_from(number).ok()?).copied()
    }
}

fn node<'a>(r: &mut Reader<'a>) -> Result<ValueView<'a>> {
    let at = r.at();
    let tag = r.byte()?;
    Ok(match tag {
        0..tags::SHORT_TEXT => ValueView::Int(i64::from(tag) + tags::SMALL_INT_LEAST),
        tags::SHORT_TEXT..tags::TEXT_REF => ValueView::Text(r.text_of(usize::from(tag - tags::SHORT_TEXT))?),
        tags::TEXT_REF..tags::SHORT_LIST => ValueView::Text(r.dictionary_text(u64::from(tag - tags::TEXT_REF))?.text),
        tags::SHORT_LIST..tags::OBJECT => nodes(r, usize::from(tag - tags::SHORT_LIST)).map(ValueView::List)?,
        tags::OBJECT..tags::ATOM_REF | tags::OBJECT_IN_PLACE | tags::SHORT_MAP..=tags::SHORT_MAP_LAST => {
            object(r, tag)?
        }
        tags::ATOM_REF..tags::SMALL_NUM => ValueView::Atom(r.dictionary_text(u64::from(tag - tags::ATOM_REF))?.text),
        tags::SMALL_NUM..=tags::SMALL_NUM_LAST => ValueView::Num(f64::from(tag - tags::SMALL_NUM)),
        MORE..=LESS | tags::INT => ValueView::Int(r.int(tag)?.unwrap_or_default()),
        tags::NULL => ValueView::Null,
        tags::FALSE => ValueView::Bool(false),
        tags::TRUE => ValueView::Bool(true),
        tags::F64 | tags::F32 | tags::WHOLE_NUM | tags::DECIMAL_NUM => ValueView::Num(floats::read_one(r, tag)?),
        tags::TEXT => ValueView::Text(r.plain_text()?),
        tags::ATOM => ValueView::Atom(r.plain_text()?),
        tags::NUMERIC_TEXT => ValueView::NumericText(r.signed()?),
        tags::LONG_TEXT_REF | tags::LONG_ATOM_REF | tags::LONG_OBJECT => numbered(r, tag)?,
        tags::BYTES => {
            let length = r.count_of_bytes(1)?;
            ValueView::Bytes(r.take(length)?)
        }
        tags::LIST => {
            let count = r.count_of_bytes(1)?;
            nodes(r, count).map(ValueView::List)?
        }
        tags::ARRAY => {
            let count = columns::row_count(r)?;
            r.nested(|r| array(r, count)).map(ValueView::Array)?
        }
        tags::MAP => {
            let count = columns::row_count(r)?;
            r.nested(|r| Ok(ValueView::Map(Box::new((array(r, count)?, array(r, count)?)))))?
        }
        _ => {
            r.return_to(at);
            ValueView::Value(value_in::value(r)?)
        }
    })
}

fn numbered<'a>(r: &mut Reader<'a>, tag: u8) -> Result<ValueView<'a>> {
    let number = r.number()?;
    match tag {
        tags::LONG_TEXT_REF => r.dictionary_text(number).map(|entry| ValueView::Text(entry.text)),
        tags::LONG_ATOM_REF => r.dictionary_text(number).map(|entry| ValueView::Atom(entry.text)),
        _ => object_numbered(r, number),
    }
}

fn nodes<'a>(r: &mut Reader<'a>, count: usize) -> Result<Vec<ValueView<'a>>> {
    r.charge(count.saturating_mul(size_of::<ValueView<'_>>()))?;
    let mut found = Vec::with_capacity(count);
    r.nested(|r| {
        for _ in 0..count {
            found.push(node(r)?);
        }
        Ok(found)
    })
}

fn object<'a>(r: &mut Reader<'a>, tag: u8) -> Result<ValueView<'a>> {
    let number = r.object_shape(tag)?.unwrap_or_default();
    object_numbered(r, number)
}

fn object_numbered<'a>(r: &mut Reader<'a>, number: u64) -> Result<ValueView<'a>> {
    let shape = r.shape_numbered(number)?;
    let count = shape.len();
    if count > r.remaining() {
        return Err(DecodeError::Truncated { at: r.at() });
    }
    let fields = nodes(r, count)?;
    Ok(ValueView::Object(ObjectView { shape, fields }))
}

fn array<'a>(r: &mut Reader<'a>, count: usize) -> Result<Array<'a>> {
    let chunks = count.div_ceil(columns::ROWS);
    r.charge(chunks.saturating_mul(size_of::<Column<'_>>()))?;
    let mut left = count;
    let mut found = Vec::with_capacity(chunks.min(r.remaining()));
    while left > 0 {
        let rows = left.min(columns::ROWS);
        let tag = r.peek()?;
        found.push(column(r, tag, rows, false)?);
        left -= rows;
    }
    Ok(Array { count, columns: found })
}

/// Reads a column that may have gaps. Bits for absent fields come first; bits for nulls are nested among the present
/// ones.
fn column<'a>(r: &mut Reader<'a>, tag: u8, rows: usize, is_field: bool) -> Result<Column<'a>> {
    if tag != column::NULLS && (tag != column::ABSENT || !is_field) {
        return dense(r, rows);
    }
    r.byte()?;
    let start = r.at();
    let (present, _) = columns::presence(r, rows)?;
    let bitmap = r.slice(start, r.at());
    if tag == column::NULLS {
        return Ok(Column { rows, cells: Cells::Nulls(bitmap, Box::new(dense(r, present)?)) });
    }
    let tag = r.peek()?;
    let inner = column(r, tag, present, false)?;
    Ok(Column { rows, cells: Cells::Absent(bitmap, Box::new(inner)) })
}

fn dense<'a>(r: &mut Reader<'a>, rows: usize) -> Result<Column<'a>> {
    let tag = r.byte()?;
    let cells = match tag {
        column::CONSTANT => Cells::Constant(Box::new(r.nested(node)?)),
        column::ANY => Cells::Any(nodes(r, rows)?),
        column::BOOLS => {
            let packed = r.take(rows.div_ceil(8))?;
            if !bits::ends_clean(packed, rows) {
                return Err(r.malformed("bits beyond the last row"));
            }
            Cells::Bools(packed)
        }
        column::F64 => Cells::Floats(r.take(rows * 8)?),
        column::F32 => Cells::Floats(r.take(rows * 4)?),
        column::WHOLE => Cells::Decimals(numbers(r, rows)?, 1.0),
        column::DECIMALS => {
            let by = floats::power(r)?;
            Cells::Decimals(numbers(r, rows)?, by)
        }
        column::TEXT_REFS => Cells::TextRefs(numbers(r, rows)?),
        column::ATOM_REFS => Cells::AtomRefs(numbers(r, rows)?),
        column::TEXTS | column::ATOMS => run_of_texts(r, tag, rows)?,
        column::NUMERIC_TEXTS => Cells::NumericTexts(numbers(r, rows)?),
        column::SERIES => {
            let digits = usize::from(r.byte()?);
            Cells::Series(Box::new((r.name_text()?, r.name_text()?, digits)), numbers(r, rows)?)
        }
        column::BYTES => {
            let (lengths, sum) = lengths(r, rows, r.remaining())?;
            Cells::Bytes(lengths, r.take(sum)?)
        }
        column::LISTS => {
            let (lengths, sum) = lengths(r, rows, r.limits_left().budget_bytes)?;
            Cells::Lists(lengths, r.nested(|r| array(r, sum))?)
        }
        column::MAPS => {
            let (lengths, sum) = lengths(r, rows, r.limits_left().budget_bytes)?;
            Cells::Maps(lengths, r.nested(|r| Ok(Box::new((array(r, sum)?, array(r, sum)?))))?)
        }
        column::TABLE => Cells::Table(r.nested(|r| table(r, rows))?),
        tag if ints::is_ints(tag) => Cells::Ints(numbers_tagged(r, tag, rows)?),
        _ => return Err(r.malformed("an unknown kind of column")),
    };
    Ok(Column { rows, cells })
}

fn table<'a>(r: &mut Reader<'a>, rows: usize) -> Result<ObjectTable<'a>> {
    let number = r.number()?;
    let shape = r.shape_numbered(number)?;
    if shape.len() > r.remaining() {
        return Err(DecodeError::Truncated { at: r.at() });
    }
    r.charge(shape.len() * size_of::<Column<'_>>())?;
    let mut columns = Vec::with_capacity(shape.len());
    for _ in 0..shape.len() {
        let tag = r.peek()?;
        columns.push(column(r, tag, rows, true)?);
    }
    Ok(ObjectTable { shape, columns })
}

fn run_of_texts<'a>(r: &mut Reader<'a>, tag: u8, rows: usize) -> Result<Cells<'a>> {
    let start = r.at();
    let lengths = numbers(r, rows)?;
    r.return_to(start);
    // Lengths are looked at here, so that no text is cut within a character later.
    let kind = if tag == column::TEXTS { TextKind::Text } else { TextKind::Atom };
    match texts::read(r, tag, rows, kind)? {
        texts::Rows::Plain(_, run) if kind == TextKind::Text => Ok(Cells::Texts(lengths, run)),
        texts::Rows::Plain(_, run) => Ok(Cells::Atoms(lengths, run)),
        _ => Err(r.malformed("an unknown kind of column")),
    }
}

fn numbers<'a>(r: &mut Reader<'a>, rows: usize) -> Result<Ints<'a>> {
    let tag = r.byte()?;
    numbers_tagged(r, tag, rows)
}

fn numbers_tagged<'a>(r: &mut Reader<'a>, tag: u8, rows: usize) -> Result<Ints<'a>> {
    ints::PackedNumbers::take(r, tag, rows).map(Ints)
}

fn lengths<'a>(r: &mut Reader<'a>, rows: usize, sum_max: usize) -> Result<(Ints<'a>, usize)> {
    let at = r.at();
    let lengths = numbers(r, rows)?;
    let sum = lengths.0.sum_of_lengths();
    if sum > sum_max {
        Err(DecodeError::Malformed { at, what: "lengths beyond what there is" })
    } else {
        Ok((lengths, sum))
    }
}
