"""Writer of values, in the shortest form. Equal values have equal bytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

from ..order import pairs_of
from ..values import CONTAINERS, Container, OpenList, Record, Term, Variable
from . import tags
from .kinds import kind_of, prepared, shaped_keys
from .varints import pack_bits, packed_length, signed_length, write_number, write_signed
from .writer import Writer

#: Least count of bytes to pack, and the bytes to sample before.
_PACKED_BYTES_MIN = 64
_SAMPLE_BYTES = 4096
#: Largest integer that a double holds exactly.
_EXACT_MAX = 1 << 53


def write_body(value: Any) -> bytes:
    """Encodes a value as a self-contained body.

    Raises EncodeError if it is nested too deeply, or is not a value.
    """
    writer = Writer()
    write_value(writer, prepared(value))
    return writer.finish()


def write_document(value: Any) -> bytes:
    """Encodes a value as the body of a document."""
    writer = Writer(is_document=True)
    write_value(writer, prepared(value))
    return writer.finish()


def write_value(w: Writer, value: Any) -> None:
    """Writes a prepared value."""
    _WRITERS[kind_of(value)](w, value)


def _bool(w: Writer, value: Any) -> None:
    is_true = value if isinstance(value, bool) else value.functor == "true"
    w.out.append(tags.TRUE if is_true else tags.FALSE)


def _list(w: Writer, value: list[Any]) -> None:
    from .write_columns import write_list

    if not value:
        w.short_list(0)
        return
    w.enter()
    write_list(w, value)
    w.depth -= 1


def _open(w: Writer, value: OpenList) -> None:
    w.enter()
    w.out.append(tags.OPEN_LIST)
    write_number(w.out, len(value.items))
    for item in value.items:
        write_value(w, item)
    write_value(w, value.tail)
    w.depth -= 1


def _term(w: Writer, term: Term) -> None:
    w.enter()
    if term.is_plain and len(term.args) < 16:
        w.out.append(tags.PLAIN_TERM + len(term.args))
        w.name(term.functor)
        for arg in term.args:
            write_value(w, arg)
    else:
        _full_term(w, term)
    w.depth -= 1


def _full_term(w: Writer, term: Term) -> None:
    w.out.append(tags.TERM)
    w.out.append(
        (tags.NEGATED if term.negated else 0)
        | (tags.NAMESPACE if term.namespace is not None else 0)
        | (tags.ANNOTS if term.annots else 0)
        | (tags.TAIL if term.annot_tail else 0)
    )
    w.name(term.functor)
    if term.namespace is not None:
        w.name(term.namespace)
    write_number(w.out, len(term.args))
    for arg in term.args:
        write_value(w, arg)
    if term.annots:
        write_number(w.out, len(term.annots))
        for annot in term.annots:
            write_value(w, annot)
    if term.annot_tail:
        _slot(w, term.annot_tail)


def _variable(w: Writer, variable: Variable) -> None:
    w.out.append(tags.VARIABLE)
    _slot(w, variable)


def _slot(w: Writer, variable: Variable) -> None:
    write_number(w.out, variable.slot)
    w.name(variable.name)


def _map(w: Writer, value: Any) -> None:
    from .write_columns import write_columns

    w.enter()
    pairs = pairs_of(value)
    keys = shaped_keys(pairs)
    if keys is not None:
        w.start_object(w.dictionary.shape(tags.MAP_SHAPE, "", keys))
        for _, item in pairs:
            write_value(w, item)
    else:
        w.out.append(tags.MAP)
        write_number(w.out, len(pairs))
        write_columns(w, [key for key, _ in pairs])
        write_columns(w, [item for _, item in pairs])
    w.depth -= 1


def _record(w: Writer, value: Record) -> None:
    w.enter()
    w.start_object(w.dictionary.shape(tags.RECORD_SHAPE, value.type_name, list(value)))
    for item in value.values():
        write_value(w, item)
    w.depth -= 1


def _container(w: Writer, value: Container) -> None:
    w.enter()
    label = w.label(value)
    if label is not None:
        w.out.append(tags.REFERENCE)
        write_number(w.out, label)
    else:
        w.out.append(tags.CONTAINER)
        w.out.append(CONTAINERS.index(value.kind))
        write_number(w.out, len(value.items) // 2 if value.kind == "map" else len(value.items))
        for item in value.items:
            write_value(w, item)
    w.depth -= 1


# ---- Doubles


def same(one: float, other: float) -> bool:
    """Returns true for the same double: NaN is itself, and 0.0 is not -0.0."""
    if one != one:
        return other != other
    return one == other and math.copysign(1, one) == math.copysign(1, other)


def whole_of(n: float) -> int | None:
    """Returns the integer that a double equals; None for -0 and beyond 53 bits."""
    if not math.isfinite(n) or not n.is_integer() or abs(n) > _EXACT_MAX or (n == 0 and math.copysign(1, n) < 0):
        return None
    return int(n)


def scaled_by(n: float, by: float) -> int | None:
    """Returns the integer that, divided by a power of ten, is exactly `n`."""
    product = n * by
    if not math.isfinite(product):
        return None
    magnitude = math.floor(abs(product) + 0.5) if abs(product) < _EXACT_MAX else abs(product)
    # Adding a half may round up to the next integer.
    if magnitude - abs(product) > 0.5:
        magnitude -= 1
    whole = whole_of(math.copysign(magnitude, product))
    return whole if whole is not None and same(whole / by, n) else None


def is_single(n: float) -> bool:
    """Returns true if a double is a single."""
    try:
        return same(struct.unpack("<f", struct.pack("<f", n))[0], n)
    except OverflowError:
        return False


def write_double(w: Writer, n: float) -> None:
    """Writes a double in the fewest bytes that preserve every bit."""
    whole = whole_of(n)
    if whole is not None:
        if 0 <= whole < 8:
            w.out.append(tags.SMALL_NUM + whole)
            return
        if signed_length(whole) < 8:
            w.out.append(tags.WHOLE_NUM)
            write_signed(w.out, whole)
            return
    elif _write_short_double(w, n):
        return
    w.out.append(tags.F64)
    w.out += struct.pack("<d", n)


def _write_short_double(w: Writer, n: float) -> bool:
    """Writes a double with a fraction as a decimal or a single. Returns false if it is neither."""
    single = is_single(n)
    for power in range(1, 10):
        scaled = scaled_by(n, 10.0**power)
        if scaled is None:
            continue
        if signed_length(scaled) >= (3 if single else 7):
            break
        w.out.append(tags.DECIMAL_NUM)
        w.out.append(power)
        write_signed(w.out, scaled)
        return True
    if single:
        w.out.append(tags.F32)
        w.out += struct.pack("<f", n)
    return single


# ---- Bytes


def _bytes(w: Writer, data: bytes) -> None:
    """Writes bytes plainly, or as differences if neighbours are similar, as in images and sound."""
    stride = _best_stride(data)
    w.out.append(tags.BYTES if stride is None else tags.PACKED_BYTES)
    write_number(w.out, len(data))
    if stride is None:
        w.out += data
        return
    w.out.append(stride)
    for widths, blocks in _block_pairs(data, stride):
        w.out.append(widths[0] | widths[1] << 4)
        for width, block in zip(widths, blocks):
            pack_bits(w.out, block, width)


def _best_stride(data: bytes) -> int | None:
    """Returns the stride at which packing saves at least an eighth."""
    if len(data) < _PACKED_BYTES_MIN:
        return None
    sample = data[:_SAMPLE_BYTES]
    best, least = 0, math.inf
    for stride in range(1, 5):
        size = 0
        for widths, blocks in _block_pairs(sample, stride):
            size += 1 + sum(packed_length(len(block), width) for width, block in zip(widths, blocks))
        if size < least:
            best, least = stride, size
    return best if least <= len(sample) - len(sample) // 8 else None


def _block_pairs(data: bytes, stride: int) -> Iterator[tuple[list[int], list[list[int]]]]:
    """Yields the widths and the folded differences of each pair of blocks."""
    before = bytes(stride) + data
    folded = []
    for one, other in zip(data, before):
        difference = (one - other + 128 & 0xFF) - 128
        folded.append((difference << 1 ^ difference >> 7) & 0xFF)
    for start in range(0, len(data), 2 * tags.BLOCK):
        middle = start + tags.BLOCK
        blocks = [folded[start:middle], folded[middle : middle + tags.BLOCK]]
        yield [max(block, default=0).bit_length() for block in blocks], blocks


_WRITERS: dict[str, Callable[[Writer, Any], None]] = {
    "null": lambda w, _value: w.out.append(tags.NULL),
    "bool": _bool,
    "int": lambda w, value: w.integer(value),
    "num": write_double,
    "str": lambda w, value: w.text(value),
    "bytes": _bytes,
    "atom": lambda w, value: w.atom(value.functor),
    "list": _list,
    "open": _open,
    "term": _term,
    "var": _variable,
    "map": _map,
    "record": _record,
    "object": _container,
}
