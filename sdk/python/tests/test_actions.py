"""Calls of functions by agents: arguments, results, failures with their places."""

from __future__ import annotations

import contextvars
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from python_host import HostProcess, line_of

from whimbrel.environment.frames import FrameWriter
from whimbrel.environment.output import AgentOutput, begin_call

ACTIONS = '''\
"""Actions of the tests."""
import asyncio
import threading
from os import path

from whimbrel.actions import ActionError, Atom, Term, action, caller, procedure, relation


def double(x):
    return 2 * x


def is_odd(x):
    return x % 2 == 1


def divide(a: int, b: int) -> tuple[int, int]:
    return a // b, a % b


def numbers(n):
    for i in range(n):
        yield i


def forever():
    i = 0
    while True:
        yield i
        i += 1


def greet(name: str, word="hello"):
    return f"{word}, {name}"


@action(results=1)
def total(*numbers):
    return sum(numbers)


@relation
def parent(x, y):
    for pair in (("ann", "bob"), ("ann", "cid"), ("bob", "dan")):
        yield tuple(Atom(name) for name in pair)


@procedure
def note(text):
    print(text)


def nothing():
    pass


def broken(x):
    return x["no"]


def refused():
    raise ActionError(Term("closed", Atom("door")), Term("code", 7))


async def later(x):
    await asyncio.sleep(0)
    return x + 1


def who():
    return Atom(caller())


gate = threading.Event()


def wait():
    return gate.wait(10)


def release():
    gate.set()
    return True


held = threading.Event()


def late_numbers():
    held.wait(10)
    yield 1
    yield 2


def let_go():
    held.set()
    return True


def stops():
    yield 1
    raise ValueError("no more")


def explains_badly():
    raise ActionError(Term("no_value", object()))


async def leaves():
    raise SystemExit(3)


async def is_cancelled():
    raise asyncio.CancelledError
'''

X = {"var": "X", "slot": 0}
Y = {"var": "Y", "slot": 1}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "actions.py").write_text(ACTIONS)
    process = HostProcess(folder)
    process.hello("actions.py")
    yield process
    process.end()


def call(host: HostProcess, name: str, *args: Any, most: int = 0) -> Any:
    host.send("call", 1, "ada", name, list(args), most)
    return host.receive()


def solved(*solutions: list[Any], more: bool = False) -> Any:
    return ["solved", 1, list(solutions), more]


@pytest.mark.parametrize(
    ("name", "args", "results"),
    [
        ("double", [4, X], [8]),
        ("double", [4, 8], [8]),
        ("is_odd", [3], []),
        ("is_odd", [4, X], [False]),
        ("divide", [7, 2, X, Y], [3, 1]),
        ("numbers", [3, X], [0]),
        ("greet", [{"atom": "bob"}, X], ["hello, bob"]),
        ("greet", ["bob", "bye", X], ["bye, bob"]),
        ("total", [1, 2, 3, X], [6]),
        ("parent", [X, Y], [{"atom": "ann"}, {"atom": "bob"}]),
        ("later", [1, X], [2]),
        ("who", [X], [{"atom": "ada"}]),
    ],
)
def test_function_gives_results(host: HostProcess, name: str, args: list[Any], results: list[Any]) -> None:
    assert call(host, name, *args) == solved(results)


def test_output_is_callers_line(host: HostProcess) -> None:
    host.send("call", 1, "ada", "note", ["a\nb"], 0)
    assert [host.receive() for _ in range(3)] == [["print", "ada", "a"], ["print", "ada", "b"], solved([])]


def test_line_belongs_to_its_call() -> None:
    printed: list[tuple[str | None, str]] = []

    class Lines(FrameWriter):
        def print(self, agent: str | None, text: str) -> None:
            printed.append((agent, text))

    output = AgentOutput(Lines(-1))
    first, second = contextvars.copy_context(), contextvars.copy_context()
    first.run(begin_call, "ada", 1)
    second.run(begin_call, "ada", 2)
    second.run(output.write, "a")
    # The first call has been answered, and its thread comes to its end only now.
    first.run(output.end_line)
    second.run(output.write, "b\nc")
    second.run(output.end_line)
    assert printed == [("ada", "ab"), ("ada", "c")]


def test_generator_yields_on_demand(host: HostProcess) -> None:
    assert call(host, "numbers", 4, X, most=1) == solved([0], more=True)
    host.send("more", 1, 2)
    assert host.receive() == solved([1], [2], more=True)
    host.send("more", 1, 4)
    assert host.receive() == solved([3])
    assert call(host, "forever", X, most=3) == solved([0], [1], [2], more=True)
    host.send("drop", 1)
    host.send("more", 1, 4)
    assert host.receive() == solved()


def test_dropped_call_is_not_continued(host: HostProcess) -> None:
    host.send("call", 7, "ada", "late_numbers", [X], 1)
    host.send("drop", 7)
    host.send("call", 8, "bob", "let_go", [], 0)
    assert sorted(host.receive()[1] for _ in range(2)) == [7, 8]
    host.send("more", 7, 1)
    assert host.receive() == ["solved", 7, [], False]


def test_generator_that_raises_ends(host: HostProcess) -> None:
    assert call(host, "stops", X, most=1) == solved([1], more=True)
    host.send("more", 1, 2)
    assert host.receive()[2:4] == ["unknown", f"ValueError: no more (actions.py:{line_of('no more', ACTIONS)})"]


@pytest.mark.parametrize(
    ("name", "args", "error", "text", "line"),
    [
        ("broken", [1, X], "unknown", "TypeError: 'int' object is not subscriptable", 'x["no"]'),
        ("double", [], "wrong_arguments", "takes 1 argument (x) and 1 result, and the call has 0", "def double"),
        ("double", [1, 2, 3], "wrong_arguments", "the call has 3 arguments", "def double"),
        ("divide", [7, 2, X], "wrong_arguments", "2 arguments (a, b) and 2 results", "def divide"),
        ("is_odd", [4], "ia_failed", "py.is_odd returned False", "def is_odd"),
        ("nothing", [], "ia_failed", "py.nothing returned None: a function that succeeds", "def nothing"),
        ("refused", [], "action_failed", "closed(door)", "raise ActionError"),
    ],
)
def test_failure_names_line_of_python(
    host: HostProcess, name: str, args: list[Any], error: str, text: str, line: str
) -> None:
    kind, number, found, message, annots = call(host, name, *args)
    place = f"(actions.py:{line_of(line, ACTIONS)})"
    assert (kind, number, found) == ("refused", 1, error)
    assert text in message
    assert message.endswith(place)
    assert {"term": "py_line", "args": [line_of(line, ACTIONS)]} in annots


def test_reason_of_failure_is_term(host: HostProcess) -> None:
    annots = call(host, "refused")[4]
    assert annots[0] == {"term": "failure_reason", "args": [{"term": "closed", "args": [{"atom": "door"}]}]}
    assert annots[-1] == {"term": "code", "args": [7]}


@pytest.mark.parametrize(
    ("name", "text"),
    [("explains_badly", "ActionError: "), ("leaves", "SystemExit: 3"), ("is_cancelled", "CancelledError")],
)
def test_strange_failure_is_answered(host: HostProcess, name: str, text: str) -> None:
    refused = call(host, name)
    assert refused[:3] == ["refused", 1, "unknown"]
    assert refused[3].startswith(text)
    # The thread that carried it out is still there, and so is the event loop.
    assert call(host, "later", 1, X) == solved([2])


def test_unknown_function_has_advice(host: HostProcess) -> None:
    assert call(host, "duoble")[3] == "actions.py has no function duoble: did you mean double?"
    assert call(host, "path")[3].startswith("actions.py has no function path")
    assert call(host, "Atom")[3].startswith("actions.py has no function Atom")


def test_actions_with_fault_refuse_calls(tmp_path: pathlib.Path) -> None:
    (tmp_path / "actions.py").write_text("x = 1\ndef half(:\n")
    host = HostProcess(tmp_path)
    host.hello("actions.py")
    assert call(host, "half")[0] == "warn"
    assert "actions.py cannot be loaded: SyntaxError" in (refused := host.receive())[3]
    assert refused[3].endswith("(actions.py:2)")
    host.end()


def test_blocked_call_delays_no_other(host: HostProcess) -> None:
    host.send("call", 1, "ada", "wait", [], 0)
    host.send("call", 2, "bob", "release", [], 0)
    assert sorted(host.receive()[1] for _ in range(2)) == [1, 2]
