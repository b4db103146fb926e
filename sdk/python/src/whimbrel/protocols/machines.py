"""Machines of all conversations of one agent. Like a machine, they have no clock and no network."""

from __future__ import annotations

from typing import NamedTuple

from ..acl.aid import Aid
from ..acl.message import Message
from ..acl.values import Term
from ..agents.errors import in_words
from .limits import ENDED_MAX, OPEN_MAX
from .machine import INITIATOR, PARTICIPANT, Judgement, Machine, Protocol, protocols

__all__ = ["Key", "Machines", "Outcome"]

_AMS = "ams"
_NOT_UNDERSTOOD = "not-understood"
#: Receivers that are many agents. Each member that answers gets a machine of its own.
_MANY = ("group:", "topic:")


class Key(NamedTuple):
    """Key of a machine: a conversation with another agent."""

    conversation_id: str
    other: Aid


class Outcome(NamedTuple):
    """Outcome of a received message: the machine that judged it, its key, and the verdict."""

    key: Key | None
    machine: Machine | None
    judgement: Judgement


class Machines:
    """Machines of one agent by conversation and other agent. Of ended conversations, the newest are remembered."""

    def __init__(self, own: Aid | None = None) -> None:
        """`own` is the agent's identifier: what it says to itself is no conversation."""
        self._own = own
        self._open: dict[Key, Machine] = {}
        self._ended: dict[Key, Machine] = {}
        # All of them by other agent, for messages without a conversation identifier.
        self._with: dict[Aid, dict[Key, Machine]] = {}
        # Machines to copy for other agents that answer, by conversation: members of groups, recruited agents.
        self._expected: dict[str, Machine] = {}

    def __len__(self) -> int:
        return len(self._open)

    def find(self, conversation_id: str, other: Aid) -> Machine | None:
        """Returns the machine of a conversation with another agent, also of an ended one."""
        key = Key(conversation_id, other)
        return self._open.get(key) or self._ended.get(key)

    def expect(self, conversation_id: str, machine: Machine) -> None:
        """Expects answers of agents that are not known yet. Each of them gets a copy of the machine."""
        self._expected[conversation_id] = machine
        if len(self._expected) > OPEN_MAX:
            del self._expected[next(iter(self._expected))]

    def of_participant(self) -> Machines:
        """Returns the machines of the conversations that other agents initiated."""
        chosen = Machines(self._own)
        for key, machine in (*self._ended.items(), *self._open.items()):
            if machine.role == PARTICIPANT:
                chosen._keep(key, machine)
        return chosen

    # ---- Own messages

    def send(self, message: Message, now_ms: int, *, opens_only: bool = False) -> None:
        """Notes an own message to all its receivers. One that opens a conversation makes their machines. With
        `opens_only`, a message that belongs to no conversation here and opens none is allowed.

        Raises ProtocolError, and changes nothing, if the protocol does not allow it towards some receiver. A message of
        no known protocol outside of a conversation is allowed.
        """
        conversation_id = message.conversation_id
        if conversation_id is None or message.reply_to:
            # Answers to another agent are that agent's conversation.
            return
        known = protocols().get(message.protocol or "")
        judged: list[tuple[Key, Machine]] = []
        for other in message.receivers:
            if other == self._own:
                continue
            machine = self.find(conversation_id, other)
            if machine is None and known is not None and not (opens_only and not known.opens(message.performative)):
                machine = Machine(known, INITIATOR)
            if machine is not None:
                machine.check(message.performative, now_ms)
                judged.append((Key(conversation_id, other), machine))
        for key, machine in judged:
            machine.send(message.performative, now_ms, reply_with=message.reply_with, reply_by_ms=message.reply_by_ms)
            self._keep(key, machine)
            if key.other.name.startswith(_MANY):
                self.expect(conversation_id, machine)

    # ---- Received messages

    def receive(self, message: Message, now_ms: int) -> Outcome | None:
        """Judges a received message. Returns None for one that belongs to no conversation and is not judged."""
        if message.sender == self._own:
            return None
        is_platforms = message.sender.name == _AMS and message.performative == "failure"
        key, machine = self._of_failure(message) if is_platforms else self._of(message)
        if machine is None and not is_platforms:
            known = protocols().get(message.protocol or "")
            if known is None or key is None:
                return None
            if not known.opens(message.performative):
                answer = None if message.performative == _NOT_UNDERSTOOD else _NOT_UNDERSTOOD
                reason = f"{known.name}: {message.performative} belongs to no conversation here and opens none"
                return Outcome(None, None, Judgement("unknown", answer, reason))
            machine = self._opened(known, message, key)
        if machine is None or key is None:
            return None
        judgement = machine.receive(
            message.performative,
            now_ms,
            in_reply_to=message.in_reply_to,
            reply_by_ms=message.reply_by_ms,
            is_platforms=is_platforms,
        )
        self._keep(key, machine)
        return Outcome(key, machine, judgement)

    def _opened(self, known: Protocol, message: Message, key: Key) -> Machine:
        """Makes the machine of a participant. It is also that of the agents to which the answers go."""
        machine = Machine(known, PARTICIPANT)
        for other in message.reply_to:
            self._keep(Key(key.conversation_id, other), machine)
        return machine

    def answered(self, message: Message, judgement: Judgement) -> Message | None:
        """Returns the automatic answer to a judged message; None if there is none."""
        if judgement.answer is None:
            return None
        answer = message.reply(judgement.answer, judgement.reason)
        answer._is_sent = True
        return answer

    # ---- Time

    def tick(self, now_ms: int) -> list[tuple[Key, Machine]]:
        """Moves on all machines whose deadline has passed, and returns them."""
        passed = [(key, machine) for key, machine in self._open.items() if machine.tick(now_ms)]
        for key, machine in passed:
            self._keep(key, machine)
        return passed

    @property
    def next_deadline_ms(self) -> int | None:
        """The next deadline of all open conversations."""
        return min((one.deadline_ms for one in self._open.values() if one.deadline_ms is not None), default=None)

    def _keep(self, key: Key, machine: Machine) -> None:
        self._with.setdefault(key.other, {})[key] = machine
        if machine.is_over:
            self._open.pop(key, None)
            self._ended[key] = machine
            if len(self._ended) > ENDED_MAX:
                self._forget(self._ended)
        else:
            self._open[key] = machine
            if len(self._open) > OPEN_MAX:
                self._forget(self._open)

    def _forget(self, machines: dict[Key, Machine]) -> None:
        """Forgets the oldest machine."""
        key = next(iter(machines))
        del machines[key]
        others = self._with[key.other]
        others.pop(key, None)
        if not others:
            del self._with[key.other]

    # ---- Search

    def _of(self, message: Message) -> tuple[Key | None, Machine | None]:
        """Returns the key of a message, and the machine that it belongs to."""
        other = message.sender
        if message.conversation_id is not None:
            key = Key(message.conversation_id, other)
            machine = self.find(*key)
            if machine is None and key.conversation_id in self._expected:
                machine = self._expected[key.conversation_id].copy()
            return key, machine
        found = [
            (key, machine)
            for key, machine in self._with.get(other, {}).items()
            if (message.in_reply_to is None and not machine.is_over) or machine.asked(message.in_reply_to)
        ]
        return found[0] if len(found) == 1 else (None, None)

    def _of_failure(self, message: Message) -> tuple[Key | None, Machine | None]:
        """Returns the machine whose message the platform could not deliver."""
        content = message.content
        reason = content[1] if isinstance(content, list) and len(content) == 2 else None
        if isinstance(reason, Term) and reason.functor == "undelivered" and reason.args:
            receiver = in_words(reason.args[0])
            for key, machine in self._open.items():
                if key.conversation_id == message.conversation_id and receiver in (str(key.other), key.other.name):
                    return key, machine
        return None, None
