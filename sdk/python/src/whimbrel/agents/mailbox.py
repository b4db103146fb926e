"""Mailbox of an agent: messages between the session and their receivers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from ..acl.message import Message
from ..acl.template import Matcher
from .errors import EndedError
from .limits import GIVEN_UP_MAX, MAILBOX_BYTES_MAX, MAILBOX_MESSAGES_MAX, MESSAGE_BYTES_MIN

if TYPE_CHECKING:
    from .core import AgentCore

__all__ = ["Inbox", "Mailbox"]

#: A message and its estimated memory.
Held = tuple[Message, int]


class Mailbox:
    """Messages that no handler took, and inboxes that collect. An agent gets one when it needs one."""

    __slots__ = ("_bytes", "_given_up", "agent", "inboxes", "suspended", "waiting")

    def __init__(self, agent: AgentCore) -> None:
        self.agent = agent
        #: Messages that nothing has taken.
        self.waiting: list[Held] = []
        #: Inboxes. They take priority over handlers, the oldest first.
        self.inboxes: list[Inbox] = []
        #: Messages that arrived while the agent was suspended; None if it is not.
        self.suspended: deque[Held] | None = None
        # Identifiers of abandoned conversations and requests, the oldest first.
        self._given_up: dict[str, None] = {}
        self._bytes = 0

    @property
    def size(self) -> int:
        """Number of messages that nothing has taken."""
        return len(self.waiting) + len(self.suspended or ())

    @property
    def bytes(self) -> int:
        """Estimated memory of these messages, and of those in inboxes."""
        return self._bytes

    def reserve(self, held: Held) -> bool:
        """Reserves memory for a message; false if there is none left. A single message always fits."""
        if self._bytes and self._bytes + held[1] > MAILBOX_BYTES_MAX:
            return False
        self._bytes += held[1]
        return True

    def release(self, held: Held) -> None:
        """Gives the memory of a message back."""
        self._bytes -= held[1]

    def put(self, message: Message, size: int) -> bool:
        """Keeps a message. Returns false if there is no room."""
        held = (message, size + MESSAGE_BYTES_MIN)
        if len(self.waiting) >= MAILBOX_MESSAGES_MAX or not self.reserve(held):
            return False
        self.waiting.append(held)
        return True

    def suspend(self, message: Message, size: int) -> bool:
        """Keeps a message until the agent resumes. Returns false if there is no room."""
        held = (message, size + MESSAGE_BYTES_MIN)
        if self.suspended is None or len(self.suspended) >= MAILBOX_MESSAGES_MAX or not self.reserve(held):
            return False
        self.suspended.append(held)
        return True

    def take(self, fits: Callable[[Message], bool]) -> Message | None:
        """Takes the first waiting message that fits."""
        for place, held in enumerate(self.waiting):
            if fits(held[0]):
                del self.waiting[place]
                self.release(held)
                return held[0]
        return None

    def take_all(self, fits: Callable[[Message], bool]) -> list[Held]:
        """Takes all waiting messages that fit."""
        found = [held for held in self.waiting if fits(held[0])]
        if found:
            taken = {id(held) for held in found}
            self.waiting = [held for held in self.waiting if id(held) not in taken]
            for held in found:
                self.release(held)
        return found

    def numbers(self) -> frozenset[int]:
        """Numbers of the frames of all messages that nothing has taken, those in inboxes included."""
        held = [*self.waiting, *(self.suspended or ())]
        for inbox in self.inboxes:
            held += inbox._held
        return frozenset(message._number for message, _ in held)

    def give_up(self, identifier: str) -> None:
        """Drops late messages of an abandoned request or conversation."""
        self._given_up[identifier] = None
        if len(self._given_up) > GIVEN_UP_MAX:
            del self._given_up[next(iter(self._given_up))]
        for message, _ in self.take_all(self.is_late):
            self.agent.finished(message)

    def is_late(self, message: Message) -> bool:
        """True for a message of an abandoned request or conversation."""
        identifier = message.in_reply_to or message.conversation_id
        return identifier in self._given_up


class Inbox:
    """Matching messages in their order. Until the inbox is closed, no other receiver gets them.

    ``async with agent.listen(Template(conversation_id="c1")) as inbox: async for message in inbox: ...``

    In a kept agent, a message of such a loop is finished when the loop asks for the next one or is left. A message from
    `next` is finished at once.
    """

    def __init__(self, mailbox: Mailbox, matcher: Matcher | None, is_single: bool = False) -> None:
        self._mailbox = mailbox
        self._agent = mailbox.agent
        self.matcher = matcher
        self._is_single = is_single
        self._held: deque[Held] = deque()
        self._waiters: deque[asyncio.Future[Message]] = deque()
        self._failure: BaseException | None = None
        self._is_closed = False
        self._identifiers: tuple[str, ...] = ()
        self._current: Message | None = None
        mailbox.inboxes.append(self)
        for held in mailbox.take_all(self.fits):
            self.put(*held, is_reserved=True)

    def fits(self, message: Message) -> bool:
        """True if the inbox takes the message. A matcher that fails must not keep it from other receivers."""
        if self.matcher is None:
            return True
        try:
            return bool(self.matcher(message))
        except Exception as error:
            self._agent.tell(error, message)
            return False

    def put(self, message: Message, size: int, *, is_reserved: bool = False) -> bool:
        """Gives a message to a waiting receiver, or keeps it. Returns false if there is no room."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(message)
                if self._is_single:
                    self.close()
                return True
        held = (message, size if is_reserved else size + MESSAGE_BYTES_MIN)
        if not self._mailbox.reserve(held) and not is_reserved:
            return False
        self._held.append(held)
        return True

    def fail(self, error: BaseException) -> None:
        """Fails all waiting receivers, and later ones when the inbox is empty."""
        self._failure = error
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(error)
        self._waiters.clear()

    def __len__(self) -> int:
        return len(self._held)

    def __bool__(self) -> bool:
        return True

    async def next(self, timeout: float | None = None) -> Message:
        """Takes the next message. The first caller gets the first message.

        Raises DeadlineError if none arrives in time, EndedError if the agent ends.
        """
        message = await self._next(timeout)
        self._agent.finished(message)
        return message

    async def _next(self, timeout: float | None) -> Message:
        if self._held:
            held = self._held.popleft()
            self._mailbox.release(held)
            return held[0]
        if self._failure is not None:
            raise self._failure
        waiter: asyncio.Future[Message] = self._agent.loop.create_future()
        self._waiters.append(waiter)
        if timeout is not None:
            self._agent.deadlines.add(waiter, timeout)
        try:
            return await waiter
        except asyncio.CancelledError:
            # A message that came in the same moment must not be lost.
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._agent.redeliver(waiter.result())
            raise

    def belongs_to(self, *identifiers: str) -> None:
        """Names the requests and conversations whose late messages are dropped when the inbox is given up."""
        self._identifiers = identifiers

    def close(self) -> None:
        """Stops collecting. Messages that were collected and not taken go to other receivers."""
        if self._is_closed:
            return
        self._is_closed = True
        if self in self._mailbox.inboxes:
            self._mailbox.inboxes.remove(self)
        while self._held:
            held = self._held.popleft()
            self._mailbox.release(held)
            if self._identifiers:
                self._agent.finished(held[0])
            else:
                self._agent.redeliver(held[0])
        self._failure = self._failure or EndedError("the inbox is closed")
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(self._failure)
        self._waiters.clear()

    def give_up(self) -> None:
        """Stops collecting, and drops late messages that no handler takes."""
        self.close()
        for identifier in self._identifiers:
            self._mailbox.give_up(identifier)

    async def __aenter__(self) -> Inbox:
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._finish_current()
        self.close()

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        """Waits for the next message of a loop. The loop ends with the agent."""
        self._finish_current()
        try:
            self._current = message = await self._next(None)
        except EndedError:
            raise StopAsyncIteration from None
        return message

    def _finish_current(self) -> None:
        if self._current is not None:
            current, self._current = self._current, None
            self._agent.finished(current)
