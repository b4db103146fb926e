"""Checks of conversations against their interaction protocols, and the participant's part in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..acl.message import Message, Reply
from ..acl.performatives import NEGATIVE
from ..protocols.clock import now_ms
from ..protocols.limits import OPEN_MAX
from ..protocols.machine import PARTICIPANT, Machine, ProtocolError, protocols
from ..protocols.machines import Key, Machines
from .core import AgentCore, log

if TYPE_CHECKING:
    from ..protocols.talk import Talk
    from .messaging import Question

__all__ = ["Checking"]

#: Work on a message of a conversation: its task, and the message.
_Work = tuple["asyncio.Task[Any]", Message]


class Checking(AgentCore):
    """Part of an agent that keeps to the interaction protocols of its conversations.

    Messages whose `protocol` is one of FIPA's are checked. What the protocol does not allow never reaches a handler:
    its sender is answered `not-understood`, with the performatives that are allowed. An own message that is not allowed
    raises ProtocolError.
    """

    #: False switches the checks off.
    checks_protocols: bool = True

    _machines: Machines | None = None
    _talks: dict[str, Talk] | None = None
    _work: dict[Key, list[_Work]] | None = None
    _subscriptions: dict[Key, Message] | None = None

    @property
    def _conversations(self) -> Machines:
        """Machines of all conversations by a protocol."""
        if self._machines is None:
            self._machines = Machines(self.aid)
        return self._machines

    def machine_of(self, message: Message) -> Machine | None:
        """Returns the state machine of the conversation with a message's sender; None without a protocol."""
        if self._machines is None or message.conversation_id is None:
            return None
        return self._machines.find(message.conversation_id, message.sender)

    def _continue(self, before: Checking) -> None:
        """Continues the conversations in which an agent takes part that this one replaces."""
        if before._machines is not None:
            self._machines = before._machines.of_participant()
        self._subscriptions = before._subscriptions

    # ---- Own messages

    def _check(self, message: Message) -> None:
        """Checks an own message, and notes it."""
        if not self.checks_protocols:
            return
        if self._machines is None and message.protocol not in protocols():
            return
        # A kept agent may have begun the conversation in an earlier program.
        is_kept = self._bound.saver is not None
        try:
            self._conversations.send(message, now_ms(self.loop), opens_only=is_kept)
        except ProtocolError:
            if isinstance(message, Reply):
                # The error says it: no need to warn that the reply was not sent.
                message._is_sent = True
            raise
        if self._subscriptions and message.performative in NEGATIVE and message.conversation_id is not None:
            for other in message.receivers:
                self._subscriptions.pop(Key(message.conversation_id, other), None)

    def _agree_first(self, reply: Reply) -> None:
        """Agrees to a request-when that a handler answers by its result: SC00028H 1.1 has no result before."""
        machine = self.machine_of(reply.question)
        if reply.performative == "inform" and machine is not None and machine.state == "requested":
            self._send_by_itself(reply.question.reply("agree"))

    def _send_by_itself(self, reply: Reply) -> None:
        """Sends a reply that is no handler's."""
        reply._is_sent = True
        self._check(reply)
        self._bound.send(reply)

    # ---- Received messages

    def _judge(self, message: Message) -> bool:
        """Judges a received message. Returns true if nothing else needs it."""
        entry = self._entry
        if not self.checks_protocols or entry is None or message.sender == entry.aid:
            return False
        if self._machines is None and message.protocol not in protocols():
            return False
        outcome = self._conversations.receive(message, now_ms(self.loop))
        if outcome is None or (outcome.judgement.verdict == "unknown" and entry.saver is not None):
            return False
        key, machine, judgement = outcome
        answer = self._conversations.answered(message, judgement)
        if answer is not None and self._end_reason is None:
            entry.send(answer)
        talk = self._talks.get(key.conversation_id) if self._talks and key else None
        if judgement.verdict == "ok" and key is not None and machine is not None:
            if talk is not None:
                talk.hear(key.other, message)
            elif machine.role != PARTICIPANT or not self._take_part(key, machine, message):
                return False
        else:
            self._violated(message, judgement.verdict, judgement.reason)
            if talk is not None:
                talk.note(message.sender, judgement)
        self.finished(message)
        return True

    def _violated(self, message: Message, verdict: str, reason: str | None) -> None:
        """Notes a message that is late, or breaks its protocol. A question that it answers fails."""
        log.debug("agent %s: %s from %s is %s: %s", self.name, message.performative, message.sender, verdict, reason)
        question = self._question_of(message)
        if question is not None and verdict == "wrong":
            question.fail(ProtocolError(f"{message.sender} breaks the protocol: {reason}"))

    def _question_of(self, message: Message) -> Question | None:
        """Returns the question that a message answers."""
        raise NotImplementedError

    def _has_taker(self, message: Message) -> bool:
        """True if an inbox or a handler takes the message."""
        raise NotImplementedError

    def _take_part(self, key: Key, machine: Machine, message: Message) -> bool:
        """Does a participant's part for a received message. Returns true if no handler needs it."""
        if message.performative == "subscribe":
            if self._subscriptions is None:
                self._subscriptions = {}
            self._subscriptions[key] = message
            if len(self._subscriptions) > OPEN_MAX:
                del self._subscriptions[next(iter(self._subscriptions))]
        is_cancelled = message.performative == "cancel"
        if is_cancelled or machine.is_over:
            (self._subscriptions or {}).pop(key, None)
            if is_cancelled and self._has_taker(message):
                return False
            self._stop_work(key)
        if is_cancelled:
            self._send_by_itself(message.reply("inform", "cancelled"))
        return is_cancelled

    # ---- Work of handlers

    def _note_work(self, message: Message, task: asyncio.Task[Any]) -> None:
        """Notes a handler's task, so that a cancel can end it."""
        if task.done() or message.conversation_id is None:
            return
        if self._work is None:
            self._work = {}
        key = Key(message.conversation_id, message.sender)
        work = (task, message)
        self._work.setdefault(key, []).append(work)

        def done(_: asyncio.Task[Any]) -> None:
            running = (self._work or {}).get(key, [])
            if work in running:
                running.remove(work)
            if not running:
                (self._work or {}).pop(key, None)

        task.add_done_callback(done)

    def _stop_work(self, key: Key) -> None:
        """Ends the handlers of a conversation."""
        for task, message in list((self._work or {}).get(key, ())):
            if task is not asyncio.current_task():
                task.cancel()
                self.finished(message)

    # ---- Subscriptions

    def inform_subscribers(self, content: Any, where: Callable[[Message], Any] | None = None) -> int:
        """Informs the subscribers whose subscription was agreed to, or those for whose `subscribe` message `where` is
        true. Returns their number.

        >>> class Shop(Agent):
        ...     @on.subscribe
        ...     def subscribe_to_prices(self, subscription):
        ...         return subscription.agree()
        ...
        ...     def set_price(self, price):
        ...         self.inform_subscribers(price)
        """
        count = 0
        for key, subscription in list((self._subscriptions or {}).items()):
            machine = self._machines.find(*key) if self._machines is not None else None
            if machine is None or machine.is_over:
                (self._subscriptions or {}).pop(key, None)
            elif machine.state == "active" and (where is None or where(subscription)):
                self._send_by_itself(subscription.reply("inform", content))
                count += 1
        return count

    def _over(self, reason: str) -> None:
        for talk in list((self._talks or {}).values()):
            talk.fail(reason)
        super()._over(reason)
