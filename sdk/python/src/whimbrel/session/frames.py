"""Frames of the session protocol, and their two forms: docs/design/session-protocol.md.

A frame is a dict with its `type` and fields, as in JSON. Bytes are bytes, and a message is a `Message`.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Optional, Protocol

from ..acl.accelerator import accelerator
from ..acl.errors import DecodeError, EncodeError
from ..acl.json import message_from_json, message_to_json, parse_json
from ..acl.message import Message
from .limits import MEMORY_BYTES_PER_CHARACTER

__all__ = ["CODES", "JSON", "ON_LEAVE", "Codec", "Form", "Frame", "FrameReader", "FrameWriter", "Sealed", "seal"]

#: A frame: its `type`, and its fields by name.
Frame = dict[str, Any]

#: Reasons of a node for ending a connection or refusing a frame.
CODES = (
    "protocol",
    "version",
    "unauthorised",
    "session-gone",
    "taken-over",
    "too-long",
    "over-credit",
    "lease-over",
    "busy",
    "too-many-names",
    "stopping",
    "bad-name",
    "name-taken",
    "not-allowed",
    "too-many-agents",
    "no-agent",
    "forged-sender",
    "no-receiver",
    "bad-message",
    "bad-request",
    "not-kept",
    "too-many-kept",
    "bad-state",
    "not-movable",
    "not-yet",
    "elsewhere",
    "too-many-receivers",
)

#: Fate of an agent after its session: it ends, waits for this client, or continues at the node.
ON_LEAVE = ("end", "wait", "go-on")


class Encoder(Protocol):
    """Sender's state of a connection in a compact form."""

    def encode_sealed(self, message: Message, body: bytes) -> bytes:
        """Encodes a message whose content is encoded already."""
        ...


class Decoder(Protocol):
    """Receiver's state of a connection in a compact form."""

    spent_bytes: int

    def decode(self, data: bytes) -> Message:
        """Decodes the next message of the connection."""
        ...


class Codec(Protocol):
    """A message codec with a memory of the connection. `whimbrel.acl.compact` is one; an accelerator is another."""

    def encode_body(self, content: Any) -> bytes:
        """Encodes content."""
        ...

    def encoder(self, remember: int) -> Encoder:
        """Creates the sender's state of a connection."""
        ...

    def decoder(self, remember: int) -> Decoder:
        """Creates the receiver's state of a connection."""
        ...

    def message_bytes(self, message: Message, body: bytes) -> int:
        """Returns the length of a message with this encoded content."""
        ...


#: Form of a connection's frames: None for JSON, or the codec of compact messages.
Form = Optional[Codec]  # noqa: UP045 - Python 3.10 has no `|` for protocols in strings
JSON: Form = None

_NUMBERED = [("number", "u64", ""), ("agent", "u32", "")]

# Kinds with their fields; the position is the kind's number. `?` marks optional fields. `+` marks fields of later
# versions: present only if they or a later field have a value.
_KINDS: list[tuple[str, list[tuple[str, str, str]]]] = [
    ("", []),
    (
        "hello",
        [
            ("versions", "numbers32", ""),
            ("token", "text", "?"),
            ("resume", "resume", "?"),
            ("lease_ms", "u64", "?"),
            ("window", "u32", "?"),
            ("message_bytes", "u32", "?"),
            ("remember", "u32", ""),
            ("moves", "bool", "+"),
            ("certificate", "text", "+"),
            ("attempt", "u32", "+"),
            ("follows", "bool", "+"),
        ],
    ),
    (
        "welcome",
        [
            ("version", "u32", ""),
            ("session", "text", ""),
            ("secret", "text", ""),
            ("platform", "text", ""),
            ("lease_ms", "u64", ""),
            ("window", "u32", ""),
            ("agents", "u32", ""),
            ("message_bytes", "u32", ""),
            ("messages_per_s", "u32", ""),
            ("remember", "u32", ""),
            ("received", "u64", ""),
            ("credit", "u64", ""),
        ],
    ),
    ("ack", [("received", "u64", ""), ("credit", "u64", "?")]),
    ("create", [*_NUMBERED, ("name", "text", "")]),
    ("created", [*_NUMBERED, ("name", "text", "")]),
    ("end", _NUMBERED),
    ("ended", [*_NUMBERED, ("reason", "text", "")]),
    ("message", _NUMBERED),
    ("refused", [("number", "u64", ""), ("of", "u64", ""), ("code", "code", ""), ("text", "text", "")]),
    ("error", [("code", "code", ""), ("text", "text", "")]),
    ("bye", []),
    ("certify", [*_NUMBERED, ("request", "text", "")]),
    ("certified", [*_NUMBERED, ("certificates", "text", "")]),
    ("keep", [*_NUMBERED, ("policy", "policy", ""), ("holds", "bool", "")]),
    (
        "save",
        [
            *_NUMBERED,
            ("upto", "u64", ""),
            ("code", "text", ""),
            ("state", "bytes", ""),
            ("to", "text", "?"),
            ("also", "numbers", ""),
            ("from", "text", "?"),
        ],
    ),
    ("saved", [*_NUMBERED, ("of", "u64", "")]),
    ("state", [*_NUMBERED, ("code", "text", ""), ("state", "bytes", ""), ("from", "text", "?")]),
    ("lacks", [*_NUMBERED, ("code", "text", "")]),
    ("code", [*_NUMBERED, ("code", "text", ""), ("at", "u64", ""), ("of", "u64", ""), ("bytes", "bytes", "")]),
    ("yield", [*_NUMBERED, ("to", "text", "")]),
    ("offer", [("number", "u64", ""), ("name", "text", ""), ("code", "text", "")]),
    ("stays", [("number", "u64", ""), ("name", "text", ""), ("text", "text", "")]),
    ("challenge", [("text", "text", "")]),
    ("proof", [("signature", "bytes", "")]),
    ("open", [("messages", "numbers", "")]),
]
_RESUME = [("session", "text", ""), ("secret", "text", ""), ("received", "u64", "")]
_FIELDS = {name: fields for name, fields in _KINDS if name}
_NUMBERS = {name: number for number, (name, _) in enumerate(_KINDS) if name}
_HELLO, _MESSAGE = 1, 8
_ENDS = {"u32": 1 << 32, "numbers32": 1 << 32}
_U64_END = 1 << 64


#: Accelerator, if there is one.
_accelerator = accelerator()


def _unreadable(why: str) -> DecodeError:
    return DecodeError("malformed", f"frame cannot be read: {why}")


class Sealed:
    """A message with its parts encoded that do not depend on earlier messages."""

    __slots__ = ("body", "bytes", "json", "message")

    def __init__(self, message: Message, json: str | None, body: bytes | None, bytes_: int) -> None:
        self.message = message
        self.json = json
        self.body = body
        self.bytes = bytes_


def seal(form: Form, message: Message, message_bytes_max: int) -> Sealed:
    """Encodes a message as far as possible before its connection is known.

    Raises EncodeError if it cannot be encoded, or is longer than granted.
    """
    if form is None:
        text = (_accelerator.write_message(message) if _accelerator else None) or message_to_json(message)
        length = len(text)
        # A character takes at most four bytes.
        if length * 4 > message_bytes_max:
            length = len(text.encode())
        sealed = Sealed(message, text, None, length)
    else:
        body = form.encode_body(message.content)
        sealed = Sealed(message, None, body, form.message_bytes(message, body))
    if sealed.bytes > message_bytes_max:
        raise EncodeError(
            f"message too long: {sealed.bytes} bytes, the limit is {message_bytes_max} (--session-message-bytes)"
        )
    return sealed


# ---- Writing


class FrameWriter:
    """Writer of the frames of a connection, in order."""

    def __init__(self, form: Form, remember: int) -> None:
        self.form = form
        self._encoder: Encoder | None = None if form is None else form.encoder(remember)

    def write(self, frame: Frame) -> bytes:
        """Encodes a frame."""
        message = frame.get("message")
        if self._encoder is None or self.form is None:
            if message is None:
                return json.dumps(_in_json(frame), separators=(",", ":")).encode()
            text = message.json if type(message) is Sealed else message_to_json(message)
            return f'{{"type":"message","number":{frame["number"]},"agent":{frame["agent"]},"message":{text}}}'.encode()
        if message is not None:
            out = bytearray((_MESSAGE,))
            _write_number(out, frame["number"])
            _write_number(out, frame["agent"])
            sealed = message if isinstance(message, Sealed) else seal(self.form, message, 1 << 62)
            return bytes(out) + self._encoder.encode_sealed(sealed.message, sealed.body or b"")
        out = bytearray((_NUMBERS[frame["type"]],))
        _write_fields(out, _FIELDS[frame["type"]], frame)
        return bytes(out)


def _in_json(frame: Frame) -> Frame:
    """Returns a frame with its bytes in base64."""
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value for name, value in frame.items()
    }


def _write_fields(out: bytearray, fields: list[tuple[str, str, str]], frame: Frame) -> None:
    last = -1
    for place, (name, _, mark) in enumerate(fields):
        if mark != "+" or frame.get(name):
            last = place
    for name, kind, mark in fields[: last + 1]:
        value = frame.get(name)
        is_marked = mark == "?" or (mark == "+" and kind != "bool")
        if is_marked:
            out.append(value is not None)
        if value is not None:
            _write_field(out, kind, value)
        elif mark == "+" and not is_marked:
            out.append(0)


def _write_field(out: bytearray, kind: str, value: Any) -> None:
    if kind in ("text", "bytes"):
        data = value.encode("utf-8", "replace") if kind == "text" else value
        _write_number(out, len(data))
        out += data
    elif kind == "bool":
        out.append(bool(value))
    elif kind == "policy":
        out.append(ON_LEAVE.index(value))
    elif kind in ("numbers", "numbers32"):
        _write_number(out, len(value))
        for number in value:
            _write_number(out, number)
    elif kind == "resume":
        _write_fields(out, _RESUME, value)
    else:
        _write_number(out, CODES.index(value) if kind == "code" else value)


def _write_number(out: bytearray, number: int) -> None:
    """Appends a number, seven bits a byte, lowest first. The high bit marks that more follow."""
    while number >= 128:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


# ---- Reading


class FrameReader:
    """Reader of the frames of a connection, in order."""

    def __init__(self, form: Form, remember: int) -> None:
        self.form = form
        self._decoder: Decoder | None = None if form is None else form.decoder(remember)

    def read(self, data: bytes) -> Frame:
        """Decodes a frame.

        Raises DecodeError if it is invalid. The connection cannot be used any more.
        """
        if not data:
            raise DecodeError("truncated", "empty frame")
        if (data[0] == 0x7B) == (self._decoder is not None):
            raise DecodeError("other-framing", "frame in another form than the hello")
        return _read_json(data) if self._decoder is None else self._compact(data, self._decoder)

    def _compact(self, data: bytes, messages: Decoder) -> Frame:
        name, fields = _KINDS[data[0]] if data[0] < len(_KINDS) else ("", [])
        if name == "" or (name == "bye" and len(data) > 1):
            raise DecodeError("unknown-kind", f"frame of unknown kind {data[0]}")
        reader = _FieldReader(data)
        frame = {"type": name, **reader.fields(fields)}
        if data[0] != _MESSAGE:
            # Later versions may append fields to a hello.
            if data[0] != _HELLO and reader.at < len(data):
                raise _unreadable("more than its fields")
            return frame
        try:
            frame["message"] = messages.decode(data[reader.at :])
        except DecodeError as error:
            raise DecodeError(error.code, f"message cannot be read: {error}") from None
        frame["bytes"] = messages.spent_bytes
        return frame


class _FieldReader:
    """Reader of the fields of a compact frame."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 1

    def fields(self, fields: list[tuple[str, str, str]]) -> Frame:
        read: Frame = {}
        for name, kind, mark in fields:
            if mark == "+" and self.at == len(self.data):
                break
            is_marked = mark == "?" or (mark == "+" and kind != "bool")
            value = None if is_marked and not self._flag() else self._field(kind)
            if mark != "+" or value:
                read[name] = value
        return read

    def _field(self, kind: str) -> Any:
        if kind == "text":
            try:
                return self._take(self._number(_U64_END)).decode()
            except UnicodeDecodeError:
                raise _unreadable("text that is not UTF-8") from None
        if kind == "bytes":
            return bytes(self._take(self._number(_U64_END)))
        if kind == "bool":
            return self._flag()
        if kind == "code":
            return CODES[self._number(len(CODES))]
        if kind == "policy":
            return ON_LEAVE[self._number(len(ON_LEAVE))]
        if kind in ("numbers", "numbers32"):
            count = self._number(_U64_END)
            if count > len(self.data) - self.at:
                raise _unreadable("truncated")
            return [self._number(_ENDS.get(kind, _U64_END)) for _ in range(count)]
        return self.fields(_RESUME) if kind == "resume" else self._number(_ENDS.get(kind, _U64_END))

    def _flag(self) -> bool:
        byte = self._byte()
        if byte > 1:
            raise _unreadable("neither 0 nor 1")
        return byte == 1

    def _take(self, length: int) -> bytes:
        if length > len(self.data) - self.at:
            raise _unreadable("truncated")
        self.at += length
        return self.data[self.at - length : self.at]

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise _unreadable("truncated")
        self.at += 1
        return self.data[self.at - 1]

    def _number(self, end: int) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    raise _unreadable("number not in its shortest form")
                break
            shift += 7
            if shift > 63:
                raise _unreadable("number of more than 64 bits")
        if number >= end:
            raise _unreadable("number too large")
        return number


def _read_json(data: bytes) -> Frame:
    if _accelerator is not None:
        frame = _accelerator.read_frame(data)
        if frame is not None:
            return frame
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise _unreadable("text that is not UTF-8") from None
    try:
        given = parse_json(text)
    except DecodeError as error:
        raise _unreadable(str(error)) from None
    name = given.get("type") if isinstance(given, dict) else None
    if name == "message":
        return _message_frame(given, len(text))
    if not isinstance(name, str):
        raise _unreadable("no type")
    fields = _FIELDS.get(name)
    if fields is None:
        raise DecodeError("unknown-kind", f'frame of unknown kind "{name}"')
    return {"type": name, **_json_fields(fields, given, name == "hello")}


def _message_frame(given: Frame, length: int) -> Frame:
    """Reads a message frame. A message that cannot be read does not end the connection: its number counts."""
    number, agent, json = given.get("number"), given.get("agent"), given.get("message")
    if type(number) is not int or type(agent) is not int or not 0 <= number < _U64_END or not 0 <= agent < 1 << 32:
        _json_fields(_NUMBERED, given, False)
    if json is None:
        raise _unreadable("no message")
    try:
        # In place: members of later versions do no harm.
        given["message"] = message_from_json(json)
    except DecodeError as error:
        return {"type": "unreadable", "number": number, "agent": agent, "why": str(error)}
    given["bytes"] = length * MEMORY_BYTES_PER_CHARACTER
    return given


def _json_fields(fields: list[tuple[str, str, str]], given: Frame, are_defaulted: bool) -> Frame:
    """Reads the fields of a JSON frame. A hello may lack any field."""
    read: Frame = {}
    for name, kind, mark in fields:
        value = given.get(name)
        if mark == "+":
            said = None if value is None else _json_field(name, kind, value)
            if said is not None and said is not False:
                read[name] = said
        elif value is not None:
            read[name] = _json_field(name, kind, value)
        elif mark:
            read[name] = None
        elif are_defaulted:
            read[name] = [] if kind == "numbers32" else 0
        else:
            raise _unreadable(f"no {name}")
    return read


def _json_field(name: str, kind: str, value: Any) -> Any:
    wrong = _unreadable(f"invalid {name}")
    if kind == "text" and isinstance(value, str):
        return value
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "code" and value in CODES:
        return value
    if kind == "policy" and value in ON_LEAVE:
        return value
    if kind == "bytes" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise wrong from None
    if kind == "resume" and isinstance(value, dict):
        return _json_fields(_RESUME, value, False)
    if kind in ("numbers", "numbers32") and isinstance(value, list):
        return [_json_number(number, _ENDS.get(kind, _U64_END), wrong) for number in value]
    if kind in ("u32", "u64"):
        return _json_number(value, _ENDS.get(kind, _U64_END), wrong)
    raise wrong


def _json_number(number: Any, end: int, wrong: DecodeError) -> int:
    if type(number) is not int or not 0 <= number < end:
        raise wrong
    return number
