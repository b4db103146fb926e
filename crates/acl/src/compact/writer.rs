//! Writer of a body: its bytes, and the dictionary that grows beside them and is put in front at the end.

use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::digits::numeric;
use super::tags::{self, item, shape};
use super::{EncodeError, known, varint};
use crate::Symbol;

/// Texts shorter than this are written where they stand.
const SHARED_TEXT_BYTES_MIN: usize = 4;

/// Values with more places that refer to the dictionary keep it as it is.
const REFERENCES_MAX: usize = 128;

/// Nesting that writers and readers allow.
pub(super) const LEVELS: u32 = 96;

/// Room for most shapes, so that memory is asked for once.
const DEFINITION_BYTES: usize = 128;

/// The texts and shapes of one body, each once.
#[derive(Default)]
pub(super) struct Dictionary {
    /// The items as they stand in a body that is self-contained.
    items: Vec<u8>,
    count: u32,
    texts: ItemIndex,
    shapes: ItemIndex,
    /// Shapes of Rust types, by the address of their description and the fields present.
    types: Vec<(usize, u64, u32)>,
    /// Definitions of the first type shapes that were met. They outlive a body.
    definitions: Vec<(usize, u64, Arc<[u8]>)>,
    /// Shapes of dynamic values, by the symbols of their name and fields.
    records: HashTable<(u64, u32)>,
    record_symbols: Vec<(Vec<Symbol>, u32)>,
    /// References of the value to the dictionary, if these may be rewritten.
    references: Vec<Reference>,
    scratch: Vec<u8>,
}

/// Most shapes of Rust types whose definitions are kept.
const DEFINITIONS_MAX: usize = 64;

/// Finds a stretch of the items again.
#[derive(Default)]
struct ItemIndex {
    by_hash: HashTable<(u32, u32)>,
    /// Start and end of each item, or [`KNOWN`] and the number of a known one; in the order of the items' numbers.
    places: Vec<(u32, u32)>,
}

/// Beginning of a text that both ends know.
const KNOWN: u32 = u32::MAX;

impl ItemIndex {
    fn find(&self, items: &[u8], bytes: &[u8], hash: u64) -> Option<u32> {
        let stored = |number: u32| match self.places.get(number as usize) {
            Some((KNOWN, known)) => known::TEXTS.get(*known as usize).map(|text| text.as_bytes()),
            Some((start, end)) => items.get(*start as usize..*end as usize),
            None => None,
        };
        let same = |entry: &(u32, u32)| entry.0 == hash as u32 && stored(entry.1) == Some(bytes);
        self.by_hash.find(spread(hash as u32), same).map(|entry| entry.1)
    }

    fn insert(&mut self, place: (u32, u32), hash: u64) -> u32 {
        let number = self.places.len() as u32;
        self.places.push(place);
        self.by_hash.insert_unique(spread(hash as u32), (hash as u32, number), |entry| spread(entry.0));
        number
    }

    fn clear(&mut self) {
        if !self.places.is_empty() {
            self.by_hash.clear();
            self.places.clear();
        }
    }
}

/// Spreads a hash over 64 bits: a table takes its place from the low bits, and its tag from the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Dictionary {
    /// Forgets everything, keeps the room.
    pub(super) fn clear(&mut self) {
        if self.count == 0 {
            return;
        }
        self.items.clear();
        self.count = 0;
        self.texts.clear();
        self.shapes.clear();
        self.types.clear();
        self.records.clear();
        self.record_symbols.clear();
        self.references.clear();
    }

    /// Frees the buffers if they have more than `bytes` bytes. Their content is forgotten then.
    pub(super) fn keep_room(&mut self, bytes: usize) {
        if self.room() > bytes {
            *self = Self::default();
        }
    }

    /// Returns the bytes of the buffers, without those of dynamic values' shapes.
    pub(super) fn room(&self) -> usize {
        let index = |index: &ItemIndex| (index.by_hash.capacity() + index.places.capacity()) * size_of::<(u32, u32)>();
        self.items.capacity() + self.scratch.capacity() + index(&self.texts) + index(&self.shapes)
    }

    /// Returns the number of items, and their bytes.
    pub(super) fn items(&self) -> (u32, &[u8]) {
        (self.count, &self.items)
    }

    /// Returns the references of the value to the dictionary.
    pub(super) fn references(&self) -> &[Reference] {
        &self.references
    }

    /// Returns the number of `text`, which is added if it is new.
    pub(super) fn text(&mut self, text: &str) -> u32 {
        let hash = FxBuildHasher.hash_one(text.as_bytes());
        if let Some(number) = self.texts.find(&self.items, text.as_bytes(), hash) {
            return number;
        }
        self.count += 1;
        if let Some(known) = known::text_number(text) {
            varint::write(&mut self.items, u64::from(known) << 3 | 1 << 2 | item::KNOWN);
            return self.texts.insert((KNOWN, known), hash);
        }
        self.items.reserve(text.len() + DEFINITION_BYTES);
        varint::write(&mut self.items, (text.len() as u64) << 2 | item::TEXT);
        let start = self.items.len() as u32;
        self.items.extend_from_slice(text.as_bytes());
        self.texts.insert((start, self.items.len() as u32), hash)
    }

    /// Bytes that a text costs in the dictionary: none if it is there.
    pub(super) fn text_cost(&self, text: &str) -> usize {
        let hash = FxBuildHasher.hash_one(text.as_bytes());
        match self.texts.find(&self.items, text.as_bytes(), hash) {
            Some(_) => 0,
            None => super::texts::new_text_cost(text),
        }
    }

    /// Returns the number of the shape with this definition, which is added if it is new.
    fn shape(&mut self, definition: &[u8]) -> u32 {
        let hash = FxBuildHasher.hash_one(definition);
        if let Some(number) = self.shapes.find(&self.items, definition, hash) {
            return number;
        }
        self.count += 1;
        self.items.reserve(definition.len() + DEFINITION_BYTES);
        varint::write(&mut self.items, (definition.len() as u64) << 2 | item::STRUCTURE);
        let start = self.items.len() as u32;
        self.items.extend_from_slice(definition);
        self.shapes.insert((start, self.items.len() as u32), hash)
    }

    /// Returns the shape of records called `name`, or maps, or terms, with these fields.
    pub(super) fn named_shape<'a>(
        &mut self,
        kind: u8,
        name: &str,
        fields: impl ExactSizeIterator<Item = &'a str> + Clone,
    ) -> u32 {
        let mut definition = std::mem::take(&mut self.scratch);
        definition.clear();
        definition.reserve(DEFINITION_BYTES);
        define(&mut definition, kind, name, fields);
        let number = self.shape(&definition);
        self.scratch = definition;
        number
    }

    /// Returns the shape of a Rust type, known by the address of its description, with these fields present. `define`
    /// writes the shape if it is not known yet.
    pub(super) fn type_shape(&mut self, description: usize, present: u64, define: impl FnOnce(&mut Vec<u8>)) -> u32 {
        if let Some(known) = self.definitions.iter().find(|known| known.0 == description && known.1 == present) {
            let definition = Arc::clone(&known.2);
            return self.shape(&definition);
        }
        let mut definition = Vec::with_capacity(DEFINITION_BYTES);
        define(&mut definition);
        let number = self.shape(&definition);
        if self.definitions.len() < DEFINITIONS_MAX {
            self.definitions.push((description, present, definition.into()));
        }
        number
    }

    /// Returns the shape of terms `name` with this number of arguments.
    pub(super) fn term_shape(&mut self, name: &str, args: usize) -> u32 {
        let mut definition = std::mem::take(&mut self.scratch);
        definition.clear();
        varint::write(&mut definition, (args as u64) << 2 | u64::from(shape::TERM));
        name_bytes(&mut definition, name);
        let number = self.shape(&definition);
        self.scratch = definition;
        number
    }

    /// Returns the number that [`Dictionary::remember_symbols`] gave these symbols.
    pub(super) fn find_symbols(&self, hash: u64, symbols: impl Iterator<Item = Symbol> + Clone) -> Option<u32> {
        let same = |entry: &(u64, u32)| {
            entry.0 == hash
                && self
                    .record_symbols
                    .get(entry.1 as usize)
                    .is_some_and(|known| known.0.iter().copied().eq(symbols.clone()))
        };
        let (_, at) = self.records.find(hash, same)?;
        self.record_symbols.get(*at as usize).map(|found| found.1)
    }

    /// Remembers a shape by the symbols it was made of.
    pub(super) fn remember_symbols(&mut self, hash: u64, symbols: impl Iterator<Item = Symbol>, number: u32) {
        let at = self.record_symbols.len() as u32;
        self.record_symbols.push((symbols.collect(), number));
        self.records.insert_unique(hash, (hash, at), |entry| entry.0);
    }

    /// Returns the shape that a Rust type (by the address of its description) has with these fields present, if it was
    /// met.
    #[inline]
    pub(super) fn find_type(&self, description: usize, present: u64) -> Option<u32> {
        self.types.iter().rev().find(|known| known.0 == description && known.1 == present).map(|known| known.2)
    }

    /// Remembers a shape by the Rust type it was made of.
    pub(super) fn remember_type(&mut self, description: usize, present: u64, number: u32) {
        self.types.push((description, present, number));
    }
}

/// Writes the definition of a shape.
pub(super) fn define<'a>(
    out: &mut Vec<u8>,
    kind: u8,
    name: &str,
    fields: impl ExactSizeIterator<Item = &'a str> + Clone,
) {
    if kind == shape::RECORD
        && let Some((number, mask)) = known::shape_number(name, fields.clone())
    {
        varint::write(out, number << 2 | u64::from(shape::KNOWN));
        varint::write(out, mask);
        return;
    }
    varint::write(out, (fields.len() as u64) << 2 | u64::from(kind));
    if kind == shape::RECORD {
        name_bytes(out, name);
    }
    fields.for_each(|field| name_bytes(out, field));
}

fn name_bytes(out: &mut Vec<u8>, name: &str) {
    varint::write(out, name.len() as u64);
    out.extend_from_slice(name.as_bytes());
}

/// Writes one body. Only types with an [`super::Encode`] of their own need to know it.
// Values go to the end of `out`; the caller puts the dictionary before them.
pub struct Writer<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) dictionary: &'a mut Dictionary,
    start: usize,
    depth: u32,
    too_deep: bool,
    /// Recording of references to the dictionary, so that these may be rewritten.
    notes_references: bool,
    /// Labels by the address of the shared value.
    labels: FxHashMap<usize, u32>,
    /// True to pack bytes whose neighbours are alike.
    pub(super) packs_bytes: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, dictionary: &'a mut Dictionary) -> Self {
        dictionary.clear();
        let start = out.len();
        let (notes_references, labels) = (false, FxHashMap::default());
        Self { out, dictionary, start, depth: 0, too_deep: false, notes_references, labels, packs_bytes: true }
    }

    /// Creates a writer for a message: on a link, to pack a byte takes longer than to send it.
    pub(super) fn of_message(out: &'a mut Vec<u8>, dictionary: &'a mut Dictionary, packs_bytes: bool) -> Self {
        Self { packs_bytes, ..Self::new(out, dictionary) }
    }

    /// Creates a writer for a document that stands alone: an item with one reference is written in place.
    pub(super) fn of_document(out: &'a mut Vec<u8>, dictionary: &'a mut Dictionary) -> Self {
        Self { notes_references: true, ..Self::new(out, dictionary) }
    }

    /// Writes something nested; nothing but null beyond the limit, and then [`Writer::finish`] fails.
    #[inline]
    pub(super) fn nested(&mut self, write: impl FnOnce(&mut Self)) {
        if self.depth == LEVELS {
            self.too_deep = true;
            self.out.push(tags::NULL);
            return;
        }
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    /// Ends the body; the dictionary stays for the caller. Returns true if the references to the dictionary were
    /// recorded, so that these may be rewritten.
    pub(super) fn finish(self) -> Result<bool, EncodeError> {
        if self.too_deep { Err(EncodeError::TooDeep { levels: LEVELS }) } else { Ok(self.notes_references) }
    }

    /// Returns the bytes that were written, with those of the dictionary.
    pub(super) fn bytes(&self) -> usize {
        self.out.len() - self.start + self.dictionary.items().1.len()
    }

    /// Returns the label of the value at this address; a new value takes the next label.
    pub(super) fn label(&mut self, address: usize) -> Option<u32> {
        let next = self.labels.len() as u32;
        match self.labels.entry(address) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => {
                entry.insert(next);
                None
            }
        }
    }

    pub(super) fn tag(&mut self, tag: u8) {
        self.out.push(tag);
    }

    pub(super) fn number(&mut self, number: u64) {
        varint::write(self.out, number);
    }

    /// Writes a whole number.
    #[inline]
    pub(super) fn int(&mut self, n: i64) {
        let small = n.wrapping_sub(tags::SMALL_INT_LEAST);
        if (0..tags::SMALL_INTS).contains(&small) {
            self.out.push(tags::SMALL_INT + small as u8);
        } else {
            self.larger_int(n);
        }
    }

    fn larger_int(&mut self, n: i64) {
        let (beyond, side) = beyond_small(n);
        match fixed_width(beyond) {
            Some((bytes, rest)) => {
                let end = self.out.len() + 1 + bytes;
                self.out.push(side.get(bytes - 1).copied().unwrap_or_default());
                self.out.extend_from_slice(&rest.to_le_bytes());
                self.out.truncate(end);
            }
            None => {
                self.out.push(tags::INT);
                varint::write(self.out, varint::zigzag(n));
            }
        }
    }

    /// Returns the number of bytes that [`Writer::int`] writes.
    #[inline]
    pub(super) fn int_bytes(n: i64) -> usize {
        if (0..tags::SMALL_INTS).contains(&n.wrapping_sub(tags::SMALL_INT_LEAST)) {
            return 1;
        }
        let fixed = fixed_width(beyond_small(n).0).map(|(bytes, _)| bytes);
        1 + fixed.unwrap_or_else(|| varint::length(varint::zigzag(n)))
    }

    /// Writes text in the shortest way.
    pub(super) fn text(&mut self, text: &str) {
        if text.len() < SHARED_TEXT_BYTES_MIN {
            return self.text_in_place(text);
        }
        match numeric(text) {
            Some(n) => {
                self.out.push(tags::NUMERIC_TEXT);
                varint::write(self.out, varint::zigzag(n));
            }
            None if self.is_alone() => self.text_in_place(text),
            None => {
                let number = self.dictionary.text(text);
                self.reference(ReferenceKind::Text, number);
            }
        }
    }

    /// Returns true if nothing was written yet. Then the next value is the whole body, and nothing can refer to it.
    fn is_alone(&self) -> bool {
        self.out.len() == self.start
    }

    /// Writes text that will hardly come again.
    pub(super) fn text_in_place(&mut self, text: &str) {
        if text.len() < tags::SHORT_TEXTS {
            self.out.push(tags::SHORT_TEXT + text.len() as u8);
        } else {
            self.out.push(tags::TEXT);
            varint::write(self.out, text.len() as u64);
        }
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes an atom.
    pub(super) fn atom(&mut self, name: &str) {
        if name.len() < SHARED_TEXT_BYTES_MIN || self.is_alone() {
            self.atom_in_place(name);
        } else {
            let number = self.dictionary.text(name);
            self.reference(ReferenceKind::Atom, number);
        }
    }

    /// Writes an atom that will hardly come again.
    pub(super) fn atom_in_place(&mut self, name: &str) {
        self.out.push(tags::ATOM);
        varint::write(self.out, name.len() as u64);
        self.out.extend_from_slice(name.as_bytes());
    }

    /// Writes a name where nothing else can stand.
    pub(super) fn name(&mut self, name: &str) {
        if name.len() < SHARED_TEXT_BYTES_MIN {
            varint::write(self.out, (name.len() as u64) << 1 | 1);
            self.out.extend_from_slice(name.as_bytes());
        } else {
            let number = self.dictionary.text(name);
            self.reference(ReferenceKind::Name, number);
        }
    }

    /// Begins an object of this shape.
    pub(super) fn object(&mut self, shape: u32) {
        self.reference(ReferenceKind::Object, shape);
    }

    /// Begins a list of `count` values.
    pub(super) fn list(&mut self, count: usize) {
        if count < tags::SHORT_LISTS {
            self.out.push(tags::SHORT_LIST + count as u8);
        } else {
            self.out.push(tags::LIST);
            varint::write(self.out, count as u64);
        }
    }

    fn reference(&mut self, place: ReferenceKind, number: u32) {
        let at = self.out.len();
        reference(self.out, place, number);
        if self.notes_references {
            let bytes = (self.out.len() - at) as u32;
            let references = &mut self.dictionary.references;
            references.push(Reference { at: (at - self.start) as u32, bytes, place, number });
            self.notes_references = references.len() <= REFERENCES_MAX;
        }
    }

    /// Returns the number of a text in the dictionary, for a column, which cannot be rewritten.
    pub(super) fn column_text(&mut self, text: &str) -> u32 {
        self.notes_references = false;
        self.dictionary.text(text)
    }

    /// Begins a table of this shape.
    pub(super) fn table(&mut self, shape: u32) {
        self.notes_references = false;
        self.out.push(tags::column::TABLE);
        varint::write(self.out, u64::from(shape));
    }
}

/// Returns the distance of a number from the small ones, and the tags of that side.
fn beyond_small(n: i64) -> (u64, [u8; 4]) {
    const END: i64 = tags::SMALL_INT_LEAST + tags::SMALL_INTS;
    if n >= END {
        ((n - END) as u64, tags::MORE)
    } else {
        ((tags::SMALL_INT_LEAST - 1).wrapping_sub(n) as u64, tags::LESS)
    }
}

/// First numbers beyond those that 0, 1, 2, 3 and 4 bytes hold.
pub(super) const FIXED_STARTS: [u64; 5] = [0, 0x100, 0x1_0100, 0x101_0100, 0x1_0101_0100];

/// Returns the number of bytes for a number beyond the small ones, and their content; `None` if four do not suffice.
fn fixed_width(beyond: u64) -> Option<(usize, u32)> {
    let bytes = FIXED_STARTS.iter().position(|start| beyond < *start)?;
    Some((bytes, (beyond - FIXED_STARTS.get(bytes - 1)?) as u32))
}

/// Kind of a reference to the dictionary, which determines how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferenceKind {
    Text,
    Atom,
    Name,
    Object,
}

/// A place that refers to the dictionary.
pub(super) struct Reference {
    /// Offset in the value.
    pub(super) at: u32,
    /// Number of bytes of the reference.
    pub(super) bytes: u32,
    pub(super) place: ReferenceKind,
    pub(super) number: u32,
}

/// Writes a number in the dictionary.
pub(super) fn reference(out: &mut Vec<u8>, place: ReferenceKind, number: u32) {
    let (short, shorts, long) = match place {
        ReferenceKind::Text => (tags::TEXT_REF, tags::TEXT_REFS, tags::LONG_TEXT_REF),
        ReferenceKind::Atom => (tags::ATOM_REF, tags::ATOM_REFS, tags::LONG_ATOM_REF),
        ReferenceKind::Object => (tags::OBJECT, tags::OBJECTS, tags::LONG_OBJECT),
        ReferenceKind::Name => return varint::write(out, u64::from(number) << 1),
    };
    if number < shorts {
        out.push(short + number as u8);
    } else {
        out.push(long);
        varint::write(out, u64::from(number));
    }
}

/// Begins a dictionary of `count` items.
pub(super) fn dictionary_tag(out: &mut Vec<u8>, count: u32) {
    if count < tags::DICTIONARIES {
        out.push(tags::DICTIONARY + count as u8);
    } else {
        out.push(tags::LONG_DICTIONARY);
        varint::write(out, u64::from(count));
    }
}
