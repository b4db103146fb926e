"""Tags: the first byte of a value or a column (docs/design/compact-codec.md)."""

from __future__ import annotations

# Values.
SHORT_TEXT = 0x40
TEXT_REF = 0x60
SHORT_LIST = 0x80
OBJECT = 0x90
ATOM_REF = 0xA0
SMALL_NUM = 0xB0
SHORT_MAP = 0xB8
PACKED_BYTES = 0xBE
OBJECT_IN_PLACE = 0xBF
NULL = 0xC0
FALSE = 0xC1
TRUE = 0xC2
INT = 0xC3
F64 = 0xC4
F32 = 0xC5
WHOLE_NUM = 0xC6
DECIMAL_NUM = 0xC7
TEXT = 0xC8
LONG_TEXT_REF = 0xC9
NUMERIC_TEXT = 0xCA
BYTES = 0xCB
LIST = 0xCC
OPEN_LIST = 0xCD
ARRAY = 0xCE
LONG_OBJECT = 0xCF
MAP = 0xD0
TERM = 0xD1
LONG_ATOM_REF = 0xD2
ATOM = 0xD3
VARIABLE = 0xD4
CONTAINER = 0xD5
REFERENCE = 0xD6
LABEL = 0xD7
MORE = 0xD9
LESS = 0xDD
DICTIONARY = 0xE0
LONG_DICTIONARY = 0xEF
PLAIN_TERM = 0xF0

#: Least integer that a tag contains, and the number of them.
SMALL_INT_LEAST = -8
SMALL_INTS = 64
#: Largest number of map entries that a tag contains.
SHORT_MAPS = 6
#: Offsets of integers with this many bytes.
FIXED_STARTS = (0, 0x100, 0x1_0100, 0x101_0100, 0x1_0101_0100)

# Flags of a term's parts.
NEGATED, NAMESPACE, ANNOTS, TAIL, ALL_PARTS = 1, 2, 4, 8, 15

# Kinds of dictionary items: the two low bits of an item's first number.
KNOWN_ITEM, TEXT_ITEM, SHAPE_ITEM, REMEMBER_ITEM = range(4)
# Kinds of shapes: the two low bits of a shape's first number.
RECORD_SHAPE, MAP_SHAPE, TERM_SHAPE, KNOWN_SHAPE = range(4)

# Columns.
(
    ANY_COLUMN,
    CONSTANT_COLUMN,
    NULLS_COLUMN,
    ABSENT_COLUMN,
    BOOLS_COLUMN,
    F64_COLUMN,
    F32_COLUMN,
    DECIMALS_COLUMN,
    WHOLE_COLUMN,
    TEXTS_COLUMN,
    TEXT_REFS_COLUMN,
    NUMERIC_TEXTS_COLUMN,
    SERIES_COLUMN,
    ATOMS_COLUMN,
    ATOM_REFS_COLUMN,
    BYTES_COLUMN,
    LISTS_COLUMN,
    TABLE_COLUMN,
    MAPS_COLUMN,
    VARINTS_COLUMN,
) = range(20)
PACKED_COLUMN = 0x40
STEPS_COLUMN = PACKED_COLUMN + 65
STEPS_COLUMN_LAST = PACKED_COLUMN + 129

#: Rows of one column. A longer list has several.
ROWS = 1024
#: Digits of the numbers in a series of texts.
SERIES_DIGITS_MAX = 18
#: Neighbouring bytes that share one width.
BLOCK = 16

#: First byte of a document with a value, unless the value's tag is distinctive; and of one with a message.
VALUE_MARK = 0xB6
MESSAGE_MARK = 0xB7


def is_mark(tag: int) -> bool:
    """Returns true if this tag identifies a document without a mark."""
    return SHORT_LIST <= tag < OBJECT or SHORT_MAP <= tag < SHORT_MAP + SHORT_MAPS or tag == OBJECT_IN_PLACE
