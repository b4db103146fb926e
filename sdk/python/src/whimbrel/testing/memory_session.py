"""Sessions of a node in memory: frames of one program, and its agents."""

from __future__ import annotations

import itertools
from collections import deque
from typing import TYPE_CHECKING, Any

from ..acl.aid import Aid
from ..acl.errors import DecodeError
from ..acl.message import Message
from ..session.frames import Form, Frame, FrameReader, FrameWriter
from ..session.limits import LEASE_MS, MESSAGE_BYTES, SESSION_VERSION, WINDOW
from ..session.transport import Receiver

if TYPE_CHECKING:
    from .memory_node import MemoryNode

__all__ = ["MemorySession", "Resident", "SessionTransport"]

#: Agents of one session, and deliveries a second: as a node grants them.
_AGENTS_MAX = 10_000
_MESSAGES_PER_S = 100_000


class Resident:
    """An agent of the node: a slot with a mailbox, whose code is in a program."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.owner: str | None = None
        self.state = "active"
        self.session: MemorySession | None = None
        self.token: str | None = None
        self.number = 0
        self.has_ended = False
        self.waits_since = 0.0
        #: Fate after the session: `end`, `wait` or `go-on`.
        self.policy = "end"
        self.holds = False
        #: Name of the code and saved state, if there is one.
        self.saved: tuple[str, bytes] | None = None
        #: Messages that the program has not handled, by the numbers of their frames.
        self._given: dict[int, Message] = {}
        #: Messages that wait for the program, or for the end of a suspension.
        self._waiting: deque[Message] = deque()
        #: Messages of the agent that leave with its next save.
        self.held: list[Message] = []

    @property
    def is_kept(self) -> bool:
        """True if the agent outlives its session."""
        return self.policy != "end"

    def attach(self, session: MemorySession, number: int) -> None:
        """Gives the agent to a session. Its messages follow by `deliver`."""
        self.session, self.number, self.token = session, number, session.token

    def detach(self) -> None:
        """Takes the agent from its session. Messages that no save covers are delivered again."""
        self.session = None
        self._waiting.extendleft(reversed(self._given.values()))
        self._given.clear()
        self.held.clear()

    def take(self, message: Message) -> None:
        """Takes a message into the mailbox."""
        self._waiting.append(message)
        self.deliver()

    def deliver(self) -> None:
        """Gives the messages of the mailbox to the program, unless the agent is suspended."""
        session = self.session
        while session is not None and self._waiting and self.state == "active":
            message = self._waiting.popleft()
            number = session.push({"type": "message", "agent": self.number, "message": message})
            self._given[number] = message

    def handled(self, covers: Any) -> None:
        """Notes which messages are handled: a function of their numbers."""
        for number in [one for one in self._given if covers(one)]:
            del self._given[number]

    def unhandled(self) -> list[Message]:
        """Takes all messages that the agent has not handled."""
        found = [*self._given.values(), *self._waiting]
        self._given.clear()
        self._waiting.clear()
        return found

    def set_state(self, state: str) -> None:
        """Changes the state of the agent's life."""
        self.state = state
        self.deliver()


class SessionTransport:
    """One connection of a program: `send` gives frames to the node, whose frames follow a moment later."""

    def __init__(self, node: MemoryNode, receiver: Receiver) -> None:
        self._node = node
        self._receiver: Receiver | None = receiver
        self._session: MemorySession | None = None
        self._reader: FrameReader | None = None
        self._writer: FrameWriter | None = None
        self._frames: list[bytes] = []

    # ---- For the program

    def send(self, frames: list[bytes]) -> None:
        """Handles frames of the program."""
        for data in frames:
            if self._receiver is None:
                return
            if self._session is None:
                self._open(data)
            elif self._reader is not None:
                try:
                    self._session.handle(self._reader.read(data))
                except DecodeError as error:
                    self.write({"type": "error", "code": "protocol", "text": str(error)})
        if self._session is not None:
            self._session.acknowledge()

    def close(self) -> None:
        """Closes the connection."""
        self._receiver = None
        if self._session is not None:
            self._session.lost(self)

    # ---- For the node

    def _open(self, data: bytes) -> None:
        form: Form = None
        if data[:1] != b"{":
            from ..acl import compact

            form = compact.CODEC
        hello = FrameReader(form, 0).read(data)
        remember = 0 if form is None else hello["remember"]
        self._reader, self._writer = FrameReader(form, remember), FrameWriter(form, 0)
        resume = hello["resume"]
        if resume is None:
            session = MemorySession(self._node, hello)
        elif resume["session"] in self._node.sessions:
            session = self._node.sessions[resume["session"]]
        else:
            return self.write({"type": "error", "code": "session-gone", "text": "there is no such session"})
        self._session = session
        self.write(session.welcome(remember))
        self._writer = FrameWriter(form, remember)
        session.connected(self, 0 if resume is None else resume["received"])

    def write(self, frame: Frame) -> None:
        """Writes a frame. The program gets it after its present step."""
        if self._writer is None or self._receiver is None:
            return
        self._frames.append(self._writer.write(frame))
        if len(self._frames) == 1:
            self._node.loop.call_soon(self._flush)

    def _flush(self) -> None:
        frames, self._frames = self._frames, []
        first = self._receiver
        for frame in frames:
            if self._receiver is None:
                break
            self._receiver.on_frame(frame)
        if first is not None:
            first.on_read()

    def cut(self, why: str) -> None:
        """Breaks the connection."""
        receiver, self._receiver = self._receiver, None
        if self._session is not None:
            self._session.lost(self)
        if receiver is not None:
            self._node.loop.call_soon(receiver.on_close, why)


_identifiers = itertools.count(1)


class MemorySession:
    """A session: its agents by number, frames in both directions, and its lease."""

    def __init__(self, node: MemoryNode, hello: Frame) -> None:
        self.id = f"memory-{next(_identifiers)}"
        self.token: str | None = hello["token"]
        self.lease_ms: int = hello["lease_ms"] or LEASE_MS
        self._window = min(hello["window"] or WINDOW, WINDOW)
        self._message_bytes = hello["message_bytes"] or MESSAGE_BYTES
        self._node = node
        self._transport: SessionTransport | None = None
        self._agents: dict[int, Resident] = {}
        self._received = self._told = 0
        self._last = 0
        self._unacknowledged: deque[Frame] = deque()
        #: Runs of messages that the program has not handled.
        self._open: list[tuple[int, int]] = []
        self._is_over = False
        self._losses = 0
        node.sessions[self.id] = self

    # ---- Connections

    def welcome(self, remember: int) -> Frame:
        """Returns the grant."""
        return {
            "type": "welcome",
            "version": SESSION_VERSION,
            "session": self.id,
            "secret": self.id,
            "platform": self._node.name,
            "lease_ms": self.lease_ms,
            "window": self._window,
            "agents": _AGENTS_MAX,
            "message_bytes": self._message_bytes,
            "messages_per_s": _MESSAGES_PER_S,
            "remember": remember,
            "received": self._received,
            "credit": self._received + self._window,
        }

    def connected(self, transport: SessionTransport, received: int) -> None:
        """A connection has the session from now on. Frames that the program did not receive come again."""
        before, self._transport = self._transport, transport
        self._losses += 1
        if before is not None:
            before.cut("a newer connection has the session")
        self._acknowledged(received)
        for frame in self._unacknowledged:
            transport.write(frame)

    def lost(self, transport: SessionTransport) -> None:
        """The connection is closed. The session waits for its lease."""
        if transport is not self._transport or self._is_over:
            return
        self._transport = None
        self._losses += 1
        losses = self._losses

        def expire() -> None:
            if losses == self._losses:
                self.over("failed: its lease is over")

        self._node.loop.call_later(self.lease_ms / 1000, expire)

    def cut(self, why: str = "the connection was cut") -> None:
        """Breaks the connection, as a network does."""
        if self._transport is not None:
            self._transport.cut(why)

    def over(self, reason: str) -> None:
        """Ends the session: its agents end, and kept ones wait for their client."""
        if self._is_over:
            return
        self._is_over = True
        del self._node.sessions[self.id]
        for resident in list(self._agents.values()):
            if resident.is_kept:
                self._node.leave_waiting(resident)
            else:
                self._node.end(resident, reason)
        self._agents.clear()

    # ---- Frames to the program

    def push(self, frame: Frame) -> int:
        """Sends a numbered frame. Returns its number."""
        self._last += 1
        frame["number"] = self._last
        self._unacknowledged.append(frame)
        if self._transport is not None:
            self._transport.write(frame)
        return self._last

    def acknowledge(self) -> None:
        """Acknowledges what was received, and shows that the node lives."""
        if self._transport is not None and not self._is_over:
            self._transport.write({"type": "ack", "received": self._received, "credit": None})

    def tell_ended(self, resident: Resident, reason: str) -> None:
        """Tells the program that an agent has ended."""
        if self._agents.pop(resident.number, None) is not None and not self._is_over:
            self.push({"type": "ended", "agent": resident.number, "reason": reason})

    def _refuse(self, frame: Frame, code: str, text: str) -> None:
        self.push({"type": "refused", "of": frame["number"], "code": code, "text": text})

    # ---- Frames of the program

    def handle(self, frame: Frame) -> None:
        """Handles a frame."""
        if self._is_over:
            return
        number = frame.get("number")
        if number is not None:
            if number <= self._received:
                return
            self._received = number
        getattr(self, f"_on_{frame['type']}", self._on_other)(frame)

    def _on_ack(self, frame: Frame) -> None:
        self._acknowledged(frame["received"])
        received, runs = frame["received"], self._open
        for resident in self._agents.values():
            if not resident.is_kept:
                resident.handled(
                    lambda number: number <= received and not any(first <= number < end for first, end in runs)
                )

    def _acknowledged(self, received: int) -> None:
        while self._unacknowledged and self._unacknowledged[0]["number"] <= received:
            self._unacknowledged.popleft()

    def _on_open(self, frame: Frame) -> None:
        runs = frame["messages"]
        self._open = [(first, first + count) for first, count in zip(runs[::2], runs[1::2])]

    def _on_bye(self, _: Frame) -> None:
        transport = self._transport
        self.over("finished")
        if transport is not None:
            transport.write({"type": "bye"})

    def _on_create(self, frame: Frame) -> None:
        made = self._node.create(self, frame["agent"], frame["name"])
        if isinstance(made, tuple):
            return self._refuse(frame, *made)
        self._agents[frame["agent"]] = made
        if made.saved is not None:
            code, state = made.saved
            self.push({"type": "state", "agent": made.number, "code": code, "state": state, "from": None})
        self.push({"type": "created", "agent": made.number, "name": f"{made.name}@{self._node.name}"})
        made.deliver()

    def _agent_of(self, frame: Frame) -> Resident | None:
        found = self._agents.get(frame["agent"])
        if found is None:
            self._refuse(frame, "no-agent", "the session has no such agent")
        return found

    def _on_end(self, frame: Frame) -> None:
        resident = self._agent_of(frame)
        if resident is not None:
            self._node.end(resident, "finished")

    def _on_message(self, frame: Frame) -> None:
        resident, message = self._agent_of(frame), frame["message"]
        if resident is None:
            return
        sender = Aid.of(resident.name)
        if str(message.sender) not in ("", resident.name, f"{resident.name}@{self._node.name}"):
            return self._refuse(frame, "forged-sender", f"the message names {message.sender} as its sender")
        if not message.receivers:
            return self._refuse(frame, "no-receiver", "the message has no receiver")
        message.sender = sender
        if resident.holds:
            resident.held.append(message)
        else:
            self._node.route(message)

    def _on_unreadable(self, frame: Frame) -> None:
        self._refuse(frame, "bad-message", frame["why"])

    def _on_keep(self, frame: Frame) -> None:
        resident = self._agent_of(frame)
        if resident is not None:
            resident.policy, resident.holds = frame["policy"], frame["holds"] and frame["policy"] != "end"

    def _on_save(self, frame: Frame) -> None:
        resident = self._agent_of(frame)
        if resident is None:
            return
        if frame["to"] is not None:
            return self._refuse(frame, "not-movable", f"no_such_node: a platform in memory has no place {frame['to']}")
        if not resident.is_kept:
            return self._refuse(frame, "not-kept", "the agent is not to be kept")
        resident.saved = (frame["code"], frame["state"])
        upto, also = frame["upto"], frozenset(frame["also"])
        resident.handled(lambda number: number <= upto or number in also)
        self.push({"type": "saved", "agent": resident.number, "of": frame["number"]})
        held, resident.held = resident.held, []
        for message in held:
            self._node.route(message)

    def _on_certify(self, frame: Frame) -> None:
        self._refuse(frame, "not-allowed", "a platform in memory issues no certificates")

    def _on_other(self, frame: Frame) -> None:
        """Ignores frames of agents that move: there is no other place."""
