"""Writer of a body: its bytes, and a growing dictionary that precedes them in the result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import EncodeError
from ..limits import INT_MAX, INT_MIN, VALUE_LEVELS_MAX
from ..values import Container
from . import tags
from .known import KNOWN_NUMBERS, known_shape
from .reader import DOCUMENT_LIMITS, Reader
from .varints import number_length, signed_length, utf8, write_number, write_signed, write_text

#: Least length of a text in the dictionary. Shorter ones are written in place.
_SHARED_TEXT_BYTES_MIN = 4
#: Most references of a value whose dictionary is rewritten.
_REFERENCES_MAX = 128

# Positions of a dictionary number, which determine its form: for each the first short tag, their number, and the long
# tag.
_TEXT, _ATOM, _OBJECT, _NAME = range(4)
_FORMS = (
    (tags.TEXT_REF, 32, tags.LONG_TEXT_REF),
    (tags.ATOM_REF, 16, tags.LONG_ATOM_REF),
    (tags.OBJECT, 16, tags.LONG_OBJECT),
)

_NUMERIC = re.compile(r"0|-?[1-9][0-9]{0,18}")


class _Reference(NamedTuple):
    """A reference to the dictionary: where it stands, its length, its position's kind, and the number."""

    at: int
    length: int
    place: int
    number: int


class Dictionary:
    """Dictionary of a body: its texts and shapes, each once."""

    __slots__ = ("_shapes", "_texts", "count", "items")

    def __init__(self) -> None:
        #: Encoded items of a self-contained body.
        self.items = bytearray()
        self.count = 0
        self._texts: dict[str, int] = {}
        self._shapes: dict[bytes, int] = {}

    def text(self, text: str) -> int:
        """Returns the number of a text, and adds it if it is new."""
        found = self._texts.get(text)
        if found is not None:
            return found
        self.count += 1
        known = KNOWN_NUMBERS.get(text)
        if known is not None:
            write_number(self.items, known << 3 | 4)
        else:
            item_in_full(self.items, tags.TEXT_ITEM, utf8(text))
        number = self._texts[text] = len(self._texts)
        return number

    def cost_of(self, text: str) -> int:
        """Returns the bytes that a text adds to the dictionary; 0 if it is known."""
        if text in self._texts:
            return 0
        length = len(utf8(text))
        return number_length(length * 4) + length

    def shape(self, kind: int, name: str, fields: Sequence[str], width: int | None = None) -> int:
        """Returns the number of a shape, and adds it if it is new."""
        definition = _define(kind, name, fields, len(fields) if width is None else width)
        found = self._shapes.get(definition)
        if found is not None:
            return found
        self.count += 1
        item_in_full(self.items, tags.SHAPE_ITEM, definition)
        number = self._shapes[definition] = len(self._shapes)
        return number


def item_in_full(out: bytearray, kind: int, data: bytes) -> None:
    """Writes a text or a shape in full, after its length."""
    write_number(out, len(data) << 2 | kind)
    out += data


def _define(kind: int, name: str, fields: Sequence[str], width: int) -> bytes:
    """Returns the bytes of a shape."""
    out = bytearray()
    known = known_shape(name, fields) if kind == tags.RECORD_SHAPE else None
    if known:
        write_number(out, known[0] << 2 | tags.KNOWN_SHAPE)
        write_number(out, known[1])
        return bytes(out)
    write_number(out, width << 2 | kind)
    if kind != tags.MAP_SHAPE:
        write_text(out, name)
    if kind != tags.TERM_SHAPE:
        for field in fields:
            write_text(out, field)
    return bytes(out)


def has_dictionary(body: bytes) -> bool:
    """Returns true if a body begins with a dictionary."""
    return bool(body) and tags.DICTIONARY < body[0] <= tags.LONG_DICTIONARY


def dictionary_tag(out: bytearray, count: int) -> None:
    """Writes the tag of a dictionary with `count` items."""
    tag = tags.DICTIONARY + count
    out.append(min(tag, tags.LONG_DICTIONARY))
    if tag >= tags.LONG_DICTIONARY:
        write_number(out, count)


def numeric(text: str) -> int | None:
    """Returns the integer that a text equals, if it is that integer's only spelling."""
    if not _NUMERIC.fullmatch(text):
        return None
    n = int(text)
    return n if INT_MIN <= n <= INT_MAX else None


def _fixed(n: int) -> tuple[int, int, int] | None:
    """Returns the form of an integer in one to four bytes: their number, the rest, the tag. None if it needs more."""
    beyond = n - (tags.SMALL_INT_LEAST + tags.SMALL_INTS) if n >= 0 else tags.SMALL_INT_LEAST - 1 - n
    for size in range(1, 5):
        if beyond < tags.FIXED_STARTS[size]:
            return size, beyond - tags.FIXED_STARTS[size - 1], (tags.MORE if n >= 0 else tags.LESS) + size - 1
    return None


def _is_small(n: int) -> bool:
    return tags.SMALL_INT_LEAST <= n < tags.SMALL_INT_LEAST + tags.SMALL_INTS


def int_length(n: int) -> int:
    """Returns the length of an integer as a value."""
    if _is_small(n):
        return 1
    fixed = _fixed(n)
    return 1 + (fixed[0] if fixed else signed_length(n))


class Writer:
    """Writer of one body. In a document, items with a single reference are written in place."""

    __slots__ = ("_labels", "_references", "depth", "dictionary", "out")

    def __init__(self, is_document: bool = False) -> None:
        self.out = bytearray()
        self.dictionary = Dictionary()
        #: References to the dictionary, unless rewriting is excluded.
        self._references: list[_Reference] | None = [] if is_document else None
        # The containers are held, so that no other object gets their identity.
        self._labels: dict[int, tuple[int, Container]] = {}
        self.depth = 0

    def enter(self) -> None:
        """Begins a nested value."""
        if self.depth == VALUE_LEVELS_MAX:
            raise EncodeError(f"value nested deeper than {VALUE_LEVELS_MAX} levels")
        self.depth += 1

    def finish(self) -> bytes:
        """Returns the body: the dictionary, then the value."""
        count = self.dictionary.count
        if count == 0:
            return bytes(self.out)
        body = bytearray()
        rewritten = None
        if self._references is not None:
            rewritten = _rewrite(bytes(self.out), bytes(self.dictionary.items), self._references)
        if rewritten is not None:
            if rewritten[0]:
                dictionary_tag(body, rewritten[0])
            body += rewritten[1]
        else:
            dictionary_tag(body, count)
            body += self.dictionary.items
            body += self.out
        return bytes(body)

    def label(self, container: Container) -> int | None:
        """Returns the label of a container. If it has none, assigns the next one and returns None."""
        found = self._labels.get(id(container))
        if found is not None:
            return found[0]
        self._labels[id(container)] = (len(self._labels), container)
        return None

    def integer(self, n: int) -> None:
        """Writes an integer."""
        if _is_small(n):
            self.out.append(n - tags.SMALL_INT_LEAST)
            return
        fixed = _fixed(n)
        if fixed:
            size, rest, tag = fixed
            self.out.append(tag)
            self.out += rest.to_bytes(size, "little")
        else:
            self.out.append(tags.INT)
            write_signed(self.out, n)

    # A value that is the whole body can be referred to by nothing, and stands in place.

    def text(self, text: str) -> None:
        """Writes a text in the shortest form."""
        data = utf8(text)
        is_short = len(data) < _SHARED_TEXT_BYTES_MIN
        number = None if is_short else numeric(text)
        if number is not None:
            self.out.append(tags.NUMERIC_TEXT)
            write_signed(self.out, number)
        elif is_short or not self.out:
            _in_place(self.out, _TEXT, data)
        else:
            self._refer(_TEXT, self.dictionary.text(text))

    def atom(self, name: str) -> None:
        """Writes an atom."""
        data = utf8(name)
        if len(data) < _SHARED_TEXT_BYTES_MIN or not self.out:
            _in_place(self.out, _ATOM, data)
        else:
            self._refer(_ATOM, self.dictionary.text(name))

    def name(self, name: str) -> None:
        """Writes a name."""
        data = utf8(name)
        if len(data) < _SHARED_TEXT_BYTES_MIN:
            _in_place(self.out, _NAME, data)
        else:
            self._refer(_NAME, self.dictionary.text(name))

    def start_object(self, shape: int) -> None:
        """Writes the start of an object."""
        self._refer(_OBJECT, shape)

    def short_list(self, count: int) -> None:
        """Writes the start of a list."""
        if count < tags.OBJECT - tags.SHORT_LIST:
            self.out.append(tags.SHORT_LIST + count)
        else:
            self.out.append(tags.LIST)
            write_number(self.out, count)

    def _refer(self, place: int, number: int) -> None:
        at = len(self.out)
        _reference(self.out, place, number)
        if self._references is not None:
            self._references.append(_Reference(at, len(self.out) - at, place, number))
            if len(self._references) > _REFERENCES_MAX:
                self._references = None

    def column_text(self, text: str) -> int:
        """Returns the dictionary number of a text in a column. Columns exclude rewriting."""
        self._references = None
        return self.dictionary.text(text)

    def table(self, shape: int) -> None:
        """Writes the start of a table."""
        self._references = None
        self.out.append(tags.TABLE_COLUMN)
        write_number(self.out, shape)


def _reference(out: bytearray, place: int, number: int) -> None:
    """Writes a dictionary number."""
    if place == _NAME:
        write_number(out, number << 1)
        return
    short, shorts, long = _FORMS[place]
    if number < shorts:
        out.append(short + number)
    else:
        out.append(long)
        write_number(out, number)


def _in_place(out: bytearray, place: int, data: bytes) -> None:
    """Writes a text or name in place."""
    length = len(data)
    if place == _NAME:
        write_number(out, length << 1 | 1)
    elif place == _TEXT and length < tags.TEXT_REF - tags.SHORT_TEXT:
        out.append(tags.SHORT_TEXT + length)
    else:
        out.append(tags.TEXT if place == _TEXT else tags.ATOM)
        write_number(out, length)
    out += data


def _object_in_place(out: bytearray, definition: bytes) -> None:
    head = Reader(definition, DOCUMENT_LIMITS)
    number = head.number()
    count = number >> 2
    if number & 3 == tags.MAP_SHAPE and 1 <= count <= tags.SHORT_MAPS:
        out.append(tags.SHORT_MAP + count - 1)
        out += definition[head.at :]
    else:
        out.append(tags.OBJECT_IN_PLACE)
        out += definition


class _Item:
    """Item of a dictionary that is rewritten."""

    __slots__ = ("content", "number", "used", "whole")

    def __init__(self, whole: bytes, content: bytes, used: int) -> None:
        self.whole = whole
        self.content = content
        self.used = used
        #: Number among the items that are kept.
        self.number = 0


def _split(items: bytes) -> tuple[list[_Item], list[_Item]]:
    """Returns the texts and the shapes of a dictionary."""
    texts: list[_Item] = []
    shapes: list[_Item] = []
    r = Reader(items, DOCUMENT_LIMITS)
    while r.remaining:
        start = r.at
        head = r.number()
        kind = head & 3
        content = b"" if kind == tags.KNOWN_ITEM else r.take(head >> 2)
        item = _Item(items[start : r.at], content, 2 if kind == tags.KNOWN_ITEM else 0)
        (shapes if kind == tags.SHAPE_ITEM else texts).append(item)
    return texts, shapes


def _rewrite(value: bytes, items: bytes, references: list[_Reference]) -> tuple[int, bytes] | None:
    """Rewrites a value and its dictionary, given all references; None if nothing would change."""
    texts, shapes = _split(items)
    used = [(shapes if found.place == _OBJECT else texts)[found.number] for found in references]
    for item in used:
        item.used += 1
    if all(item.used > 1 for item in (*texts, *shapes)):
        return None
    out = bytearray()
    count = 0
    for group in (texts, shapes):
        kept = [item for item in group if item.used > 1]
        for number, item in enumerate(kept):
            item.number = number
            out += item.whole
        count += len(kept)
    start = 0
    for found, item in zip(references, used):
        out += value[start : found.at]
        start = found.at + found.length
        if item.used > 1:
            _reference(out, found.place, item.number)
        elif found.place == _OBJECT:
            _object_in_place(out, item.content)
        else:
            _in_place(out, found.place, item.content)
    out += value[start:]
    return count, bytes(out)
