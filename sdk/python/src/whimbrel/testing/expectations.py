"""Expectations of what agents say: `assert_says`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..acl.aid import Aid, AidLike
from ..acl.errors import WhimbrelError
from ..acl.message import TEXTS, Message
from ..acl.values import Record
from ..recording import Recording, shortened

__all__ = ["ANYTHING", "Expectation"]

#: Messages that a failure shows: the last ones.
_SHOWN_MAX = 40


class _Anything:
    """Any content."""

    def __repr__(self) -> str:
        return "anything"


ANYTHING: Any = _Anything()


class Expectation:
    """Messages that an agent is to say, or not to say."""

    def __init__(
        self, agent: AidLike, performative: str | None, content: Any, to: AidLike | None, parameters: Mapping[str, Any]
    ) -> None:
        """Describes the messages. Raises WhimbrelError if there is no such parameter."""
        self._agent = Aid.of(agent)
        self._performative = performative
        self._content = content
        self._to = None if to is None else Aid.of(to)
        self._parameters = dict(parameters)
        for name in parameters:
            if name not in TEXTS:
                raise WhimbrelError(f"a message has no parameter {name!r}: use one of {', '.join(TEXTS)}")

    def fits(self, message: Message) -> bool:
        """True if the message is one of them."""
        return (
            message.sender == self._agent
            and self._performative in (None, message.performative)
            and (self._to is None or self._to in message.receivers)
            and all(getattr(message, name) == value for name, value in self._parameters.items())
            and self._fits_content(message.content)
        )

    def _fits_content(self, content: Any) -> bool:
        expected = self._content
        if expected is ANYTHING:
            return True
        if callable(expected):
            try:
                return bool(expected(content))
            except (TypeError, KeyError, IndexError, AttributeError):
                # The content has another form.
                return False
        if isinstance(content, Record) and isinstance(expected, Mapping) and not isinstance(expected, Record):
            return dict(content) == dict(expected)
        return bool(content == expected)

    def check(self, recording: Recording, times: int | None) -> Message | None:
        """Asserts that there are such messages, or exactly so many. Returns the last one."""
        __tracebackhide__ = True
        found = [one.message for one in recording if self.fits(one.message)]
        if (times is None and not found) or (times is not None and len(found) != times):
            raise AssertionError(self._failure(recording, len(found), times))
        return found[-1] if found else None

    def _failure(self, recording: Recording, found: int, times: int | None) -> str:
        """Says what was expected, what was said, and shows the conversation."""
        if times is None:
            what = "did not say"
        elif times == 0:
            what = f"said {_number(found)}, but should not have said"
        else:
            what = f"said {_number(found)}, not {_number(times)},"
        shown = [one for one in recording if not one.is_of_directories or self.fits(one.message)]
        lines = [("> " if self.fits(one.message) else "  ") + str(one) for one in shown[-_SHOWN_MAX:]]
        if len(shown) > _SHOWN_MAX:
            lines.insert(0, f"  ... {len(shown) - _SHOWN_MAX} earlier messages")
        conversation = "\n".join(lines) or "  no agent said anything"
        return f"{self._agent} {what} {self}\nThe conversation, with times in seconds:\n{conversation}"

    def __str__(self) -> str:
        parts = [self._performative or "any message"]
        if self._content is not ANYTHING:
            named = getattr(self._content, "__name__", None) if callable(self._content) else None
            parts.append(named or shortened(self._content))
        if self._to is not None:
            parts.append(f"to {self._to}")
        parts += [f"with {name}={value!r}" for name, value in self._parameters.items()]
        return " ".join(parts)


def _number(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
