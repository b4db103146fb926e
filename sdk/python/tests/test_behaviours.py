"""Behaviours by JADE's and SPADE's names."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from society import Society, asynchronous, needs_node, until

from whimbrel import (
    FSM,
    Agent,
    Behaviour,
    Cyclic,
    DeadlineError,
    OneShot,
    Parallel,
    Periodic,
    Sequential,
    State,
    Template,
    Timeout,
    WhimbrelError,
)

pytestmark = needs_node


class Log(Agent):
    """Agent whose behaviours write lines."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.errors: list[str] = []

    def on_error(self, error: BaseException, message: Any = None) -> None:
        self.errors.append(str(error))


@asynchronous
async def test_one_shot_runs_from_start_to_end(society: Society) -> None:
    class Greet(OneShot):
        def on_start(self) -> None:
            log.lines.append("start")

        async def run(self) -> None:
            await asyncio.sleep(0)
            log.lines.append("run")
            self.exit_code = 7

        async def on_end(self) -> None:
            log.lines.append("end")

    async with society.platform() as platform:
        log = await platform.start("log", Log())
        greet = log.add_behaviour(Greet())
        assert await greet.join(timeout=5) == 7
        assert log.lines == ["start", "run", "end"]
        assert greet.is_done
        with pytest.raises(WhimbrelError, match="has an agent already"):
            log.add_behaviour(greet)


@asynchronous
async def test_cyclic_takes_its_messages_until_killed(society: Society) -> None:
    class Take(Cyclic):
        template = Template(ontology="jobs")

        async def run(self) -> None:
            message = await self.receive(timeout=5)
            agent = self.agent
            assert isinstance(agent, Log)
            agent.lines.append(message.content)
            if message.content == "stop":
                self.kill(exit_code="killed")

    async with society.platform() as platform:
        log = await platform.start("log", Log())
        take = log.add_behaviour(Take())
        bob = await platform.start("bob")
        for content in ("a", "b", "stop"):
            bob.send("log", content, ontology="jobs")
        bob.send("log", "other")
        assert await take.join(timeout=5) == "killed"
        assert log.lines == ["a", "b", "stop"]
        assert (await log.receive(timeout=5)).content == "other"


@asynchronous
async def test_periodic_and_timeout_keep_time(society: Society) -> None:
    async with society.platform() as platform:
        log = await platform.start("log", Log())
        periodic = log.add_behaviour(Periodic(0.005, lambda: log.lines.append("tick")))
        await until(lambda: len(log.lines) >= 3)
        periodic.kill()
        await periodic.join()
        late = log.add_behaviour(Timeout(0.01, lambda: log.lines.append("late")))
        never = log.add_behaviour(Timeout(0.01, lambda: log.lines.append("never")))
        never.kill()
        await asyncio.gather(late.join(), never.join())
        assert log.lines[-1] == "late"
        slow = log.add_behaviour(Timeout(100, lambda: None))
        with pytest.raises(TimeoutError):
            await slow.join(timeout=0.01)
        await log.stop()
        await until(lambda: slow.is_done)


class Step(State):
    """State that names the next one."""

    def __init__(self, following: str | None) -> None:
        super().__init__()
        self.following = following

    def run(self) -> None:
        agent = self.agent
        assert isinstance(agent, Log)
        agent.lines.append(self.following)
        self.set_next_state(self.following)


@asynchronous
async def test_machine_goes_from_state_to_state(society: Society) -> None:
    def machine(last: str | None) -> FSM:
        made = FSM()
        made.add_state("a", Step("b"))
        made.add_state("b", Step(last))
        made.add_transition("a", "b")
        return made

    async with society.platform() as platform:
        log = await platform.start("log", Log())
        good = log.add_behaviour(machine(None))
        await good.join()
        assert log.lines == ["b", None]
        assert isinstance(good, FSM)
        assert good.current_state == "b"
        for wrong, why in (("a", "no transition from 'b' to 'a'"), ("c", "no transition from 'b' to 'c'")):
            await log.add_behaviour(machine(wrong)).join()
            await until(lambda: log.errors)
            assert why in log.errors.pop()
        lost = FSM()
        lost.add_state("a", Step("z"))
        with pytest.raises(WhimbrelError, match="a state 'a' already"):
            lost.add_state("a", Step(None))
        await log.add_behaviour(lost).join()
        await until(lambda: log.errors)
        assert "no state 'z': there are a" in log.errors.pop()


@asynchronous
async def test_behaviours_compose(society: Society) -> None:
    async with society.platform() as platform:
        log = await platform.start("log", Log())

        def say(word: str) -> Behaviour:
            return OneShot(lambda: log.lines.append(word))

        both = Parallel(say("x"), Timeout(0.001, lambda: log.lines.append("y")))
        await log.add_behaviour(Sequential(say("first"), both, say("last"))).join()
        assert log.lines == ["first", "x", "y", "last"]
        race = Parallel(say("won"), Timeout(100, lambda: None), until=Parallel.ANY)
        await log.add_behaviour(race).join(timeout=5)
        assert log.lines[-1] == "won"


@asynchronous
async def test_broken_behaviour_is_reported(society: Society) -> None:
    async with society.platform() as platform:
        log = await platform.start("log", Log())
        await log.add_behaviour(OneShot()).join()
        await until(lambda: log.errors)
        assert "has nothing to do: override `run`" in log.errors.pop()
        with pytest.raises(WhimbrelError, match="has no agent yet"):
            _ = OneShot().agent

        async def wait(behaviour: Behaviour) -> None:
            with pytest.raises(DeadlineError):
                await behaviour.receive(timeout=0.01)
            log.lines.append("waited")

        await log.add_behaviour(OneShot(wait)).join()
        assert log.lines == ["waited"]
