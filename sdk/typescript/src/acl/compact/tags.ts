/** Tags: the first byte of a value or a column (docs/design/compact-codec.md). */
export const TAG = {
  SHORT_TEXT: 0x40,
  TEXT_REF: 0x60,
  SHORT_LIST: 0x80,
  OBJECT: 0x90,
  ATOM_REF: 0xa0,
  SMALL_NUM: 0xb0,
  SHORT_MAP: 0xb8,
  PACKED_BYTES: 0xbe,
  OBJECT_IN_PLACE: 0xbf,
  NULL: 0xc0,
  FALSE: 0xc1,
  TRUE: 0xc2,
  INT: 0xc3,
  F64: 0xc4,
  F32: 0xc5,
  WHOLE_NUM: 0xc6,
  DECIMAL_NUM: 0xc7,
  TEXT: 0xc8,
  LONG_TEXT_REF: 0xc9,
  NUMERIC_TEXT: 0xca,
  BYTES: 0xcb,
  LIST: 0xcc,
  OPEN_LIST: 0xcd,
  ARRAY: 0xce,
  LONG_OBJECT: 0xcf,
  MAP: 0xd0,
  TERM: 0xd1,
  LONG_ATOM_REF: 0xd2,
  ATOM: 0xd3,
  VARIABLE: 0xd4,
  CONTAINER: 0xd5,
  REFERENCE: 0xd6,
  LABEL: 0xd7,
  MORE: 0xd9,
  LESS: 0xdd,
  DICTIONARY: 0xe0,
  LONG_DICTIONARY: 0xef,
  PLAIN_TERM: 0xf0,
} as const;

/** Least integer that a tag contains. */
export const SMALL_INT_LEAST = -8;
/** Number of integers that tags contain. */
export const SMALL_INTS = 64;
/** Largest number of map entries that a tag contains. */
export const SHORT_MAPS = 6;
/** Offsets of integers with this many bytes. */
export const FIXED_STARTS = [0, 0x100, 0x1_0100, 0x101_0100, 0x1_0101_0100] as const;

/** Flags of a term's parts. */
export const TERM = { NEGATED: 1, NAMESPACE: 2, ANNOTS: 4, TAIL: 8, ALL: 15 } as const;

/** Kinds of containers, by number. */
export const CONTAINERS = ["map", "set", "queue", "priority-queue"] as const;

/** Kinds of dictionary items: the two low bits of an item's first number. */
export const ITEM = { KNOWN: 0, TEXT: 1, STRUCTURE: 2, REMEMBER: 3 } as const;

/** Kinds of shapes: the two low bits of a shape's first number. */
export const SHAPE = { RECORD: 0, MAP: 1, TERM: 2, KNOWN: 3 } as const;

/** Tags of columns. */
export const COLUMN = {
  ANY: 0,
  CONSTANT: 1,
  NULLS: 2,
  ABSENT: 3,
  BOOLS: 4,
  F64: 5,
  F32: 6,
  DECIMALS: 7,
  WHOLE: 8,
  TEXTS: 9,
  TEXT_REFS: 10,
  NUMERIC_TEXTS: 11,
  SERIES: 12,
  ATOMS: 13,
  ATOM_REFS: 14,
  BYTES: 15,
  LISTS: 16,
  TABLE: 17,
  MAPS: 18,
  VARINTS: 19,
  PACKED: 0x40,
  STEPS: 0x40 + 65,
  STEPS_LAST: 0x40 + 129,
} as const;

/** Rows of one column. A longer list has several. */
export const ROWS = 1024;
/** Digits of the numbers in a series of texts. */
export const SERIES_DIGITS_MAX = 18;

/** First byte of a document with a value, unless the value's tag is distinctive. */
export const VALUE_MARK = 0xb6;
/** First byte of a document with a message. */
export const MESSAGE_MARK = 0xb7;

/** Returns true if this tag identifies a document without a mark. */
export function isMark(tag: number): boolean {
  return (tag >= TAG.SHORT_LIST && tag < TAG.OBJECT) || (tag >= TAG.SHORT_MAP && tag < TAG.SHORT_MAP + SHORT_MAPS) || tag === TAG.OBJECT_IN_PLACE;
}
