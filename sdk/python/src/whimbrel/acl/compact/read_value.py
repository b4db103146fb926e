"""Reader of values."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import DecodeError
from ..json import atom_named, term_of
from ..values import CONTAINERS, Container, OpenList, Record, Term, Variable, mapping
from . import tags
from .reader import Reader, Shape
from .varints import packed_length, unpack_bits

#: Maximum memory of a list element, of a compound besides its elements, and of a pair in a map or record.
CELL_BYTES, COMPOUND_BYTES, PAIR_BYTES = 64, 112, 48
#: A field that an object lacks.
ABSENT = object()


def read_value(r: Reader) -> Any:
    """Reads a value of any kind."""
    tag = r.byte()
    if tag < tags.SMALL_INTS:
        return tag + tags.SMALL_INT_LEAST
    if tag < tags.TEXT_REF:
        return _text(r, tag - tags.SHORT_TEXT)
    if tag < tags.SHORT_LIST:
        return r.dictionary_text(tag - tags.TEXT_REF)
    if tag < tags.OBJECT:
        return _values(r, tag - tags.SHORT_LIST)
    if tag < tags.ATOM_REF:
        return _object(r, tag)
    if tag < tags.SMALL_NUM:
        return atom_named(r.dictionary_text(tag - tags.ATOM_REF))
    if tag < tags.SHORT_MAP:
        return float(tag - tags.SMALL_NUM)
    if tag >= tags.PLAIN_TERM:
        return _plain_term(r, tag - tags.PLAIN_TERM)
    if tags.MORE <= tag < tags.LESS + 4:
        return _fixed_int(r, tag)
    reader = _READERS.get(tag)
    return reader(r, tag) if reader else r.fail("unknown kind of value")


def _fixed_int(r: Reader, tag: int) -> int:
    """Reads an integer in one to four bytes."""
    width = (tag - tags.MORE) % 4
    beyond = tags.FIXED_STARTS[width] + int.from_bytes(r.take(width + 1), "little")
    least = tags.SMALL_INT_LEAST
    return least - 1 - beyond if tag >= tags.LESS else least + tags.SMALL_INTS + beyond


def _text(r: Reader, length: int) -> str:
    r.charge(length + 16)
    return r.text(length)


def _values(r: Reader, count: int) -> list[Any]:
    """Reads `count` values of at least one byte each."""
    if count == 0:
        return []
    r.charge(count * CELL_BYTES)
    r.enter()
    values = [read_value(r) for _ in range(count)]
    r.depth -= 1
    return values


def nested(r: Reader, read: Callable[[Reader], Any]) -> Any:
    """Reads a nested value."""
    r.enter()
    value = read(r)
    r.depth -= 1
    return value


def _open(r: Reader, _tag: int) -> Any:
    count = r.count(1)
    items = _values(r, count)
    tail = nested(r, read_value)
    if count == 0 or isinstance(tail, (list, OpenList)):
        r.fail("open list is empty, or ends in a list")
    return OpenList(items, tail)


def _array(r: Reader, _tag: int) -> Any:
    from .read_columns import read_columns, row_count

    r.enter()
    count = row_count(r)
    if count == 0:
        r.fail("empty array")
    values = read_columns(r, count)
    r.depth -= 1
    return values


def _whole_map(r: Reader, _tag: int) -> Any:
    from .read_columns import read_columns, row_count

    r.enter()
    count = row_count(r)
    pairs: list[tuple[Any, Any]] = []
    if count:
        keys = read_columns(r, count)
        items = read_columns(r, count)
        r.charge(count * PAIR_BYTES)
        pairs = list(zip(keys, items))
    r.depth -= 1
    return mapping(pairs)


def _object(r: Reader, tag: int) -> Any:
    shape = r.object_shape(tag)
    if shape.width > r.remaining:
        r.truncated(r.at)
    r.charge(COMPOUND_BYTES + shape.width * PAIR_BYTES)
    r.enter()
    fields = [read_value(r) for _ in range(shape.width)]
    r.depth -= 1
    return assemble(shape, fields)


def assemble(shape: Shape, fields: Sequence[Any]) -> Any:
    """Builds the object of a shape. Maps and records may lack fields."""
    if shape.kind == tags.TERM_SHAPE:
        return term_of(shape.name, [None if field is ABSENT else field for field in fields])
    named = [(name, field) for name, field in zip(shape.fields, fields) if field is not ABSENT]
    return Record(shape.name, dict(named)) if shape.kind == tags.RECORD_SHAPE else mapping(named)


def _plain_term(r: Reader, count: int) -> Any:
    functor = r.name()
    r.charge(COMPOUND_BYTES + count * 16)
    r.enter()
    args = [read_value(r) for _ in range(count)]
    r.depth -= 1
    return term_of(functor, args)


def _full_term(r: Reader, _tag: int) -> Any:
    flags = r.byte()
    if flags & ~tags.ALL_PARTS:
        r.fail("term with unknown parts")
    functor = r.name()
    namespace = r.name() if flags & tags.NAMESPACE else None
    r.charge(COMPOUND_BYTES)
    args = _values(r, r.count(1))
    annots = _values(r, r.count(1)) if flags & tags.ANNOTS else []
    tail = _variable(r, 0) if flags & tags.TAIL else None
    is_negated = bool(flags & tags.NEGATED)
    found = Term(functor, *args, namespace=namespace, negated=is_negated, annots=annots, annot_tail=tail)
    return found if found.args or not found.is_plain else atom_named(functor)


def _variable(r: Reader, _tag: int) -> Variable:
    slot = r.number()
    if slot > 0xFFFF_FFFF:
        r.fail("variable slot beyond 32 bits")
    return Variable(r.name(), slot)


def _container(r: Reader, _tag: int) -> Container:
    """Reads a mutable container. Its label is assigned first, because the contents may refer to it."""
    number = r.byte()
    if number >= len(CONTAINERS):
        r.fail("unknown kind of container")
    kind = CONTAINERS[number]
    value = Container(kind)
    r.charge(CELL_BYTES)
    place = len(r.labelled)
    r.labelled.append((value, True))
    count = r.count(1)
    items = _values(r, 2 * count if kind == "map" else count)
    value.items = items if kind == "priority-queue" else _contents(r, kind, items)
    r.labelled[place] = (value, False)
    return value


def _contents(r: Reader, kind: str, items: list[Any]) -> list[Any]:
    """Orders the contents. Those of a container that contains itself cannot be compared."""
    try:
        return Container(kind, items).items
    except RecursionError:
        return r.fail("container whose order depends on itself")


def _reference(r: Reader, _tag: int) -> Any:
    at = r.at
    number = r.number()
    found = r.labelled[number] if number < len(r.labelled) else None
    if found is None:
        raise DecodeError("malformed", "reference to an unknown label, or a cycle", at)
    value, is_open = found
    if is_open and not r.limits.circles:
        raise DecodeError("malformed", "container contains itself", at)
    return value


def _label(r: Reader, _tag: int) -> Any:
    r.charge(2 * CELL_BYTES)
    place = len(r.labelled)
    r.labelled.append(None)
    value = nested(r, read_value)
    r.labelled[place] = (value, False)
    return value


def _double(r: Reader, tag: int) -> float:
    if tag == tags.WHOLE_NUM:
        return float(r.signed())
    if tag == tags.DECIMAL_NUM:
        by = power_of_ten(r)
        return r.signed() / by
    return read_doubles(r, tag == tags.F32, 1)[0]


def power_of_ten(r: Reader) -> float:
    """Reads a power of ten."""
    power = r.byte()
    return 10.0**power if power < 10 else r.fail("power of ten above nine")


def read_doubles(r: Reader, are_singles: bool, count: int) -> list[float]:
    """Reads doubles of eight bytes, or singles of four."""
    return list(struct.unpack(f"<{count}{'f' if are_singles else 'd'}", r.take((4 if are_singles else 8) * count)))


def _bytes(r: Reader, _tag: int) -> bytes:
    r.charge(COMPOUND_BYTES)
    length = r.count(1)
    r.charge(length)
    return r.take(length)


def _packed_bytes(r: Reader, _tag: int) -> bytes:
    """Reads packed bytes: pairs of blocks of 16, with both widths in one byte. Each byte is a folded difference from an
    earlier one.
    """
    r.charge(COMPOUND_BYTES)
    length = r.number()
    stride = r.byte()
    if -(-length // (2 * tags.BLOCK)) > r.remaining or not 1 <= stride <= 4:
        r.fail("too many packed bytes, or unknown packing")
    r.charge(length)
    out = bytearray()
    while len(out) < length:
        widths = r.byte()
        _unpack_block(r, widths & 15, stride, out, length)
        _unpack_block(r, widths >> 4, stride, out, length)
    return bytes(out)


def _unpack_block(r: Reader, width: int, stride: int, out: bytearray, length: int) -> None:
    count = min(length - len(out), tags.BLOCK)
    if width > 8 or (count == 0 and width > 0):
        r.fail("packed width above eight bits, or empty block")
    for folded in unpack_bits(r.take(packed_length(count, width)), count, width):
        at = len(out) - stride
        before = out[at] if at >= 0 else 0
        out.append(before + ((folded >> 1) ^ -(folded & 1)) & 0xFF)


def _numeric_text(r: Reader, _tag: int) -> str:
    r.charge(CELL_BYTES)
    return str(r.signed())


_READERS: dict[int, Callable[[Reader, int], Any]] = {
    tags.NULL: lambda _r, _tag: None,
    tags.FALSE: lambda _r, _tag: False,
    tags.TRUE: lambda _r, _tag: True,
    tags.INT: lambda r, _tag: r.signed(),
    tags.F64: _double,
    tags.F32: _double,
    tags.WHOLE_NUM: _double,
    tags.DECIMAL_NUM: _double,
    tags.TEXT: lambda r, _tag: _text(r, r.count(1)),
    tags.LONG_TEXT_REF: lambda r, _tag: r.dictionary_text(r.number()),
    tags.NUMERIC_TEXT: _numeric_text,
    tags.BYTES: _bytes,
    tags.PACKED_BYTES: _packed_bytes,
    tags.LIST: lambda r, _tag: _values(r, r.count(1)),
    tags.OPEN_LIST: _open,
    tags.ARRAY: _array,
    tags.MAP: _whole_map,
    tags.TERM: _full_term,
    tags.LONG_ATOM_REF: lambda r, _tag: atom_named(r.dictionary_text(r.number())),
    tags.ATOM: lambda r, _tag: atom_named(r.plain_text()),
    tags.VARIABLE: _variable,
    tags.CONTAINER: _container,
    tags.REFERENCE: _reference,
    tags.LABEL: _label,
    tags.LONG_OBJECT: _object,
    tags.OBJECT_IN_PLACE: _object,
    **{tags.SHORT_MAP + place: _object for place in range(tags.SHORT_MAPS)},
}
