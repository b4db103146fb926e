"""Initiator's side of a conversation: what it says, whom it waits for, and how that ends."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from typing import Any

from ..acl.aid import Aid, AidLike, aids
from ..acl.errors import EncodeError, WhimbrelError
from ..acl.message import Message
from ..agents.errors import DeadlineError, EndedError, error_of
from ..agents.messaging import Messaging, new_id
from .clock import now_ms
from .limits import OPEN_MAX
from .machine import Judgement, Machine, ProtocolError, protocol

__all__ = ["Talk"]

#: Performatives that nobody answers.
_UNANSWERED = frozenset(("inform", "reject-proposal"))


class Talk:
    """A conversation that an agent opened by a protocol. Its machines judge; it waits for what they come to."""

    def __init__(self, agent: Messaging, name: str, to: AidLike | Iterable[AidLike], parameters: Any) -> None:
        if not agent.checks_protocols:
            raise WhimbrelError(f"agent {agent.name} does not check protocols: set checks_protocols = True")
        self.agent = agent
        self.protocol = protocol(name)
        self.to = aids(to)
        if not self.to:
            raise EncodeError(f"{self.protocol.name} without receivers: give agents by `to=`")
        self.parameters = dict(parameters)
        self.id: str = self.parameters.pop("conversation_id", None) or new_id(agent.name)
        #: Newest message of each other agent.
        self.last: dict[Aid, Message] = {}
        #: All messages in their order.
        self.heard: list[Message] = []
        # Reasons why others broke the protocol.
        self._broken: dict[Aid, str] = {}
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False
        self._why_ended: str | None = None
        if agent._talks is None:
            agent._talks = {}
        agent._talks[self.id] = self
        if len(agent._talks) > OPEN_MAX:
            del agent._talks[next(iter(agent._talks))]

    # ---- States

    @property
    def others(self) -> list[Aid]:
        """The other agents: those it was opened to, and members of groups that answered."""
        return [*self.to, *(one for one in self.last if one not in self.to)]

    def machine(self, other: Aid) -> Machine | None:
        """Returns the machine for another agent."""
        machines = self.agent._machines
        return machines.find(self.id, other) if machines is not None else None

    def state(self, other: Aid) -> str:
        """Returns the state of the conversation with another agent."""
        machine = self.machine(other)
        return "start" if machine is None else machine.state

    def among(self, *states: str) -> list[Aid]:
        """Returns the other agents that are in one of these states."""
        return [other for other in self.others if self.state(other) in states]

    @property
    def open(self) -> list[Aid]:
        """The other agents with whom the conversation goes on."""
        return [other for other in self.others if self.state(other) not in (*self.protocol.ends, "start")]

    @property
    def is_over(self) -> bool:
        """True if the conversation has ended with all other agents."""
        return all(self.state(other) in self.protocol.ends for other in self.others)

    def error(self, other: Aid) -> WhimbrelError | None:
        """Returns the error for a conversation that ended badly."""
        state = self.state(other)
        if self.protocol.ends.get(state, True):
            return None
        if state == "silent":
            return DeadlineError(f"{other} did not answer in time")
        last = self.last.get(other)
        if state == "broken" or last is None:
            return ProtocolError(f"{other} breaks the protocol: {self._broken.get(other, self.protocol.name)}")
        return error_of(last) or WhimbrelError(f"{other} answers {last.performative}: the conversation is {state}")

    # ---- Messages

    def say(
        self,
        performative: str,
        content: Any = None,
        to: Iterable[Aid] | None = None,
        deadline: float | None = None,
    ) -> None:
        """Says something to all other agents, or to some. `deadline` is the time for the answer in seconds."""
        receivers = self.to if to is None else tuple(to)
        if not receivers:
            return
        before = self.last.get(receivers[0]) if len(receivers) == 1 else None
        reply_by = None if deadline is None else now_ms(self.agent.loop) + math.ceil(deadline * 1000)
        message = Message(
            performative,
            receivers,
            content,
            protocol=self.protocol.name,
            conversation_id=self.id,
            reply_with=None if performative in _UNANSWERED else new_id(self.agent.name),
            in_reply_to=before.reply_with if before is not None else None,
            reply_by=reply_by,
            **self.parameters,
        )
        self.agent.send(message)

    def cancel(self, deadline: float | None = None) -> None:
        """Cancels the conversation with all agents with whom it goes on, by FIPA's cancel meta-protocol."""
        if not self.agent.is_alive:
            return
        for other in self.open:
            if self.state(other) != "cancelling":
                self.say("cancel", None, [other], deadline)

    def hear(self, other: Aid, message: Message) -> None:
        """Takes a message that the protocol allows."""
        if self._is_closed:
            self.close()
            return
        self.last[other] = message
        self.heard.append(message)
        self.wake()

    def note(self, other: Aid, judgement: Judgement) -> None:
        """Notes a message that the protocol does not allow."""
        if judgement.verdict == "wrong" and judgement.reason is not None:
            self._broken.setdefault(other, judgement.reason)
        self.wake()

    def wake(self) -> None:
        """Wakes the program that waits."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def fail(self, reason: str) -> None:
        """Notes that the agent ended."""
        self._why_ended = reason
        self.wake()

    async def until(self, condition: Callable[[], Any], seconds: float | None = None) -> bool:
        """Waits until a condition holds, at most this time. Returns whether it holds.

        Raises EndedError if the agent ends.
        """
        agent = self.agent
        loop, deadlines = agent.loop, agent.deadlines
        end_ms = None if seconds is None else now_ms(loop) + math.ceil(seconds * 1000)
        while True:
            if self._why_ended is not None:
                raise EndedError(f"the agent ended: {self._why_ended}")
            now = now_ms(loop)
            due = [end_ms] if end_ms is not None else []
            for other in self.others:
                machine = self.machine(other)
                if machine is not None:
                    machine.tick(now)
                    if machine.deadline_ms is not None:
                        due.append(machine.deadline_ms)
            if condition():
                return True
            if end_ms is not None and now >= end_ms:
                return False
            self._waiter = loop.create_future()
            if due:
                deadlines.add(self._waiter, max(1, min(due) - now) / 1000)
            try:
                await self._waiter
            except DeadlineError:
                continue
            finally:
                self._waiter = None

    def close(self) -> None:
        """Ends the waiting. Messages that still come are judged, and reach nobody."""
        self._is_closed = True
        talks = self.agent._talks
        if self.is_over and talks is not None:
            talks.pop(self.id, None)
