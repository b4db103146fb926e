"""Properties of the codecs: all values come back, and invalid input gives one documented error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from forms import FORMS
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import messages, values
from vectors import vectors

from whimbrel.acl import (
    DecodeError,
    EncodeError,
    compare,
    equal,
    message_from_json,
    message_to_json,
    parse_json,
    value_from_json,
    value_to_json,
)
from whimbrel.acl.compact import (
    Decoder,
    Encoder,
    decode_message,
    decode_value,
    encode_body,
    encode_message,
    encode_value,
)
from whimbrel.acl.compact.reader import DOCUMENT_LIMITS, Reader
from whimbrel.acl.compact.varints import fold, pack_bits, unfold, unpack_bits, write_number
from whimbrel.session.frames import FrameReader
from whimbrel.sl import sl_to_value, value_to_sl

quick = settings()


@quick
@given(values)
def test_value_comes_back_from_json(value: Any) -> None:
    text = value_to_json(value)
    again = value_from_json(parse_json(text))
    assert equal(again, value)
    assert type(again) is type(value)
    assert value_to_json(again) == text


@quick
@given(values)
def test_value_comes_back_from_compact(value: Any) -> None:
    data = encode_value(value)
    again = decode_value(data)
    assert value_to_json(again) == value_to_json(value)
    assert encode_value(again) == data
    assert encode_body(again) == encode_body(value)


@quick
@given(st.lists(messages, min_size=1, max_size=6), st.sampled_from([0, 2, 64]))
def test_messages_come_back_from_a_connection(given_messages: list[Any], remember: int) -> None:
    encoder, decoder = Encoder(remember), Decoder(remember)
    for message in given_messages:
        text = message_to_json(message)
        assert message_to_json(decoder.decode(encoder.encode(message))) == text
        assert message_to_json(message_from_json(parse_json(text))) == text


@quick
@given(st.lists(values, max_size=4))
def test_order_is_total(some: list[Any]) -> None:
    for one in some:
        assert compare(one, one) == 0
        for other in some:
            assert (compare(one, other) > 0) == (compare(other, one) < 0)


@quick
@given(st.integers(0, 2**64 - 1), st.integers(-(2**62), 2**62))
def test_numbers_come_back(n: int, signed: int) -> None:
    out = bytearray()
    write_number(out, n)
    assert Reader(bytes(out), DOCUMENT_LIMITS).number() == n
    assert unfold(fold(signed)) == signed


@quick
@given(st.integers(1, 64), st.lists(st.integers(0), max_size=40))
def test_bits_come_back(width: int, some: list[int]) -> None:
    cut = [value % (1 << width) for value in some]
    out = bytearray()
    pack_bits(out, cut, width)
    assert unpack_bits(bytes(out), len(cut), width) == cut


@quick
@given(values)
def test_written_sl_is_read_and_rewritten(value: Any) -> None:
    try:
        text = value_to_sl([value])
    except EncodeError:
        return
    assert value_to_sl(sl_to_value(text)) == text


# ---- Invalid input. Each decoder raises DecodeError and nothing else.


def survives(decode: Callable[[Any], object], given_input: Any) -> None:
    with contextlib.suppress(DecodeError):
        decode(given_input)


@quick
@given(st.binary(max_size=60))
def test_random_bytes_are_refused_properly(data: bytes) -> None:
    survives(decode_value, data)
    survives(decode_value, b"\xb6" + data)
    survives(decode_message, b"\xb7" + data)
    survives(lambda given_bytes: Decoder(8).decode(given_bytes), data)
    for form in FORMS.values():
        reader = FrameReader(form, 8)
        survives(reader.read, data)
        for kind in (1, 2, 3, 8, 9, 15, 25):
            survives(reader.read, bytes((kind,)) + data)


@quick
@given(messages, st.integers(0), st.integers(0, 255))
def test_changed_message_is_refused_properly(message: Any, place: int, byte: int) -> None:
    data = bytearray(encode_message(message))
    data[place % len(data)] = byte
    survives(decode_message, bytes(data))
    survives(decode_message, bytes(data[: place % len(data)]))


_MEMBERS = [
    "performative",
    "sender",
    "receivers",
    "content",
    "atom",
    "term",
    "args",
    "map",
    "record",
    "fields",
    "int",
    "num",
    "bytes",
    "list",
    "tail",
    "var",
    "slot",
    "object",
    "items",
    "annots",
    "annot_tail",
    "negated",
    "namespace",
    "user",
    "name",
    "platform",
    "resolvers",
    "reply_by_ms",
    "type",
    "number",
    "agent",
    "message",
    "code",
    "text",
    "of",
]
_JSON_TEXTS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(_MEMBERS),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@quick
@given(_JSON_TEXTS, st.sampled_from(["message", "hello", "welcome", "save", "refused"]))
def test_random_json_is_refused_properly(json: Any, kind: str) -> None:
    import json as text

    survives(value_from_json, json)
    survives(message_from_json, json)
    frame = {**json, "type": kind} if isinstance(json, dict) else json
    survives(FrameReader(None, 0).read, text.dumps(frame).encode())


@quick
@given(st.text(alphabet='()":?#\\ a1.-+eTZset', max_size=40))
def test_random_sl_is_refused_properly(text: str) -> None:
    survives(sl_to_value, text)


def test_refused_vectors_stay_refused() -> None:
    for vector in vectors("acl/compact")["refused"]:
        for cut in range(len(vector["document"]) // 2):
            survives(decode_value, bytes.fromhex(vector["document"])[:cut])
