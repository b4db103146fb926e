"""Delivery of messages to an agent's questions, inboxes and handlers."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine
from types import CoroutineType
from typing import Any, ClassVar

from ..acl.message import Message, Reply
from ..acl.performatives import ASKING, NEGATIVE
from ..acl.template import Matcher, Template
from ..protocols.machine import ProtocolError
from .errors import Refusal
from .handlers import Handler, On, Table, Timer, declared
from .messaging import Messaging

__all__ = ["Serving"]

#: Reason in the `failure` answer of a full mailbox.
_MAILBOX_FULL = "mailbox full"

#: Answers by which the result of a handler goes back.
_ANSWERS = {"cfp": "propose"}

#: Messages that ask for an answer in their protocol, also without a `reply-with`, which FIPA leaves optional.
_ASKING_IN = frozenset(
    (
        ("propose", "fipa-propose"),
        ("accept-proposal", "fipa-contract-net"),
        ("accept-proposal", "fipa-iterated-contract-net"),
    )
)


def _usual(message: Message, result: Any) -> Reply:
    """Builds the usual answer with a handler's result."""
    if message.performative == "propose" and message.protocol == "fipa-propose" and isinstance(result, bool):
        return message.reply("accept-proposal" if result else "reject-proposal")
    return message.reply(_ANSWERS.get(message.performative, "inform"), result)


def _is_open(message: Message) -> bool:
    """True if the message may still be answered. A subscription has many answers."""
    return not message._is_answered or message.performative == "subscribe"


def _is_asked(message: Message) -> bool:
    performative = message.performative
    if message.reply_with is not None or performative in ASKING:
        return True
    return (performative, message.protocol) in _ASKING_IN


class Serving(Messaging):
    """Part of an agent that serves its messages."""

    _declared: ClassVar[Table] = Table()
    _declared_timers: ClassVar[list[tuple[str, Timer]]] = []
    _own: Table | None = None
    #: True after set-up. Until then messages wait, so that no handler runs on a half-made or half-restored agent.
    _is_set_up = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        cls._declared, cls._declared_timers = declared(cls)

    # ---- Handlers of one agent

    @property
    def on(self) -> On:
        """Decorators that add handlers to this agent: `@agent.on.request`. They come before those of its class."""
        return On(lambda _, handler: self._add(handler))

    def handle(self, matcher: Matcher | None, function: Callable[[Message], Any]) -> Callable[[], None]:
        """Adds a handler. The returned function removes it."""
        if isinstance(matcher, Template) and type(matcher) is Template:
            return self._add(Handler(function, matcher.performatives, matcher))
        return self._add(Handler(function, None, matcher))

    def _add(self, handler: Handler) -> Callable[[], None]:
        if self._own is None:
            self._own = Table()
        remove = self._own.add(handler)
        if self._mailbox_ is not None and self._is_set_up:
            # Messages that wait are for the new handler, too.
            for message, size in self._mailbox_.take_all(lambda message: self._fits(handler, message)):
                self._route(message, size)
        return remove

    def _fits(self, handler: Handler, message: Message) -> bool:
        if handler.performatives is not None and message.performative not in handler.performatives:
            return False
        return handler.matcher is None or bool(handler.matcher(message))

    def _has_taker(self, message: Message) -> bool:
        if self._mailbox_ is not None and any(inbox.fits(message) for inbox in self._mailbox_.inboxes):
            return True
        performative = message.performative
        handlers = self._declared.of(performative) + (self._own.of(performative) if self._own is not None else [])
        return any(self._fits(handler, message) for handler in handlers)

    # ---- Delivery

    def _deliver(self, message: Message, size: int, number: int) -> None:
        """Delivers a message of the node. `size` is its estimated memory, `number` that of its frame."""
        entry = self._entry
        if entry is None:
            return
        message._agent = self
        message._number = number
        if entry.saver is None:
            entry.platform.open_messages[number] = None
        else:
            entry.saver.progress.take(number)
        if entry.open is not None:
            entry.open[number] = (message, size)
        if (message.protocol is not None or self._machines is not None) and self._judge(message):
            return
        self._route(message, size)

    def redeliver(self, message: Message) -> None:
        """Delivers a message again that a receiver gave back."""
        if self._end_reason is None:
            self._route(message, 0)

    def _route(self, message: Message, size: int) -> None:
        mailbox = self._mailbox_
        if mailbox is not None and mailbox.suspended is not None:
            if not mailbox.suspend(message, size):
                self._reject(message)
            return
        questions = self._questions
        if questions:
            question = questions.get(message.in_reply_to or message.conversation_id or "")
            if question is not None and question.fits(message):
                # Before the answer: it may end the agent.
                self.finished(message)
                question.take(message)
                return
        if mailbox is not None:
            for inbox in mailbox.inboxes:
                if inbox.fits(message):
                    if not inbox.put(message, size):
                        self._reject(message)
                    return
        if not self._serve(message):
            self._hold(message, size)

    def _serve(self, message: Message) -> bool:
        """Gives a message to the first handler that matches. Returns false if there is none."""
        if not self._is_set_up:
            return False
        performative = message.performative
        handlers = self._declared.of(performative)
        if self._own is not None:
            handlers = self._own.of(performative) + handlers
        error: Exception | None = None
        for handler in handlers:
            try:
                fits = handler.matcher is None or handler.matcher(message)
            except Exception as wrong:
                error = wrong
                continue
            if fits:
                self._call(handler, message)
                return True
        if error is None:
            return False
        self.tell(error, message)
        self._answer(message, "not-understood", message.content)
        self.finished(message)
        return True

    def _hold(self, message: Message, size: int) -> None:
        """Keeps a message that nothing takes. A late answer of an abandoned conversation is dropped."""
        mailbox = self._mailbox
        if mailbox.is_late(message):
            self.finished(message)
        elif not mailbox.put(message, size):
            self._reject(message)

    def _reject(self, message: Message) -> None:
        self._answer(message, "failure", _MAILBOX_FULL)
        self.finished(message)

    def _answer(self, message: Message, performative: str, content: Any) -> None:
        """Answers a message that nothing handles. Negative answers themselves get no answer."""
        if message.performative not in NEGATIVE:
            with contextlib.suppress(ProtocolError):
                self.send(message.reply(performative, content))

    def _settle(self) -> None:
        """Begins to handle messages, those first that came during set-up."""
        self._is_set_up = True
        mailbox = self._mailbox_
        if mailbox is not None and mailbox.waiting:
            for message, size in mailbox.take_all(lambda _: True):
                self._route(message, size)

    # ---- Calls of handlers

    def _call(self, handler: Handler, message: Message) -> None:
        self._begun(message)
        if handler.is_async:
            self._work_on(message, self._call_async(handler, message))
            return
        try:
            result = handler.function(self, message) if handler.is_method else handler.function(message)
            if type(result) is CoroutineType or isinstance(result, AsyncGenerator):
                self._work_on(message, self._finish(result, message))
                return
            self._conclude(message, result)
        except Exception as error:
            self._failed(message, error)
        self.finished(message)

    def _work_on(self, message: Message, work: Coroutine[Any, Any, None]) -> None:
        task = self.spawn(work)
        if message.protocol is not None:
            self._note_work(message, task)

    async def _call_async(self, handler: Handler, message: Message) -> None:
        try:
            result = await (handler.function(self, message) if handler.is_method else handler.function(message))
            self._conclude(message, result)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._failed(message, error)
        self.finished(message)

    async def _finish(self, work: Any, message: Message) -> None:
        """Awaits a result, or sends the replies that a handler yields."""
        try:
            if inspect.isasyncgen(work):
                async for reply in work:
                    self._conclude(message, reply)
            else:
                self._conclude(message, await work)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._failed(message, error)
        self.finished(message)

    def _conclude(self, message: Message, result: Any) -> None:
        """Sends the result of a handler: a reply as it is, other content by the usual answer."""
        if result is None:
            return
        if self._end_reason is not None:
            # The handler ended its agent: its result goes nowhere, and that is no mistake.
            if isinstance(result, Reply):
                result._is_sent = True
        elif isinstance(result, Message):
            self.send(result)
        elif _is_asked(message) and _is_open(message) and message.performative not in NEGATIVE:
            self.send(_usual(message, result))

    def _failed(self, message: Message, error: Exception) -> None:
        """Answers `failure`, or `refuse`, to a sender that would otherwise wait for ever."""
        if self._end_reason is not None:
            return
        if isinstance(error, Refusal):
            self._answer_failure(message, error.content, is_refusal=True)
        else:
            self._answer_failure(message, str(error) or type(error).__name__)
            self.tell(error, message)

    def _abandon(self, message: Message, reason: str) -> None:
        """Gives up a message that a crashed agent was handling. Its sender is told."""
        self._answer_failure(message, reason)
        self.finished(message)

    def _answer_failure(self, message: Message, content: Any, *, is_refusal: bool = False) -> None:
        """Answers a message that still needs an answer: `failure`, or `refuse`."""
        if not _is_asked(message) or not _is_open(message) or message.performative in NEGATIVE:
            return
        performative = "refuse" if is_refusal else "failure"
        if message.performative == "propose" and message.protocol == "fipa-propose":
            # That protocol knows neither.
            performative = "reject-proposal" if is_refusal else "not-understood"
        # A conversation that is over needs no answer.
        with contextlib.suppress(ProtocolError):
            self.send(message.reply(performative, content))

    # ---- Progress

    def _begun(self, message: Message) -> None:
        """Notes that a handler begins. A message that needs no answer is handled then, so that the handler may end its
        own agent.
        """
        entry = self._entry
        if entry is None or entry.saver is not None:
            return
        if message._is_answered or not _is_asked(message):
            self.finished(message)

    def finished(self, message: Message) -> None:
        """Notes that the agent has finished a message."""
        number, entry = message._number, self._entry
        if not number or entry is None:
            return
        message._number = 0
        if entry.open is not None:
            entry.open.pop(number, None)
        if entry.saver is None:
            entry.platform.handled(number)
        else:
            entry.saver.finished(number)

    # ---- Suspension

    @property
    def waiting(self) -> int:
        """Number of messages in the mailbox that nothing has taken."""
        return self._mailbox_.size if self._mailbox_ is not None else 0

    @property
    def is_suspended(self) -> bool:
        """True while the agent is suspended."""
        return self._mailbox_ is not None and self._mailbox_.suspended is not None

    def suspend(self) -> None:
        """Suspends the agent in this program: messages and timers wait until it resumes. The AMS still lists it as
        active.
        """
        if self._mailbox.suspended is None:
            from collections import deque

            self._mailbox.suspended = deque()

    def resume(self) -> None:
        """Resumes the agent. Delayed messages come first, then timers."""
        mailbox = self._mailbox
        held, mailbox.suspended = mailbox.suspended, None
        while held:
            entry = held.popleft()
            mailbox.release(entry)
            self._route(*entry)
            if mailbox.suspended is not None:
                # A handler suspended the agent again.
                mailbox.suspended.extendleft(reversed(held))
                return
        self._run_late_timers()

    def _run_late_timers(self) -> None:
        """Runs timers that were due while the agent was suspended."""
