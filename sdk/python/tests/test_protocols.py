"""Interaction protocols: their data, and their machines in virtual time."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import FOLDER, Replay, expected, scripts
from strategies import messages

from whimbrel import Message, ProtocolError, Term
from whimbrel.acl import PERFORMATIVES, Aid, Atom
from whimbrel.protocols import INITIATOR, PARTICIPANT, Machine, Machines, protocol, protocols
from whimbrel.protocols.limits import QUESTIONS_MAX

SCRIPTS = scripts()
DATA = FOLDER.parents[1] / "sdk/python/src/whimbrel/protocols/data"


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=list(SCRIPTS))
def test_script_replays_in_virtual_time(script: dict[str, Any]) -> None:
    replay = Replay(script)
    replay.run()
    assert not replay.automatic, "an automatic answer that the script does not have"
    for player in script["players"]:
        assert replay.heard[player] == expected(script, player)["heard"], player
        if player in replay.machines:
            assert replay.ends(player) == script["ends"][player], player


def test_package_data_is_current() -> None:
    wanted = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.json") if file.name in _data()}
    found = {file.name: file.read_text(encoding="utf-8") for file in DATA.glob("*.json")}
    assert found == wanted, f"copy them: cp {FOLDER}/{{{','.join(_data())}}} {DATA}"


def _data() -> list[str]:
    return [file.name for file in FOLDER.glob("*.json") if file.name != "languages.json"]


CLAUSE = re.compile(r"[SX]C000\d\d[A-Z] \d(\.\d+)?")


@pytest.mark.parametrize("name", _data())
def test_deviation_names_its_clause(name: str) -> None:
    data = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert CLAUSE.fullmatch(f"{data['document']} {data['section']}")
    for deviation in data.get("deviations", ()):
        assert CLAUSE.fullmatch(deviation["clause"]), deviation
        assert deviation["about"].endswith("."), deviation
    for move in data["moves"]:
        # Undelivered messages are in no protocol's document.
        assert "beyond" not in move or move["by"] == "platform" or move["beyond"].startswith(data["document"]), move


def test_every_move_has_a_script() -> None:
    """Each move of each protocol is made by a machine in some script, so that a wrong move is noticed."""
    made: set[tuple[str, str, str, str]] = set()
    for script in SCRIPTS.values():
        replay = Replay(script)
        replay.run()
        made |= replay.moves
    missing = {
        (one.name, state, by, say)
        for one in protocols().values()
        for state, by, say in one._moves
        if by != "platform" and say not in ("not-understood", "cancel") and state != "cancelling"
    } - made
    assert not missing


@pytest.mark.parametrize("one", protocols().values(), ids=list(protocols()))
def test_protocol_is_sound(one: Any) -> None:
    states = {"start"}
    for _ in range(20):
        states |= {to for (state, _, _), to in one._moves.items() if state in states}
    states |= {deadline.to for state, deadline in one.deadlines.items() if state in states}
    sources = {state for state, _, _ in one._moves}
    assert one.document.startswith(("SC000", "XC000"))
    assert sources <= states, "a state that cannot be reached"
    assert not sources & one.ends.keys(), "a move from an end"
    assert {state for state in states if state not in one.ends} == sources, "an open state without a way out"
    assert set(one.deadlines) <= sources
    assert {say for _, _, say in one._moves} <= set(PERFORMATIVES)


def test_every_protocol_misbehaves_on_both_sides() -> None:
    for one in protocols().values():
        broken = [script for script in SCRIPTS.values() if script["protocol"] == one.name and script.get("breaks")]
        roles = {script["players"][player] for script in broken for player in script["breaks"]}
        assert roles == {INITIATOR, PARTICIPANT}, one.name


# ---- Properties

SOME = st.sampled_from(
    [
        *("request", "query-ref", "cfp", "propose", "accept-proposal", "reject-proposal", "agree", "refuse", "inform"),
        *("failure", "not-understood", "cancel", "subscribe", "proxy", "request-when", "nonsense"),
    ]
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "hear", "ams", "wait"]),
        SOME,
        st.sampled_from([None, "1", "2", "3"]),
        st.integers(0, 300),
        st.booleans(),
    ),
    max_size=30,
)


@given(st.sampled_from(list(protocols())), st.sampled_from([INITIATOR, PARTICIPANT]), STEPS)
def test_random_messages_end_a_conversation_once(name: str, role: str, steps: list[Any]) -> None:
    machine = Machine(protocol(name), role)
    now, ended = 0, None
    for kind, say, identifier, delay, has_deadline in steps:
        now += delay
        before = machine.state
        reply_by = now + 100 if has_deadline else None
        if kind == "send":
            machine.tick(now)
            if say in machine.allowed():
                machine.send(say, now, reply_with=identifier, reply_by_ms=reply_by)
            else:
                with pytest.raises(ProtocolError, match=f"{say} is not allowed"):
                    machine.send(say, now)
        elif kind == "wait":
            machine.tick(now)
        else:
            verdict, answer, reason = machine.receive(
                say, now, in_reply_to=identifier, reply_by_ms=reply_by, is_platforms=kind == "ams"
            )
            assert verdict in ("ok", "late", "wrong")
            assert (answer == "not-understood") == (verdict == "wrong")
            assert (answer is None) == (reason is None)
            assert say != "not-understood" or answer is None or verdict == "wrong"
        if ended is not None:
            assert machine.state == ended
        if machine.is_over:
            ended = machine.state
            assert machine.allowed() == ()
            assert machine.deadline_ms is None
        assert machine.state in {*machine.protocol.ends, *{state for state, _, _ in machine.protocol._moves}}, before


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), SOME, st.integers(0, 1), st.integers(0, 300)), max_size=60))
def test_random_order_of_delivery_settles(events: list[Any]) -> None:
    """Two sides that say only what they may, over a network that delays at will, never call each other wrong."""
    for name in protocols():
        sides = {INITIATOR: Machine(protocol(name), INITIATOR), PARTICIPANT: Machine(protocol(name), PARTICIPANT)}
        # Messages on their way to each side: performative, own identifier, quoted identifier.
        ways: dict[str, list[tuple[str, str | None, str | None]]] = {INITIATOR: [], PARTICIPANT: []}
        heard: dict[str, str | None] = {INITIATOR: None, PARTICIPANT: None}
        number = 0
        for _, is_initiator, say, is_delivery, _ in events:
            role, other = (INITIATOR, PARTICIPANT) if is_initiator else (PARTICIPANT, INITIATOR)
            machine = sides[role]
            if not is_delivery:
                allowed = machine.allowed()
                chosen = say if say in allowed else next(iter(allowed), None)
                # The opening is an initiator's; a not-understood at any time is allowed, and dull.
                if chosen is None or chosen == "not-understood":
                    continue
                number += 1
                machine.send(chosen, 0, reply_with=str(number))
                ways[other].append((chosen, str(number), heard[role]))
                continue
            if ways[role]:
                said, identifier, quoted = ways[role].pop(0)
                judged = machine.receive(said, 0, in_reply_to=quoted)
                heard[role] = identifier
                assert judged.verdict in ("ok", "late"), (name, said, machine.state)
                if judged.answer is not None:
                    ways[other].append((judged.answer, None, identifier))


@given(st.lists(messages, max_size=12), st.integers(0, 2**53))
def test_any_messages_are_judged(given: list[Message], now: int) -> None:
    machines = Machines(Aid.of("p"))
    for message in given:
        outcome = machines.receive(message, now)
        if outcome is not None:
            answer = machines.answered(message, outcome.judgement)
            assert answer is None or message.performative != "not-understood"


def test_undelivered_message_ends_conversation() -> None:
    machines = Machines()
    machines.send(
        Message("cfp", ["a", "b"], protocol="fipa-contract-net", conversation_id="c", reply_with="1", sender="i"), 0
    )
    content = [Atom("action"), Term("undelivered", Atom("b"), Atom("unknown_agent"))]
    failure = Message("failure", "i", content, sender="ams", conversation_id="c", in_reply_to="1")
    assert machines.receive(failure, 0) is not None
    assert machines.find("c", Aid.of("b")).state == "unreachable"  # type: ignore[union-attr]
    assert machines.find("c", Aid.of("a")).state == "called"  # type: ignore[union-attr]


def test_message_to_many_is_said_to_all_or_to_nobody() -> None:
    machines = Machines()
    head: dict[str, Any] = {"protocol": "fipa-contract-net", "conversation_id": "c"}
    machines.send(Message("cfp", ["a", "b"], **head), 0)
    machines.receive(Message("propose", "i", sender="a", **head), 0)
    with pytest.raises(ProtocolError):
        machines.send(Message("accept-proposal", ["a", "b"], **head), 0)
    assert machines.find("c", Aid.of("a")).state == "proposed"  # type: ignore[union-attr]


def test_answer_without_conversation_finds_its_question() -> None:
    machines = Machines()
    for number in ("1", "2"):
        machines.send(
            Message("request", "a", protocol="fipa-request", conversation_id=number, reply_with=f"r{number}"), 0
        )
    assert machines.receive(Message("inform", "i", sender="a"), 0) is None
    outcome = machines.receive(Message("inform", "i", sender="a", in_reply_to="r2"), 0)
    assert outcome is not None
    assert outcome.key is not None
    assert outcome.key.conversation_id == "2"
    assert machines.receive(Message("inform", "i", sender="a"), 0) is not None


def test_answers_may_go_to_another_agent() -> None:
    machines = Machines()
    head: dict[str, Any] = {"protocol": "fipa-request", "conversation_id": "c"}
    machines.receive(Message("request", "p", sender="i", reply_to="j", reply_with="1", **head), 0)
    machines.send(Message("inform", "j", in_reply_to="1", **head), 0)
    assert machines.find("c", Aid.of("j")).state == "done"  # type: ignore[union-attr]
    with pytest.raises(ProtocolError):
        machines.send(Message("inform", "j", in_reply_to="1", **head), 0)


def test_old_conversations_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.protocols.machines.OPEN_MAX", 3)
    monkeypatch.setattr("whimbrel.protocols.machines.ENDED_MAX", 2)
    machines = Machines()
    for number in range(10):
        head: dict[str, Any] = {"protocol": "fipa-request", "conversation_id": str(number)}
        machines.receive(Message("request", "p", sender=f"i{number}", **head), 0)
        if number % 2:
            machines.send(Message("refuse", f"i{number}", **head), 0)
    assert len(machines) == 2
    known = [number for number in range(10) if machines.find(str(number), Aid.of(f"i{number}"))]
    # Conversation 9 was open when it came, and took the place of 4.
    assert known == [6, 7, 8, 9]
    assert len(machines._with) == 4


def test_long_subscription_takes_no_memory() -> None:
    machine = Machine(protocol("fipa-subscribe"), PARTICIPANT)
    machine.receive("subscribe", 0)
    for now in range(1000):
        machine.send("inform", now)
    assert len(machine._trail) == 2
    assert machine.receive("cancel", 2000).verdict == "ok"


def test_oldest_questions_are_forgotten() -> None:
    machine = Machine(protocol("fipa-subscribe"), PARTICIPANT)
    machine.receive("subscribe", 0)
    for number in range(1000):
        machine.send("inform", number, reply_with=str(number))
    assert len(machine._questions) == QUESTIONS_MAX
    assert not machine.asked(str(999 - QUESTIONS_MAX))
    assert machine.asked(str(1000 - QUESTIONS_MAX))
    assert machine.asked("999")


def test_unknown_protocol_names_the_known_ones() -> None:
    assert protocol("contract-net") is protocol("fipa-contract-net")
    with pytest.raises(ProtocolError, match="no interaction protocol haggling: known are fipa-request"):
        protocol("haggling")
