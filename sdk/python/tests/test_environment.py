"""Environments: percepts, actions, steps, grids."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from python_host import HostProcess, line_of

from whimbrel.environment import ActionError, Environment, GridWorld, Term, TimeSteppedEnvironment

ROOM = """\
import asyncio
from whimbrel.environment import ActionError, Atom, Environment, GridWorld, Term


class Room(Environment):
    def __init__(self, door="open"):
        self.door = door
        self.view = GridWorld(2, 1)
        self.add_percept("warm")
        self.add_percept(Term("home", 1), "ada")
        self.gate = asyncio.Event()

    def percepts(self, agent):
        yield Term("door", Atom(self.door))

    async def close(self, agent, how: str):
        print("closing", how)
        self.door = "closed"

    async def open_slowly(self, agent):
        self.door = "ajar"
        self.progress(0.5)
        await self.gate.wait()
        self.door = "open"

    async def push(self, agent):
        self.gate.set()

    async def refuse(self, agent):
        return False

    async def lock(self, agent):
        raise ActionError(Term("no_key", Atom(agent)))

    async def burn(self, agent):
        return 1 / 0

    def kick(self, agent):
        pass

    async def step_in(self, agent, x):
        self.view.place(agent, x, 0)
"""


@pytest.fixture
def make(tmp_path: pathlib.Path) -> Iterator[Callable[..., HostProcess]]:
    made: list[HostProcess] = []

    def begin(source: str, *args: Any, agents: tuple[str, ...] = ("ada", "bob")) -> HostProcess:
        (tmp_path / "env.py").write_text(source)
        host = HostProcess(tmp_path)
        made.append(host)
        host.hello()
        host.send("agents", list(agents))
        host.send("environment", str(tmp_path / "env.py"), list(args))
        return host

    yield begin
    for host in made:
        host.end()


def place(text: str) -> str:
    """Returns the place of a line of the room, as faults end with it."""
    return f"(env.py:{line_of(text, ROOM)})"


def atom(name: str) -> dict[str, str]:
    return {"atom": name}


def term(name: str, *args: Any) -> dict[str, Any]:
    return {"term": name, "args": list(args)}


def act(host: HostProcess, number: int, agent: str, action: Any) -> None:
    host.send("act", number, agent, action)


def door(state: str) -> dict[str, Any]:
    return term("door", atom(state))


@pytest.fixture
def room(make: Callable[..., HostProcess]) -> HostProcess:
    host = make(ROOM)
    assert host.receive() == ["percepts", "ada", True, [door("open"), atom("warm"), term("home", 1)], []]
    assert host.receive() == ["percepts", "bob", True, [door("open"), atom("warm")], []]
    assert host.receive() == ["grid", 2, 1, []]
    return host


def changes(host: HostProcess, before: str, now: str) -> None:
    for agent in ("ada", "bob"):
        assert host.receive() == ["percepts", agent, False, [door(now)], [door(before)]]


def test_percepts_come_before_answer(room: HostProcess) -> None:
    act(room, 7, "ada", term("close", atom("gently")))
    assert room.receive() == ["print", "ada", "closing gently"]
    changes(room, "open", "closed")
    assert room.receive() == ["done", 7]
    act(room, 8, "bob", term("close", atom("again")))
    assert [room.receive(), room.receive()] == [["print", "bob", "closing again"], ["done", 8]]


def test_slow_action_delays_no_other(room: HostProcess) -> None:
    act(room, 1, "ada", atom("open_slowly"))
    changes(room, "open", "ajar")
    assert room.receive() == ["progress", 1, 0.5]
    act(room, 2, "bob", atom("push"))
    assert room.receive() == ["done", 2]
    changes(room, "ajar", "open")
    assert room.receive() == ["done", 1]


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (atom("refuse"), "refuse returned False"),
        (atom("lock"), term("no_key", atom("ada"))),
        (atom("burn"), f"ZeroDivisionError: division by zero {place('1 / 0')}"),
        (atom("kick"), f"Room.kick is no action: actions are `async def` {place('def kick')}"),
        (atom("burm"), "Room has no action burm: did you mean burn?"),
        (atom("percepts"), f"Room.percepts is no action: actions are `async def` {place('def percepts')}"),
        (atom("close"), f"close takes 1 argument (how), not 0 {place('def close')}"),
        (term("step_in", 5), term("outside", 5, 0)),
    ],
)
def test_failure_has_reason(room: HostProcess, action: Any, reason: Any) -> None:
    act(room, 1, "ada", action)
    assert room.receive() == ["failed", 1, reason]


def test_grid_is_shown_when_it_changes(room: HostProcess) -> None:
    act(room, 1, "ada", term("step_in", 1))
    shown = [room.receive(), room.receive()]
    assert ["done", 1] in shown
    assert ["grid", 2, 1, [term("agent", atom("ada"), 1, 0)]] in shown


def test_new_agent_perceives(room: HostProcess) -> None:
    room.send("agents", ["cid"])
    assert room.receive() == ["percepts", "cid", True, [door("open"), atom("warm")], []]
    room.send("gone", "bob")
    act(room, 1, "ada", term("close", atom("x")))
    frames = [room.receive() for _ in range(4)]
    assert [frame[1] for frame in frames] == ["ada", "ada", "cid", 1]


def test_environment_with_fault_is_broken(make: Callable[..., HostProcess]) -> None:
    host = make("from whimbrel.environment import Environment\nclass A(Environment):\n    x = nothing\n")
    assert host.receive() == ["broken", "env.py cannot be loaded: NameError: name 'nothing' is not defined (env.py:3)"]
    act(host, 1, "ada", atom("go"))
    assert host.receive()[:2] == ["failed", 1]


@pytest.mark.parametrize(
    ("classes", "fault"),
    [
        ("class A(Environment): pass\nclass B(Environment): pass\n", "it has several environments, A, B"),
        ("x = 1\n", "it has no subclass of whimbrel.environment.Environment"),
    ],
)
def test_file_names_one_environment(make: Callable[..., HostProcess], classes: str, fault: str) -> None:
    assert fault in make(f"from whimbrel.environment import Environment\n{classes}").receive()[1]


STEPS = """\
from whimbrel.environment import ActionError, Term, TimeSteppedEnvironment


class Race(TimeSteppedEnvironment):
    def __init__(self, timeout=None, over="queue"):
        self.step_timeout = timeout
        self.over_actions = over
        self.order = []

    def percepts(self, agent):
        yield Term("step", self.step)

    async def go(self, agent):
        self.order.append(agent)

    async def fall(self, agent):
        raise ActionError("fell")

    async def step_finished(self, step, elapsed, timed_out):
        print(step, *self.order, "late" if timed_out else "in time")
        self.order.clear()
"""


class Nowhere:
    """Way to no node."""

    def percepts(self, agent: str, whole: bool, added: list[str], removed: list[str]) -> None: ...

    def progress(self, number: int, report: Any) -> None: ...

    def grid(self, columns: int, rows: int, objects: list[Any]) -> None: ...


def steps(host: HostProcess, count: int) -> list[Any]:
    """Reads this many frames that are no percepts."""
    found: list[Any] = []
    while len(found) < count:
        frame = host.receive()
        if frame[0] != "percepts":
            found.append(frame)
    return found


def test_step_waits_for_all_agents(make: Callable[..., HostProcess]) -> None:
    host = make(STEPS)
    act(host, 1, "bob", atom("go"))
    act(host, 2, "ada", atom("fall"))
    assert steps(host, 3) == [["print", None, "1 bob in time"], ["done", 1], ["failed", 2, "fell"]]


def test_second_action_waits_for_next_step(make: Callable[..., HostProcess]) -> None:
    host = make(STEPS)
    for number, agent in enumerate(("ada", "ada", "bob", "bob"), 1):
        act(host, number, agent, atom("go"))
    lines = [frame for frame in steps(host, 6) if frame[0] == "print"]
    assert lines == [["print", None, "1 ada bob in time"], ["print", None, "2 ada bob in time"]]


async def perform_all(first: list[tuple[str, int]], meanwhile: list[tuple[str, int]]) -> list[str]:
    """Performs actions, some of which come while the others' step is performed. Returns them in order."""
    performed: list[str] = []
    begun, gate = asyncio.Event(), asyncio.Event()

    class Slow(TimeSteppedEnvironment):
        async def go(self, agent: str, number: int) -> None:
            performed.append(f"{agent} {number}")
            begun.set()
            await gate.wait()

    environment = Slow()
    environment.agents = ["ada", "bob"]
    await environment._begin(Nowhere())

    def act(agent: str, number: int) -> asyncio.Task[None]:
        return asyncio.create_task(environment._perform(agent, Term("go", number)))

    tasks = [act(*one) for one in first]
    await begun.wait()
    tasks += [act(*one) for one in meanwhile]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)
    await environment._end()
    return performed


def test_queued_actions_keep_their_order() -> None:
    performed = perform_all([("ada", 1), ("ada", 2), ("bob", 1)], [("bob", 2), ("ada", 3), ("bob", 3)])
    assert asyncio.run(performed) == ["ada 1", "bob 1", "ada 2", "bob 2", "ada 3", "bob 3"]


@pytest.mark.parametrize(("over", "failed"), [("fail", 2), ("replace", 1)])
def test_second_action_of_step_fails(make: Callable[..., HostProcess], over: str, failed: int) -> None:
    host = make(STEPS, None, over)
    act(host, 1, "ada", atom("go"))
    act(host, 2, "ada", atom("go"))
    assert steps(host, 1) == [["failed", failed, term("acts_once_in_a_step", 1)]]


def test_late_agent_holds_up_no_step(make: Callable[..., HostProcess]) -> None:
    host = make(STEPS, 0.05)
    act(host, 1, "ada", atom("go"))
    first = steps(host, 2)
    assert first[-1] == ["done", 1]
    assert first[0][2].endswith("ada late")


def test_method_of_base_class_is_not_hidden() -> None:
    with pytest.raises(TypeError, match=r"Bad\.update hides a method"):

        class Bad(Environment):
            async def update(self, agent: str) -> None:  # type: ignore[override]
                """Does something else."""


def test_grid_keeps_agents_apart() -> None:
    world = GridWorld(3, 2)
    world.add_wall(1, 0)
    world.place("ada", 0, 0)
    world.place("bob", 2, 0)
    with pytest.raises(ActionError, match="not_free"):
        world.move("ada", "right")
    with pytest.raises(ActionError, match="outside"):
        world.add("box", 3, 0)
    assert world.move("ada", "down") == (0, 1)
    assert world.move_towards("ada", 2, 1) == (1, 1)
    assert (world.agent_at(1, 1), world.position("ada"), world.is_free(0, 0)) == ("ada", (1, 1), True)
    world.add("box", 2, 1)
    world.add("box", 2, 1)
    world.remove("box", 2, 1)
    assert (world.count("box"), world.has("box", 2, 1), world.is_free(1, 0)) == (1, True, False)
    assert world.draw() == ".#b\n.ab"
    world.take_away("bob")
    assert world.agents == {"ada": (1, 1)}
    assert list(world.neighbours(0, 0)) == [(0, 1)]
