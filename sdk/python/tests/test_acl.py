"""Vectors of `conformance/acl`: agents, performatives, values, templates, replies, messages in JSON."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import pytest
from vectors import compact_json, vectors

from whimbrel.acl import (
    NOBODY,
    PERFORMATIVES,
    Aid,
    DecodeError,
    EncodeError,
    Message,
    Template,
    compare,
    equal,
    message_from_json,
    message_to_json,
    parse_json,
    value_from_json,
    value_to_json,
)


def test_performatives_are_fipas() -> None:
    assert list(PERFORMATIVES) == vectors("acl/performatives")


def test_agent_names_have_parts() -> None:
    for vector in vectors("acl/agents"):
        if vector.get("error"):
            with pytest.raises(EncodeError):
                Aid.of(vector["text"])
        else:
            aid = Aid.of(vector["text"])
            assert (aid.name, aid.platform, str(aid)) == (vector["name"], vector["platform"], vector["text"])


def test_values_have_standard_order() -> None:
    lines = [[value_from_json(value) for value in line] for line in vectors("acl/values")["ascending"]]
    for line in lines:
        for one, other in itertools.product(line, line):
            assert equal(one, other)
    for (lower, one), (higher, other) in itertools.combinations(enumerate(lines), 2):
        assert lower < higher
        assert compare(one[0], other[0]) < 0 < compare(other[0], one[0]), (one[0], other[0])


def test_values_keep_json_form() -> None:
    for line in vectors("acl/values")["ascending"]:
        for json in line:
            value = value_from_json(json)
            again = value_from_json(parse_json(value_to_json(value)))
            assert type(again) is type(value)
            assert value_to_json(again) == value_to_json(value)
            assert equal(pickle.loads(pickle.dumps(value)), value)


def template(json: dict[str, Any]) -> Template:
    if json.get("any"):
        return Template()
    if "and" in json or "or" in json:
        one, *more = [template(part) for part in json.get("and") or json["or"]]
        for part in more:
            one = one & part if "and" in json else one | part
        return one
    if "not" in json:
        return ~template(json["not"])
    renamed = {"conversation": "conversation_id"}
    return Template(**{renamed.get(name, name): value for name, value in json.items()})


def test_templates_match() -> None:
    for vector in vectors("acl/templates"):
        message = message_from_json(vector["message"])
        assert template(vector["template"])(message) == vector["matches"], vector


def test_replies_follow_fipa() -> None:
    for vector in vectors("acl/replies"):
        reply = message_from_json(vector["message"]).reply(vector["performative"])
        reply.sender = Aid.of(vector["from"])
        expected = message_from_json(vector["reply"])
        assert message_to_json(reply) == message_to_json(expected)


def test_messages_are_canonical() -> None:
    for vector in vectors("acl/messages"):
        assert message_to_json(message_from_json(vector["message"])) == compact_json(vector["message"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "expected a message object"),
        ("{}", "without a performative"),
        ('{"performative":"inform","colour":1}', "unknown member 'colour'"),
        ('{"performative":"inform","receivers":"bob"}', "array of agents"),
        ('{"performative":"inform","receivers":["bob@"]}', "invalid agent name"),
        ('{"performative":"inform","receivers":[{"name":"bob","age":7}]}', "unknown member 'age'"),
        ('{"performative":"inform","reply_by_ms":-1}', "non-negative"),
        ('{"performative":"inform","language":7}', "expected language"),
        ('{"performative":"inform","content":{"atom":"a","term":"b"}}', "conflicting"),
        ('{"performative":"inform","content":{"colour":1}}', "unknown member"),
        ('{"performative":"inform","content":{"args":[]}}', "not a value"),
        ('{"performative":"inform","content":{"int":"9223372036854775808"}}', "64 bits"),
        ('{"performative":"inform","content":{"int":"1_0"}}', "not an integer"),
        ('{"performative":"inform","content":{"num":"one"}}', "expected a number"),
        ('{"performative":"inform","content":{"bytes":"0"}}', "hexadecimal"),
        ('{"performative":"inform","content":{"map":[[1]]}}', "[key, value]"),
        ('{"performative":"inform","content":{"var":"X","slot":4294967296}}', "32 bits"),
        ('{"performative":"inform","content":{"object":"bag"}}', "unknown container"),
        ('{"performative":"inform","content":{"object":"map","items":[1]}}', "key without"),
        ('{"performative":"inform","content":NaN}', "malformed JSON"),
        ("[" * 100_000, "too deeply"),
        ('{"performative":"inform","content":' + "[" * 98 + "]" * 98 + "}", "deeper than 96"),
        ('{"performative":"inform","content":' + "9" * 5000 + "}", "malformed JSON"),
        ('{"performative":"inform","content":' + "9" * 400 + "}", "too large"),
    ],
)
def test_invalid_message_is_refused(text: str, why: str) -> None:
    with pytest.raises(DecodeError, match=why.replace("[", r"\[")):
        message_from_json(parse_json(text))


def test_message_has_fipas_parameters() -> None:
    message = Message("request", ["bob", "eve@there"], 3, reply_to="amy", ontology="shop", user=[("X-hops", 3)])
    assert message.receivers == (Aid.of("bob"), Aid.of("eve@there"))
    assert message.sender is NOBODY
    assert message.reply_to == (Aid.of("amy"),)
    again = message_from_json(parse_json(message_to_json(message)))
    assert again == message
    assert "ontology='shop'" in repr(message)


def test_message_of_wrong_types_is_refused() -> None:
    for wrong in (
        {"performative": ""},
        {"performative": "inform", "ontology": 7},
        {"performative": "inform", "receivers": ""},
    ):
        with pytest.raises(EncodeError):
            Message(**wrong)


def test_reply_by_keyword_is_dict() -> None:
    reply = Message("cfp", sender="amy").propose(price=7, days=2)
    assert (reply.performative, reply.receivers, reply.content) == (
        "propose",
        (Aid.of("amy"),),
        {"price": 7, "days": 2},
    )


def test_forgotten_reply_is_warned_of() -> None:
    asked = Message("cfp", sender="amy")
    asked._agent = object()
    with pytest.warns(RuntimeWarning, match="reply 'propose' was never sent: return it"):
        asked.propose(price=7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Message("cfp", sender="amy").propose(price=7)
