"""Agent identifiers (FIPA00023 3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Union

from .errors import EncodeError
from .limits import AIDS_MAX

__all__ = ["NOBODY", "Aid", "AidLike", "aids"]


class Aid:
    """An agent identifier. Identifiers with the same name are equal, whatever their addresses, also to that text.

    >>> Aid.of("bob@home").platform
    'home'
    >>> Aid.of("bob") == "bob"
    True
    """

    __slots__ = ("_text", "addresses", "json", "name", "platform", "resolvers", "user")

    #: Local name, before `@`.
    name: str
    #: Platform, after `@`; empty for an agent of the own platform.
    platform: str
    #: Transport addresses (URLs), in order of preference.
    addresses: tuple[str, ...]
    #: Agents that resolve the name, in order of preference.
    resolvers: tuple[Aid, ...]
    #: `X-` parameters, in order.
    user: tuple[tuple[str, Any], ...]
    #: JSON of an identifier with only a name, once it was written.
    json: str | None

    def __init__(
        self,
        name: str,
        platform: str = "",
        *,
        addresses: Iterable[str] = (),
        resolvers: Iterable[AidLike] = (),
        user: Iterable[tuple[str, Any]] = (),
    ) -> None:
        self.name = name
        self.platform = platform
        self.addresses = tuple(addresses)
        self.resolvers = tuple(Aid.of(resolver) for resolver in resolvers)
        self.user = tuple(user)
        self._text = f"{name}@{platform}" if platform else name
        self.json = None

    @staticmethod
    def of(agent: AidLike) -> Aid:
        """Returns an identifier from a name, an identifier, or an agent (anything with an `aid`).

        Raises EncodeError if the text is not an agent name. Neither part may be empty.
        """
        if isinstance(agent, Aid):
            return agent
        if isinstance(agent, str):
            found = Aid.parse(agent)
            if found is not None:
                return found
        else:
            found = getattr(agent, "aid", None)
            if isinstance(found, Aid):
                return found
        raise EncodeError(f'invalid agent name {agent!r}: expected "name" or "name@platform"')

    @staticmethod
    def parse(text: str) -> Aid | None:
        """Parses an agent name. Returns None if the text is none."""
        found = known.get(text)
        if found is not None:
            return found
        name, at, platform = text.rpartition("@")
        if not at:
            name, platform = text, ""
        if name == "" or (at and platform == ""):
            return None
        if len(known) >= AIDS_MAX:
            known.clear()
        aid = known[text] = Aid(name, platform)
        return aid

    @property
    def is_plain(self) -> bool:
        """True if the identifier has only a name."""
        return not (self.addresses or self.resolvers or self.user)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Aid):
            return self.name == other.name and self.platform == other.platform
        return self._text == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Aid({self._text!r})"

    def _repr_html_(self) -> str:
        from ..html import table

        rows = (("name", self.name), ("platform", self.platform), ("addresses", self.addresses))
        return table("Agent identifier", [*rows, ("resolvers", self.resolvers), ("user", self.user)])


#: Identifiers that were parsed, by their texts.
known: dict[str, Aid] = {}

#: An agent: its identifier, its name as text (`name` or `name@platform`), or an object with an `aid`.
AidLike = Union[Aid, str, Any]

#: Empty identifier: the sender of a message without a sender.
NOBODY = Aid("", "")


def aids(agents: AidLike | Iterable[AidLike] | None) -> tuple[Aid, ...]:
    """Converts one or several agents to identifiers."""
    if agents is None:
        return ()
    if type(agents) is str:
        return (known.get(agents) or Aid.of(agents),)
    if isinstance(agents, (str, Aid)) or hasattr(agents, "aid"):
        return (Aid.of(agents),)
    return tuple(Aid.of(agent) for agent in agents)
