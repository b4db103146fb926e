"""Frames between a node and its Python process: JSON arrays, each behind its length in four bytes, the most
significant first. `docs/design/python-environments.md` describes them.
"""

from __future__ import annotations

import os
import struct
import threading
from typing import Any, BinaryIO

from ..acl.errors import DecodeError, EncodeError, malformed
from ..acl.json import parse_json, value_from_json, value_to_json

__all__ = ["FRAME_BYTES_MAX", "VERSION", "FrameWriter", "read_frame"]

#: Version of the protocol.
VERSION = 1
#: Longest frame.
FRAME_BYTES_MAX = 16 << 20

_LENGTH = struct.Struct(">I")

#: Parts of each frame of the node behind its name: `t` text, `o` text or null, `n` number, `v` value, `l` values,
#: `s` texts.
_NODE_FRAMES = {
    "hello": "nto",
    "environment": "tl",
    "agents": "s",
    "gone": "t",
    "act": "ntv",
    "call": "nttln",
    "more": "nn",
    "drop": "n",
    "stop": "",
}


def _part(kind: str, part: Any) -> Any:
    if kind == "v":
        return value_from_json(part)
    if kind == "t" or (kind == "o" and part is not None):
        if not isinstance(part, str):
            raise malformed("expected text")
    elif kind == "n":
        if type(part) is not int or part < 0:
            raise malformed("expected a number")
    elif kind in ("l", "s"):
        if not isinstance(part, list):
            raise malformed("expected a list")
        if kind == "l":
            return [value_from_json(item) for item in part]
        if not all(isinstance(item, str) for item in part):
            raise malformed("expected a list of texts")
    return part


def decode(data: bytes) -> list[Any]:
    """Reads a frame of the node without its length: its name and its parts.

    Raises DecodeError if it is malformed.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise malformed(str(error)) from None
    frame = parse_json(text)
    if not isinstance(frame, list) or not frame or not isinstance(frame[0], str):
        raise malformed("expected a list with a name")
    kinds = _NODE_FRAMES.get(frame[0])
    if kinds is None:
        raise malformed(f"unknown frame {frame[0]!r}")
    if len(frame) != len(kinds) + 1:
        raise malformed(f"frame {frame[0]!r} has {len(frame) - 1} parts")
    return [frame[0], *[_part(kind, part) for kind, part in zip(kinds, frame[1:], strict=True)]]


def read_frame(source: BinaryIO) -> list[Any] | None:
    """Reads the next frame; None at the end of the stream.

    Raises DecodeError if it is too long or malformed.
    """
    head = source.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > FRAME_BYTES_MAX:
        raise DecodeError("malformed", f"a frame of {length} bytes is longer than {FRAME_BYTES_MAX} bytes")
    data = source.read(length)
    return decode(data) if len(data) == length else None


def values_to_json(values: Any) -> str:
    """Encodes values as a JSON array."""
    return "[" + ",".join([value_to_json(value) for value in values]) + "]"


class FrameWriter:
    """Writes frames; any thread may."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Writes a frame that is JSON already."""
        data = text.encode()
        if len(data) > FRAME_BYTES_MAX:
            raise EncodeError(f"a frame of {len(data)} bytes is longer than {FRAME_BYTES_MAX} bytes")
        rest = memoryview(_LENGTH.pack(len(data)) + data)
        with self._lock:
            while rest:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except OSError:
                    # The node has ended, and so will this process.
                    return

    def ready(self, python: str, sdk: str) -> None:
        """Says hello."""
        self.write(f'["ready",{VERSION},{value_to_json(python)},{value_to_json(sdk)}]')

    def broken(self, why: str) -> None:
        """Reports an environment that cannot run."""
        self.write(f'["broken",{value_to_json(why)}]')

    def warn(self, text: str) -> None:
        """Warns the operator."""
        self.write(f'["warn",{value_to_json(text)}]')

    def print(self, agent: str | None, text: str) -> None:
        """Prints a line of an agent, or of the environment."""
        self.write(f'["print",{"null" if agent is None else value_to_json(agent)},{value_to_json(text)}]')

    def percepts(self, agent: str, whole: bool, added: list[str], removed: list[str]) -> None:
        """Shows an agent percepts, which are JSON already."""
        flag = "true" if whole else "false"
        self.write(f'["percepts",{value_to_json(agent)},{flag},[{",".join(added)}],[{",".join(removed)}]]')

    def done(self, number: int) -> None:
        """Reports an action that is done."""
        self.write(f'["done",{number}]')

    def failed(self, number: int, reason: Any) -> None:
        """Reports an action that failed."""
        self.write(f'["failed",{number},{value_to_json(reason)}]')

    def progress(self, number: int, report: Any) -> None:
        """Reports how far an action is."""
        self.write(f'["progress",{number},{value_to_json(report)}]')

    def solved(self, number: int, solutions: list[list[Any]], more: bool) -> None:
        """Answers a call with solutions."""
        found = ",".join([values_to_json(solution) for solution in solutions])
        self.write(f'["solved",{number},[{found}],{"true" if more else "false"}]')

    def refused(self, number: int, error: str, message: str, annots: Any = ()) -> None:
        """Answers a call that failed."""
        self.write(f'["refused",{number},{value_to_json(error)},{value_to_json(message)},{values_to_json(annots)}]')

    def grid(self, columns: int, rows: int, objects: list[Any]) -> None:
        """Shows a grid."""
        self.write(f'["grid",{columns},{rows},{values_to_json(objects)}]')
