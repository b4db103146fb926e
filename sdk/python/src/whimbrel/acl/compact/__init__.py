"""Compact codec: messages and content values in few bytes (docs/design/compact-codec.md).

A message has a head (agents, performative, conversation) and a body (the content). On a connection, `Encoder` and
`Decoder` keep a dictionary of agents, names, texts and shapes. Repeated items take one or two bytes.
"""

from __future__ import annotations

from typing import Any

from ..errors import DecodeError
from ..limits import MESSAGE_BUDGET_BYTES
from ..message import Message
from . import tags
from .head import ReceiverDictionary, SenderDictionary, read_head, write_head
from .read_value import read_value
from .reader import DOCUMENT_LIMITS, Limits, Reader
from .write_value import write_body, write_document
from .writer import dictionary_tag, has_dictionary

__all__ = [
    "CODEC",
    "Decoder",
    "Encoder",
    "decode_body",
    "decode_message",
    "decode_value",
    "encode_body",
    "encode_message",
    "encode_value",
]


def encode_body(value: Any) -> bytes:
    """Encodes a value as a self-contained body.

    Raises EncodeError if it is nested too deeply, or is not a value.
    """
    return write_body(value)


def decode_body(data: bytes, limits: Limits = DOCUMENT_LIMITS) -> Any:
    """Decodes a self-contained body. Raises DecodeError if the bytes are invalid."""
    r = Reader(data, limits)
    r.read_dictionary()
    value = read_value(r)
    r.finish()
    return value


def encode_value(value: Any) -> bytes:
    """Encodes a value as a document, with the format's mark and version, for storage.

    Raises EncodeError if it is nested too deeply, or is not a value.
    """
    body = write_document(value)
    return body if tags.is_mark(body[0]) else bytes((tags.VALUE_MARK,)) + body


def decode_value(data: bytes) -> Any:
    """Decodes a document with a value. Raises DecodeError if the bytes are invalid."""
    return decode_body(data if data and tags.is_mark(data[0]) else _document(data, tags.VALUE_MARK))


def encode_message(message: Message) -> bytes:
    """Encodes a message as a document. Raises EncodeError if a part of it cannot be encoded."""
    return bytes((tags.MESSAGE_MARK,)) + Encoder(0).encode(message)


def decode_message(data: bytes) -> Message:
    """Decodes a document with a message. Raises DecodeError if the bytes are invalid."""
    return Decoder(0).decode(_document(data, tags.MESSAGE_MARK))


def _document(data: bytes, mark: int) -> bytes:
    """Returns the bytes after a document's mark."""
    if not data:
        raise DecodeError("truncated", "truncated", 0)
    if data[0] != mark:
        why = f"wrong document, or newer version: it begins with {data[0]}, expected {mark}"
        raise DecodeError("version", why, 0)
    return data[1:]


class Encoder:
    """Encoder of a connection. One `Decoder` must decode all of its messages, in order."""

    def __init__(self, remember: int) -> None:
        """Creates an encoder. `remember` limits its dictionaries of agents, and of texts and shapes; 0 makes each
        message self-contained.
        """
        self._said = SenderDictionary(remember)

    def encode(self, message: Message) -> bytes:
        """Encodes a message.

        Raises EncodeError if a part of it cannot be encoded. Its content then enters no dictionary.
        """
        return self.encode_sealed(message, write_body(message.content))

    def encode_sealed(self, message: Message, body: bytes) -> bytes:
        """Encodes a message with an encoded body."""
        out = bytearray()
        write_head(out, message, self._said)
        # Without a dictionary of either side, copy the body.
        if self._said.remember == 0 or not has_dictionary(body):
            out += body
        else:
            self._share(out, body)
        return bytes(out)

    def _share(self, out: bytearray, body: bytes) -> None:
        """Writes a body with its dictionary replaced by the connection's."""
        r = Reader(body, DOCUMENT_LIMITS)
        count = r.dictionary_count()
        dictionary_tag(out, count)
        for _ in range(count):
            start = r.at
            head = r.number()
            kind = head & 3
            if kind == tags.KNOWN_ITEM:
                out += body[start : r.at]
            else:
                self._said.item(out, kind, r.take(head >> 2))
        out += body[r.at :]


class Decoder:
    """Decoder of a connection. `remember` must equal the encoder's."""

    def __init__(self, remember: int, budget_bytes: int = MESSAGE_BUDGET_BYTES) -> None:
        self._heard = ReceiverDictionary(remember)
        self._limits = Limits(budget_bytes, False)
        #: Estimated memory of the last message, an upper bound.
        self.spent_bytes = 0

    def decode(self, data: bytes) -> Message:
        """Decodes a message of the other end's encoder.

        Raises DecodeError if the bytes are invalid. End the connection then, because the dictionaries may differ.
        """
        r = Reader(data, self._limits)
        message = read_head(r, self._heard)
        for _ in range(r.dictionary_count()):
            item = self._heard.item(r)
            if isinstance(item, str):
                r.add_text(item)
            else:
                r.add_shape(item)
        message.content = read_value(r)
        r.finish()
        self.spent_bytes = r.spent
        return message


class _Codec:
    """The codec as a form of a session's frames."""

    def encode_body(self, content: Any) -> bytes:
        """Encodes content."""
        return write_body(content)

    def encoder(self, remember: int) -> Encoder:
        """Creates the sender's state of a connection."""
        return Encoder(remember)

    def decoder(self, remember: int) -> Decoder:
        """Creates the receiver's state of a connection."""
        return Decoder(remember)

    def message_bytes(self, message: Message, body: bytes) -> int:
        """Returns the length of a message with this encoded content."""
        out = bytearray()
        write_head(out, message, SenderDictionary(0))
        return len(out) + len(body)


#: This codec, for `Platform(encoding="compact")`.
CODEC = _Codec()
