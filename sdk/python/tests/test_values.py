"""Content values: plain Python, terms, records, dataclasses."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
from typing import Any

import pytest

from whimbrel.acl import (
    Aid,
    Atom,
    Container,
    EncodeError,
    Map,
    OpenList,
    Record,
    Term,
    Variable,
    WhimbrelError,
    equal,
    parse_json,
    plain,
    value_from_json,
    value_to_json,
)


def around(value: Any) -> Any:
    return value_from_json(parse_json(value_to_json(value)))


@dataclasses.dataclass
class Job:
    size: int
    colour: str = "red"


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


def test_plain_python_comes_back() -> None:
    for value in (
        None,
        True,
        0,
        -7,
        2**62,
        1.5,
        -0.0,
        1e300,
        "",
        "é\n\u2028",
        b"\x00\xff",
        [],
        [1, [2.0, "x"]],
        {},
        {"a": [1], 2: {"b": None}},
    ):
        again = around(value)
        assert again == value
        assert type(again) is type(value)


def test_other_python_becomes_values() -> None:
    moment = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    for given, value in (
        (Job(3), Record("Job", size=3, colour="red")),
        ((1, 2), [1, 2]),
        (bytearray(b"ab"), b"ab"),
        (moment, Term("datetime", 1767312000000)),
        (datetime.timedelta(seconds=2), Term("duration", 2000)),
        (Colour.RED, "red"),
        (Level.LOW, 1),
        (Aid.of("bob@home"), Atom("bob@home")),
        (range(3), [0, 1, 2]),
    ):
        assert around(given) == value
        assert equal(given, value)


def test_record_reads_as_dataclass() -> None:
    record = around(Job(3))
    assert (record["size"], record.colour, dict(record)) == (3, "red", {"size": 3, "colour": "red"})
    assert record.into(Job) == Job(3)
    assert Record("Job", size=4, weight=7).into(Job) == Job(4)
    with pytest.raises(WhimbrelError, match="size"):
        Record("Job").into(Job)
    with pytest.raises(AttributeError, match="record Job has no field 'weight': it has size, colour"):
        _ = record.weight


def test_term_without_arguments_is_atom() -> None:
    assert isinstance(Term("bob"), Atom)
    assert Term("bob") == Atom("bob") != "bob"
    assert str(Atom("bob")) == "bob"
    assert around(Atom("true")) is True
    assert Term("f", namespace="default") == Atom("f")
    assert Term("f", negated=True) != Atom("f")


def test_terms_match_patterns() -> None:
    match around(Term("at", Atom("robot"), 3)):
        case Term("at", (Atom(name), place)):
            assert (name, place) == ("robot", 3)
        case _:
            pytest.fail("no match")


def test_annotations_are_a_set() -> None:
    one = Term("wet", annots=[Term("source", Atom("bob")), Atom("a"), Atom("a")])
    assert one.annots == (Atom("a"), Term("source", Atom("bob")))
    assert around(one) == one


def test_map_keeps_what_dict_loses() -> None:
    exact = around(Map([(1, "one"), (True, "yes"), ([1, 2], "list")]))
    assert isinstance(exact, Map)
    assert (exact[1], exact[True], exact[[1, 2]]) == ("one", "yes", "list")
    assert isinstance(around(Map([(1, "a"), (1.0, "b")])), dict)
    assert around(Map([(1, "a"), (1.0, "b")])) == {1: "b"}


def test_rare_values_come_back() -> None:
    for value in (Variable("X", 3), OpenList([1], Variable("T")), Container("queue", [3, 1]), Record("f", {"a": 1})):
        assert around(value) == value
    assert Container("map", ["b", 1, "a", 2]).items == ["a", 2, "b", 1]
    assert Container("set", [2, 1, 2]).items == [1, 2]
    assert math.isnan(around(math.nan))


def test_impossible_values_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    for wrong, why in (
        (2**63, "64 bits"),
        (object(), "type object is not a value"),
        (deep, "deeper than 96"),
        (Container, "type type"),
    ):
        with pytest.raises(EncodeError, match=why):
            value_to_json(wrong)


def test_lone_surrogates_are_replaced() -> None:
    assert value_to_json("a\ud800b") == '"a\ufffdb"'


def test_plain_is_for_printing() -> None:
    value = Record("f", a=[Atom("b"), Term("g", 1)], c={Atom("k"): None})
    assert plain(value) == {"a": ["b", {"functor": "g", "args": [1]}], "c": {"k": None}}
