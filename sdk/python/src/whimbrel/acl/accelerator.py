"""Accelerator of messages in JSON, if it is installed: `pip install whimbrel[fast]`.

It does the plain cases, and leaves all others to this package: results and errors are the same with it and without.
The variable WHIMBREL_PURE turns it off.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, Protocol

from . import aid
from .message import Message

__all__ = ["JsonCodec", "accelerator"]


class JsonCodec(Protocol):
    """Accelerated reader and writer."""

    def read_frame(self, data: bytes) -> dict[str, Any] | None:
        """Reads a frame with a message; None if this package has to read it."""
        ...

    def write_message(self, message: Message) -> str | None:
        """Writes a message; None if this package has to write it."""
        ...


def accelerator() -> JsonCodec | None:
    """Returns the accelerator; None if it is not installed, or turned off."""
    if os.environ.get("WHIMBREL_PURE"):
        return None
    try:
        make: Callable[..., JsonCodec] = importlib.import_module("whimbrel_fast").JsonCodec
    except ImportError:
        return None
    return make(Message, aid.NOBODY, aid.known, aid.Aid.parse)
