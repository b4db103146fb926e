"""Sending and receiving: `send`, `ask`, `receive`, `listen`, `conversation`."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import os
from collections.abc import Awaitable, Generator, Iterable
from typing import TYPE_CHECKING, Any, TypedDict, overload

from ..acl.aid import AidLike
from ..acl.errors import EncodeError
from ..acl.message import Message, Reply
from ..acl.performatives import NEGATIVE
from ..acl.template import Matcher, matches
from .answer import AnswerFuture
from .checking import Checking
from .errors import DeadlineError, error_of
from .limits import ANSWER_S
from .mailbox import Inbox

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .entry import Entry

__all__ = ["Conversation", "Messaging", "Parameters"]


class Parameters(TypedDict, total=False):
    """Optional parameters of a message (FIPA00061)."""

    ontology: str
    protocol: str
    language: str
    encoding: str
    conversation_id: str
    reply_with: str
    in_reply_to: str
    reply_by: datetime.datetime | int
    reply_to: AidLike | Iterable[AidLike]
    sender: AidLike
    user: Iterable[tuple[str, Any]]


class _Sent:
    """What `send` returns: the message is on its way. Awaiting it waits for nothing."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


_SENT: Awaitable[None] = _Sent()


class _Congested:
    """What `send` returns while the node takes no more. Awaiting it waits until it does."""

    __slots__ = ("_driver",)

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def __await__(self) -> Generator[Any, None, None]:
        work: Generator[Any, None, None] = self._driver.drained().__await__()
        return work


class Question:
    """A question that waits for its one answer. An `agree` is not the answer yet."""

    __slots__ = ("future", "reply_with")

    def __init__(self, future: AnswerFuture, reply_with: str) -> None:
        self.future = future
        self.reply_with = reply_with

    def fits(self, message: Message) -> bool:
        """Returns false if a message is no answer, such as the agent's question to itself."""
        return not (self.future.done() or (message.in_reply_to is None and message.reply_with == self.reply_with))

    def take(self, message: Message) -> None:
        """Takes a message that fits."""
        if message.performative != "agree":
            self.future.set_result(message)

    def fail(self, error: BaseException) -> None:
        """Fails the question."""
        if not self.future.done():
            self.future.set_exception(error)


#: Answers to a call for proposals.
_BIDS = frozenset(("propose", "refuse", "not-understood"))

_origin = os.urandom(5).hex()
_counter = itertools.count(1)


def new_id(agent: str) -> str:
    """Returns a unique identifier."""
    return f"{agent}-{_origin}-{next(_counter)}"


class Messaging(Checking):
    """Part of an agent that sends and receives."""

    _questions: dict[str, Question] | None = None

    def _message(
        self, given: Message | AidLike | Iterable[AidLike], content: Any, performative: str, parameters: Parameters
    ) -> Message:
        if not isinstance(given, Message):
            return Message(performative, given, content, **parameters)
        if content is not None or parameters:
            raise EncodeError("give a Message, or receivers with content and parameters: not both")
        return given

    @overload
    def send(self, message: Message, /) -> Awaitable[None]: ...
    @overload
    def send(
        self,
        receivers: AidLike | Iterable[AidLike],
        content: Any = None,
        performative: str = "inform",
        **parameters: Unpack[Parameters],
    ) -> Awaitable[None]: ...
    def send(
        self,
        receivers: Any,
        content: Any = None,
        performative: str = "inform",
        **parameters: Any,
    ) -> Awaitable[None]:
        """Sends a message. It arrives exactly once, after earlier messages of this agent. If it cannot be delivered,
        `ams` sends `failure`.

        The message is on its way when this returns. `await` the result in loops that send much: it waits while the node
        takes no more.

        Raises EncodeError if the message cannot be encoded, EndedError if the agent ended, ProtocolError if the
        interaction protocol of its conversation does not allow it.
        """
        message = (
            receivers
            if isinstance(receivers, Message)
            else self._message(receivers, content, performative, Parameters(**parameters))  # type: ignore[typeddict-item]
        )
        entry = self._bound
        self._transmit(entry, message)
        driver = entry.platform.driver
        return _Congested(driver) if driver.is_congested else _SENT

    def _transmit(self, entry: Entry, message: Message, question: Question | None = None) -> None:
        """Sends a message, if its protocol allows it."""
        if message.protocol is not None or self._machines is not None:
            if type(message) is Reply and message.protocol == "fipa-request-when":
                self._agree_first(message)
            self._check(message)
        entry.send(message, question)
        if type(message) is Reply:
            self._note_reply(message)

    def _note_reply(self, reply: Reply) -> None:
        """Notes that a message is answered. In an agent that is not kept, it is handled then."""
        reply._is_sent = True
        if reply.performative != "agree":
            question, entry = reply.question, self._entry
            question._is_answered = True
            if entry is not None and entry.saver is None:
                self.finished(question)

    async def reply(self, message: Message, performative: str = "inform", content: Any = None) -> None:
        """Replies to a message in its conversation and protocol, and quotes it."""
        await self.send(message.reply(performative, content))

    # ---- Questions

    async def ask(
        self,
        receivers: Message | AidLike | Iterable[AidLike],
        content: Any = None,
        performative: str = "request",
        *,
        timeout: float | None = ANSWER_S,
        **parameters: Unpack[Parameters],
    ) -> Message:
        """Sends a message, and waits for its answer. An `agree` is not the answer yet.

        Raises RefuseError, FailureError or NotUnderstoodError for such answers, DeadlineError (a TimeoutError) if none
        comes in time, RefusedError if the node refuses the message.
        """
        message = self._message(receivers, content, performative, parameters)
        entry = self._bound
        platform = entry.platform
        identifier = new_id(entry.aid.name)
        key = message.reply_with = message.reply_with or identifier
        conversation = message.conversation_id = message.conversation_id or identifier
        future = AnswerFuture(platform.loop)
        question = Question(future, key)
        if self._questions is None:
            self._questions = {}
        self._questions[key] = question
        if conversation != key:
            self._questions[conversation] = question
        try:
            self._transmit(entry, message, question)
            if timeout is not None:
                platform.deadlines.add(future, timeout)
            answer = await future
        except DeadlineError:
            self._mailbox.give_up(identifier)
            who = ", ".join(map(str, message.receivers))
            raise DeadlineError(f"{who} did not answer within {timeout:g} s") from None
        except asyncio.CancelledError:
            self._mailbox.give_up(identifier)
            raise
        finally:
            self._questions.pop(key, None)
            if conversation != key:
                self._questions.pop(conversation, None)
        if answer.performative in NEGATIVE:
            error = error_of(answer)
            assert error is not None
            raise error
        return answer

    def _question_of(self, message: Message) -> Question | None:
        return (self._questions or {}).get(message.in_reply_to or message.conversation_id or "")

    def _fail_questions(self, error: BaseException) -> None:
        for question in list((self._questions or {}).values()):
            question.fail(error)

    def conversation(
        self,
        receivers: Message | AidLike | Iterable[AidLike],
        content: Any = None,
        performative: str = "request",
        *,
        timeout: float | None = None,
        **parameters: Unpack[Parameters],
    ) -> Conversation:
        """Sends a message and collects its answers: messages that quote it, or that belong to its conversation and
        quote nothing. `timeout` ends the loop over them, from now on.

        ``async for answer in self.conversation(bidders, job, "cfp", timeout=2): ...``
        """
        message = self._message(receivers, content, performative, parameters)
        return Conversation(self, message, timeout)

    # ---- Receiving

    async def receive(self, matcher: Matcher | None = None, timeout: float | None = None) -> Message:
        """Takes the next matching message, waiting or future, that no question or inbox takes.

        Raises DeadlineError (a TimeoutError) if none comes in time, EndedError if the agent ends.
        """
        bound = self._bound
        mailbox = self._mailbox
        found = mailbox.take(lambda message: matches(matcher, message))
        if found is not None:
            self.finished(found)
            return found
        del bound
        inbox = Inbox(mailbox, matcher, is_single=True)
        try:
            return await inbox.next(timeout)
        finally:
            inbox.close()

    def listen(self, matcher: Matcher | None = None) -> Inbox:
        """Collects all matching messages until the inbox is closed. An inbox has priority over handlers."""
        _ = self._bound
        return Inbox(self._mailbox, matcher)


class Conversation(Inbox):
    """A conversation that this agent opened: its answers in their order, and further messages in it."""

    def __init__(self, agent: Messaging, message: Message, timeout: float | None) -> None:
        entry = agent._bound
        identifier = new_id(entry.aid.name)
        key = message.reply_with = message.reply_with or identifier
        own = message.conversation_id = message.conversation_id or identifier

        asked = frozenset(message.receivers) if message.performative == "cfp" else frozenset()

        def is_answer(came: Message) -> bool:
            if came.in_reply_to is not None:
                return came.in_reply_to == key
            if came.conversation_id is None:
                # AgentSpeak's plans for `kqml_received` need not quote the call that they answer.
                return came.performative in _BIDS and came.sender in asked
            # Messages of this agent itself, directly or through a group, are not answers.
            return came.conversation_id == own and came.reply_with != key

        super().__init__(agent._mailbox, is_answer)
        #: Message that opened the conversation.
        self.opening = message
        self._until = None if timeout is None else agent.loop.time() + timeout
        # Identifiers from the caller may be used again.
        self.belongs_to(*{one for one in (key, own) if one == identifier})
        question: Any = self
        try:
            agent._transmit(entry, message, question)
        except BaseException:
            self.close()
            raise

    @property
    def id(self) -> str:
        """Identifier of the conversation."""
        return self.opening.conversation_id or ""

    def send(
        self, receivers: AidLike | Iterable[AidLike], content: Any = None, performative: str = "inform"
    ) -> Awaitable[None]:
        """Sends a further message in this conversation."""
        opening = self.opening
        message = Message(performative, receivers, content, conversation_id=opening.conversation_id)
        for name in ("protocol", "ontology", "language", "encoding"):
            setattr(message, name, getattr(opening, name))
        agent = self._agent
        assert isinstance(agent, Messaging)
        return agent.send(message)

    async def __anext__(self) -> Message:
        """Waits for the next answer. The loop ends with the agent, or at the deadline."""
        self._finish_current()
        left = None if self._until is None else max(0.0, self._until - self._agent.loop.time())
        try:
            self._current = message = await self._next(left)
        except (DeadlineError, StopAsyncIteration):
            self.give_up()
            raise StopAsyncIteration from None
        except Exception as error:
            self.close()
            if isinstance(error, asyncio.CancelledError):
                raise
            if self._agent.end_reason is not None:
                raise StopAsyncIteration from None
            raise
        return message
