"""Errors of agents and their conversations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..acl.errors import WhimbrelError
from ..acl.json import value_to_json
from ..acl.message import Message
from ..acl.values import Atom, Term

__all__ = [
    "AgentGoneError",
    "AnswerError",
    "DeadlineError",
    "EndedError",
    "FailureError",
    "NotUnderstoodError",
    "Refusal",
    "RefuseError",
    "RefusedError",
    "StayedError",
    "error_of",
]

#: Characters of the request that an error quotes.
_QUOTED_MAX = 200


class AnswerError(WhimbrelError):
    """A negative answer: `refuse`, `failure` or `not-understood`. `answer` is the message."""

    def __init__(self, answer: Message) -> None:
        super().__init__(f"{answer.sender} answers {answer.performative}: {_reason_of(answer.content)}")
        self.answer = answer

    @property
    def content(self) -> Any:
        """Content of the answer."""
        return self.answer.content


class RefuseError(AnswerError):
    """The other agent refuses the request."""


class FailureError(AnswerError):
    """The request failed; or, from `ams`, the message could not be delivered."""


class NotUnderstoodError(AnswerError):
    """The other agent did not understand the message."""


class DeadlineError(WhimbrelError, TimeoutError):
    """No message came in time. It is a `TimeoutError`."""


class EndedError(WhimbrelError):
    """The agent ended."""


class AgentGoneError(WhimbrelError):
    """A watched agent is not on the platform any more."""

    def __init__(self, name: str, reason: str | None = None) -> None:
        super().__init__(f"agent {name} is not on the platform any more")
        self.name = name
        #: Reason of its end: `finished`, `killed`, `failed: ...`; None if it was gone already.
        self.reason = reason


class RefusedError(WhimbrelError):
    """The node refuses a request of this client. `code` is the reason for programs, `text` for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}{_HINTS.get(code, '')}")
        self.code = code
        self.text = text


_HINTS = {
    "name-taken": ": choose another name, or stop that agent first",
    "not-allowed": ": ask the node's operator for a token or a policy rule that permits it",
    "bad-name": ": a local name is text without @",
}


class StayedError(WhimbrelError):
    """The agent could not move, and continues where it was.

    `why` is the reason for programs: `no_such_node`, `already_there`, `forbidden`, `refused`, `busy`, `not_movable`,
    `too_large`, `unreachable` or `stopping`.
    """

    def __init__(self, why: str, text: str, is_nodes: bool = False) -> None:
        super().__init__(text)
        self.why = why
        #: True if the node reported the failure.
        self.is_nodes = is_nodes

    @classmethod
    def of(cls, error: RefusedError) -> StayedError:
        """Converts a node's refusal of a move."""
        found = re.fullmatch(r"([a-z_]+): (.*)", error.text, re.DOTALL)
        if found:
            return cls(found[1], found[2], True)
        return cls("forbidden" if error.code == "not-allowed" else "not_movable", error.text, True)


class Refusal(WhimbrelError):
    """Raised by a handler to answer `refuse`. Other exceptions are answered `failure`."""

    def __init__(self, content: Any = None, /, **fields: Any) -> None:
        #: Reason that the other agent gets.
        self.content = fields if fields and content is None else content
        super().__init__(str(self.content))


def error_of(answer: Message) -> AnswerError | None:
    """Returns the error for a negative answer; None for other answers."""
    performative = answer.performative
    if performative == "refuse":
        return RefuseError(answer)
    if performative == "failure":
        return FailureError(answer)
    return NotUnderstoodError(answer) if performative == "not-understood" else None


def _reason_of(content: Any) -> str:
    """Returns the reason of an answer for people. FIPA puts the request first; here the reason comes first."""
    if not isinstance(content, list) or len(content) != 2:
        return in_words(content)
    asked, reason = content
    if isinstance(reason, Term) and reason.functor == "undelivered" and len(reason.args) == 2:
        receiver, why = map(in_words, reason.args)
        return f"{receiver} cannot be reached: {why.replace('_', ' ')}"
    is_action = isinstance(asked, Term) and asked.functor == "action" and len(asked.args) == 2
    return f"{in_words(reason)}, for {in_words(asked.args[1] if is_action else asked)[:_QUOTED_MAX]}"


def in_words(value: Any) -> str:
    """Formats a value for people: texts and atoms plainly, terms as AgentSpeak, records by name, others as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and "name" in value:
        return in_words(value["name"])
    if isinstance(value, Atom):
        return value.name
    if isinstance(value, Term):
        return f"{value.functor}({', '.join(map(in_words, value.args))})"
    try:
        return value_to_json(value)
    except WhimbrelError:
        return repr(value)
