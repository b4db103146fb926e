"""Agent Communication Language: identifiers, messages, templates, content values, and their JSON form."""

from __future__ import annotations

from .aid import NOBODY, Aid, AidLike
from .errors import DecodeError, EncodeError, WhimbrelError
from .json import message_from_json, message_to_json, parse_json, value_from_json, value_to_json
from .message import Message, Reply
from .order import compare, equal
from .performatives import KQML_PERFORMATIVES, PERFORMATIVES
from .template import Matcher, Template, matches
from .values import Atom, Container, Map, OpenList, Record, Term, Variable, into, plain

__all__ = [
    "KQML_PERFORMATIVES",
    "NOBODY",
    "PERFORMATIVES",
    "Aid",
    "AidLike",
    "Atom",
    "Container",
    "DecodeError",
    "EncodeError",
    "Map",
    "Matcher",
    "Message",
    "OpenList",
    "Record",
    "Reply",
    "Template",
    "Term",
    "Variable",
    "WhimbrelError",
    "compare",
    "equal",
    "into",
    "matches",
    "message_from_json",
    "message_to_json",
    "parse_json",
    "plain",
    "value_from_json",
    "value_to_json",
]
