//! The first byte of a value, and the first byte of a column.

/// Whole numbers -8 to 55, in the tag itself.
pub(super) const SMALL_INT: u8 = 0x00;
pub(super) const SMALL_INT_LEAST: i64 = -8;
pub(super) const SMALL_INTS: i64 = 64;
/// Text of up to 31 bytes, which follow.
pub(super) const SHORT_TEXT: u8 = 0x40;
pub(super) const SHORT_TEXTS: usize = 32;
/// One of the dictionary's first 32 texts.
pub(super) const TEXT_REF: u8 = 0x60;
pub(super) const TEXT_REFS: u32 = 32;
/// A list of up to 15 values, which follow.
pub(super) const SHORT_LIST: u8 = 0x80;
pub(super) const SHORT_LISTS: usize = 16;
/// An object of one of the dictionary's first 16 shapes; its fields follow.
pub(super) const OBJECT: u8 = 0x90;
pub(super) const OBJECTS: u32 = 16;
/// An atom: one of the dictionary's first 16 texts.
pub(super) const ATOM_REF: u8 = 0xA0;
pub(super) const ATOM_REFS: u32 = 16;
/// Doubles that are whole numbers 0 to 7.
pub(super) const SMALL_NUM: u8 = 0xB0;
pub(super) const SMALL_NUMS: i64 = 8;
pub(super) const SMALL_NUM_LAST: u8 = 0xB7;
/// Whole numbers above the small ones, as the distance above 56. The four tags have one to four bytes; each begins at
/// the end of the one before.
pub(super) const MORE: [u8; 4] = [0xD9, 0xDA, 0xDB, 0xDC];
/// Whole numbers below the small ones, as the distance below -9. The four tags have one to four bytes; each begins at
/// the end of the one before.
pub(super) const LESS: [u8; 4] = [0xDD, 0xDE, 0xDF, 0xE0];

pub(super) const NULL: u8 = 0xC0;
pub(super) const FALSE: u8 = 0xC1;
pub(super) const TRUE: u8 = 0xC2;
/// Any other whole number: a zigzag varint.
pub(super) const INT: u8 = 0xC3;
/// Eight bytes.
pub(super) const F64: u8 = 0xC4;
/// Four bytes: a double that is a single, too.
pub(super) const F32: u8 = 0xC5;
/// A double that is a whole number: a zigzag varint.
pub(super) const WHOLE_NUM: u8 = 0xC6;
/// A double that is a whole number by a power of ten: the power, then a zigzag varint.
pub(super) const DECIMAL_NUM: u8 = 0xC7;
/// Text: its length, then its bytes.
pub(super) const TEXT: u8 = 0xC8;
/// A number in the dictionary of texts.
pub(super) const LONG_TEXT_REF: u8 = 0xC9;
/// A 64-bit number as text, without leading zeros: a zigzag varint.
pub(super) const NUMERIC_TEXT: u8 = 0xCA;
/// Bytes: their length, then the bytes.
pub(super) const BYTES: u8 = 0xCB;
/// List: a count, then as many values.
pub(super) const LIST: u8 = 0xCC;
/// Open list: a count, as many values, and a value that ends the list.
pub(super) const OPEN_LIST: u8 = 0xCD;
/// Array: a count, and a column of as many values.
pub(super) const ARRAY: u8 = 0xCE;
/// A number in the dictionary of shapes, and the fields.
pub(super) const LONG_OBJECT: u8 = 0xCF;
/// A count, a column of keys and a column of values.
pub(super) const MAP: u8 = 0xD0;
/// Flags and the parts of a term they name.
pub(super) const TERM: u8 = 0xD1;
/// A number in the dictionary of texts, as an atom.
pub(super) const LONG_ATOM_REF: u8 = 0xD2;
/// Atom: the length of its name, then the name.
pub(super) const ATOM: u8 = 0xD3;
/// A slot and a name.
pub(super) const VARIABLE: u8 = 0xD4;
/// A mutable container, labelled with the next number: its kind, a count, values.
pub(super) const CONTAINER: u8 = 0xD5;
/// The value that has this label.
pub(super) const REFERENCE: u8 = 0xD6;
/// The next value is labelled with the next number.
pub(super) const LABEL: u8 = 0xD7;
/// Object whose shape precedes the fields, in place.
pub(super) const OBJECT_IN_PLACE: u8 = 0xBF;
/// A map of 1 to 6 entries with text as keys: the keys, then the values.
pub(super) const SHORT_MAP: u8 = 0xB8;
pub(super) const SHORT_MAPS: u64 = 6;
pub(super) const SHORT_MAP_LAST: u8 = 0xBD;
/// Bytes packed in blocks: a length, how, and the blocks.
pub(super) const PACKED_BYTES: u8 = 0xBE;
/// A dictionary of 1 to 14 items (0xE1 to 0xEE), then a value that uses it. Only at the beginning.
pub(super) const DICTIONARY: u8 = 0xE0;
pub(super) const FIRST_DICTIONARY: u8 = 0xE1;
pub(super) const DICTIONARIES: u32 = 15;
/// Dictionary with a count of 15 or more.
pub(super) const LONG_DICTIONARY: u8 = 0xEF;
/// A term with up to 15 arguments and nothing special: its name, its arguments.
pub(super) const PLAIN_TERM: u8 = 0xF0;
pub(super) const PLAIN_TERMS: usize = 16;

/// Checks whether this tag marks a document by itself: a short list, a short map or an object in place.
pub(super) fn is_mark(tag: u8) -> bool {
    matches!(tag, SHORT_LIST..OBJECT | SHORT_MAP..=SHORT_MAP_LAST | OBJECT_IN_PLACE)
}

/// Flags of [`TERM`]: the optional parts that follow.
pub(super) mod term {
    pub(in crate::compact) const NEGATED: u8 = 1;
    pub(in crate::compact) const NAMESPACE: u8 = 2;
    pub(in crate::compact) const ANNOTS: u8 = 4;
    pub(in crate::compact) const TAIL: u8 = 8;
    pub(in crate::compact) const ALL: u8 = 15;
}

/// The kinds of [`CONTAINER`]s.
pub(super) mod container {
    pub(in crate::compact) const MAP: u8 = 0;
    pub(in crate::compact) const SET: u8 = 1;
    pub(in crate::compact) const QUEUE: u8 = 2;
    pub(in crate::compact) const PRIORITY_QUEUE: u8 = 3;
}

/// The kinds of dictionary items: the two low bits of the number an item begins with.
pub(super) mod item {
    /// Item known to both ends; the rest of the number says which.
    pub(in crate::compact) const KNOWN: u64 = 0;
    /// Text; the rest of the number is its length.
    pub(in crate::compact) const TEXT: u64 = 1;
    /// A shape (in a body) or an agent with addresses (in a head); the rest is its length.
    pub(in crate::compact) const STRUCTURE: u64 = 2;
    /// Item to remember; the rest of the number is the place, and the item itself follows. Only on a link.
    pub(in crate::compact) const REMEMBER: u64 = 3;
}

/// The kinds of shapes: the two low bits of the number a shape begins with; the rest is the count of fields, or which
/// known shape it is.
pub(super) mod shape {
    pub(in crate::compact) const RECORD: u8 = 0;
    pub(in crate::compact) const MAP: u8 = 1;
    pub(in crate::compact) const TERM: u8 = 2;
    /// Some fields of a shape that both ends know.
    pub(in crate::compact) const KNOWN: u8 = 3;
}

/// The first byte of a column: how its values are written. Whole numbers of 0 to 64 bits have 65 tags each way.
pub(super) mod column {
    /// Values of any kind, as they would stand alone.
    pub(in crate::compact) const ANY: u8 = 0;
    /// One value for all rows.
    pub(in crate::compact) const CONSTANT: u8 = 1;
    /// A bit per row, set if it is not null, and a column of the other rows' values.
    pub(in crate::compact) const NULLS: u8 = 2;
    /// A bit per row, set if it has the field, and a column of those rows' values.
    pub(in crate::compact) const ABSENT: u8 = 3;
    /// A bit per row.
    pub(in crate::compact) const BOOLS: u8 = 4;
    /// Eight bytes per row.
    pub(in crate::compact) const F64: u8 = 5;
    /// Four bytes per row.
    pub(in crate::compact) const F32: u8 = 6;
    /// A power of ten, and a column of whole numbers that it divides.
    pub(in crate::compact) const DECIMALS: u8 = 7;
    /// Doubles that are whole: a column of whole numbers.
    pub(in crate::compact) const WHOLE: u8 = 8;
    /// A column of lengths, then all texts as one.
    pub(in crate::compact) const TEXTS: u8 = 9;
    /// A column of numbers in the dictionary.
    pub(in crate::compact) const TEXT_REFS: u8 = 10;
    /// Texts that are numbers: a column of whole numbers.
    pub(in crate::compact) const NUMERIC_TEXTS: u8 = 11;
    /// Texts that differ in a number: digits, the text before and after, a column of whole numbers.
    pub(in crate::compact) const SERIES: u8 = 12;
    /// Atoms, as [`TEXTS`].
    pub(in crate::compact) const ATOMS: u8 = 13;
    /// Atoms, as [`TEXT_REFS`].
    pub(in crate::compact) const ATOM_REFS: u8 = 14;
    /// A column of lengths, then all bytes.
    pub(in crate::compact) const BYTES: u8 = 15;
    /// A column of lengths, then all elements.
    pub(in crate::compact) const LISTS: u8 = 16;
    /// A shape, then a column per field.
    pub(in crate::compact) const TABLE: u8 = 17;
    /// A column of counts, then all keys, then all values.
    pub(in crate::compact) const MAPS: u8 = 18;
    /// A number per row.
    pub(in crate::compact) const VARINTS: u8 = 19;
    /// Packed numbers. The tag is this and the bits per row; the least number follows, then distances from it.
    pub(in crate::compact) const PACKED: u8 = 0x40;
    /// Packed steps. The tag is this and the bits per row; the first number and the least step follow, then distances
    /// of steps from that.
    pub(in crate::compact) const STEPS: u8 = PACKED + 65;
    pub(in crate::compact) const STEPS_LAST: u8 = STEPS + 64;
}
