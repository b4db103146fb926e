"""SL with the vectors of `conformance/acl`, and what JADE writes."""

from __future__ import annotations

import pytest
from vectors import vectors

from whimbrel.acl import DecodeError, EncodeError, value_from_json, value_to_json
from whimbrel.acl.values import Map
from whimbrel.sl import PROFILES, sl_to_value, value_to_sl


def test_contents_match_profile_and_canonical_text() -> None:
    for vector in vectors("acl/sl"):
        if "error" in vector:
            continue
        text, profile = vector["text"], vector["profile"]
        value = value_from_json(vector["value"])
        for other in PROFILES:
            if PROFILES.index(other) >= PROFILES.index(profile):
                assert value_to_json(sl_to_value(text, other)) == value_to_json(value)
            else:
                with pytest.raises(DecodeError):
                    sl_to_value(text, other)
        assert value_to_sl(value, profile) == vector["canonical"]
        assert value_to_json(sl_to_value(vector["canonical"])) == value_to_json(value)


def test_invalid_contents_are_refused_at_offset() -> None:
    for vector in vectors("acl/sl"):
        if "error" in vector:
            with pytest.raises(DecodeError) as thrown:
                sl_to_value(vector["text"])
            assert vector["error"] in str(thrown.value)
            assert thrown.value.offset == vector["offset"]


def test_jades_contents_are_read() -> None:
    for text in vectors("acl/jade-sl"):
        value = sl_to_value(text)
        assert value_to_json(sl_to_value(value_to_sl(value))) == value_to_json(value)


def test_inexpressible_content_is_refused() -> None:
    for wrong, profile in (
        ([], "fipa-sl"),
        ([b"x"], "fipa-sl"),
        (["text"], "fipa-sl"),
        ([{"a": 1}], "fipa-sl"),
        ([Map([([], 1)])], "fipa-sl"),
    ):
        with pytest.raises(EncodeError):
            value_to_sl(wrong, profile)
