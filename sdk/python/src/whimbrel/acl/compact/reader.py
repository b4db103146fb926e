"""Reader of a body: position, dictionary, and memory budget."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from ..errors import DecodeError
from ..limits import DOCUMENT_BUDGET_BYTES, MESSAGE_BUDGET_BYTES, VALUE_LEVELS_MAX
from . import tags
from .known import KNOWN_SHAPES, KNOWN_TEXTS
from .varints import unfold


class Limits(NamedTuple):
    """Limits of a reader: the memory that the value may take, and true if a container may contain itself."""

    budget_bytes: int
    circles: bool


DOCUMENT_LIMITS = Limits(DOCUMENT_BUDGET_BYTES, True)
MESSAGE_LIMITS = Limits(MESSAGE_BUDGET_BYTES, False)


class Shape(NamedTuple):
    """Shape of an object: its kind (a shape tag), its name, its fields, and their number. Terms name no fields."""

    kind: int
    name: str
    fields: list[str]
    width: int


#: Maximum memory of a dictionary item besides its bytes.
_ITEM_BYTES = 64
#: Arguments of a term in a shape.
_TERM_ARGS_MAX = 1 << 16


class Reader:
    """Reader of a body."""

    __slots__ = ("at", "data", "depth", "end", "labelled", "limits", "shapes", "spent", "texts")

    def __init__(self, data: bytes, limits: Limits, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end
        self.limits = limits
        self.spent = 0
        self.depth = 0
        self.texts: list[str] = []
        self.shapes: list[Shape] = []
        #: Labelled containers with true while they are being read; None for a label that is being read.
        self.labelled: list[tuple[Any, bool] | None] = []

    # ---- Dictionary

    def read_dictionary(self) -> None:
        """Reads the dictionary of a self-contained body."""
        for _ in range(self.dictionary_count()):
            self._item()

    def dictionary_count(self) -> int:
        """Reads the tag of a dictionary, if there is one. Returns the number of items."""
        at = self.at
        tag = self.data[at] if at < self.end else 0
        if not tags.DICTIONARY < tag <= tags.LONG_DICTIONARY:
            return 0
        self.at += 1
        if tag < tags.LONG_DICTIONARY:
            return tag - tags.DICTIONARY
        count = self.number()
        if not tags.LONG_DICTIONARY - tags.DICTIONARY <= count <= 0xFFFF_FFFF:
            raise DecodeError("malformed", "dictionary count not in its shortest form", at)
        return count

    def _item(self) -> None:
        at = self.at
        head = self.number()
        kind = head & 3
        if kind == tags.TEXT_ITEM:
            self.add_text(self.text(head >> 2))
        elif kind == tags.SHAPE_ITEM:
            self.add_shape(self.take(head >> 2))
        elif head & 7 == 4:
            self.add_text(self.known_text(head >> 3))
        else:
            raise DecodeError("malformed", "item that only links may have", at)

    def known_text(self, number: int) -> str:
        """Returns a text of the static dictionary."""
        return KNOWN_TEXTS[number] if number < len(KNOWN_TEXTS) else self.fail("unknown text")

    def add_text(self, text: str) -> None:
        """Adds a text to the dictionary."""
        self.charge(_ITEM_BYTES)
        self.texts.append(text)

    def add_shape(self, definition: bytes) -> None:
        """Adds a shape to the dictionary."""
        self.charge(len(definition) * 16 + _ITEM_BYTES)
        inner = Reader(definition, self.limits)
        try:
            shape = inner.shape(inner.number())
            inner.finish()
        except DecodeError:
            self.fail("malformed shape")
        self.shapes.append(shape)

    def shape(self, head: int) -> Shape:
        """Reads the rest of a shape."""
        kind, count = head & 3, head >> 2
        if kind == tags.KNOWN_SHAPE:
            return self._known_shape(count)
        if kind == tags.TERM_SHAPE:
            if count > _TERM_ARGS_MAX:
                self.fail("shape with too many fields")
            return Shape(kind, self.plain_text(), [], count)
        name = self.plain_text() if kind == tags.RECORD_SHAPE else ""
        if count > self.remaining:
            self.fail("shape with too many fields")
        return Shape(kind, name, [self.plain_text() for _ in range(count)], count)

    def _known_shape(self, number: int) -> Shape:
        mask = self.number()
        if number >= len(KNOWN_SHAPES):
            self.fail("unknown shape")
        name, known = KNOWN_SHAPES[number]
        if mask >> len(known):
            self.fail("fields that the shape lacks")
        fields = [field for place, field in enumerate(known) if mask >> place & 1]
        return Shape(tags.RECORD_SHAPE, name, fields, len(fields))

    def object_shape(self, tag: int) -> Shape:
        """Reads the shape of an object after its tag."""
        if tags.OBJECT <= tag < tags.ATOM_REF:
            return self.shape_numbered(tag - tags.OBJECT)
        if tag == tags.LONG_OBJECT:
            return self.shape_numbered(self.number())
        at = self.at
        is_map = tags.SHORT_MAP <= tag < tags.SHORT_MAP + tags.SHORT_MAPS
        shape = self.shape((tag - tags.SHORT_MAP + 1) * 4 + tags.MAP_SHAPE if is_map else self.number())
        self.charge((self.at - at) * 16 + _ITEM_BYTES)
        self.shapes.append(shape)
        return shape

    def shape_numbered(self, number: int) -> Shape:
        """Returns a shape of the dictionary."""
        return self.shapes[number] if number < len(self.shapes) else self.fail("shape not in the dictionary")

    # ---- Limits and errors

    @property
    def remaining(self) -> int:
        """Bytes that are left."""
        return self.end - self.at

    def finish(self) -> None:
        """Checks that no bytes are left."""
        if self.at < self.end:
            raise DecodeError("trailing", "bytes after the end", self.at)

    def fail(self, what: str) -> NoReturn:
        """Raises an error about the bytes."""
        raise DecodeError("malformed", what, self.at)

    def truncated(self, at: int) -> NoReturn:
        """Raises the error about missing bytes."""
        raise DecodeError("truncated", "truncated", at)

    def charge(self, size: int) -> None:
        """Charges memory to the budget before it is allocated."""
        self.spent += size
        if self.spent > self.limits.budget_bytes:
            budget = self.limits.budget_bytes
            raise DecodeError("budget", f"the decoded value would exceed the budget of {budget} bytes", self.at)

    def enter(self) -> None:
        """Begins a nested value."""
        if self.depth >= VALUE_LEVELS_MAX:
            raise DecodeError("too-deep", f"nested deeper than {VALUE_LEVELS_MAX} levels", self.at)
        self.depth += 1

    # ---- Parts

    def peek(self) -> int:
        """Returns the next byte, and leaves it."""
        return self.data[self.at] if self.at < self.end else self.truncated(self.at)

    def byte(self) -> int:
        """Reads a byte."""
        at = self.at
        if at >= self.end:
            self.truncated(at)
        self.at = at + 1
        return self.data[at]

    def number(self) -> int:
        """Reads a varint."""
        at = self.at
        if at >= self.end:
            self.truncated(at)
        first = self.data[at]
        if first & 1:
            self.at = at + 1
            return first >> 1
        length = (first & -first).bit_length() if first else 9
        if self.end - at < length:
            self.truncated(at)
        self.at = at + length
        if first:
            n = int.from_bytes(self.data[at : at + length], "little") >> length
            least = 1 << 7 * (length - 1)
        else:
            n, least = int.from_bytes(self.data[at + 1 : at + 9], "little"), 1 << 56
        if n < least:
            raise DecodeError("malformed", "number not in its shortest form", at)
        return n

    def signed(self) -> int:
        """Reads a folded varint."""
        return unfold(self.number())

    def take(self, length: int) -> bytes:
        """Reads bytes."""
        at = self.at
        if length > self.end - at:
            self.truncated(at)
        self.at = at + length
        return self.data[at : at + length]

    def count(self, least_bytes: int) -> int:
        """Reads a count of items of at least `least_bytes` bytes each."""
        at = self.at
        count = self.number()
        if count * least_bytes > self.end - self.at:
            self.truncated(at)
        return count

    def text(self, length: int) -> str:
        """Reads text of `length` bytes."""
        at = self.at
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise DecodeError("malformed", "text that is not UTF-8", at) from None

    def plain_text(self) -> str:
        """Reads a length and text."""
        return self.text(self.count(1))

    def dictionary_text(self, number: int) -> str:
        """Returns a text of the dictionary."""
        return self.texts[number] if number < len(self.texts) else self.fail("text not in the dictionary")

    def name(self) -> str:
        """Reads a name."""
        head = self.number()
        return self.text(head >> 1) if head & 1 else self.dictionary_text(head >> 1)
