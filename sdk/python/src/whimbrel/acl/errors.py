"""Errors of encoding and decoding."""

from __future__ import annotations


class WhimbrelError(Exception):
    """Base class of this package's errors."""


class DecodeError(WhimbrelError, ValueError):
    """Bytes or text that cannot be decoded. Decoders raise no other error.

    `code` is the reason for programs: `truncated`, `malformed`, `version`, `budget`, `too-deep`, `trailing`,
    `unknown-kind` or `other-framing`. `offset` is the offending byte, if there are bytes.
    """

    def __init__(self, code: str, message: str, offset: int | None = None) -> None:
        super().__init__(message if offset is None else f"byte {offset}: {message}")
        self.code = code
        self.offset = offset


class EncodeError(WhimbrelError, ValueError):
    """A value or message that cannot be encoded: not a value, nested too deeply, too long, or out of range."""


def malformed(what: str) -> DecodeError:
    """Returns the error about text that is no value or message."""
    return DecodeError("malformed", what)
