"""Client's end of a session as a state machine. It has no sockets, clock or randomness.

- Inputs: `handle_connected`, `handle_frame`, `handle_closed`, `handle_timeout`, and the client's commands: `create`,
  `end`, `send`, `keep`, `save`, `bye`, ...
- Outputs, after each input: `events` and `poll_frames`; then `poll_timeout` says when to call `handle_timeout`.

Sent frames are kept until the node acknowledges them, and are written again to the next connection. So nothing is lost,
duplicated or reordered while the session lives. Times are milliseconds of a monotonic clock.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..acl.errors import DecodeError, WhimbrelError
from ..acl.message import Message
from .frames import Form, Frame, FrameReader, FrameWriter, seal
from .limits import (
    ACK_DELAY_MS,
    CODE_PART_BYTES,
    FAULTS_MAX,
    LEASE_MS,
    MESSAGE_BYTES,
    MISSES_MAX,
    OPEN_MESSAGES_MAX,
    OPEN_RUN_BYTES,
    PATIENCE_MS,
    RECONNECT_MS_MAX,
    RECONNECT_MS_MIN,
    RECONNECTS_PER_LEASE,
    REMEMBER,
    SENDINGS_AT_ONCE,
    SENDINGS_MAX,
    SESSION_VERSION,
    WELCOME_MS_MAX,
    WINDOW,
)

__all__ = ["Session", "SessionError", "SessionOptions"]


class SessionOptions(NamedTuple):
    """Wishes of a client. The node may grant less."""

    #: Token that admits the client.
    token: str | None = None
    #: Certificate of the platform's authority, as PEM, instead of a token. Over a WebSocket the node asks for a proof.
    certificate: str | None = None
    #: Time that the session and its agents outlive the client's last sign of life: 1 s to 5 min.
    lease_ms: int = LEASE_MS
    #: Numbered frames that may be unacknowledged in each direction.
    window: int = WINDOW
    #: Bytes of the longest message that the client accepts.
    message_bytes: int = MESSAGE_BYTES
    #: Agents and texts that compact messages may refer to by number.
    remember: int = REMEMBER
    #: Form of frames: None for JSON, or a codec.
    form: Form = None
    #: True if agents may be asked to move away or here.
    moves: bool = False
    #: True if the client follows redirections to the node that has its session or agent.
    follows: bool = False
    #: Time limit for the first connection.
    patience_ms: float = PATIENCE_MS
    #: Place to try first: `HOST:PORT`, or `:PORT` at the known host.
    place: str | None = None
    #: True if the first hello follows no redirection, so that agents are created at the node that it reaches.
    stays: bool = False


class SessionError(WhimbrelError):
    """The session is over, or could not begin.

    `code` is a node's code, `bye` after a normal end, or `unreachable` if no connection ever succeeded.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}{_HINTS.get(code, '')}")
        self.code = code
        self.text = text


_HINTS = {
    "unauthorised": ": give `token=`, one that the node was started with (--agent-token, --agent-tokens, --http-token)",
    "unreachable": ": is the node running, with --agent-port (tcp://) or --http (ws://)?",
}

# Codes that end a session for good. `taken-over` allows one more attempt.
_FINAL = frozenset(("unauthorised", "session-gone", "lease-over", "stopping", "version"))

# Numbered frames that nodes send. Each becomes an event.
_FROM_NODE = frozenset(
    (
        "message",
        "created",
        "ended",
        "unreadable",
        "saved",
        "lacks",
        "code",
        "state",
        "yield",
        "offer",
        "certified",
        "refused",
    )
)


class _Connection:
    """State of one connection."""

    __slots__ = ("bye_written", "challenge", "hello_due", "is_welcome", "proof", "reader", "since", "writer")

    def __init__(self, form: Form, remember: int, since: float) -> None:
        self.reader = FrameReader(form, remember)
        #: Writer of the hello until the welcome, then of all frames.
        self.writer = FrameWriter(form, 0)
        self.is_welcome = False
        self.hello_due = True
        #: Challenge of the node, and the signature when it is ready to send.
        self.challenge: str | None = None
        self.proof: bytes | None = None
        self.since = since
        self.bye_written = False


class _Faults:
    """Failures in a row at the same frame number. Progress resets the count."""

    def __init__(self) -> None:
        self._count = 0
        self._at = 0

    def add(self, at: int) -> bool:
        """Adds a failure at this number. Returns true after too many."""
        self._count = 1 if at > self._at else self._count + 1
        self._at = at
        return self._count >= FAULTS_MAX


class Session:
    """See the module."""

    def __init__(self, options: SessionOptions, now: float, random: Callable[[], float]) -> None:
        """Begins a session. `random` returns numbers from 0 to 1; it spreads the reconnections of many clients."""
        self.form = options.form
        #: Grant of the session; None before the first welcome.
        self.welcome: Frame | None = None
        #: Reason for the end of the session, if it is over.
        self.over: SessionError | None = None
        #: Numbers of messages that the agents have not handled. If an agent or this program ends, their senders get
        #: `failure`.
        self.open: Callable[[], Iterable[int]] = lambda: ()
        #: True if the open messages may differ from the last `open` frame; the next one follows soon.
        self.is_stale = False
        self._options = options
        self._random = random
        self._started_at = now
        #: Events that nobody has handled: frames of the node, or `connect`, `disconnect`, `lost`, `over`.
        self.events: deque[Frame] = deque()
        self._connection: _Connection | None = None
        self._leaving = False
        #: Frames to write, and frames that were written and not acknowledged.
        self._waiting: deque[Frame] = deque()
        self._flight: deque[Frame] = deque()
        self._last = 0
        self._credit = 0
        self._received = 0
        #: Last list of open messages; None if the node has none.
        self._listed: list[int] | None = None
        #: Last acknowledged number.
        self._told = 0
        self._ack_due_at = math.inf
        self._spoke_at = 0.0
        self._heard_at = now
        self._connect_at = now
        #: Time when the current attempt to connect began; infinite if there is none.
        self._opening_since = math.inf
        self._failures = 0
        #: Number of connections so far. The node uses it to find the newest.
        self._attempt = 0
        #: Invalid frames of the node, and frames that the node rejected.
        self._misheard = _Faults()
        self._rejected = _Faults()
        self._taken_over_at = -math.inf
        #: Place of the node that has, or should have, the session; None for the original address.
        self._place = options.place
        #: Redirections in a row, and unreachable nodes in a row.
        self._sendings = 0
        self._misses = 0
        #: Reason for the missing connection.
        self._why = "no connection was ever made"
        self._window = 0
        self._message_bytes = MESSAGE_BYTES
        self._set_lease(options.lease_ms)
        self.handle_timeout(now)

    @property
    def has_missed(self) -> bool:
        """True if the intended node was unreachable and the session is at another one."""
        return self._misses > 0

    @property
    def is_connected(self) -> bool:
        """True while there is a connection with a welcome."""
        return self._connection is not None and self._connection.is_welcome

    @property
    def ack_due_at(self) -> float:
        """Time of the next acknowledgement; infinite if none is due."""
        return self._ack_due_at

    @property
    def lists_open(self) -> bool:
        """True if the node has a list of open messages that may be outdated."""
        return bool(self._listed)

    @property
    def unacknowledged(self) -> int:
        """Number of frames that the node has not acknowledged."""
        return len(self._waiting) + len(self._flight)

    @property
    def unwritten(self) -> int:
        """Number of frames that wait for credit or a connection."""
        return len(self._waiting)

    # ---- Commands. They return the number of the frame.

    def create(self, agent: int, name: str) -> int:
        """Requests an agent. Its number must be free."""
        return self._keep({"type": "create", "agent": agent, "name": name})

    def end(self, agent: int) -> int:
        """Ends an agent."""
        return self._keep({"type": "end", "agent": agent})

    def send(self, agent: int, message: Message) -> int:
        """Sends a message of an agent.

        Raises EncodeError if the message cannot be encoded. Nothing was sent.
        """
        if self.over is not None:
            raise self.over
        sealed = seal(self.form, message, self._message_bytes)
        self._last = number = self._last + 1
        self._waiting.append({"type": "message", "number": number, "agent": agent, "message": sealed})
        return number

    @property
    def last_bytes(self) -> int:
        """Encoded length of the message that was sent last."""
        frame = self._waiting[-1] if self._waiting else self._flight[-1]
        return frame["message"].bytes if frame["type"] == "message" else 0

    def certify(self, agent: int, request: str) -> int:
        """Requests a certificate for an agent's key."""
        return self._keep({"type": "certify", "agent": agent, "request": request})

    def keep(self, agent: int, policy: str, holds: bool) -> int:
        """Makes an agent durable. If `holds`, its messages leave together with the save behind them."""
        return self._keep({"type": "keep", "agent": agent, "policy": policy, "holds": holds})

    def save(
        self,
        agent: int,
        upto: int,
        code: str,
        state: bytes,
        also: Iterable[int] = (),
        to: str | None = None,
        origin: str | None = None,
    ) -> int:
        """Saves a state that covers messages up to `upto` and those in `also`. `to` and `origin` are the ends of a
        move.
        """
        frame = {"type": "save", "agent": agent, "upto": upto, "code": code, "state": state, "to": to}
        return self._keep({**frame, "also": list(also), "from": origin})

    def stays(self, name: str, text: str) -> int:
        """Refuses a move of the agent of this name."""
        return self._keep({"type": "stays", "name": name, "text": text})

    def lacks(self, agent: int, code: str) -> int:
        """Requests an agent's code."""
        return self._keep({"type": "lacks", "agent": agent, "code": code})

    def code(self, agent: int, code: str, data: bytes) -> int:
        """Sends an agent's code in parts. Returns the number of the last part."""
        number, at = 0, 0
        while True:
            part = data[at : at + CODE_PART_BYTES]
            number = self._keep(
                {"type": "code", "agent": agent, "code": code, "at": at, "of": len(data), "bytes": part}
            )
            at += len(part)
            if at >= len(data):
                return number

    def prove(self, challenge: str, signature: bytes) -> None:
        """Answers a challenge, if its connection still exists."""
        connection = self._connection
        if connection and connection.challenge == challenge and not connection.is_welcome:
            connection.proof = signature

    def cannot_prove(self, text: str) -> None:
        """Ends the session because the client cannot sign the challenge."""
        if self.over is None:
            self._end("unauthorised", text)

    def bye(self) -> None:
        """Ends the session after all frames are written."""
        self._leaving = True

    def abandon(self, text: str, code: str = "bye") -> None:
        """Ends the session at once."""
        if self.over is None:
            self._end(code, text)

    def _keep(self, frame: Frame) -> int:
        if self.over is not None:
            raise self.over
        self._last += 1
        frame["number"] = self._last
        self._waiting.append(frame)
        return self._last

    # ---- Inputs

    def handle_connected(self, now: float) -> None:
        """The connection is open."""
        if self.over is not None:
            return
        self._attempt += 1
        self._connection = _Connection(self.form, self._remember, now)
        self._connect_at = self._opening_since = math.inf

    def handle_closed(self, now: float, why: str = "connection lost") -> None:
        """The connection is closed, or could not be opened."""
        if self.over is not None:
            return
        was_welcome = self.is_connected
        self._connection = None
        self._opening_since = math.inf
        self._why = why
        while self._flight:
            self._waiting.appendleft(self._flight.pop())
        is_miss = self._place is not None and not was_welcome
        if is_miss:
            self._place = None
            self._misses += 1
        if was_welcome:
            self.events.append({"type": "lost", "why": why})
        # Another address may work at once.
        self._failures = 0 if was_welcome or is_miss else self._failures + 1
        self._ack_due_at = math.inf
        longest: float = RECONNECT_MS_MAX
        if self.welcome:
            longest = min(self._lease_ms / RECONNECTS_PER_LEASE, longest)
        backoff = min(RECONNECT_MS_MIN * 2.0 ** min(self._failures, 32), longest)
        wait = RECONNECT_MS_MIN if self._failures == 0 else backoff
        self._connect_at = now + wait * (0.5 + self._random() / 2)
        self._give_up_if_late(now)

    def handle_timeout(self, now: float) -> None:
        """The time of `poll_timeout` has come."""
        if self.over is not None or self._give_up_if_late(now):
            return
        if now >= self._drop_at:
            return self._drop(now, "the node is silent" if self._connection else "no answer from the node")
        if self._connection or now < self._connect_at:
            return
        self._connect_at = math.inf
        self._opening_since = now
        self.events.append({"type": "connect", "place": self._place})

    @property
    def _drop_at(self) -> float:
        """Time when the current connection or attempt is given up.

        A node sends in each third of the lease; after two silent thirds the last one is left for reconnecting. An
        attempt to resume gets a third, so that several fit in the lease. An attempt at a redirected place gets a
        quarter, because that place may be behind a firewall.
        """
        connection = self._connection
        if connection and connection.is_welcome:
            return self._heard_at + self._silence_ms
        whole = self._lease_ms if self.welcome else self._options.patience_ms
        patience = whole / 4 if self._place is not None else whole / 3 if self.welcome else WELCOME_MS_MAX
        since = connection.since if connection else self._opening_since
        return since + min(WELCOME_MS_MAX, patience)

    def handle_online(self, now: float) -> None:
        """The network may be back, or the program woke up: reconnects soon, or tests the connection by a frame."""
        if self.over is not None:
            return
        self._failures = 0
        if self._connection:
            self._spoke_at = -math.inf
        elif self._opening_since == math.inf:
            # Many clients notice it at the same moment, so spread them.
            self._connect_at = min(self._connect_at, now + RECONNECT_MS_MIN * self._random())

    def handle_frame(self, data: bytes, now: float) -> None:
        """Handles a received frame."""
        connection = self._connection
        if self.over is not None or connection is None:
            return
        try:
            frame = connection.reader.read(data)
        except DecodeError as error:
            return self._fault(now, "protocol", str(error))
        # Before the welcome, the sender may be another node that does not know the session.
        if not connection.is_welcome:
            return self._handle_opening(frame, connection, now)
        self._heard_at = now
        kind = frame["type"]
        if kind in _FROM_NODE:
            self._numbered(frame, now)
        elif kind == "ack":
            self._acknowledged(frame["received"], frame["credit"], now)
        elif kind == "error":
            self._failed(frame["code"], frame["text"], now)
        elif kind == "bye":
            self._end("bye", "the client left" if self._leaving else "the node left")
        elif kind in ("welcome", "challenge"):
            self._fault(now, "protocol", f"unexpected {kind}")
        else:
            self._fault(now, "protocol", f"unexpected {kind} from a node")

    def _handle_opening(self, frame: Frame, connection: _Connection, now: float) -> None:
        """Handles a frame before the welcome."""
        kind = frame["type"]
        if kind == "welcome":
            self._welcomed(frame, connection, now)
        elif kind == "challenge":
            self._challenged(frame["text"], connection, now)
        elif kind == "error":
            self._failed(frame["code"], frame["text"], now)
        else:
            self._fault(now, "protocol", f"{kind} before the welcome")

    def _welcomed(self, welcome: Frame, connection: _Connection, now: float) -> None:
        resumed = self.welcome is not None
        fits = welcome["version"] == SESSION_VERSION and welcome["remember"] <= self._remember
        if not fits or (self.welcome and welcome["session"] != self.welcome["session"]):
            return self._fault(now, "protocol", "unexpected welcome")
        self.welcome = welcome
        self._set_lease(welcome["lease_ms"])
        self._window = welcome["window"]
        self._message_bytes = welcome["message_bytes"]
        self._heard_at = now
        connection.is_welcome = True
        connection.writer = FrameWriter(self.form, welcome["remember"])
        self._failures = self._sendings = 0
        if resumed:
            self._misses = 0
        # The node may not have the last `open` list, or may not know that this client sends one.
        self._listed = None
        self._told = self._received
        self._credit = 0
        self.events.append({"type": "welcome", "welcome": welcome, "resumed": resumed})
        self._acknowledged(welcome["received"], welcome["credit"], now)

    def _challenged(self, text: str, connection: _Connection, now: float) -> None:
        """Handles the one challenge that a node sends before its welcome to a client with a certificate."""
        if self._options.certificate is None or self.welcome or connection.challenge is not None:
            return self._fault(now, "protocol", "unexpected challenge")
        connection.challenge = text
        self.events.append({"type": "challenge", "text": text})

    def _acknowledged(self, received: int, credit: int | None, now: float) -> None:
        """Handles an acknowledgement of all numbers up to `received`."""
        first = self._last - self.unacknowledged
        if not first <= received <= self._last:
            return self._fault(now, "protocol", f"unexpected acknowledgement of {received}")
        for _ in range(received - first):
            (self._flight or self._waiting).popleft()
        self._credit = max(self._credit, received + self._window if credit is None else credit)

    def _numbered(self, frame: Frame, now: float) -> None:
        number = frame["number"]
        received = self._received + 1
        if number != received:
            return self._fault(now, "protocol", f"unexpected frame number {number}, expected {received}")
        self._received = received
        self.is_stale = True
        self.events.append(frame)
        if received - self._told >= self._window / 4:
            self._ack_due_at = min(self._ack_due_at, now)
        elif self._ack_due_at == math.inf:
            self._ack_due_at = now + ACK_DELAY_MS

    def _failed(self, code: str, text: str, now: float) -> None:
        """Handles the node's reason for ending the connection."""
        # The node read the `bye` before the connection broke.
        if self._leaving and code == "session-gone":
            return self._end("bye", "the client left")
        if self.welcome and code == "taken-over":
            return self._taken_over(text, now)
        if code == "elsewhere" and self._options.follows:
            return self._sent(text, now)
        may_try_again = code == "busy" if self.welcome is None else code not in _FINAL
        if not may_try_again or self._rejected.add(self._last - self.unacknowledged):
            return self._end(code, text)
        self._drop(now, f"{code}: {text}")

    def _taken_over(self, text: str, now: float) -> None:
        """Handles a takeover. A delayed older connection of this client may have caused it, so the client resumes once.

        If another program has the session, both take it from each other, and the first to lose it twice within two
        leases ends.
        """
        is_again = now - self._taken_over_at < 2 * self._lease_ms
        self._taken_over_at = now
        if is_again:
            self._end("taken-over", text)
        else:
            self._drop(now, f"taken-over: {text}")

    def _sent(self, place: str, now: float) -> None:
        """Handles a redirection to `place`, or to an unknown place. If that node is unreachable, the original address
        is tried.
        """
        self._sendings += 1
        if self._sendings > SENDINGS_MAX:
            return self._end("elsewhere", f"redirected {SENDINGS_MAX} times in a row")
        self._place = None
        self._drop(now, f"the session is at another node: {place or 'unknown'}")
        if place == "" or self._misses >= MISSES_MAX:
            return
        self._place = place
        if self._sendings <= SENDINGS_AT_ONCE:
            self._connect_at = now

    def _fault(self, now: float, code: str, text: str) -> None:
        """Drops the connection after an invalid frame. Another connection may work."""
        if self.welcome is None or self._misheard.add(self._received):
            self._end(code, text)
        else:
            self._drop(now, text)

    def _drop(self, now: float, why: str) -> None:
        self.events.append({"type": "disconnect", "why": why})
        self.handle_closed(now, why)

    def _give_up_if_late(self, now: float) -> bool:
        if now < self._give_up_at:
            return False
        if self.welcome is None:
            self._end("unreachable", self._why)
        else:
            self._end("lease-over", f"no connection for the whole lease: {self._why}")
        return True

    @property
    def _speak_at(self) -> float:
        """Time of the next sign of life. A node wants one in each third of the lease. Sending one in each quarter
        leaves time to reconnect.
        """
        return self._spoke_at + self._pause_ms

    @property
    def _give_up_at(self) -> float:
        """Time when reconnecting becomes pointless."""
        return self._heard_at + self._lease_ms if self.welcome else self._started_at + self._options.patience_ms

    def _set_lease(self, lease_ms: float) -> None:
        self._lease_ms = lease_ms
        self._silence_ms = 2 * lease_ms / 3
        self._pause_ms = lease_ms / 4

    def _end(self, code: str, text: str) -> None:
        if self._connection:
            self.events.append({"type": "disconnect", "why": text})
        self._connection = None
        self.over = SessionError(code, text)
        self.events.append({"type": "over", "error": self.over})

    @property
    def _remember(self) -> int:
        return 0 if self.form is None else self._options.remember

    # ---- Outputs

    def poll_timeout(self) -> float:
        """Returns the time to call `handle_timeout`, or to poll for frames."""
        if self.over is not None:
            return math.inf
        connection = self._connection
        if connection and connection.is_welcome:
            # The connection is dropped before the session is given up.
            return min(self._ack_due_at, self._heard_at + self._silence_ms, self._spoke_at + self._pause_ms)
        return min(self._give_up_at, self._drop_at, self._connect_at)

    def poll_frames(self, now: float) -> list[bytes]:
        """Returns all frames to write."""
        frames: list[bytes] = []
        connection = self._connection
        while connection is not None:
            # Mostly there are messages to write, and nothing else.
            if self._is_flowing(connection, now) and self._write_waiting(connection, frames, now):
                break
            frame = self._next_frame(connection, now)
            if frame is None:
                break
            self._spoke_at = now
            frames.append(connection.writer.write(frame))
        return frames

    def _is_flowing(self, connection: _Connection, now: float) -> bool:
        """Returns true if the client owes the node nothing but the frames that wait."""
        return (
            connection.is_welcome
            and self._listed is not None
            and now < self._ack_due_at
            and now < self._spoke_at + self._pause_ms
            and not (self.is_stale and self._listed)
            and not self._leaving
        )

    def _write_waiting(self, connection: _Connection, frames: list[bytes], now: float) -> bool:
        """Writes the frames that wait. Returns false before the end of an agent."""
        waiting, flight = self._waiting, self._flight
        write = connection.writer.write
        room = min(self._window - len(flight), self._credit - self._last + len(waiting))
        while waiting and room > 0:
            frame = waiting[0]
            if frame["type"] == "end" and self.is_stale:
                return False
            room -= 1
            flight.append(waiting.popleft())
            frames.append(write(frame))
            self._spoke_at = now
        return True

    def _next_frame(self, connection: _Connection, now: float) -> Frame | None:
        if not connection.is_welcome:
            return self._opening_frame(connection)
        if connection.bye_written:
            return None
        following = self._waiting[0] if self._waiting else None
        if self.is_stale and self._listed:
            self._ack_due_at = min(self._ack_due_at, now + ACK_DELAY_MS)
        # Report handled messages before an agent or the session ends.
        is_last = self.is_stale and (following["type"] == "end" if following else self._leaving)
        if is_last or self._listed is None or now >= self._ack_due_at or now >= self._speak_at:
            return self._acknowledgement()
        if following:
            if following["number"] > self._credit or len(self._flight) >= self._window:
                return None
            self._flight.append(self._waiting.popleft())
            return following
        if not self._leaving:
            return None
        connection.bye_written = True
        return {"type": "bye"}

    def _opening_frame(self, connection: _Connection) -> Frame | None:
        if connection.hello_due:
            connection.hello_due = False
            return self._hello()
        proof, connection.proof = connection.proof, None
        return {"type": "proof", "signature": proof} if proof else None

    def _acknowledgement(self) -> Frame:
        """Returns the next `open` frame if the open messages changed, else an acknowledgement."""
        most = int(min(OPEN_MESSAGES_MAX, self._message_bytes / OPEN_RUN_BYTES))
        messages: list[int] = []
        for number in sorted(self.open())[:most]:
            if messages and number == messages[-2] + messages[-1]:
                messages[-1] += 1
            else:
                messages += (number, 1)
        if messages != self._listed:
            self._listed = messages
            return {"type": "open", "messages": messages}
        self.is_stale = False
        self._ack_due_at = math.inf
        self._told = self._received
        return {"type": "ack", "received": self._received, "credit": None}

    def _hello(self) -> Frame:
        options, welcome = self._options, self.welcome
        resume = None
        if welcome:
            resume = {"session": welcome["session"], "secret": welcome["secret"], "received": self._received}
        hello: dict[str, Any] = {
            "type": "hello",
            "versions": [SESSION_VERSION],
            "token": options.token,
            "resume": resume,
            "lease_ms": options.lease_ms,
            "window": options.window,
            "message_bytes": options.message_bytes,
            "remember": self._remember,
        }
        if options.moves:
            hello["moves"] = True
        if options.certificate is not None and not welcome:
            hello["certificate"] = options.certificate
        if welcome:
            hello["attempt"] = self._attempt
        if options.follows and (welcome or not options.stays):
            hello["follows"] = True
        return hello
