"""Traces: the last messages of an agent."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Iterable
from itertools import islice

from .jid import JID
from .message import Message

__all__ = ["Trace", "TraceStore"]

#: A message, the time at which it was sent or came, and the behaviour that has to do with it.
Trace = tuple[datetime.datetime, Message, "str | None"]


class TraceStore:
    """The last messages of an agent, sent and received. The console has those of all agents."""

    __slots__ = ("store",)

    def __init__(self, size: int) -> None:
        #: The newest first.
        self.store: deque[Trace] = deque(maxlen=size)

    @property
    def size(self) -> int:
        """Number of messages that are kept."""
        return self.store.maxlen or 0

    def reset(self) -> None:
        """Forgets all messages."""
        self.store.clear()

    def append(self, event: Message, category: str | None = None) -> None:
        """Adds a message."""
        self.store.appendleft((datetime.datetime.now(), event, category))

    def len(self) -> int:
        """Returns the number of messages."""
        return len(self.store)

    def all(self, limit: int | None = None) -> list[Trace]:
        """Returns the last messages, the oldest first."""
        return _oldest_first(self.store, limit)

    def received(self, limit: int | None = None) -> list[Trace]:
        """Returns the last messages that came, the oldest first."""
        return _oldest_first((one for one in self.store if not one[1].sent), limit)

    def filter(self, limit: int | None = None, to: str | None = None, category: str | None = None) -> list[Trace]:
        """Returns the last messages to and from an agent, or of a behaviour, the oldest first."""
        who = None if to is None else JID(to)

        def fits(trace: Trace) -> bool:
            _, message, of = trace
            return (not category or of == category) and (who is None or who in (message.to.bare, message.sender.bare))

        return _oldest_first((one for one in self.store if fits(one)), limit)


def _oldest_first(traces: Iterable[Trace], limit: int | None) -> list[Trace]:
    return list(islice(traces, limit))[::-1]
