"""Replay of a transcript of `conformance/session`. The session under test is the client; its node is simulated."""

from __future__ import annotations

import base64
import json
from collections import deque
from typing import Any

from whimbrel.acl import DecodeError, equal, message_from_json
from whimbrel.session.frames import Form, Frame, FrameReader, FrameWriter
from whimbrel.session.limits import ACK_DELAY_MS
from whimbrel.session.session import Session, SessionOptions

DEFAULTS: dict[str, Frame] = {
    "welcome": {
        "version": 1,
        "session": "s1",
        "secret": "hush",
        "platform": "home",
        "lease_ms": 10_000,
        "agents": 64,
        "message_bytes": 1 << 20,
        "messages_per_s": 10_000,
        "remember": 0,
    },
    "created": {"agent": 0, "name": "bob@home"},
    "ended": {"agent": 0, "reason": "finished"},
    "message": {"agent": 0, "message": {"performative": "inform", "sender": "amy", "receivers": ["bob"]}},
    "refused": {"code": "not-allowed", "text": "no"},
    "error": {"text": "no"},
    "certified": {"certificates": "PEM"},
    "offer": {"name": "bob", "code": "ts:counter"},
    "yield": {"agent": 0, "to": "n2"},
    "ack": {"credit": None},
    "bye": {},
}
FROM_NODE = (
    "created ended message refused certified saved state lacks code yield offer".split()  # noqa: SIM905
)


def read_json(frame: Frame) -> Frame:
    """Reads a frame from its JSON."""
    return FrameReader(None, 0).read(json.dumps(frame).encode())


def said(frame: Frame) -> Frame:
    """Returns a frame without the reader's additions."""
    return {name: value for name, value in frame.items() if name != "bytes" or frame["type"] == "code"}


def fill(given: Any) -> Any:
    """Completes a message of a transcript: `*` becomes a value."""
    if given == "*":
        return "anything"
    if isinstance(given, list):
        return [fill(item) for item in given]
    return {name: fill(value) for name, value in given.items()} if isinstance(given, dict) else given


class Replay:
    """One transcript in one form."""

    def __init__(self, transcript: dict[str, Any], form: Form) -> None:
        self.transcript = transcript
        self.form = form
        self.now = 1000.0
        #: Client steps that a correct session cannot take. Only their bytes are checked.
        self.misdeeds = 0
        self._session: Session | None = None
        self._is_connected = False
        # True if no session would make this connection.
        self._is_foreign = False
        self._names: dict[str, Any] = {}
        self._reader = FrameReader(form, 0)
        self._to_node = self._from_node = self._own_number = 0
        self._events: deque[Frame] = deque()

    def run(self) -> None:
        """Takes all steps."""
        for step in self.transcript["steps"]:
            if "client" in step:
                self._client(step["client"])
            if "node" in step:
                self._node(step["node"])
            if step.get("break"):
                self._break()
            if step.get("closed"):
                self._is_foreign = False
                assert not self._is_connected
            pause = step.get("wait_ms", step.get("silent_ms"))
            if pause is not None:
                self._wait(pause)

    @property
    def _live(self) -> Session:
        assert self._session is not None
        return self._session

    def _known(self, value: Any) -> Any:
        return self._names.get(value) if isinstance(value, str) and value.startswith("$") else value

    def _written(self, is_open_wanted: bool = False) -> list[Frame]:
        """Returns all frames that the session wants to write now, without acknowledgements and unwanted lists."""
        frames = []
        for data in self._live.poll_frames(self.now):
            frame = self._reader.read(data)
            if frame["type"] != "ack" and (frame["type"] != "open" or is_open_wanted):
                frames.append(frame)
            self._own_number = frame.get("number", self._own_number)
        return frames

    def _collect(self) -> None:
        while self._live.events:
            event = self._live.events.popleft()
            self._events.append(event)
            if event["type"] in ("disconnect", "over"):
                self._is_connected = False

    def _misdeed(self, given: Frame) -> None:
        """Writes and reads a frame that a session cannot send."""
        self.misdeeds += 1
        frame = read_json({name: self._known(value) for name, value in given.items()})
        if self.form is not None:
            again = FrameReader(self.form, 0).read(FrameWriter(self.form, 0).write(frame))
            assert said(again) == said(frame)

    def _client(self, given: Frame) -> None:
        kind = given["type"]
        if kind == "hello":
            self._hello(given)
        elif self._is_foreign or kind == "created":
            self._misdeed(given)
        elif kind == "ack":
            self._ack(given)
        elif kind == "open":
            self._open(given["messages"])
        elif kind == "bye":
            self._live.bye()
            assert self._written() == [{"type": "bye"}]
        elif given["number"] != self._own_number + 1:
            self._misdeed(given)
        else:
            self._numbered(given)

    def _hello(self, given: Frame) -> None:
        resume = given.get("resume")
        session = self._session
        goes_on = session is not None and session.over is None and not self._is_connected
        welcome = session.welcome if session else None
        is_own = resume is not None and welcome is not None and self._known(resume["secret"]) == welcome["secret"]
        is_good = 1 in given["versions"] and (not self._is_connected if resume is None else goes_on and is_own)
        self._reader = FrameReader(self.form, 0)
        if not is_good:
            self._is_foreign = not self._is_connected
            return self._misdeed(given)
        if resume is None:
            options = SessionOptions(form=self.form, remember=0, moves=given.get("moves", False))
            for name in ("token", "lease_ms", "window"):
                if given.get(name) is not None:
                    options = options._replace(**{name: given[name]})
            self._session = Session(options, self.now, lambda: 0.5)
            self._to_node = self._from_node = self._own_number = 0
        self._collect()
        if not self._events or self._events[-1]["type"] != "connect":
            self.now = max(self.now, self._live.poll_timeout())
            self._live.handle_timeout(self.now)
            self._collect()
        assert self._events.pop()["type"] == "connect"
        self._live.handle_connected(self.now)
        self._is_connected = True
        (hello,) = self._written()
        assert hello["versions"] == [1]
        for name in ("token", "lease_ms", "window"):
            if name in given:
                assert hello[name] == given[name]
        if resume is None:
            assert hello["resume"] is None
        else:
            # A client that lost frames reports fewer received ones. This one received all.
            secrets = {name: self._known(resume[name]) for name in ("session", "secret")}
            assert hello["resume"] == {**secrets, "received": self._from_node}
        return None

    def _open(self, messages: list[int]) -> None:
        numbers = [first + more for first, count in zip(messages[::2], messages[1::2]) for more in range(count)]
        self._live.open = lambda: numbers
        self._live.is_stale = True
        self.now += ACK_DELAY_MS
        written = self._written(True)
        if not written:
            # Pending changes go with the next acknowledgement.
            self.now += ACK_DELAY_MS
            self._live.handle_timeout(self.now)
            written = self._written(True)
        assert written[0] == {"type": "open", "messages": messages}

    def _ack(self, given: Frame) -> None:
        if given["received"] > self._from_node:
            return self._misdeed(given)
        self.now += ACK_DELAY_MS
        before = self._live.poll_timeout()
        assert self._written() == []
        assert self._live.poll_timeout() > before or before > self.now, "received frames are acknowledged"
        return None

    def _numbered(self, given: Frame) -> None:
        is_readable = self._command(given)
        (frame,) = self._written()
        self._to_node = given["number"]
        if is_readable:
            assert said(frame) == said(read_json(given))

    def _command(self, given: Frame) -> bool:
        """Gives a command to the session. Returns false if its message is invalid."""
        session, kind, agent = self._live, given["type"], given.get("agent", 0)
        if kind == "create":
            session.create(agent, given["name"])
        elif kind == "end":
            session.end(agent)
        elif kind == "certify":
            session.certify(agent, given["request"])
        elif kind == "keep":
            session.keep(agent, given["policy"], given["holds"])
        elif kind == "save":
            state = base64.b64decode(given["state"])
            ends = (given.get("to"), given.get("from"))
            session.save(agent, given["upto"], given["code"], state, given["also"], *ends)
        elif kind == "stays":
            session.stays(given["name"], given["text"])
        elif kind == "lacks":
            session.lacks(agent, given["code"])
        elif kind == "code":
            session.code(agent, given["code"], base64.b64decode(given["bytes"]))
        else:
            try:
                session.send(agent, message_from_json(given["message"]))
            except DecodeError:
                self.misdeeds += 1
                session.end(agent)
                return False
        return True

    def _node(self, given: Frame) -> None:
        kind, number = given["type"], given.get("number")
        rest = {name: value for name, value in given.items() if name not in ("message", "number")}
        frame: Frame = {**DEFAULTS.get(kind, {}), **fill(rest), "type": kind}
        for name, value in given.items():
            if isinstance(value, str) and value.startswith("$"):
                default = self._from_node + 1 if name == "number" else DEFAULTS.get(kind, {}).get(name, "x")
                frame[name] = self._names.setdefault(value, default)
        if kind == "welcome":
            window = given.get("window", self.transcript["grant"].get("window", 256))
            received = given.get("received", self._to_node)
            frame.update(window=window, received=received, credit=given.get("credit", received + window))
        following = number if isinstance(number, int) else self._from_node + 1
        is_numbered = kind in FROM_NODE
        if is_numbered:
            frame["number"] = following
        if kind == "refused":
            frame.setdefault("of", following)
        if kind == "message":
            frame["message"] = {**DEFAULTS["message"]["message"], **fill(given.get("message", {}))}
        self._hear(frame, is_numbered and following <= self._from_node, following)

    def _hear(self, given: Frame, is_again: bool, number: int) -> None:
        frame = read_json(given)
        written = FrameWriter(self.form, 0).write(frame)
        assert said(FrameReader(self.form, 0).read(written)) == said(frame)
        # Repetitions for a client that lost frames, and frames for a foreign client.
        if is_again or self._is_foreign:
            return
        was_over = self._live.over is not None
        self._live.handle_frame(written, self.now)
        self._collect()
        if frame["type"] in ("error", "bye"):
            assert not self._is_connected, "an error ends the connection"
            return
        assert self._is_connected
        assert not was_over, given
        if "number" not in frame:
            return
        self._from_node = number
        event = self._events[-1]
        assert event["type"] == frame["type"]
        if frame["type"] == "message":
            expected = message_from_json(given["message"])
            assert equal(event["message"].content, expected.content)
            assert event["message"].sender == expected.sender

    def _break(self) -> None:
        if self._is_connected:
            self._live.handle_closed(self.now)
        self._collect()
        self._is_connected = False
        assert self._live.over is None

    def _wait(self, ms: float) -> None:
        """Lets time pass. An idle client gives a sign of life in each third of the lease."""
        until = self.now + ms
        welcome = self._live.welcome
        lease = welcome["lease_ms"] if welcome else 0
        spoke_at = self.now - lease / 3
        ack = FrameWriter(self.form, 0).write({"type": "ack", "received": self._to_node, "credit": None})
        while self.now < until:
            self.now = min(until, self.now + 10)
            self._live.handle_timeout(self.now)
            if self._live.poll_frames(self.now):
                spoke_at = self.now
            assert self.now - spoke_at <= 2 * lease / 3, "there are signs of life"
            # The node does the same.
            self._live.handle_frame(ack, self.now)
        self._collect()
