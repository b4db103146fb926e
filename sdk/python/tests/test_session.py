"""Session with the vectors of `conformance/session`, and with failures of network and node."""

from __future__ import annotations

import json
from typing import Any

import pytest
from forms import FORMS
from transcript import Replay, read_json, said
from vectors import vector_files, vectors

from whimbrel.acl import DecodeError, EncodeError, Message
from whimbrel.session.frames import Form, Frame, FrameReader, FrameWriter
from whimbrel.session.limits import LEASE_MS, RECONNECT_MS_MAX
from whimbrel.session.session import Session, SessionError, SessionOptions

COMPACT = FORMS["compact"]


def test_frames_match_in_both_forms() -> None:
    for vector in vectors("session/frames")["frames"]:
        frame = read_json(vector["json"])
        data = bytes.fromhex(vector["compact"])
        assert said(FrameReader(COMPACT, 0).read(data)) == said(frame)
        assert said(FrameReader(None, 0).read(FrameWriter(None, 0).write(frame))) == said(frame)
        assert FrameWriter(COMPACT, 0).write(frame) == data


def test_invalid_frames_are_refused() -> None:
    for vector in vectors("session/frames")["refused"]:
        form = None if "json" in vector else COMPACT
        data = vector["json"].encode() if "json" in vector else bytes.fromhex(vector["compact"])
        with pytest.raises(DecodeError) as thrown:
            FrameReader(form, 0).read(data)
        assert vector["error"] in str(thrown.value), vector


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("file", [name for name in vector_files("session") if name != "frames"])
def test_transcript_is_replayed(file: str, form: str) -> None:
    transcript = vectors(f"session/{file}")
    if transcript.get("only", form) != form:
        pytest.skip(f"only for {transcript['only']}")
    replay = Replay(transcript, FORMS[form])
    replay.run()
    assert replay.misdeeds < 10


WELCOME: Frame = {
    "type": "welcome",
    "version": 1,
    "session": "s1",
    "secret": "hush",
    "platform": "home",
    "lease_ms": 3000,
    "window": 8,
    "agents": 4,
    "message_bytes": 1000,
    "messages_per_s": 1000,
    "remember": 0,
    "received": 0,
    "credit": 8,
}
INFORM = {"performative": "inform"}


class Bench:
    """A session in JSON with a simulated node."""

    def __init__(self, form: Form = None, **options: Any) -> None:
        self.now = 0.0
        self.session = Session(SessionOptions(**{"lease_ms": 3000, "form": form, **options}), 0, lambda: 1.0)

    def connect(self) -> Frame:
        self.session.handle_connected(self.now)
        (hello,) = self.frames()
        assert hello["type"] == "hello"
        return hello

    def hear(self, frame: Frame) -> None:
        self.session.handle_frame(json.dumps(frame).encode(), self.now)

    def frames(self) -> list[Frame]:
        """Returns the written frames, without the empty list of each new connection."""
        return [frame for frame in self.written() if frame["type"] != "open" or frame["messages"]]

    def written(self) -> list[Frame]:
        return [FrameReader(None, 0).read(data) for data in self.session.poll_frames(self.now)]

    def all(self) -> list[Frame]:
        events = list(self.session.events)
        self.session.events.clear()
        return events

    def kinds(self) -> list[str]:
        return [event["type"] for event in self.all()]

    def until(self, now: float) -> None:
        self.now = now
        self.session.handle_timeout(now)

    def retry(self) -> None:
        self.until(self.session.poll_timeout())


HELLO = Message("inform", "amy", "hello")


def test_frames_beyond_credit_wait() -> None:
    bench = Bench()
    bench.connect()
    for _ in range(12):
        bench.session.send(0, HELLO)
    assert bench.frames() == []
    bench.hear(WELCOME)
    assert len(bench.frames()) == 8
    assert bench.session.unwritten == 4
    bench.hear({"type": "ack", "received": 2, "credit": 9})
    assert len(bench.frames()) == 1
    bench.hear({"type": "ack", "received": 9})
    assert len(bench.frames()) == 3
    assert bench.session.unacknowledged == 3


def test_open_messages_are_listed_first() -> None:
    bench = Bench()
    bench.connect()
    bench.session.send(0, HELLO)
    bench.hear(WELCOME)
    first, second = bench.written()
    assert first == {"type": "open", "messages": []}
    assert second["type"] == "message"


def test_open_list_is_ordered_joined_bounded() -> None:
    bench = Bench()
    bench.session.open = lambda: [9, 4, 3, 1, 8, *(11 + 2 * n for n in range(40_000))]
    bench.connect()
    bench.hear({**WELCOME, "message_bytes": 1 << 20})
    (opened,) = bench.written()
    assert opened["messages"][:10] == [1, 1, 3, 2, 8, 2, 11, 1, 13, 1]
    assert sum(opened["messages"][1::2]) == 16_384
    bench.session.handle_closed(bench.now)
    bench.retry()
    bench.connect()
    bench.hear({**WELCOME, "message_bytes": 65_536})
    (short,) = bench.written()
    assert len(json.dumps(short)) < 65_536


def test_session_resumes_after_break() -> None:
    bench = Bench()
    bench.connect()
    bench.hear(WELCOME)
    for _ in range(3):
        bench.session.send(0, HELLO)
    assert len(bench.frames()) == 3
    bench.hear({"type": "message", "number": 1, "agent": 0, "message": INFORM})
    bench.session.handle_closed(bench.now)
    bench.all()
    wait = 0.0
    for attempt in range(4):
        due = bench.session.poll_timeout()
        assert wait <= due - bench.now <= RECONNECT_MS_MAX
        wait = due - bench.now
        bench.until(due)
        assert bench.kinds() == ["connect"]
        if attempt < 3:
            bench.session.handle_closed(bench.now, "refused")
    assert bench.connect()["resume"] == {"session": "s1", "secret": "hush", "received": 1}
    bench.hear({**WELCOME, "received": 1, "credit": 9})
    assert [frame.get("number", frame["type"]) for frame in bench.frames()] == [2, 3]
    bench.hear({"type": "message", "number": 2, "agent": 0, "message": INFORM})
    assert bench.kinds() == ["welcome", "message"]


@pytest.mark.parametrize(("lease", "away", "latest"), [(LEASE_MS, 10_000, LEASE_MS // 4), (10_000, 7000, 0)])
def test_long_outage_is_survived(lease: int, away: int, latest: int) -> None:
    for broken_at in range(0, latest + 1, 250):
        bench = Bench(lease_ms=lease)
        bench.connect()
        bench.hear({**WELCOME, "lease_ms": lease})
        bench.all()
        for now in range(0, broken_at, 50):
            bench.until(now)
            bench.frames()
        bench.until(broken_at)
        bench.session.handle_closed(broken_at)
        is_back = False
        while not is_back and bench.session.over is None:
            bench.retry()
            is_back = "connect" in bench.kinds() and bench.now >= broken_at + away
            if not is_back:
                bench.session.handle_closed(bench.now, "no network")
        assert is_back
        assert bench.now <= broken_at + away + lease / 10


def test_session_ends_after_lease() -> None:
    bench = Bench()
    bench.connect()
    bench.hear(WELCOME)
    bench.session.handle_closed(bench.now)
    for _ in range(100):
        if bench.session.over is None:
            bench.retry()
            bench.session.handle_closed(bench.now, "refused")
    assert bench.session.over is not None
    assert bench.session.over.code == "lease-over"
    assert 3000 <= bench.now < 3000 + RECONNECT_MS_MAX
    with pytest.raises(SessionError):
        bench.session.send(0, HELLO)


def test_first_connection_has_patience() -> None:
    bench = Bench(patience_ms=700)
    assert bench.kinds() == ["connect"]
    bench.session.handle_closed(0, "nobody is there")
    while bench.session.over is None:
        bench.retry()
        bench.session.handle_closed(bench.now, "nobody is there")
    assert bench.session.over.code == "unreachable"
    assert "nobody is there: is the node running" in str(bench.session.over)


def test_silent_node_is_dropped_early() -> None:
    bench = Bench()
    bench.connect()
    bench.hear(WELCOME)
    bench.session.send(0, HELLO)
    assert len(bench.frames()) == 1
    bench.all()
    bench.until(1999)
    assert bench.all() == []
    bench.until(2000)
    assert bench.kinds() == ["disconnect", "lost"]
    bench.retry()
    assert bench.kinds() == ["connect"]
    assert bench.connect()["resume"]["session"] == "s1"
    bench.hear(WELCOME)
    assert [frame["type"] for frame in bench.frames()] == ["message"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "message", "number": 7, "agent": 0, "message": INFORM},
        {"type": "ack", "received": 99},
        {"type": "created", "number": 0, "agent": 0, "name": "bob@home"},
        {"type": "create", "number": 1, "agent": 0, "name": "bob"},
        {"type": "nod"},
        {"type": "hello", "versions": [1], "remember": 0},
        WELCOME,
    ],
)
def test_unexpected_frame_ends_connection_then_session(wrong: Frame) -> None:
    bench = Bench()
    for _ in range(3):
        assert bench.session.over is None
        bench.connect()
        bench.hear(WELCOME)
        bench.all()
        bench.hear(wrong)
        assert "disconnect" in bench.kinds()
        if bench.session.over is None:
            bench.retry()
    assert bench.session.over is not None
    assert bench.session.over.code == "protocol"


def test_refused_hello_ends_session() -> None:
    bench = Bench()
    bench.connect()
    bench.hear({"type": "error", "code": "unauthorised", "text": "no"})
    assert bench.session.over is not None
    assert "give `token=`" in str(bench.session.over)


def test_taken_over_session_resumes_once() -> None:
    bench = Bench()
    bench.connect()
    bench.hear(WELCOME)
    bench.hear({"type": "error", "code": "taken-over", "text": "another"})
    assert bench.session.over is None
    bench.retry()
    assert bench.connect()["attempt"] == 2
    bench.hear(WELCOME)
    bench.hear({"type": "error", "code": "taken-over", "text": "another"})
    assert bench.session.over is not None
    assert bench.session.over.code == "taken-over"


def test_redirection_is_followed() -> None:
    bench = Bench(follows=True)
    bench.all()
    assert bench.connect()["follows"] is True
    bench.hear({"type": "error", "code": "elsewhere", "text": ":4021"})
    bench.retry()
    assert [event.get("place") for event in bench.all() if event["type"] == "connect"] == [":4021"]
    bench.session.handle_closed(bench.now, "refused")
    bench.retry()
    assert [event.get("place") for event in bench.all() if event["type"] == "connect"] == [None]
    assert bench.session.has_missed


def test_endless_redirection_ends_session() -> None:
    bench = Bench(follows=True, patience_ms=600_000)
    while bench.session.over is None:
        bench.connect()
        bench.hear({"type": "error", "code": "elsewhere", "text": ":4021"})
        if bench.session.over is None:
            bench.retry()
    assert bench.session.over.code == "elsewhere"


def test_challenge_is_answered_once() -> None:
    bench = Bench(certificate="PEM")
    assert bench.connect()["certificate"] == "PEM"
    bench.hear({"type": "challenge", "text": "42"})
    assert bench.kinds() == ["connect", "challenge"]
    bench.session.prove("41", b"wrong")
    assert bench.frames() == []
    bench.session.prove("42", b"signed")
    assert bench.frames() == [{"type": "proof", "signature": b"signed"}]
    bench.hear({"type": "challenge", "text": "43"})
    assert bench.session.over is not None


def test_unreadable_message_does_not_end_connection() -> None:
    bench = Bench()
    bench.connect()
    bench.hear(WELCOME)
    bench.all()
    bench.hear({"type": "message", "number": 1, "agent": 0, "message": {"performative": 7}})
    (event,) = bench.all()
    assert (event["type"], event["agent"]) == ("unreadable", 0)


def test_long_message_is_not_sent() -> None:
    bench = Bench()
    bench.connect()
    bench.hear(WELCOME)
    with pytest.raises(EncodeError, match="the limit is 1000"):
        bench.session.send(0, Message("inform", "amy", "x" * 1000))
    assert bench.session.unacknowledged == 0


def test_code_travels_in_parts() -> None:
    bench = Bench()
    bench.connect()
    bench.hear(WELCOME)
    bench.frames()
    assert bench.session.code(0, "wasm:x", b"x" * 600_000) == 3
    assert [(frame["at"], len(frame["bytes"])) for frame in bench.frames()] == [
        (0, 262_144),
        (262_144, 262_144),
        (524_288, 75_712),
    ]


def test_bye_follows_all_frames() -> None:
    bench = Bench()
    bench.connect()
    bench.session.send(0, HELLO)
    bench.session.bye()
    bench.hear(WELCOME)
    assert [frame["type"] for frame in bench.frames()] == ["message", "bye"]
    bench.hear({"type": "bye"})
    assert bench.session.over is not None
    assert bench.session.over.code == "bye"
