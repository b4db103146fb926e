"""State machine of a conversation by one of FIPA's interaction protocols. It has no clock and no network: messages and
the time are given to it. `conformance/protocols/README.md` in the repository is its specification.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..acl.errors import WhimbrelError
from .limits import QUESTIONS_MAX

__all__ = [
    "INITIATOR",
    "PARTICIPANT",
    "PLATFORM",
    "Judgement",
    "Machine",
    "Protocol",
    "ProtocolError",
    "protocol",
    "protocols",
]

INITIATOR, PARTICIPANT, PLATFORM = "initiator", "participant", "platform"
_START, _BROKEN, _NOT_UNDERSTOOD = "start", "broken", "not-understood"
_OTHER = {INITIATOR: PARTICIPANT, PARTICIPANT: INITIATOR}
#: Content of automatic answers to late messages (SC00029H 1.1).
_TOO_LATE = "too late"

#: Protocols of the package, by the names of their files.
_FILES = (
    "request",
    "query",
    "request-when",
    "propose",
    "contract-net",
    "iterated-contract-net",
    "subscribe",
    "brokering",
    "recruiting",
    "auction-english",
    "auction-dutch",
)


class ProtocolError(WhimbrelError):
    """An own message that the protocol does not allow. The text says what is allowed."""

    def __init__(self, text: str, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        #: Performatives that are allowed now.
        self.allowed = allowed


class _Deadline(NamedTuple):
    to: str
    late: Mapping[str, str]


class Protocol:
    """An interaction protocol: who may say what in which state, and where that leads."""

    __slots__ = (
        "_allowed",
        "_moves",
        "about",
        "deadlines",
        "document",
        "ends",
        "late",
        "many",
        "name",
        "roles",
        "title",
    )

    def __init__(self, data: Mapping[str, Any], exceptions: Mapping[str, Any]) -> None:
        self.name: str = data["name"]
        self.title: str = data["title"]
        self.about: str = data["about"]
        #: FIPA's document.
        self.document: str = data["document"]
        #: Names of the roles for people: an initiator may be an auctioneer.
        self.roles: Mapping[str, str] = MappingProxyType(data["roles"])
        #: True if one conversation may have several participants.
        self.many: bool = data["many"]
        #: Effects of deadlines by state.
        self.deadlines: dict[str, _Deadline] = {}
        #: Ends by state: true if the initiator has what it wanted.
        self.ends: dict[str, bool] = {}
        self.late: Mapping[str, str] = MappingProxyType(exceptions["late"])
        self._moves: dict[tuple[str, str, str], str] = {}
        self._allowed: dict[tuple[str, str], tuple[str, ...]] = {}
        own = [state for state in data["states"] if state != _START]
        for part in (data, exceptions):
            for state, facts in part["states"].items():
                if "deadline" in facts:
                    self.deadlines[state] = _Deadline(facts["deadline"]["to"], facts["deadline"].get("late", {}))
            self.ends.update({state: facts["good"] for state, facts in part["ends"].items()})
            for move in part["moves"]:
                sources = [state for source in move["from"] for state in (own if source == "*" else [source])]
                for state in sources:
                    for say in move["say"]:
                        self._moves[state, move["by"], say] = move["to"]
                        key = (state, move["by"])
                        self._allowed[key] = (*self._allowed.get(key, ()), say)

    def next(self, state: str, by: str, say: str) -> str | None:
        """Returns the state to which a performative leads; None if it is not allowed."""
        return self._moves.get((state, by, say))

    def allowed(self, state: str, by: str) -> tuple[str, ...]:
        """Returns the performatives that a role may say in a state."""
        return self._allowed.get((state, by), ())

    def opens(self, say: str) -> bool:
        """True if a performative of the initiator opens a conversation."""
        return (_START, INITIATOR, say) in self._moves

    def __repr__(self) -> str:
        return f"Protocol({self.name!r}, {self.document!r})"


@functools.cache
def protocols() -> Mapping[str, Protocol]:
    """Returns all protocols by name."""
    # Quicker to import than importlib.resources, and for archives, too.
    import pkgutil

    def read(name: str) -> Any:
        return json.loads(pkgutil.get_data(__name__.rpartition(".")[0], f"data/{name}.json") or b"")

    exceptions = read("exceptions")
    found = [Protocol(read(name), exceptions) for name in _FILES]
    return MappingProxyType({one.name: one for one in found})


def protocol(name: str) -> Protocol:
    """Returns a protocol by name: `fipa-contract-net`, or `contract-net`.

    Raises ProtocolError if there is none of that name.
    """
    known = protocols()
    found = known.get(name) or known.get(f"fipa-{name}")
    if found is None:
        raise ProtocolError(f"no interaction protocol {name}: known are {', '.join(known)}")
    return found


class Judgement(NamedTuple):
    """Verdict on a received message: `ok`, `late`, `wrong` or `unknown`."""

    verdict: str
    #: Performative of the automatic answer; None for no answer.
    answer: str | None = None
    #: Content of the automatic answer.
    reason: str | None = None


class Machine:
    """One side of a conversation with one other agent.

    `send` and `receive` take the messages, `tick` the time. Each looks at the deadline first. `state` is the result;
    `is_over` tells that it is an end, which never changes.
    """

    __slots__ = ("_questions", "_trail", "deadline_ms", "protocol", "role", "state")

    def __init__(self, protocol: Protocol, role: str) -> None:
        self.protocol = protocol
        #: Role of this side: INITIATOR or PARTICIPANT.
        self.role = role
        self.state = _START
        #: Deadline of the state, in milliseconds since 1970; None if it has none.
        self.deadline_ms: int | None = None
        # States left by own messages and by deadlines (true) since the last received message that fitted. Each is there
        # once: a publisher may never receive another message.
        self._trail: list[tuple[str, bool]] = []
        # States by the `reply-with` of the newest own messages, which led there. The newest is the last.
        self._questions: dict[str, str] = {}

    def copy(self) -> Machine:
        """Returns a machine in the same state, for a conversation with another agent."""
        made = Machine(self.protocol, self.role)
        made.state, made.deadline_ms = self.state, self.deadline_ms
        made._trail, made._questions = list(self._trail), dict(self._questions)
        return made

    @property
    def is_over(self) -> bool:
        """True if the conversation ended."""
        return self.state in self.protocol.ends

    @property
    def is_good(self) -> bool:
        """True if it ended as the initiator wanted."""
        return self.protocol.ends.get(self.state, False)

    def allowed(self) -> tuple[str, ...]:
        """Returns the performatives that this side may say now."""
        return self.protocol.allowed(self.state, self.role)

    def tick(self, now_ms: int) -> bool:
        """Moves on if the deadline of the state has passed. Returns true if it has."""
        if self.deadline_ms is None or now_ms < self.deadline_ms:
            return False
        self._leave(True)
        self._move(self.protocol.deadlines[self.state].to, None)
        return True

    def send(self, say: str, now_ms: int, *, reply_with: str | None = None, reply_by_ms: int | None = None) -> None:
        """Notes an own message.

        Raises ProtocolError, and changes nothing, if the protocol does not allow it.
        """
        to = self.check(say, now_ms)
        self._leave(False)
        self._move(to, reply_by_ms)
        if reply_with is not None:
            self._questions.pop(reply_with, None)
            self._questions[reply_with] = to
            if len(self._questions) > QUESTIONS_MAX:
                del self._questions[next(iter(self._questions))]

    def check(self, say: str, now_ms: int) -> str:
        """Returns the state to which an own message would lead.

        Raises ProtocolError if the protocol does not allow it.
        """
        self.tick(now_ms)
        to = self.protocol.next(self.state, self.role, say)
        if to is None:
            raise ProtocolError(self._complaint(say, self.role), self.allowed())
        return to

    def asked(self, reply_with: str | None) -> bool:
        """True if one of the newest own messages with a `reply-with` had this one."""
        return reply_with in self._questions

    def receive(
        self,
        say: str,
        now_ms: int,
        *,
        in_reply_to: str | None = None,
        reply_by_ms: int | None = None,
        is_platforms: bool = False,
    ) -> Judgement:
        """Judges a received message, and moves if it is `ok`."""
        self.tick(now_ms)
        by = PLATFORM if is_platforms else _OTHER[self.role]
        if self.state == _BROKEN:
            return Judgement("late")
        was_allowed = any(self.protocol.next(left, by, say) for left, _ in self._trail)
        asked = self._asked_before(in_reply_to)
        if asked is not None and was_allowed:
            return self._late(say, by)
        if asked is not None and self.protocol.next(asked, by, say) is not None:
            return self._wrong(say, by)
        to = self.protocol.next(self.state, by, say)
        if to is not None:
            self._trail.clear()
            self._move(to, reply_by_ms)
            return Judgement("ok")
        is_late = was_allowed or say == _NOT_UNDERSTOOD
        return self._late(say, by) if is_late else self._wrong(say, by)

    def _asked_before(self, in_reply_to: str | None) -> str | None:
        """Returns the state of an own question that a newer one has replaced."""
        if in_reply_to is None or in_reply_to not in self._questions:
            return None
        return None if in_reply_to == next(reversed(self._questions)) else self._questions[in_reply_to]

    def _leave(self, by_deadline: bool) -> None:
        left = (self.state, by_deadline)
        if left in self._trail:
            self._trail.remove(left)
        self._trail.append(left)

    def _move(self, to: str, reply_by_ms: int | None) -> None:
        self.state = to
        self.deadline_ms = reply_by_ms if to in self.protocol.deadlines else None

    def _late(self, say: str, by: str) -> Judgement:
        for left, is_deadline in reversed(self._trail):
            if self.protocol.next(left, by, say) is not None:
                answers = self.protocol.deadlines[left].late if is_deadline else self.protocol.late
                answer = answers.get(say)
                return Judgement("late", answer, None if answer is None else _TOO_LATE)
        return Judgement("late")

    def _wrong(self, say: str, by: str) -> Judgement:
        reason = self._complaint(say, by)
        if not self.is_over:
            self._move(_BROKEN, None)
        return Judgement("wrong", _NOT_UNDERSTOOD, reason)

    def _complaint(self, say: str, by: str) -> str:
        protocol, state = self.protocol, self.state
        allowed = ", ".join(protocol.allowed(state, by))
        rule = f"{protocol.roles.get(by, by)} may say {allowed}" if allowed else "nothing may be said any more"
        return f"{protocol.name}, {state}: {say} is not allowed; {rule}"
