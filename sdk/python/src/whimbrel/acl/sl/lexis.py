"""Words, numbers and times of SL."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

from ..limits import INT_MAX, INT_MIN
from ..numbers import ecmascript
from ..values import Term

#: The language and its subsets, by their names in `:language`. Each one extends the previous one.
PROFILES = ("fipa-sl0", "fipa-sl1", "fipa-sl2", "fipa-sl")

#: Maximum nesting of brackets.
LEVELS_MAX = 96

BINARY = ("and", "or", "implies", "equiv")
QUANTIFIERS = ("forall", "exists")
MODAL = ("B", "U", "PG", "I")
HAPPENS = ("feasible", "done")
REFERENTIAL = ("iota", "any", "all")
ACTIONS = ("action", "|", ";")
#: Words that cannot name a predicate, and words that cannot name a function.
OF_FORMULAS = frozenset(
    ("not", "=", "result", "true", "false", *ACTIONS, *BINARY, *QUANTIFIERS, *MODAL, *HAPPENS, *REFERENTIAL)
)
OF_TERMS = frozenset((*ACTIONS, "sequence", "set", *REFERENTIAL))

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)")
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]+")
_TIME = re.compile(r"([+-]?)([0-9]{4})([0-9]{2})([0-9]{2})[Tt]([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{3})([A-Za-z]?)")
_BREAK = re.compile(r"[\0- ()]")
_DAY_MS = 86_400_000
#: First time that needs five digits for its year.
_BEYOND_MS = 253_402_300_800_000
_EPOCH = datetime.datetime(1970, 1, 1)


def is_bare(text: str) -> bool:
    """Returns true if the text is a single bare token."""
    return text != "" and text[0] not in '"#' and not _BREAK.search(text)


def is_word(text: str) -> bool:
    """Returns true if the text is a word of SL (FIPA00008 2.2)."""
    if not is_bare(text) or text[0] in "0123456789:-?":
        return False
    return not (_INTEGER.fullmatch(text) or _FLOAT.fullmatch(text) or _TIME.fullmatch(text))


def number_of(text: str) -> int | float | None:
    """Returns the number that a token is."""
    if _HEXADECIMAL.fullmatch(text):
        magnitude = int(text.lstrip("+-"), 16)
        if magnitude > INT_MAX:
            return None
        return -magnitude if text.startswith("-") else magnitude
    is_integer = _INTEGER.fullmatch(text) is not None
    # A 64-bit number has at most 20 digits.
    if is_integer and len(text) <= 25 and INT_MIN <= int(text) <= INT_MAX:
        return int(text)
    if not is_integer and not _FLOAT.fullmatch(text):
        return None
    nearest = float(text)
    return nearest if math.isfinite(nearest) else None


def time_of(text: str) -> Any:
    """Decodes a time; None if the token is none. An invalid date stays text."""
    found = _TIME.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second, ms = map(int, found.groups()[1:8])
    clock = ((hour * 60 + minute) * 60 + second) * 1000 + ms
    if found[1]:
        span = (year * 365 + month * 30 + day) * _DAY_MS + clock
        return Term("duration", -span if found[1] == "-" else span)
    zone = _zone_hours(found[9])
    try:
        midnight = (datetime.datetime(year, month, day) - _EPOCH).days * _DAY_MS
    except ValueError:
        return text
    if year < 1970 or hour > 23 or minute > 59 or second > 60 or zone is None:
        return text
    moment = midnight + clock - zone * 3_600_000
    return Term("datetime", moment) if moment >= 0 else text


def _zone_hours(letter: str) -> int | None:
    """Returns the hours that a zone is ahead of UTC."""
    zone = letter.upper()
    if zone in ("", "Z"):
        return 0
    east, west = "ABCDEFGHIKLM".find(zone), "NOPQRSTUVWXY".find(zone)
    return east + 1 if east >= 0 else -west - 1 if west >= 0 else None


def double_text(n: float) -> str:
    """Writes a finite double so that it differs from an integer."""
    magnitude = abs(n)
    if magnitude != 0 and (magnitude < 1e-4 or magnitude >= 1e16):
        mantissa, _, exponent = f"{n!r}e".partition("e")
        if not exponent.strip("e"):
            # Python writes it without an exponent.
            return _exponential(n)
        return f"{mantissa.removesuffix('.0')}e{int(exponent.strip('e'))}"
    text = "-0" if n == 0 and math.copysign(1, n) < 0 else ecmascript(n)
    return f"{text}.0" if n.is_integer() else text


def _exponential(n: float) -> str:
    digits = ecmascript(abs(n)).rstrip("0")
    power = len(ecmascript(abs(n))) - 1
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{'-' if n < 0 else ''}{mantissa}e{power}"


def time_text(name: str, ms: int) -> str | None:
    """Writes `datetime(Ms)` or `duration(Ms)`; None for other terms, and for times that SL cannot write."""
    if name == "datetime" and 0 <= ms < _BEYOND_MS:
        moment = _EPOCH + datetime.timedelta(milliseconds=ms)
        return f"{moment:%Y%m%dT%H%M%S}{moment.microsecond // 1000:03d}Z"
    if name != "duration":
        return None
    days, clock = divmod(abs(ms), _DAY_MS)
    years, rest = divmod(days, 365)
    if years > 9999:
        return None
    # Twelve months of 30 days do not fill a year, so the last days count as days.
    months = min(11, rest // 30)
    seconds, part = divmod(clock, 1000)
    hours, seconds = divmod(seconds, 3600)
    sign = "-" if ms < 0 else "+"
    date = f"{years:04d}{months:02d}{rest - months * 30:02d}"
    return f"{sign}{date}T{hours:02d}{seconds // 60:02d}{seconds % 60:02d}{part:03d}"
