"""SPADE's messages, identifiers and templates: what they say is the same after a way as ACL messages."""

from __future__ import annotations

import datetime
import importlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel import Aid, Atom, Term
from whimbrel import Message as AclMessage
from whimbrel.acl.json import message_from_json, message_to_json
from whimbrel.spade.jid import JID, InvalidJID, jid_of
from whimbrel.spade.mapping import from_acl, to_acl
from whimbrel.spade.message import Message
from whimbrel.spade.template import BaseTemplate, Template

try:
    # Without their types, which are not installed.
    real_message: Any = importlib.import_module("spade.message")
    real_template: Any = importlib.import_module("spade.template")
    RealJID: Any = importlib.import_module("slixmpp").JID
except ImportError:
    RealJID = None

needs_spade = pytest.mark.skipif(
    RealJID is None, reason="SPADE itself is not compared with: it is not installed (pip install spade==4.1.4)"
)

HOST = "localhost"
NAMES = st.sampled_from(["ada", "bob", "eve-1", "o'hara".replace("'", "")])
JIDS = st.builds(
    lambda name, host, resource: f"{name}@{host}{resource}",
    NAMES,
    st.sampled_from([HOST, "example.org", "127.0.0.1"]),
    st.sampled_from(["", "/desk", "/A b"]),
)
# No text has halves of characters.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KEYS = st.one_of(
    st.sampled_from(
        [
            "performative",
            "ontology",
            "language",
            "encoding",
            "protocol",
            "conversation-id",
            "reply-with",
            "in-reply-to",
            "reply-to",
            "reply-by",
            "spade",
            "X-spade",
            "thread",
            "_thread_node",
            "priority",
            "url",
            "metadata",
        ]
    ),
    TEXTS,
)
VALUES = st.one_of(
    TEXTS,
    st.sampled_from(["inform", "cfp", "REQUEST", "0363", "bob@localhost", "eve@example.org/x", "tell", "-"]),
    st.datetimes(timezones=st.sampled_from([None])).map(lambda time: time.isoformat()),
    st.datetimes(timezones=st.just(datetime.timezone.utc)).map(lambda time: time.isoformat(timespec="milliseconds")),
)
METADATA = st.dictionaries(KEYS, VALUES, max_size=5)


def parts(message: Any) -> tuple[Any, ...]:
    """Everything that a message says."""
    return str(message.to), str(message.sender), message.body, message.thread, message.metadata


def sent(message: Message, own: JID) -> Message:
    """The message as its receiver gets it, which has the same host."""
    acl = message_from_json(json.loads(message_to_json(to_acl(message, own))))
    # The node says who sent it.
    acl.sender = Aid(own.node)
    return from_acl(acl, jid_of(message.to.node, own.domain))


@given(JIDS, JIDS, st.none() | TEXTS, st.none() | TEXTS, METADATA)
def test_message_after_way_as_acl_is_equal(
    to: str, sender: str, body: str | None, thread: str | None, metadata: dict[str, str]
) -> None:
    message = Message(to, sender, body, thread, metadata)
    arrived = sent(message, JID(message.sender.node + "@" + HOST))
    assert parts(arrived) == parts(message)
    assert arrived == message


def test_metadata_are_parameters_of_same_name() -> None:
    metadata = {
        "performative": "cfp",
        "ontology": "jobs",
        "language": "json",
        "protocol": "fipa-contract-net",
        "reply-with": "q1",
        "reply-to": "eve@localhost",
        "reply-by": "2026-11-27T20:00:00.250+00:00",
        "priority": "high",
    }
    acl = to_acl(Message("bob@localhost", body="mow", thread="t1", metadata=metadata), JID("ada@localhost"))
    expected = AclMessage(
        "cfp",
        "bob",
        "mow",
        ontology="jobs",
        language="json",
        protocol="fipa-contract-net",
        conversation_id="t1",
        reply_with="q1",
        reply_to="eve",
        reply_by=1795809600250,
        user=[("X-priority", "high")],
    )
    assert acl == expected


def test_message_without_performative_is_inform() -> None:
    acl = to_acl(Message("bob@localhost", body="tea"), JID("ada@localhost"))
    assert acl == AclMessage("inform", "bob", "tea", user=[("X-spade", None)])


def test_message_of_any_agent_has_text_and_metadata() -> None:
    acl = AclMessage(
        "tell", "ada", Term("dry", Atom("soil")), sender="cleanerBot", conversation_id="c", user=[("X-hops", 3)]
    )
    message = from_acl(acl, JID("ada@localhost/desk"))
    assert parts(message) == (
        "ada@localhost/desk",
        "cleanerBot@localhost",
        "dry(soil)",
        "c",
        {"hops": "3", "performative": "tell"},
    )
    assert message.acl is not None
    assert message.acl.content == Term("dry", Atom("soil"))
    # An answer finds the agent, whose name has a capital.
    assert to_acl(message.make_reply(), JID("ada@localhost")).receivers == (Aid("cleanerBot"),)


@pytest.mark.parametrize(
    "more", [{"from": "eve@localhost"}, {"from": 3}, {"from": "@"}, {"thread": 3}, {"metadata": 1}]
)
def test_false_sender_does_not_count(more: dict[str, Any]) -> None:
    acl = AclMessage("inform", "ada", "hi", sender="bob", user=[("X-spade", more)])
    assert from_acl(acl, JID("ada@localhost")).sender == "bob@localhost"


def test_reply_quotes_question() -> None:
    question = Message("ada@localhost", "bob@localhost", "tea?", "t", {"performative": "request", "reply-with": "q"})
    reply = question.make_reply()
    assert parts(reply) == (
        "bob@localhost",
        "ada@localhost",
        "tea?",
        "t",
        {"performative": "request", "in-reply-to": "q"},
    )


def test_message_checks_its_parts() -> None:
    wrongs: list[Any] = [{"to": 3}, {"sender": 3}, {"body": 3}, {"thread": 3}, {"metadata": {"a": 3}}]
    for wrong in wrongs:
        with pytest.raises(TypeError):
            Message(**wrong)
    with pytest.raises(ValueError, match="expected name@host"):
        to_acl(Message(body="to nobody"), JID("ada@localhost"))


# ---- Identifiers


def test_jid_has_name_host_and_resource() -> None:
    jid = JID("Ada@LocalHost/My Desk")
    assert (jid.node, jid.domain, jid.resource) == ("ada", "localhost", "My Desk")
    assert (jid.bare, jid.full) == ("ada@localhost", "ada@localhost/My Desk")
    assert jid == "ada@localhost/My Desk" != JID("ada@localhost")
    assert {jid: 1}[JID(jid.full)] == 1
    assert str(JID(jid, bare=True)) == "ada@localhost"
    assert JID() == JID("") != jid


@pytest.mark.parametrize("text", ["@host", "a@", "a@h/", "a b@h", "a:b@h", "a@-h", "a@h..i", "a@h:1", "\u0000@h"])
def test_text_that_is_no_jid_is_refused(text: str) -> None:
    with pytest.raises(InvalidJID):
        JID(text)


@needs_spade
@given(st.text(st.sampled_from("aB\u00e9\u00df\u2163@/.-_ :'\u0000\u00ad1"), max_size=9))
def test_jid_is_that_of_slixmpp(text: str) -> None:
    def read(cls: Any, wrong: type[Exception]) -> tuple[str, ...] | None:
        try:
            jid = cls(text)
        except wrong:
            return None
        return jid.node, jid.domain, jid.resource, jid.bare, jid.full

    assert read(JID, InvalidJID) == read(RealJID, ValueError)


# ---- Templates

SMALL = st.sampled_from([None, "", "a", "b"])
SMALL_METADATA = st.dictionaries(st.sampled_from(["performative", "x"]), st.sampled_from(["a", "b"]), max_size=2)
SMALL_PARTS = st.tuples(
    st.sampled_from([None, "ada@localhost", "bob@localhost"]),
    st.sampled_from([None, "ada@localhost", "eve@localhost/r"]),
    SMALL,
    SMALL,
    SMALL_METADATA,
)
#: A template as a tree: its parts, or an operator with trees.
TREES: st.SearchStrategy[Any] = st.recursive(
    SMALL_PARTS.map(lambda given: ("leaf", given)),
    lambda tree: st.one_of(st.tuples(st.sampled_from("&|^"), tree, tree), st.tuples(st.just("~"), tree)),
    max_leaves=4,
)


def built(tree: Any, cls: Any) -> Any:
    """Returns the template of a tree."""
    operator, *of = tree
    if operator == "leaf":
        return cls(*of[0])
    parts = [built(one, cls) for one in of]
    if operator == "~":
        return ~parts[0]
    if operator == "&":
        return parts[0] & parts[1]
    return parts[0] | parts[1] if operator == "|" else parts[0] ^ parts[1]


def holds(tree: Any, message: Message) -> bool:
    """Returns whether a template matches, by the rules of SPADE's documents."""
    operator, *of = tree
    if operator == "leaf":
        to, sender, body, thread, metadata = of[0]
        return (
            (not to or message.to == to)
            and (not sender or message.sender == sender)
            and (not body or message.body == body)
            and (not thread or message.thread == thread)
            and all(message.get_metadata(key) == value for key, value in metadata.items())
        )
    values = [holds(one, message) for one in of]
    if operator == "~":
        return not values[0]
    return all(values) if operator == "&" else any(values) if operator == "|" else values[0] != values[1]


@given(TREES, SMALL_PARTS)
def test_templates_combine_as_their_operators_say(tree: Any, given_parts: Any) -> None:
    message = Message(*given_parts)
    assert built(tree, Template).match(message) is holds(tree, message)


@needs_spade
@given(TREES, SMALL_PARTS)
def test_templates_match_as_those_of_spade(tree: Any, given_parts: Any) -> None:
    ours = Message(*given_parts)
    theirs = real_message.Message(*given_parts)
    assert built(tree, Template).match(ours) == built(tree, real_template.Template).match(theirs)


def test_template_takes_only_templates() -> None:
    template: BaseTemplate = Template()
    template &= ~Template(body="a")
    assert not template.match(Message(body="a"))
    with pytest.raises(TypeError):
        _ = template | Message()  # type: ignore[operator]
