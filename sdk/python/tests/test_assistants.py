"""Test of examples/assistants: its story, its client of models, and what is left after `kill -9` and a stopped node."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from society import WHIMBREL, needs_node
from vectors import REPOSITORY

EXAMPLE = REPOSITORY / "examples/assistants"
sys.path.insert(0, str(EXAMPLE))

import compare  # noqa: E402
from bodies import Tools, to_messages, to_term  # noqa: E402
from models import Endpoint, NoAnswer  # noqa: E402
from replay import Replay  # noqa: E402
from shop import Refused, Server  # noqa: E402
from toolbox import ToolServer, schemas  # noqa: E402

from whimbrel import Atom, Message, Term  # noqa: E402
from whimbrel.acl import Variable  # noqa: E402

os.environ["PYTHONPATH"] = str(REPOSITORY / "sdk/python/src")
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def assistants(state: pathlib.Path, *words: str, status: int = 0) -> list[str]:
    """Runs the program until it ends. Returns its lines, and those of the minds."""
    command = [sys.executable, "-W", "error", str(EXAMPLE / "assistants.py"), "--state", str(state), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout.splitlines()


def by_agent(lines: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        agent, _, text = line.partition("] ")
        found.setdefault(agent, []).append(text)
    return found


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, list[str]]:
    """A purchase that waits for approval, without any process; and what it printed."""
    state = tmp_path_factory.mktemp("assistants") / "state"
    return state, assistants(state)


@needs_node
def test_story_matches_expected_output(waiting: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path) -> None:
    state, lines = waiting
    shutil.copytree(state, tmp_path / "state")
    lines = lines + assistants(tmp_path / "state", "approve")
    assert by_agent(lines) == by_agent((EXAMPLE / "expected.txt").read_text().splitlines())


@needs_node
def test_killed_calls_are_done_once() -> None:
    ours = compare.measure([sys.executable, str(EXAMPLE / "assistants.py")])
    assert ours.pop("says at last").endswith("bought: N-1001")
    assert ours == {
        "model calls": 11,
        "model calls repeated": 1,
        "place_order: requests": 2,
        "place_order: effects": 1,
        "announce: requests": 1,
        "announce: effects": 1,
    }


def test_langgraph_repeats_call_without_key() -> None:
    if not pathlib.Path(compare.PYTHON).exists():
        pytest.skip(f"LangGraph is not installed in {compare.PYTHON}: make langgraph")
    theirs = compare.measure([compare.PYTHON, str(EXAMPLE / "langgraph/purchase.py")])
    assert theirs["says at last"] == "finished: N-1001"
    assert (theirs["model calls"], theirs["model calls repeated"]) == (11, 1)
    assert (theirs["place_order: requests"], theirs["place_order: effects"]) == (2, 1)
    assert (theirs["announce: requests"], theirs["announce: effects"]) == (2, 2)


@needs_node
def test_approval_waits_without_a_program(waiting: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path) -> None:
    state = tmp_path / "state"
    shutil.copytree(waiting[0], state)
    with node(state) as whimbrel:
        # Only those may approve whom the buyer believes to be approvers.
        whimbrel("tell", "--from", "eve", "buyer", 'approved("p1")')
        whimbrel("tell", "--from", "eve", "buyer", "approver(eve)")
        whimbrel("tell", "--from", "eve", "buyer", "limit(100000)")
        whimbrel("achieve", "--from", "eve", "buyer", 'order("p2", order("M27-C", 1, 199))')
        assert whimbrel("ask", "buyer", 'decided("p1", Answer, Who)') == "no"
        whimbrel("tell", "buyer", 'approved("p1")')
        assert whimbrel("ask", "buyer", 'decided("p1", Answer, Who)') == "Answer = yes, Who = cli"
    # The buyer went on, and its call of the tool waits at the node for the program.
    assert not (state / "orders.jsonl").exists()
    assert "[desk] p1: bought: N-1001" in assistants(state, "continue")
    orders = [json.loads(line) for line in (state / "orders.jsonl").read_text().splitlines()]
    assert [order["number"] for order in orders if order["tool"] == "place_order"] == ["N-1001"]


@needs_node
def test_news_that_waited_begins_no_purchase(waiting: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path) -> None:
    state = tmp_path / "state"
    shutil.copytree(waiting[0], state)
    with node(state) as whimbrel:
        whimbrel("tell", "buyer", 'refused("p1")')
        assert whimbrel("ask", "buyer", 'decided("p1", Answer, Who)') == "Answer = no, Who = cli"
    assert assistants(state)[-1] == "[desk] p1: not_bought: the order was not approved"


@contextlib.contextmanager
def node(state: pathlib.Path) -> Iterator[Callable[..., str]]:
    """Runs the minds alone. Gives a function that calls a command of `whimbrel`."""
    command = [WHIMBREL, "run", str(EXAMPLE), "--store", str(state / "store"), "--http", "off"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "continuing" in process.stderr.readline()

    def call(word: str, *words: str) -> str:
        command = [WHIMBREL, word, "--pid", str(process.pid), *words]
        return subprocess.run(command, check=False, timeout=60, capture_output=True, text=True).stdout.strip()

    try:
        yield call
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@needs_node
def test_spent_budget_stops_until_it_is_raised(tmp_path: pathlib.Path) -> None:
    model = Replay()
    model.answers["researcher"]["3"]["usage"] = [7900, 30]
    try:
        said = assistants(tmp_path, "--base-url", model.url, status=3)
        assert "[researcher] stopped: 8130 of 8000 tokens are spent: raise budget(tokens, ..)" in said
        assert said[-1] == "[desk] nothing is lost: assistants.py continue, with --tokens or --cents for more"
        asked = len(model.requests)
        said = assistants(tmp_path, "--base-url", model.url, "continue", "--tokens", "2000")
        assert "[desk] p1: may 12 of M27-B be ordered for 3239 pounds?" in said
        assert model.requests[asked] == "researcher 5", "no answer was asked for twice"
    finally:
        model.close()


@needs_node
def test_end_of_the_node_ends_the_program(tmp_path: pathlib.Path) -> None:
    model = Replay()
    command = [sys.executable, str(EXAMPLE / "assistants.py"), "--state", str(tmp_path), "--base-url", model.url]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def kill_node(*_: Any) -> None:
        for node in compare.children(process.pid):
            os.kill(node, signal.SIGKILL)

    model.before_answer = kill_node
    try:
        assert "assistants.py: stopping: the node's process ended" in process.communicate(timeout=120)[1]
        assert process.returncode == 1
    finally:
        model.close()


class Faulty(Server):
    """An endpoint that fails some times before it answers."""

    def __init__(self, *faults: int, answer: Any = None) -> None:
        self.faults = list(faults)
        self.bodies: list[Any] = []
        message = {"content": "hello"}
        self.good = answer or {
            "choices": [{"message": message}],
            "usage": {"prompt_tokens": 1e6, "completion_tokens": 5},
        }
        super().__init__()

    def answer(self, path: str, body: Any, key: str) -> Any:
        self.bodies.append(body)
        if self.faults:
            raise Refused("not now", self.faults.pop(0))
        return self.good


@contextlib.contextmanager
def faulty(*faults: int, answer: Any = None) -> Iterator[tuple[Faulty, Endpoint]]:
    server = Faulty(*faults, answer=answer)
    try:
        yield server, Endpoint(server.url, pause=0.001)
    finally:
        server.close()


def test_client_tries_again_after_transient_faults() -> None:
    with faulty(503, 429) as (server, endpoint):
        act = endpoint.complete([], [], 100)
        assert (act.text, act.call, act.tokens) == ("hello", None, 1_000_005)
        assert act.cents == pytest.approx(15.0003)
        assert len(server.bodies) == 3
        assert server.bodies[0]["max_tokens"] == 100


@pytest.mark.parametrize(
    ("faults", "tries", "says"),
    [((500, 500, 500, 500), 3, "no answer in 3 tries: .*: 500 .*not now"), ((401,), 1, ": 401 .*not now")],
)
def test_client_gives_up_with_the_reason(faults: tuple[int, ...], tries: int, says: str) -> None:
    with faulty(*faults) as (server, endpoint):
        with pytest.raises(NoAnswer, match=says) as raised:
            endpoint.complete([], [], 100)
        assert raised.value.is_certain == (tries == 1)
        assert len(server.bodies) == tries


@pytest.mark.parametrize("answer", [{"choices": []}, {"choices": [{"message": {"tool_calls": [{"id": 1}]}}]}, {"a": 1}])
def test_client_rejects_other_answers(answer: Any) -> None:
    with faulty(answer=answer) as (_, endpoint), pytest.raises(NoAnswer, match="not a chat completion"):
        endpoint.complete([], [], 100)


def test_client_ends_waiting_at_its_timeout() -> None:
    model = Replay()
    is_over = threading.Event()
    model.before_answer = lambda *_: is_over.wait()
    try:
        endpoint = Endpoint(model.url, timeout=0.05, pause=0.001)
        with pytest.raises(NoAnswer, match=r"no answer in 3 tries: .*timed out"):
            endpoint.complete([{"role": "system", "content": "You are the writer of"}, {}], [], 100)
    finally:
        is_over.set()
        model.close()


def test_memory_becomes_a_chat() -> None:
    arguments = to_term({"sku": "M27-B", "quantity": 12, "more": [1]})
    assert arguments == [Term("sku", "M27-B"), Term("quantity", 12), Term("more", "[1]")]
    turns = [
        Term("turn", 0, Term("asked", "monitors")),
        Term("turn", 1, Term("called", "c1", Atom("check_stock"), [Term("sku", "M27-B"), Term("quantity", 12.0)])),
        Term("turn", 2, Term("result", "c1", Term("refused", "no"))),
        Term("turn", 3, Term("said", "well")),
    ]
    system, asked, called, result, said = to_messages("You are", turns)
    assert (system["role"], asked["content"], said["role"]) == ("system", "monitors", "assistant")
    assert json.loads(called["tool_calls"][0]["function"]["arguments"]) == {"sku": "M27-B", "quantity": 12}
    assert (result["tool_call_id"], result["content"]) == ("c1", "refused: no")


def test_offered_tools_have_schemas() -> None:
    (schema,) = schemas(["check_stock", "no_such_tool"])
    assert schema["function"]["parameters"]["required"] == ["sku"]


def test_stranger_calls_no_tools() -> None:
    call = Message(
        "askOne", "tools", Term("use", "k", Atom("announce"), [Term("text", "hi")], Variable("_")), sender="eve"
    )
    answer = asyncio.run(Tools(ToolServer("http://127.0.0.1:1")).use(call))
    assert answer.args[-1] == Term("refused", "eve calls no tools")


def test_every_permitted_tool_is_known() -> None:
    named = {
        name
        for file in EXAMPLE.glob("*.asl")
        for name in re.findall(r"^(?:may|hands_over)\((\w+)\)", file.read_text(), re.M)
    }
    assert len(schemas(named)) == len(named) == 6
