"""Templates: selection of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Union

from .aid import Aid, AidLike
from .message import Message

__all__ = ["Matcher", "Template", "matches"]


class Template:
    """Selection of messages. All given parameters must match; a performative may be one of several.

    Templates combine by `&`, `|` and `~`, and are functions of a message:

    >>> answers = Template(performative=("propose", "refuse")) & ~Template(sender="eve")
    >>> answers(Message("propose", "bob", sender="amy"))
    True
    """

    __slots__ = ("_equal", "performatives", "receiver", "sender")

    def __init__(
        self,
        performative: str | Iterable[str] | None = None,
        *,
        sender: AidLike | None = None,
        receiver: AidLike | None = None,
        conversation_id: str | None = None,
        ontology: str | None = None,
        protocol: str | None = None,
        language: str | None = None,
        in_reply_to: str | None = None,
    ) -> None:
        """Creates a template. `receiver` is an agent, topic or group among the receivers."""
        given = (performative,) if isinstance(performative, str) else performative
        #: Performatives that match; None for all.
        self.performatives: frozenset[str] | None = None if given is None else frozenset(given)
        self.sender = None if sender is None else Aid.of(sender)
        self.receiver = None if receiver is None else Aid.of(receiver)
        texts = {
            "conversation_id": conversation_id,
            "ontology": ontology,
            "protocol": protocol,
            "language": language,
            "in_reply_to": in_reply_to,
        }
        self._equal = [(name, value) for name, value in texts.items() if value is not None]

    def __call__(self, message: Message) -> bool:
        """Returns true if the message matches."""
        if self.performatives is not None and message.performative not in self.performatives:
            return False
        if self.sender is not None and message.sender != self.sender:
            return False
        if self.receiver is not None and self.receiver not in message.receivers:
            return False
        return all(getattr(message, name) == value for name, value in self._equal)

    def __and__(self, other: Matcher) -> Template:
        return _All((self, other))

    def __rand__(self, other: Matcher) -> Template:
        return _All((other, self))

    def __or__(self, other: Matcher) -> Template:
        return _Any((self, other))

    def __ror__(self, other: Matcher) -> Template:
        return _Any((other, self))

    def __invert__(self) -> Template:
        return _Not((self,))

    def __repr__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in self._equal]
        if self.performatives is not None:
            parts.insert(0, f"performative={sorted(self.performatives)!r}")
        parts += [f"{name}={str(aid)!r}" for name in ("sender", "receiver") if (aid := getattr(self, name)) is not None]
        return f"Template({', '.join(parts)})"


#: Selects messages: a template, or a function of a message.
Matcher = Union[Template, Callable[[Message], Any]]


class _Combined(Template):
    """Template of other templates."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Matcher, ...]) -> None:
        super().__init__()
        self.parts = parts

    def __repr__(self) -> str:
        return f"({self._sign.join(map(repr, self.parts))})"

    _sign = ""


class _All(_Combined):
    __slots__ = ()
    _sign = " & "

    def __call__(self, message: Message) -> bool:
        return all(part(message) for part in self.parts)


class _Any(_Combined):
    __slots__ = ()
    _sign = " | "

    def __call__(self, message: Message) -> bool:
        return any(part(message) for part in self.parts)


class _Not(_Combined):
    __slots__ = ()

    def __call__(self, message: Message) -> bool:
        return not self.parts[0](message)

    def __repr__(self) -> str:
        return f"~{self.parts[0]!r}"


def matches(matcher: Matcher | None, message: Message) -> bool:
    """Returns true if a message matches. None matches all."""
    return matcher is None or bool(matcher(message))
