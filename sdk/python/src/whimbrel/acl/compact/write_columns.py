"""Writer of columns. A list of values of one kind is written column by column where that is shorter."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..order import pairs_of
from ..values import Record, Term
from . import tags
from .kinds import kind_of, kind_of_all
from .varints import (
    MASK_64,
    pack_bits,
    pack_bools,
    packed_length,
    signed_length,
    utf8,
    wrap,
    write_number,
    write_signed,
)
from .write_value import is_single, same, scaled_by, whole_of, write_double, write_value
from .writer import Writer, int_length, numeric

#: Least length of a list with nulls that is written as columns.
_NULLS_PAY_FROM = 8
#: Least count of integers for an array, and of differences to try.
_PACKED_COUNT_MIN = 4
#: Differences to sample before trying all.
_STEPS_TRIED = 16
#: Least count of texts for a series.
_SERIES_ROWS_MIN = 3
#: Maximum fields of a table, over all rows.
_FIELDS_MAX = 256
#: Least ratio of an object's fields to all fields of a table, as its inverse.
_SPARSE_MAX = 16

_DIGITS = re.compile(r"[0-9]+")


def write_list(w: Writer, items: list[Any]) -> None:
    """Writes a list of at least one value."""
    if _pays(items):
        w.out.append(tags.ARRAY)
        write_number(w.out, len(items))
        write_columns(w, items)
    else:
        w.short_list(len(items))
        for item in items:
            write_value(w, item)


def _has_gaps(items: list[Any]) -> bool:
    """Returns true if the list has nulls among values of one kind."""
    there = [item for item in items if item is not None]
    return len(there) < len(items) and kind_of_all(there) != "other"


def _pays(items: list[Any]) -> bool:
    kind = kind_of_all(items)
    if kind == "int":
        return _ints_pay(items)
    if kind == "other":
        return len(items) >= _NULLS_PAY_FROM and _has_gaps(items)
    if kind == "null":
        return False
    return len(items) >= {"bool": 5, "num": 4, "atom": 4, "str": 4}.get(kind, 3)


def write_columns(w: Writer, items: list[Any]) -> None:
    """Writes values as columns."""
    for start in range(0, len(items), tags.ROWS):
        _write_column(w, items[start : start + tags.ROWS])


def _write_column(w: Writer, rows: list[Any]) -> None:
    kind = kind_of_all(rows)
    if kind == "int":
        _write_ints(w, rows)
    elif kind == "num":
        _write_doubles(w, rows)
    elif kind == "str":
        _write_texts(w, rows, True)
    elif kind == "atom":
        _write_texts(w, [row.functor for row in rows], False)
    elif all(_identical(rows[0], row) for row in rows):
        w.out.append(tags.CONSTANT_COLUMN)
        write_value(w, rows[0])
    elif kind == "bool":
        w.out.append(tags.BOOLS_COLUMN)
        pack_bools(w.out, [row is True or getattr(row, "functor", "") == "true" for row in rows])
    elif kind == "bytes":
        w.out.append(tags.BYTES_COLUMN)
        _write_ints(w, [len(row) for row in rows])
        w.out += b"".join(rows)
    elif kind in ("null", "other"):
        _write_mixed(w, rows)
    else:
        _write_nested(w, rows, kind)


def _write_nested(w: Writer, rows: list[Any], kind: str) -> None:
    w.enter()
    if kind == "list":
        w.out.append(tags.LISTS_COLUMN)
        _write_ints(w, [len(row) for row in rows])
        write_columns(w, list(itertools.chain.from_iterable(rows)))
    elif kind == "map":
        w.out.append(tags.MAPS_COLUMN)
        _write_ints(w, [len(row) for row in rows])
        pairs = [pair for row in rows for pair in pairs_of(row)]
        write_columns(w, [key for key, _ in pairs])
        write_columns(w, [item for _, item in pairs])
    elif not _write_table(w, rows):
        _write_any(w, rows)
    w.depth -= 1


def _write_any(w: Writer, rows: list[Any]) -> None:
    w.out.append(tags.ANY_COLUMN)
    for row in rows:
        write_value(w, row)


def _write_mixed(w: Writer, rows: list[Any]) -> None:
    if not _has_gaps(rows):
        _write_any(w, rows)
        return
    w.out.append(tags.NULLS_COLUMN)
    pack_bools(w.out, [row is not None for row in rows])
    _write_column(w, [row for row in rows if row is not None])


def _identical(one: Any, other: Any) -> bool:
    """Returns true if two values have the same encoding. Containers are references, so never."""
    kind = kind_of(one)
    if kind != kind_of(other) or kind == "object":
        return False
    if kind == "num":
        return same(one, other)
    if kind == "bool":
        return str(one).lower() == str(other).lower()
    if kind == "list":
        return _all_identical(one, other)
    if kind == "open":
        return _all_identical(one.items, other.items) and _identical(one.tail, other.tail)
    if kind == "term":
        heads = ("functor", "namespace", "negated", "annot_tail")
        if any(getattr(one, name) != getattr(other, name) for name in heads):
            return False
        return _all_identical(one.args, other.args) and _all_identical(one.annots, other.annots)
    if kind in ("map", "record"):
        return _identical_pairs(one, other)
    return bool(one == other)


def _identical_pairs(one: Any, other: Any) -> bool:
    if isinstance(one, Record):
        if one.type_name != other.type_name:
            return False
        left, right = list(one.items()), list(other.items())
    else:
        left, right = pairs_of(one), pairs_of(other)
    is_same = len(left) == len(right)
    return is_same and all(_identical(a[0], b[0]) and _identical(a[1], b[1]) for a, b in zip(left, right))


def _all_identical(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(map(_identical, one, other))


# ---- Whole numbers


class _Plan(NamedTuple):
    """Form of a column of integers, and its length in bytes."""

    form: str
    least: int
    width: int
    size: int


def _steps_of(values: Sequence[int]) -> list[int]:
    """Returns the differences between neighbours. They wrap at 64 bits, and wrap back when decoded."""
    return [wrap(value - before) for before, value in itertools.pairwise(values)]


def _bounds_of(values: Sequence[int]) -> tuple[int, int]:
    least = min(values)
    return least, (max(values) - least & MASK_64).bit_length()


def _plan_ints(values: Sequence[int]) -> _Plan:
    """Returns the shortest form of at least one integer."""
    least, width = _bounds_of(values)
    count = len(values)
    best = _Plan("packed", least, width, 1 + signed_length(least) + packed_length(count, width))
    if width == 0:
        return best
    if count >= _PACKED_COUNT_MIN and _bounds_of(_steps_of(values[: _STEPS_TRIED + 1]))[1] < width:
        step, step_width = _bounds_of(_steps_of(values))
        size = 1 + signed_length(values[0]) + signed_length(step) + packed_length(count - 1, step_width)
        if size < best.size:
            best = _Plan("steps", step, step_width, size)
    size = 1 + sum(map(signed_length, values))
    return _Plan("varints", least, width, size) if size < best.size else best


def _ints_pay(values: list[int]) -> bool:
    if len(values) > tags.ROWS:
        return True
    if len(values) < _PACKED_COUNT_MIN:
        return False
    return _plan_ints(values).size < sum(map(int_length, values))


def _write_ints(w: Writer, values: Sequence[int], plan: _Plan | None = None) -> None:
    form, least, width, _ = plan or _plan_ints(values)
    if form == "varints":
        w.out.append(tags.VARINTS_COLUMN)
        for value in values:
            write_signed(w.out, value)
        return
    w.out.append((tags.PACKED_COLUMN if form == "packed" else tags.STEPS_COLUMN) + width)
    if form == "steps":
        write_signed(w.out, values[0])
        values = _steps_of(values)
    write_signed(w.out, least)
    pack_bits(w.out, [value - least & MASK_64 for value in values], width)


# ---- Doubles


def _write_doubles(w: Writer, values: list[float]) -> None:
    if all(same(value, values[0]) for value in values):
        w.out.append(tags.CONSTANT_COLUMN)
        write_double(w, values[0])
        return
    are_singles = all(map(is_single, values))
    scaled = _as_whole_numbers(values)
    if scaled is not None:
        power, whole = scaled
        plan = _plan_ints(whole)
        if plan.size < len(values) * (4 if are_singles else 8):
            w.out.append(tags.DECIMALS_COLUMN if power else tags.WHOLE_COLUMN)
            if power:
                w.out.append(power)
            _write_ints(w, whole, plan)
            return
    w.out.append(tags.F32_COLUMN if are_singles else tags.F64_COLUMN)
    w.out += struct.pack(f"<{len(values)}{'f' if are_singles else 'd'}", *values)


def _scale(value: float, power: int) -> int | None:
    return scaled_by(value, 10.0**power) if power else whole_of(value)


def _as_whole_numbers(values: list[float]) -> tuple[int, list[int]] | None:
    """Returns the least power of ten that makes all values whole, and the results."""
    power = 0
    for value in values:
        while _scale(value, power) is None:
            power += 1
            if power == 10:
                return None
    whole: list[int] = []
    for value in values:
        scaled = _scale(value, power)
        if scaled is None:
            return None
        whole.append(scaled)
    return power, whole


# ---- Texts and atoms


def _write_texts(w: Writer, rows: list[str], are_texts: bool) -> None:
    if all(row == rows[0] for row in rows):
        w.out.append(tags.CONSTANT_COLUMN)
        (w.text if are_texts else w.atom)(rows[0])
        return
    if are_texts:
        numbers = [numeric(row) for row in rows]
        if all(number is not None for number in numbers):
            w.out.append(tags.NUMERIC_TEXTS_COLUMN)
            _write_ints(w, [number for number in numbers if number is not None])
            return
        if _write_series(w, rows):
            return
    data = [utf8(row) for row in rows]
    distinct = list(dict.fromkeys(rows))
    costs = sum(map(w.dictionary.cost_of, distinct))
    as_refs = costs + len(rows) * len(distinct).bit_length() // 8
    if as_refs < sum(map(len, data)) + len(rows):
        w.out.append(tags.TEXT_REFS_COLUMN if are_texts else tags.ATOM_REFS_COLUMN)
        places = {text: w.column_text(text) for text in distinct}
        _write_ints(w, [places[row] for row in rows])
        return
    w.out.append(tags.TEXTS_COLUMN if are_texts else tags.ATOMS_COLUMN)
    _write_ints(w, [len(one) for one in data])
    w.out += b"".join(data)


def _alike(rows: list[str]) -> int:
    """Returns the number of characters with which all rows begin."""
    least, most = min(rows), max(rows)
    for at, (one, other) in enumerate(zip(least, most)):
        if one != other:
            return at
    return min(len(least), len(most))


def _write_series(w: Writer, rows: list[str]) -> bool:
    """Writes texts that differ only in a number. Returns false, without writing, for others."""
    if len(rows) < _SERIES_ROWS_MIN:
        return False
    first = rows[0]
    start = _alike(rows)
    while start and first[start - 1] in "0123456789":
        start -= 1
    end = start
    while end < len(first) and first[end] in "0123456789":
        end += 1
    before, after = first[:start], first[end:]
    if not before and not after:
        return False
    middles = [row[start : len(row) - len(after)] if row[start:].endswith(after) else "" for row in rows]
    is_padded = any(len(middle) > 1 and middle.startswith("0") for middle in middles)
    for middle in middles:
        fits = _DIGITS.fullmatch(middle) and len(middle) <= tags.SERIES_DIGITS_MAX
        if not fits or (is_padded and len(middle) != end - start):
            return False
    w.out.append(tags.SERIES_COLUMN)
    w.out.append(end - start if is_padded else 0)
    w.name(before)
    w.name(after)
    _write_ints(w, [int(middle) for middle in middles])
    return True


# ---- Tables

_Fields = list[tuple[str, Any]]


def _fields_of(row: Any) -> _Fields:
    """Returns an object's fields in order. Those of terms have no names."""
    if isinstance(row, Record):
        return list(row.items())
    return [("", arg) for arg in row.args] if isinstance(row, Term) else pairs_of(row)


def _write_table(w: Writer, rows: list[Any]) -> bool:
    """Writes objects of one kind as a table. Returns false, without writing, if the fields do not match."""
    every = [_fields_of(row) for row in rows]
    names = [name for name, _ in every[0]]
    if any([name for name, _ in fields] != names for fields in every):
        return _write_table_with_gaps(w, rows[0], every)
    _begin_table(w, rows[0], names)
    for place in range(len(names)):
        _write_column(w, [fields[place][1] for fields in every])
    return True


def _begin_table(w: Writer, first: Any, names: list[str]) -> None:
    if isinstance(first, Term):
        w.table(w.dictionary.shape(tags.TERM_SHAPE, first.functor, [], len(names)))
    elif isinstance(first, Record):
        w.table(w.dictionary.shape(tags.RECORD_SHAPE, first.type_name, names))
    else:
        w.table(w.dictionary.shape(tags.MAP_SHAPE, "", names))


def _write_table_with_gaps(w: Writer, first: Any, every: list[_Fields]) -> bool:
    sorted_names = sorted({name for fields in every for name, _ in fields})
    names = _union_of(every) if isinstance(first, Record) else sorted_names
    cells = sum(map(len, every))
    if names is None or len(names) > _FIELDS_MAX or len(names) * len(every) > _SPARSE_MAX * cells:
        return False
    _begin_table(w, first, names)
    following = [0] * len(every)
    for name in names:
        present = []
        there = []
        for row, fields in enumerate(every):
            place = following[row]
            is_there = place < len(fields) and fields[place][0] == name
            present.append(is_there)
            if is_there:
                following[row] += 1
                there.append(fields[place][1])
        if len(there) < len(every):
            w.out.append(tags.ABSENT_COLUMN)
            pack_bools(w.out, present)
        _write_column(w, there)
    return True


def _union_of(every: list[_Fields]) -> list[str] | None:
    """Returns all fields in an order that agrees with each row; None if there is none, or too many fields."""
    names: list[str] = []
    for fields in every:
        at = 0
        for name, _ in fields:
            place = names.index(name) if name in names else -1
            if 0 <= place < at:
                return None
            if place < 0:
                names.insert(at, name)
            at = (at if place < 0 else place) + 1
        if len(names) > _FIELDS_MAX:
            return None
    return names
