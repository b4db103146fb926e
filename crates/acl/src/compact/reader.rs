//! Reader of a body: an offset in the bytes, the dictionary before them, and the memory budget that is left.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use super::limits::Limits;
use super::tags::{self, item, shape};
use super::writer::FIXED_STARTS;
use super::{DecodeError, known, varint};
use crate::{Symbol, Text, Value};

/// A text of the dictionary; as a shared text or a name once it was asked for as such.
pub(super) struct DictionaryText<'a> {
    pub(super) text: &'a str,
    shared: Option<Text>,
    counted: Option<Arc<str>>,
    symbol: Option<Symbol>,
}

/// Name and fields of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectShape<'a> {
    pub(super) kind: ShapeKind,
    pub(super) name: &'a str,
    pub(super) fields: Vec<&'a str>,
}

/// Kind of the objects of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShapeKind {
    /// Records.
    Record,
    /// Maps with texts as keys.
    Map,
    /// Terms of this number of arguments, which have no names.
    Term(usize),
}

impl ObjectShape<'_> {
    pub(super) fn len(&self) -> usize {
        match self.kind {
            ShapeKind::Term(args) => args,
            _ => self.fields.len(),
        }
    }
}

/// Container that a label stands for.
pub(super) enum Labelled {
    /// The container is being read.
    Open,
    /// A container that is being read.
    OpenContainer(Value),
    /// A dynamic value.
    Value(Value),
    /// An `Rc` or `Arc` of some type.
    Typed(Box<dyn Any>),
}

/// Reads a body. Only types with a [`super::Decode`] of their own need to know it.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    spent_bytes: usize,
    depth: u32,
    limits: Limits,
    /// Containers by label.
    pub(super) labelled: Vec<Labelled>,
    /// Fields of Rust types by the fields of shapes; the key is the type's description and the shape's number.
    pub(super) places: Vec<(usize, u64, Rc<[u8]>)>,
    pub(super) texts: Vec<DictionaryText<'a>>,
    pub(super) shapes: Vec<Rc<ObjectShape<'a>>>,
}

/// Most memory of a dictionary item, besides its own bytes.
const ITEM_BYTES: usize = 64;

impl<'a> Reader<'a> {
    /// Returns a reader of this body, its dictionary read.
    pub(super) fn new(bytes: &'a [u8], limits: Limits) -> Result<Self, DecodeError> {
        let mut reader = Self::bare(bytes, limits);
        if let Some(count) = reader.dictionary_count()? {
            for _ in 0..count {
                reader.item()?;
            }
        }
        Ok(reader)
    }

    /// Returns a reader of these bytes, from their beginning.
    pub(super) fn bare(bytes: &'a [u8], limits: Limits) -> Self {
        Self {
            bytes,
            at: 0,
            spent_bytes: 0,
            depth: 0,
            limits,
            labelled: Vec::new(),
            places: Vec::new(),
            texts: Vec::new(),
            shapes: Vec::new(),
        }
    }

    /// Reads a dictionary's tag, if there is one: how many items follow.
    pub(super) fn dictionary_count(&mut self) -> Result<Option<u64>, DecodeError> {
        let at = self.at;
        let Some(tag) =
            self.bytes.get(at).filter(|tag| (tags::FIRST_DICTIONARY..=tags::LONG_DICTIONARY).contains(*tag))
        else {
            return Ok(None);
        };
        self.at += 1;
        let count = match *tag {
            tags::LONG_DICTIONARY => Some(self.number()?).filter(|count| *count >= u64::from(tags::DICTIONARIES)),
            tag => Some(u64::from(tag - tags::DICTIONARY)).filter(|count| *count > 0),
        };
        let count = count.filter(|count| *count <= u64::from(u32::MAX));
        count.map(Some).ok_or(DecodeError::Malformed { at, what: "a dictionary's count is not in its shortest form" })
    }

    fn item(&mut self) -> Result<(), DecodeError> {
        let at = self.at;
        let head = self.number()?;
        match head & 3 {
            item::KNOWN => {
                let known = (head >> 3) as usize;
                let text = known::TEXTS.get(known).filter(|_| head & 4 != 0);
                let text = *text.ok_or(DecodeError::Malformed { at, what: "a text that only a link knows" })?;
                self.add_text(text, None)
            }
            item::TEXT => {
                let text = self.text_of(usize::try_from(head >> 2).unwrap_or(usize::MAX))?;
                self.add_text(text, None)
            }
            item::STRUCTURE => {
                let definition = self.take(usize::try_from(head >> 2).unwrap_or(usize::MAX))?;
                self.add_shape(definition)
            }
            _ => Err(DecodeError::Malformed { at, what: "an item to remember outside a link" }),
        }
    }

    fn add_text(&mut self, text: &'a str, shared: Option<(Text, Option<Symbol>)>) -> Result<(), DecodeError> {
        self.charge(ITEM_BYTES)?;
        let (shared, symbol) = shared.map_or((None, None), |(text, symbol)| (Some(text), symbol));
        self.texts.push(DictionaryText { text, shared, counted: None, symbol });
        Ok(())
    }

    /// Adds a text to the dictionary that was told on a link.
    pub(super) fn add_told(&mut self, text: &'a Text, symbol: Option<Symbol>) -> Result<(), DecodeError> {
        self.add_text(text, Some((text.clone(), symbol)))
    }

    /// Adds a text to the dictionary that both ends know.
    pub(super) fn add_known(&mut self, number: u32) -> Result<(), DecodeError> {
        let text = known::TEXTS.get(number as usize).copied();
        self.add_text(text.ok_or_else(|| self.malformed("a text nobody knows"))?, None)
    }

    /// Adds the shape with this definition to the dictionary.
    pub(super) fn add_shape(&mut self, definition: &'a [u8]) -> Result<(), DecodeError> {
        self.charge(definition.len() * 16 + ITEM_BYTES)?;
        let mut inner = Reader::bare(definition, self.limits);
        let shape = inner.shape().and_then(|shape| inner.end().map(|()| shape));
        let shape = shape.map_err(|_| self.malformed("a malformed shape"))?;
        self.shapes.push(Rc::new(shape));
        Ok(())
    }

    /// Returns true if a container may contain itself.
    pub(super) fn allows_circles(&self) -> bool {
        self.limits.circles
    }

    /// Returns the remaining budget as limits for a nested value.
    pub(super) fn limits_left(&self) -> Limits {
        self.limits.with_budget_bytes(self.limits.budget_bytes.saturating_sub(self.spent_bytes))
    }

    pub(super) fn spent_bytes(&self) -> usize {
        self.spent_bytes
    }

    fn shape(&mut self) -> Result<ObjectShape<'a>, DecodeError> {
        let head = self.number()?;
        self.shape_after(head)
    }

    /// Reads the rest of a shape that began with this number.
    fn shape_after(&mut self, head: u64) -> Result<ObjectShape<'a>, DecodeError> {
        let (kind, count) = ((head & 3) as u8, usize::try_from(head >> 2).unwrap_or(usize::MAX));
        let too_many = DecodeError::Malformed { at: self.at, what: "a shape of too many fields" };
        match kind {
            shape::RECORD | shape::MAP => {
                let name = if kind == shape::RECORD { self.plain_text()? } else { "" };
                if count > self.remaining() {
                    return Err(too_many);
                }
                let mut fields = Vec::with_capacity(count.min(FIELDS_AT_FIRST));
                for _ in 0..count {
                    fields.push(self.plain_text()?);
                }
                let kind = if kind == shape::RECORD { ShapeKind::Record } else { ShapeKind::Map };
                Ok(ObjectShape { kind, name, fields })
            }
            shape::TERM if count <= TERM_ARGS_MAX => {
                Ok(ObjectShape { kind: ShapeKind::Term(count), name: self.plain_text()?, fields: Vec::new() })
            }
            shape::TERM => Err(too_many),
            _ => self.known_shape(count),
        }
    }

    /// Reads the number of an object's shape after the tag; `None` if it is no object's tag.
    pub(super) fn object_shape(&mut self, tag: u8) -> Result<Option<u64>, DecodeError> {
        let head = match tag {
            tags::OBJECT..tags::ATOM_REF => return Ok(Some(u64::from(tag - tags::OBJECT))),
            tags::LONG_OBJECT => return self.number().map(Some),
            tags::OBJECT_IN_PLACE => self.number()?,
            tags::SHORT_MAP..=tags::SHORT_MAP_LAST => u64::from(tag - tags::SHORT_MAP + 1) << 2 | u64::from(shape::MAP),
            _ => return Ok(None),
        };
        let at = self.at;
        let shape = self.shape_after(head)?;
        self.charge((self.at - at) * 16 + ITEM_BYTES)?;
        // A number that nothing else refers to.
        self.shapes.push(Rc::new(shape));
        Ok(Some(self.shapes.len() as u64 - 1))
    }

    fn known_shape(&mut self, number: usize) -> Result<ObjectShape<'a>, DecodeError> {
        let mask = self.number()?;
        let known = known::SHAPES.get(number).ok_or_else(|| self.malformed("a shape nobody knows"))?;
        if mask.checked_shr(known.fields.len() as u32).unwrap_or(0) != 0 {
            return Err(self.malformed("fields that the shape does not have"));
        }
        let fields = known.fields.iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1);
        Ok(ObjectShape { kind: ShapeKind::Record, name: known.name, fields: fields.map(|(_, field)| *field).collect() })
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Checks that the input has ended.
    pub(super) fn end(&self) -> Result<(), DecodeError> {
        if self.remaining() == 0 { Ok(()) } else { Err(DecodeError::Trailing { at: self.at }) }
    }

    pub(super) fn malformed(&self, what: &'static str) -> DecodeError {
        DecodeError::Malformed { at: self.at, what }
    }

    pub(super) fn mismatch(&self, expected: &'static str) -> DecodeError {
        DecodeError::Mismatch { at: self.at, expected }
    }

    /// Takes bytes of memory out of the budget, before they are allocated.
    #[inline]
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.spent_bytes = self.spent_bytes.saturating_add(bytes);
        if self.spent_bytes > self.limits.budget_bytes {
            return Err(DecodeError::Budget { at: self.at, budget_bytes: self.limits.budget_bytes });
        }
        Ok(())
    }

    /// Reads a nested value.
    #[inline]
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.depth >= self.limits.levels {
            return Err(DecodeError::TooDeep { at: self.at, levels: self.limits.levels });
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    #[inline]
    pub(super) fn peek(&self) -> Result<u8, DecodeError> {
        self.bytes.get(self.at).copied().ok_or(DecodeError::Truncated { at: self.at })
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        let byte = self.peek()?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, DecodeError> {
        varint::read(self.bytes, &mut self.at)
    }

    #[inline]
    pub(super) fn signed(&mut self) -> Result<i64, DecodeError> {
        Ok(varint::unzigzag(self.number()?))
    }

    /// Returns the signed number that comes next, which is left where it is.
    pub(super) fn peek_signed(&self) -> Option<i64> {
        varint::read(self.bytes, &mut self.at.clone()).ok().map(varint::unzigzag)
    }

    #[inline]
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or(DecodeError::Truncated { at: self.at })?;
        self.at += length;
        Ok(taken)
    }

    /// Reads a count of items that each take at least `least_bytes`.
    pub(super) fn count_of_bytes(&mut self, least_bytes: usize) -> Result<usize, DecodeError> {
        let at = self.at;
        let count = self.number()?;
        let fits = usize::try_from(count).ok().filter(|count| count.saturating_mul(least_bytes) <= self.remaining());
        fits.ok_or(DecodeError::Truncated { at })
    }

    pub(super) fn text_of(&mut self, length: usize) -> Result<&'a str, DecodeError> {
        let at = self.at;
        std::str::from_utf8(self.take(length)?)
            .map_err(|_| DecodeError::Malformed { at, what: "text that is not UTF-8" })
    }

    /// Reads a length, and as many bytes of text.
    pub(super) fn plain_text(&mut self) -> Result<&'a str, DecodeError> {
        let length = self.count_of_bytes(1)?;
        self.text_of(length)
    }

    /// Returns the text with this number.
    pub(super) fn dictionary_text(&mut self, number: u64) -> Result<&mut DictionaryText<'a>, DecodeError> {
        let at = self.at;
        let entry = usize::try_from(number).ok().and_then(|number| self.texts.get_mut(number));
        entry.ok_or(DecodeError::Malformed { at, what: "a text the dictionary does not have" })
    }

    /// Reads a text of the dictionary, to be shared.
    pub(super) fn shared_text(&mut self, number: u64) -> Result<Text, DecodeError> {
        let entry = self.dictionary_text(number)?;
        if let Some(shared) = &entry.shared {
            return Ok(shared.clone());
        }
        let shared = Text::from(entry.text);
        entry.shared = Some(shared.clone());
        let bytes = shared.len();
        self.charge(bytes)?;
        Ok(shared)
    }

    /// Reads a text of the dictionary, shared by the standard library's counter.
    pub(super) fn counted_text(&mut self, number: u64) -> Result<Arc<str>, DecodeError> {
        let entry = self.dictionary_text(number)?;
        if let Some(counted) = &entry.counted {
            return Ok(Arc::clone(counted));
        }
        let counted: Arc<str> = entry.text.into();
        entry.counted = Some(Arc::clone(&counted));
        self.charge(counted.len())?;
        Ok(counted)
    }

    /// Reads a text of the dictionary as a symbol.
    pub(super) fn symbol(&mut self, number: u64) -> Result<Symbol, DecodeError> {
        let entry = self.dictionary_text(number)?;
        Ok(*entry.symbol.get_or_insert_with(|| Symbol::new(entry.text)))
    }

    /// Returns a name where nothing else can stand.
    pub(super) fn name(&mut self) -> Result<Symbol, DecodeError> {
        let head = self.number()?;
        if head & 1 == 0 {
            return self.symbol(head >> 1);
        }
        let length = usize::try_from(head >> 1).unwrap_or(usize::MAX);
        Ok(Symbol::new(self.text_of(length)?))
    }

    /// Reads a name as text.
    pub(super) fn name_text(&mut self) -> Result<&'a str, DecodeError> {
        let head = self.number()?;
        if head & 1 == 0 {
            return self.dictionary_text(head >> 1).map(|entry| entry.text);
        }
        self.text_of(usize::try_from(head >> 1).unwrap_or(usize::MAX))
    }

    /// Reads a whole number after its tag; `None` if it is no whole number's tag.
    #[inline]
    pub(super) fn int(&mut self, tag: u8) -> Result<Option<i64>, DecodeError> {
        if tag < tags::SHORT_TEXT {
            return Ok(Some(i64::from(tag) + tags::SMALL_INT_LEAST));
        }
        if tag == tags::INT {
            return self.signed().map(Some);
        }
        if !(tags::MORE[0]..=tags::LESS[3]).contains(&tag) {
            return Ok(None);
        }
        let width = usize::from((tag - tags::MORE[0]) % 4);
        let mut raw = [0; 8];
        raw.iter_mut().zip(self.take(width + 1)?).for_each(|(to, from)| *to = *from);
        let beyond = (u64::from_le_bytes(raw) + FIXED_STARTS.get(width).copied().unwrap_or_default()) as i64;
        Ok(Some(match tag >= tags::LESS[0] {
            true => tags::SMALL_INT_LEAST - 1 - beyond,
            false => tags::SMALL_INT_LEAST + tags::SMALL_INTS + beyond,
        }))
    }

    /// Returns the bytes from one place to another.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Returns to a place that was read before, to read it again.
    pub(super) fn return_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Takes the next label, for the container that is read now.
    pub(super) fn open_label(&mut self) -> Result<usize, DecodeError> {
        self.charge(size_of::<Labelled>())?;
        self.labelled.push(Labelled::Open);
        Ok(self.labelled.len() - 1)
    }

    /// Sets the container that a label stands for.
    pub(super) fn close_label(&mut self, label: usize, what: Labelled) {
        if let Some(place) = self.labelled.get_mut(label) {
            *place = what;
        }
    }

    /// Returns the shape with this number.
    pub(super) fn shape_numbered(&self, number: u64) -> Result<Rc<ObjectShape<'a>>, DecodeError> {
        let found = usize::try_from(number).ok().and_then(|number| self.shapes.get(number)).cloned();
        found.ok_or_else(|| self.malformed("a shape the dictionary does not have"))
    }
}

/// Fields that a shape has room for before they were read.
const FIELDS_AT_FIRST: usize = 32;

/// Arguments of a term in a shape.
const TERM_ARGS_MAX: usize = 1 << 16;
