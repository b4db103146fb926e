"""Reader of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import DecodeError
from ..json import atom_named
from ..values import mapping
from . import tags
from .read_value import (
    ABSENT,
    CELL_BYTES,
    COMPOUND_BYTES,
    PAIR_BYTES,
    assemble,
    power_of_ten,
    read_doubles,
    read_value,
)
from .reader import Reader
from .varints import ends_clean, packed_length, unpack_bits, wrap


def row_count(r: Reader) -> int:
    """Reads the number of rows of a list or map, and charges their memory."""
    count = r.number()
    if -(-count // tags.ROWS) > r.remaining:
        r.truncated(r.at)
    r.charge(count * CELL_BYTES)
    return count


def read_columns(r: Reader, count: int) -> list[Any]:
    """Reads `count` values from columns. Their memory is charged already."""
    values: list[Any] = []
    while len(values) < count:
        values += _column(r, min(count - len(values), tags.ROWS))
    return values


def _column(r: Reader, count: int) -> list[Any]:
    if r.peek() != tags.NULLS_COLUMN:
        return _dense(r, count)
    r.byte()
    present = _presence(r, count)
    return _spread(present, _dense(r, sum(present)), None)


def _spread(present: Sequence[bool], values: Sequence[Any], none: Any) -> list[Any]:
    """Returns the values at the present rows, and `none` elsewhere."""
    rest = iter(values)
    return [next(rest) if there else none for there in present]


def _presence(r: Reader, count: int) -> list[bool]:
    """Reads the mask of present rows."""
    present = _bools(r, count)
    if not 0 < sum(present) < count:
        r.fail("column with gaps has none, or only gaps")
    return present


def _bools(r: Reader, count: int) -> list[bool]:
    packed = r.take(packed_length(count, 1))
    if not ends_clean(packed, count):
        r.fail("bits beyond the last row")
    return [bit == 1 for bit in unpack_bits(packed, count, 1)]


def _dense(r: Reader, count: int) -> list[Any]:
    """Reads a column without gaps."""
    tag = r.byte()
    reader = _READERS.get(tag)
    return reader(r, count) if reader else _ints_tagged(r, tag, count)


def _ints(r: Reader, count: int) -> list[int]:
    return _ints_tagged(r, r.byte(), count)


def _ints_tagged(r: Reader, tag: int, count: int) -> list[int]:
    if tag == tags.VARINTS_COLUMN:
        return [r.signed() for _ in range(count)]
    if tags.PACKED_COLUMN <= tag < tags.STEPS_COLUMN:
        least = r.signed()
        return [wrap(least + more) for more in _packed(r, count, tag - tags.PACKED_COLUMN)]
    if tags.STEPS_COLUMN <= tag <= tags.STEPS_COLUMN_LAST:
        value = r.signed()
        least = r.signed()
        values = [value]
        for more in _packed(r, count - 1, tag - tags.STEPS_COLUMN):
            value = wrap(value + least + more)
            values.append(value)
        return values
    return r.fail("unknown kind of column")


def _packed(r: Reader, count: int, width: int) -> list[int]:
    data = r.take(packed_length(count, width))
    if not ends_clean(data, count * width):
        r.fail("bits beyond the last number")
    return unpack_bits(data, count, width)


def _lengths(r: Reader, count: int, sum_max: int) -> list[int]:
    """Reads a column of lengths. None is negative, and their sum is at most `sum_max`."""
    at = r.at
    each = _ints(r, count)
    if any(length < 0 for length in each) or sum(each) > sum_max:
        raise DecodeError("malformed", "lengths exceed the bytes", at)
    return each


def _refs(r: Reader, count: int) -> list[str]:
    numbers = _ints(r, count)
    if any(number < 0 for number in numbers):
        r.fail("text not in the dictionary")
    return [r.dictionary_text(number) for number in numbers]


def _run(r: Reader, count: int) -> list[str]:
    """Reads texts that are stored as one. Each is cut out as bytes, and must be valid by itself."""
    each = _lengths(r, count, r.remaining)
    r.charge(sum(each))
    return [r.text(length) for length in each]


def _decimals(r: Reader, count: int) -> list[float]:
    by = power_of_ten(r)
    return [whole / by for whole in _ints(r, count)]


def _numeric_texts(r: Reader, count: int) -> list[str]:
    r.charge(count * 20)
    return [str(number) for number in _ints(r, count)]


def _series(r: Reader, count: int) -> list[str]:
    digits = r.byte()
    before, after = r.name(), r.name()
    if digits > tags.SERIES_DIGITS_MAX:
        r.fail("series with too many digits")
    numbers = _ints(r, count)
    if any(number < 0 for number in numbers):
        r.fail("series with a negative number")
    r.charge(count * (len(before) + len(after) + 20))
    return [f"{before}{number:0{digits}d}{after}" if digits else f"{before}{number}{after}" for number in numbers]


def _byte_runs(r: Reader, count: int) -> list[bytes]:
    each = _lengths(r, count, r.remaining)
    r.charge(sum(each) + count * CELL_BYTES)
    return [r.take(length) for length in each]


def _pieces(values: list[Any], each: list[int]) -> list[list[Any]]:
    at = 0
    pieces = []
    for length in each:
        pieces.append(values[at : at + length])
        at += length
    return pieces


def _lists(r: Reader, count: int) -> list[Any]:
    r.enter()
    each = _lengths(r, count, r.limits.budget_bytes)
    r.charge(sum(each) * CELL_BYTES)
    lists = _pieces(read_columns(r, sum(each)), each)
    r.depth -= 1
    return lists


def _maps(r: Reader, count: int) -> list[Any]:
    r.enter()
    each = _lengths(r, count, r.limits.budget_bytes)
    total = sum(each)
    r.charge(total * 2 * CELL_BYTES)
    keys = read_columns(r, total)
    values = read_columns(r, total)
    r.depth -= 1
    return [mapping(pairs) for pairs in _pieces(list(zip(keys, values)), each)]


def _table(r: Reader, count: int) -> list[Any]:
    """Reads objects of one shape, a column per field."""
    r.enter()
    shape = r.shape_numbered(r.number())
    if shape.width > r.remaining:
        r.truncated(r.at)
    r.charge(count * (COMPOUND_BYTES + shape.width * PAIR_BYTES))
    columns = [_cells(r, count) for _ in range(shape.width)]
    r.depth -= 1
    return [assemble(shape, [column[row] for column in columns]) for row in range(count)]


def _cells(r: Reader, count: int) -> list[Any]:
    """Reads the column of a field."""
    if r.peek() != tags.ABSENT_COLUMN:
        return _column(r, count)
    r.byte()
    present = _presence(r, count)
    return _spread(present, _column(r, sum(present)), ABSENT)


def _constant(r: Reader, count: int) -> list[Any]:
    return [read_value(r)] * count


_READERS: dict[int, Callable[[Reader, int], list[Any]]] = {
    tags.ANY_COLUMN: lambda r, count: [read_value(r) for _ in range(count)],
    tags.CONSTANT_COLUMN: _constant,
    tags.BOOLS_COLUMN: lambda r, count: list(_bools(r, count)),
    tags.F32_COLUMN: lambda r, count: list(read_doubles(r, True, count)),
    tags.F64_COLUMN: lambda r, count: list(read_doubles(r, False, count)),
    tags.WHOLE_COLUMN: lambda r, count: [float(whole) for whole in _ints(r, count)],
    tags.DECIMALS_COLUMN: lambda r, count: list(_decimals(r, count)),
    tags.TEXTS_COLUMN: lambda r, count: list(_run(r, count)),
    tags.TEXT_REFS_COLUMN: lambda r, count: list(_refs(r, count)),
    tags.ATOMS_COLUMN: lambda r, count: [atom_named(name) for name in _run(r, count)],
    tags.ATOM_REFS_COLUMN: lambda r, count: [atom_named(name) for name in _refs(r, count)],
    tags.NUMERIC_TEXTS_COLUMN: lambda r, count: list(_numeric_texts(r, count)),
    tags.SERIES_COLUMN: lambda r, count: list(_series(r, count)),
    tags.BYTES_COLUMN: lambda r, count: list(_byte_runs(r, count)),
    tags.LISTS_COLUMN: _lists,
    tags.MAPS_COLUMN: _maps,
    tags.TABLE_COLUMN: _table,
}
