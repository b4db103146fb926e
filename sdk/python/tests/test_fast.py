"""The accelerator and the package give the same results: `make python-fast-test` builds it, and requires it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import messages, texts
from vectors import vectors

from whimbrel.acl import DecodeError, EncodeError, Message
from whimbrel.acl.accelerator import accelerator
from whimbrel.acl.json import message_to_json
from whimbrel.session import frames
from whimbrel.session.frames import JSON, FrameReader, seal

FAST = accelerator()
if FAST is None and not os.environ.get("WHIMBREL_FAST_REQUIRED"):
    pytest.skip("whimbrel_fast is not installed: make python-fast-test", allow_module_level=True)


class Pure:
    """Hides the accelerator."""

    def __enter__(self) -> None:
        self.before, frames._accelerator = frames._accelerator, None

    def __exit__(self, *_: Any) -> None:
        frames._accelerator = self.before


def outcome(work: Any) -> tuple[Any, ...]:
    """Returns the result, or the error."""
    try:
        return ("result", work())
    except (DecodeError, EncodeError) as error:
        return (type(error).__name__, str(error))


def read(data: bytes) -> tuple[Any, ...]:
    """Reads a frame. Types count: 1 equals 1.0, but is another value."""
    kind, found = outcome(lambda: FrameReader(JSON, 0).read(data))
    return kind, repr(sorted(found.items()) if isinstance(found, dict) else found)


def check_reading(data: bytes) -> None:
    with Pure():
        expected = read(data)
    assert read(data) == expected


def check_writing(message: Message) -> str | None:
    fast = outcome(lambda: seal(JSON, message, 1 << 62).json)
    with Pure():
        assert fast == outcome(lambda: seal(JSON, message, 1 << 62).json)
    return fast[1] if fast[0] == "result" else None


def framed(message: str) -> bytes:
    return f'{{"type":"message","number":7,"agent":1,"message":{message}}}'.encode()


#: Content of which the accelerator reads and writes most.
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts, st.text(max_size=9), st.binary(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
plain_messages = st.builds(
    lambda performative, receivers, content, **rest: Message(performative, receivers, content, **rest),
    st.sampled_from(["inform", "request", "\u00e4\n"]),
    st.lists(st.sampled_from(["bob", "amy@home", "\u96ea"]), max_size=2),
    plain,
    conversation_id=st.one_of(st.none(), texts),
    reply_with=st.one_of(st.none(), texts),
    in_reply_to=st.one_of(st.none(), texts),
    reply_by=st.one_of(st.none(), st.integers(0, 2**53)),
)


@given(st.one_of(messages, plain_messages))
def test_messages_are_written_alike(message: Message) -> None:
    text = check_writing(message)
    # Once more with its agents known.
    assert check_writing(message) == text
    if text is not None:
        check_reading(framed(text))


def test_vectors_are_read_alike() -> None:
    for vector in vectors("acl/messages"):
        check_reading(framed(json.dumps(vector["message"])))


@given(st.data())
def test_damaged_frames_are_read_alike(data: Any) -> None:
    text = framed(message_to_json(data.draw(plain_messages)))
    at = data.draw(st.integers(0, len(text)))
    check_reading(text[:at] + data.draw(st.binary(max_size=3)) + text[data.draw(st.integers(at, len(text))) :])


def corners() -> Iterator[str]:
    """Texts of messages at which readers in Rust and in Python may differ."""
    contents = '-0 0.0 -0.0 1e400 9007199254740993 9223372036854775808 -9223372036854775808 1E5 NaN "\\ud800" [[]]'
    for content in contents.split():
        yield f'{{"performative":"inform","content":{content}}}'
    yield '{"performative":"inform","content":{"num":5}}'
    yield '{"performative":"inform","content":{"num":5,"map":[]}}'
    yield '{"performative":"inform","content":{"map":[["a",1],["a",2]]}}'
    yield '{"performative":"inform","content":{"map":[[1,1],[true,2]]}}'
    yield '{"performative":"inform","content":' + "[" * 40 + "]" * 40 + "}"
    yield '{"performative":"inform","content":' + "[" * 140 + "]" * 140 + "}"
    yield '{"performative":"inform","performative":"request","sender":""}'
    yield '{"performative":"inform","ontology":null,"language":5}'
    yield '{"performative":"inform","receivers":["a@","b"]}'
    yield '{"performative":"inform","reply_by_ms":18446744073709551615}'
    yield '{"performative":"inform","user":[["X-a",1]]}'


@pytest.mark.parametrize("text", list(corners()))
def test_corners_are_read_alike(text: str) -> None:
    check_reading(framed(text))


@pytest.mark.parametrize(
    "frame",
    [
        b'{"number":1,"type":"message","agent":0,"message":{"performative":"inform"}}',
        b'{"type":"message","number":1,"agent":0,"message":{"performative":"inform"},"later":1} ',
        b'{"type":"message","number":-1,"agent":0,"message":{"performative":"inform"}}',
        b'{"type":"message","number":1,"agent":4294967296,"message":{"performative":"inform"}}',
        b'{"type":"message","number":true,"agent":0,"message":{"performative":"inform"}}',
        b'{"type":"message","number":1,"agent":0}',
        b'{"type":"ack","received":1}',
        b"{}",
    ],
)
def test_frames_are_read_alike(frame: bytes) -> None:
    check_reading(frame)


def test_plain_message_is_accelerated() -> None:
    assert FAST is not None
    message = Message("request", "bob", {"a": [1, 2.5]}, reply_with="q1")
    text = message_to_json(message)
    assert FAST.write_message(message) == text
    assert FAST.read_frame(framed(text)) is not None
