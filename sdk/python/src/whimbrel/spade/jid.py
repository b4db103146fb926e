"""Jabber identifiers: `name@host/resource`, the names of SPADE's agents."""

from __future__ import annotations

import stringprep
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

__all__ = ["JID", "InvalidJID", "jid_of"]

#: Characters of a part at most.
_PART_MAX = 1023
#: Identifiers that are remembered, so that each is parsed once.
_KNOWN_MAX = 65_536
#: Characters that no name may have.
_NO_NAME = frozenset("\"&'/:<>@")
_PROHIBITED = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


class InvalidJID(ValueError):
    """The text is no Jabber identifier."""


class _Parts(NamedTuple):
    node: str
    domain: str
    resource: str
    bare: str
    full: str


def _prepared(
    text: str, fold: Callable[[str], str] | None, prohibited: Iterable[Callable[[str], bool]], what: str
) -> str:
    """Prepares a part for comparison (RFC 3454): names and hosts without regard to case, resources with it."""
    mapped = "".join(fold(c) if fold else c for c in text if not stringprep.in_table_b1(c))
    found = unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    if not found or len(found) > _PART_MAX or any(is_bad(c) for c in found for is_bad in prohibited):
        raise InvalidJID(f"invalid {what} {text!r} of a JID")
    return found


def _node(text: str) -> str:
    if any(c in _NO_NAME for c in text):
        raise InvalidJID(f"invalid name {text!r} of a JID: it has one of \" & ' / : < > @")
    return _prepared(text, stringprep.map_table_b2, (stringprep.in_table_c11, *_PROHIBITED), "name")


def _domain(text: str) -> str:
    host = _prepared(text.removesuffix("."), stringprep.map_table_b2, (stringprep.in_table_c11, *_PROHIBITED), "host")
    is_address = host.startswith("[") and host.endswith("]")
    if not is_address and any(not label or "-" in (label[0], label[-1]) or ":" in label for label in host.split(".")):
        raise InvalidJID(f"invalid host {text!r} of a JID")
    return host


def _joined(node: str, domain: str, resource: str) -> _Parts:
    bare = f"{node}@{domain}" if node else domain
    return _Parts(node, domain, resource, bare, f"{bare}/{resource}" if resource else bare)


@lru_cache(_KNOWN_MAX)
def _parse(text: str) -> _Parts:
    address, slash, resource = text.partition("/")
    node, at, domain = address.rpartition("@")
    if (at and not node) or not domain or (slash and not resource):
        raise InvalidJID(f"invalid JID {text!r}: expected name@host or name@host/resource")
    return _joined(
        _node(node) if node else "",
        _domain(domain),
        _prepared(resource, None, _PROHIBITED, "resource") if resource else "",
    )


class JID:
    """A Jabber identifier. Name and host are compared without regard to case.

    >>> JID("Ada@Localhost/desk").bare
    'ada@localhost'
    """

    __slots__ = ("_parts",)

    _parts: _Parts

    def __init__(self, jid: JID | str | None = None, bare: bool = False) -> None:
        """Parses an identifier; without one, the empty one. Raises InvalidJID if the text is none."""
        if isinstance(jid, JID):
            self._parts = jid._parts
        else:
            self._parts = _parse(str(jid)) if jid else _EMPTY
        if bare and self._parts.resource:
            self._parts = _joined(self._parts.node, self._parts.domain, "")

    @property
    def node(self) -> str:
        """Name, before `@`."""
        return self._parts.node

    user = local = username = node

    @property
    def domain(self) -> str:
        """Host, after `@`."""
        return self._parts.domain

    server = host = domain

    @property
    def resource(self) -> str:
        """Resource, after `/`; empty if there is none."""
        return self._parts.resource

    @property
    def bare(self) -> str:
        """The identifier without its resource."""
        return self._parts.bare

    @property
    def full(self) -> str:
        """The whole identifier."""
        return self._parts.full

    jid = full

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            try:
                other = JID(other)
            except InvalidJID:
                return False
        return self._parts == other._parts if isinstance(other, JID) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts.full)

    def __str__(self) -> str:
        return self._parts.full

    __repr__ = __str__


_EMPTY = _Parts("", "", "", "", "")


@lru_cache(_KNOWN_MAX)
def jid_of(name: str, host: str) -> JID:
    """Returns the identifier of any agent of the platform by its local name, also of one that no text can denote, such
    as `cleanerBot`: SPADE's names have no capitals.
    """
    made = JID()
    made._parts = _joined(name, host, "")
    return made
