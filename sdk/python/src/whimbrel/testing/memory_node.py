"""Node in memory: sessions, agents and their mailboxes, topics and groups, and the directories. It has no process.

Programs connect to it by the session protocol, with the frames that they exchange with a real node. So all parts of the
SDK run as they do in production; only the node and the network are replaced.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from ..acl.aid import Aid
from ..acl.message import Message
from ..acl.values import Atom, Term
from ..recording import Recording
from ..session.transport import Receiver, Transport
from .memory_ams import MemoryAms
from .memory_df import MemoryDf
from .memory_session import MemorySession, Resident, SessionTransport
from .requests import CASTS, agent_atom, reply_to, sending

__all__ = ["MemoryNode"]

#: Wall clock at the beginning: 2025-01-01, in milliseconds since 1970.
START_MS = 1_735_689_600_000
#: Seconds for which a kept agent waits for its client.
_WAIT_S = 24 * 3600.0

#: Agents of the platform itself.
_SERVICES = ("ams", "df")


class MemoryNode:
    """A node without a process, for tests. Each `MemoryPlatform` has one, or several share one, as programs do."""

    def __init__(self, name: str = "whimbrel", *, recording: Recording | None = None) -> None:
        #: Name of the platform.
        self.name = name
        #: All messages that agents sent, those of the directories included.
        self.recording = recording if recording is not None else Recording(limit=None)
        #: Sessions by their identifiers.
        self.sessions: dict[str, MemorySession] = {}
        self._residents: dict[str, Resident] = {}
        self._members: dict[str, dict[str, None]] = {}
        self._turns: dict[str, int] = {}
        self._letters: deque[Message] = deque()
        self._is_routing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ams = MemoryAms(name, self.route, self)
        self._df = MemoryDf(name, self.route, self.now, self.wall_ms)
        self._df.on_lease = lambda seconds: self._later(seconds, self._df.handle_time)

    # ---- Connections

    async def connect(self, receiver: Receiver, place: str | None) -> Transport:
        """Opens a connection: the transport of a platform."""
        self._loop = asyncio.get_running_loop()
        return SessionTransport(self, receiver)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Event loop of the programs that connected."""
        return self._loop or asyncio.get_running_loop()

    def now(self) -> float:
        """Time of that loop in seconds."""
        return self.loop.time()

    def wall_ms(self) -> int:
        """Wall clock in milliseconds since 1970: it begins at 2025-01-01."""
        return START_MS + round(self.now() * 1000)

    def _later(self, seconds: float, function: Callable[[], Any]) -> None:
        self.loop.call_later(seconds, function)

    # ---- Agents

    def create(self, session: MemorySession, number: int, name: str) -> Resident | tuple[str, str]:
        """Creates an agent, or returns the waiting one of this client. Returns code and text of a refusal."""
        if Aid.parse(name) is None or "@" in name or name.startswith(CASTS) or name in _SERVICES:
            return "bad-name", f'"{name}" is no name for an agent'
        known = self._residents.get(name)
        if known is None:
            known = self._residents[name] = Resident(name)
        elif known.session is not None or known.token != session.token:
            return "name-taken", f"an agent named {name} exists already"
        known.attach(session, number)
        return known

    def end(self, resident: Resident, reason: str) -> None:
        """Ends an agent. Its unhandled messages go back to their senders."""
        if self._residents.get(resident.name) is not resident:
            return
        del self._residents[resident.name]
        for members in self._members.values():
            members.pop(resident.name, None)
        resident.has_ended = True
        agent = Aid.of(resident.name)
        for message in resident.unhandled():
            self._bury(message, agent, "agent_ended")
        if resident.session is not None:
            resident.session.tell_ended(resident, reason)
        self._df.handle_ended(agent)
        self._ams.handle_ended(resident.name, _reason_value(reason))

    def leave_waiting(self, resident: Resident) -> None:
        """Lets a kept agent wait for its client."""
        resident.detach()
        since = resident.waits_since = self.now()

        def expire() -> None:
            if resident.session is None and resident.waits_since == since:
                self.end(resident, "expired")

        self._later(_WAIT_S, expire)

    # ---- Messages

    def route(self, message: Message) -> None:
        """Sends a message of an agent to its receivers."""
        self._letters.append(message)
        if self._is_routing:
            return
        self._is_routing = True
        try:
            while self._letters:
                letter = self._letters.popleft()
                self.recording.add(self.now(), letter)
                for receiver in dict.fromkeys(letter.receivers):
                    self._carry(letter, receiver)
        finally:
            self._is_routing = False

    def _carry(self, message: Message, receiver: Aid) -> None:
        name = receiver.name
        if receiver.platform not in ("", self.name):
            return self._bury(message, receiver, "unreachable")
        if name.startswith(CASTS):
            return self._cast(message, receiver)
        if name == "df":
            return self._df.handle(message)
        if name == "ams":
            return self._ams.handle(message)
        resident = self._residents.get(name)
        if resident is None:
            return self._bury(message, receiver, "unknown_agent")
        return resident.take(message)

    def _cast(self, message: Message, receiver: Aid) -> None:
        """Sends a message to a topic or group."""
        kind, _, name = receiver.name.partition(":")
        members = list(self._members.get(f"group:{name}" if kind == "any" else receiver.name, ()))
        if not members and kind != "topic":
            return self._bury(message, receiver, "no_member")
        if kind == "any":
            turn = self._turns.get(name, 0)
            self._turns[name] = turn + 1
            members = [members[turn % len(members)]]
        for member in members:
            self._residents[member].take(message)

    def _bury(self, message: Message, receiver: Aid, reason: str) -> None:
        """Tells the sender that a message cannot be delivered."""
        if message.performative in ("failure", "not-understood") or message.sender == "ams":
            return
        if reason == "agent_ended" and any(one.name.startswith(CASTS) for one in message.receivers):
            return
        action = Term("action", agent_atom(message.sender), sending(message, receiver))
        undelivered = Term("undelivered", agent_atom(receiver), Atom(reason))
        failure = reply_to(message, Aid.of("ams"), "failure", [action, undelivered])
        failure.receivers = (message.sender,)
        self.route(failure)

    # ---- Agents, for the AMS

    def described(self) -> list[tuple[str, str | None, str]]:
        """Returns name, owner and state of all agents, in the order of their creation."""
        services: list[tuple[str, str | None, str]] = [(name, None, "active") for name in _SERVICES]
        return services + [(one.name, one.owner, one.state) for one in self._residents.values()]

    def describe(self, name: str) -> tuple[str | None, str] | None:
        """Returns owner and state of an agent."""
        if name in _SERVICES:
            return None, "active"
        resident = self._residents.get(name)
        return None if resident is None else (resident.owner, resident.state)

    def modify(self, name: str, owner: str | None, state: str | None) -> None:
        """Changes an agent."""
        resident = self._residents[name]
        resident.owner = owner or resident.owner
        if state is not None:
            resident.set_state(state)

    def kill(self, name: str) -> None:
        """Ends an agent."""
        self.end(self._residents[name], "killed")

    def join(self, agent: str, group: str) -> bool:
        """Subscribes to a topic or joins a group."""
        if agent not in self._residents:
            return False
        self._members.setdefault(group, {})[agent] = None
        return True

    def leave(self, agent: str, group: str) -> bool:
        """Leaves a topic or group. Returns false if the agent is not there."""
        members = self._members.get(group, {})
        if agent not in members:
            return False
        del members[agent]
        return True


def _reason_value(reason: str) -> Any:
    """Returns the reason of an agent's end as a value, as the AMS tells it."""
    word, _, why = reason.partition(": ")
    return Term("failed", why) if word == "failed" else Atom(word)
