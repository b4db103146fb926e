"""Compact codec with the vectors of `conformance/acl/compact.json`."""

from __future__ import annotations

import pytest
from vectors import compact_json, vectors

from whimbrel.acl import DecodeError, message_from_json, message_to_json, value_from_json, value_to_json
from whimbrel.acl.compact import (
    Decoder,
    Encoder,
    decode_body,
    decode_message,
    decode_value,
    encode_body,
    encode_message,
    encode_value,
)

VECTORS = vectors("acl/compact")


@pytest.mark.parametrize("vector", VECTORS["values"], ids=lambda vector: vector["document"][:24])
def test_value_has_given_bytes(vector: dict[str, str]) -> None:
    value = value_from_json(vector["value"])
    assert encode_body(value).hex() == vector["body"]
    assert encode_value(value).hex() == vector["document"]
    for read in (decode_body(bytes.fromhex(vector["body"])), decode_value(bytes.fromhex(vector["document"]))):
        assert value_to_json(read) == value_to_json(value)


def test_messages_have_given_bytes() -> None:
    for vector in VECTORS["messages"]:
        message = message_from_json(vector["message"])
        assert encode_message(message).hex() == vector["document"]
        assert decode_message(bytes.fromhex(vector["document"])) == message


def test_connection_remembers() -> None:
    encoder, decoder = Encoder(64), Decoder(64)
    for vector in VECTORS["link"]:
        message = message_from_json(vector["message"])
        assert encoder.encode(message).hex() == vector["frame"]
        assert message_to_json(decoder.decode(bytes.fromhex(vector["frame"]))) == message_to_json(message)


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["document"][:24])
def test_invalid_bytes_are_refused(vector: dict[str, str]) -> None:
    with pytest.raises(DecodeError) as thrown:
        decode_value(bytes.fromhex(vector["document"]))
    assert thrown.value.code == vector["because"]


def test_messages_of_other_encodings_come_back() -> None:
    for vector in vectors("acl/messages"):
        message = message_from_json(vector["message"])
        assert message_to_json(decode_message(encode_message(message))) == compact_json(vector["message"])


def test_full_dictionary_replaces_items() -> None:
    encoder, decoder = Encoder(4), Decoder(4)
    for number in range(40):
        json = {
            "performative": "inform",
            "sender": f"a{number % 7}",
            "receivers": ["bob"],
            "ontology": f"o{number % 6}",
        }
        message = message_from_json(json)
        assert decoder.decode(encoder.encode(message)) == message
