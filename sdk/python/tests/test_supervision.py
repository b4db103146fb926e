"""Supervision and monitors, in virtual time and on a real node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from society import Society, asynchronous, needs_node

from whimbrel import (
    Agent,
    AgentGoneError,
    Child,
    FailureError,
    Keep,
    Message,
    Supervisor,
    WhimbrelError,
    after,
    on,
)
from whimbrel.testing import MemoryPlatform

Log = list[str]


def worker(log: Log, **more: Any) -> Callable[[], Worker]:
    """Returns the maker of workers that log their starts and ends."""
    return lambda: Worker(log, **more)


class Worker(Agent):
    """Counts its messages. `crash` makes it fail, `leave` end itself, `wait` never answer."""

    kept = ("count",)

    def __init__(self, log: Log, fails_at: int = 0) -> None:
        self.log = log
        self.count = 0
        self.fails_at = fails_at

    def setup(self) -> None:
        self.log.append(f"+{self.name}")
        if len(self.log) <= self.fails_at:
            raise ValueError("no tools")

    def teardown(self, reason: str) -> None:
        self.log.append(f"-{self._entry.aid if self._entry else '?'} {reason}")

    @on.subscribe
    def subscribe_to_count(self, subscription: Message) -> Message:
        return subscription.agree()

    @on.request
    async def work(self, message: Message) -> int:
        self.count += 1
        if message.content == "crash":
            raise ValueError("broken")
        if message.content == "leave":
            await self.stop()
        if message.content == "wait":
            await asyncio.sleep(3600)
        return self.count


async def start(platform: MemoryPlatform, *names: str, log: Log, **options: Any) -> tuple[Supervisor, Agent]:
    """Starts a supervisor of such workers, and an agent that talks to them."""
    boss = Supervisor(*(Child(name, worker(log)) for name in names), **options)
    await platform.start("boss", boss)
    return boss, await platform.start("bob")


async def crash(bob: Agent, name: str) -> None:
    with pytest.raises(FailureError, match="broken"):
        await bob.ask(name, "crash")
    await asyncio.sleep(0.001)


async def test_crashed_child_restarts_with_its_messages(platform: MemoryPlatform) -> None:
    log: Log = []
    boss, bob = await start(platform, "amy", "eve", log=log)
    await boss.children["amy"].df.register("work")
    before = boss.children["amy"]
    assert (await bob.ask("amy")).content == 1
    busy = asyncio.ensure_future(bob.ask("amy", "wait", timeout=7200))
    crashing = asyncio.ensure_future(bob.ask("amy", "crash"))
    next_one = asyncio.ensure_future(bob.ask("amy", "next"))
    results = await asyncio.gather(busy, crashing, next_one, return_exceptions=True)
    assert [str(one) for one in results[:2]] == ["amy answers failure: failed: broken", "amy answers failure: broken"]
    assert isinstance(results[2], Message)
    assert boss.children["amy"] is not before
    assert log == ["+amy", "+eve", "-amy failed: broken", "+amy"]
    assert [entry.agent for entry in await bob.df.search("work")] == ["amy"]
    assert (await bob.ask("amy")).content in (1, 2)


async def test_conversations_by_protocol_survive_crash(platform: MemoryPlatform) -> None:
    log: Log = []
    boss, bob = await start(platform, "amy", log=log)
    boss.children["amy"].suspend()
    work = [asyncio.ensure_future(bob.request(what, to="amy")) for what in ("wait", "crash")]
    await platform.settle()
    boss.children["amy"].resume()
    boss.children["amy"].suspend()
    waiting = asyncio.ensure_future(bob.request("next", to="amy"))
    results = await asyncio.gather(*work, waiting, return_exceptions=True)
    assert [str(one) for one in results[:2]] == ["amy answers failure: failed: broken", "amy answers failure: broken"]
    assert isinstance(results[2], Message)
    assert log == ["+amy", "-amy failed: broken", "+amy"]


async def test_subscribers_stay_after_crash(platform: MemoryPlatform) -> None:
    boss, bob = await start(platform, "amy", log=[])
    async with bob.subscribe("count", to="amy") as counts:
        await crash(bob, "amy")
        assert boss.children["amy"].inform_subscribers(7) == 1
        assert (await anext(counts)).content == 7


async def test_mailbox_survives_crash(platform: MemoryPlatform) -> None:
    log: Log = []
    boss, bob = await start(platform, "amy", log=log)
    for number in range(3):
        bob.send("amy", number)
    await platform.settle()
    await crash(bob, "amy")
    amy = boss.children["amy"]
    assert [(await amy.receive()).content for _ in range(3)] == [0, 1, 2]


async def test_kept_child_continues_from_its_state(platform: MemoryPlatform) -> None:
    log: Log = []
    boss = Supervisor(Child("amy", worker(log), keep=True))
    await platform.start("boss", boss)
    bob = await platform.start("bob")
    assert (await bob.ask("amy")).content == 1
    assert (await bob.ask("amy")).content == 2
    await crash(bob, "amy")
    # The step that crashed changed nothing.
    assert (await bob.ask("amy")).content == 3
    await crash(bob, "amy")
    assert (await bob.ask("amy")).content == 4
    assert boss.children["amy"].restored is not None


@pytest.mark.parametrize(
    ("strategy", "restarted"),
    [("one_for_one", ["bea"]), ("one_for_all", ["amy", "bea", "cleo"]), ("rest_for_one", ["bea", "cleo"])],
)
async def test_strategy_names_who_restarts(platform: MemoryPlatform, strategy: Any, restarted: list[str]) -> None:
    log: Log = []
    _, bob = await start(platform, "amy", "bea", "cleo", log=log, strategy=strategy)
    log.clear()
    await crash(bob, "bea")
    assert [line[1:] for line in log if line[0] == "+"] == restarted
    for name in ("amy", "bea", "cleo"):
        assert (await bob.ask(name)).content == 1


async def test_restart_intensity_ends_supervisor(platform: MemoryPlatform, caplog: pytest.LogCaptureFixture) -> None:
    log: Log = []
    boss, bob = await start(platform, "amy", "eve", log=log, intensity=2, period=10)
    for _ in range(2):
        await crash(bob, "amy")
    await platform.advance(10)
    for _ in range(2):
        await crash(bob, "amy")
    assert boss.is_alive
    await crash(bob, "amy")
    assert await boss.wait_ended() == "failed: child amy crashed more than 2 times in 10 s: broken"
    assert [agent.name for agent in platform.agents] == ["bob"]
    assert log[-2:] == ["-eve finished", "-amy finished"]
    assert "crashed more than 2 times" in caplog.text


async def test_supervisors_nest(platform: MemoryPlatform) -> None:
    log: Log = []
    top = Supervisor(Child("boss", lambda: Supervisor(Child("amy", worker(log)), intensity=1)), intensity=1)
    await platform.start("top", top)
    bob = await platform.start("bob")
    before = top.children["boss"]
    await crash(bob, "amy")
    await crash(bob, "amy")
    await platform.settle()
    assert top.children["boss"] is not before
    assert (await bob.ask("amy")).content == 1
    assert log.count("+amy") == 3


async def test_restart_type_decides(platform: MemoryPlatform) -> None:
    log: Log = []
    boss = Supervisor(
        Child("ever", worker(log)),
        Child("once", worker(log), restart="transient"),
        Child("never", worker(log), restart="temporary"),
        intensity=10,
    )
    await platform.start("boss", boss)
    bob = await platform.start("bob")
    for name in ("ever", "once"):
        await crash(bob, name)
    await crash(bob, "never")
    assert list(boss.children) == ["ever", "once"]
    for name in ("ever", "once"):
        bob.send(name, "leave", "request")
    await platform.settle()
    assert list(boss.children) == ["ever"]
    assert log.count("+ever") == 3


async def test_killed_child_stays_away(platform: MemoryPlatform) -> None:
    log: Log = []
    boss, _ = await start(platform, "amy", "eve", log=log)
    amy = boss.children["amy"]
    await amy.ams.kill(amy)
    await platform.settle()
    assert list(boss.children) == ["eve"]
    await boss.ams.kill(boss)
    await platform.settle()
    assert [agent.name for agent in platform.agents] == ["bob"]


async def test_failing_restart_is_tried_again(platform: MemoryPlatform) -> None:
    log: Log = []
    boss = Supervisor(Child("amy", worker(log, fails_at=0)), intensity=5)
    await platform.start("boss", boss)
    bob = await platform.start("bob")
    boss._specs["amy"] = Child("amy", worker(log, fails_at=4))
    await crash(bob, "amy")
    await platform.settle()
    assert (await bob.ask("amy")).content == 1


async def test_own_on_error_is_no_crash(platform: MemoryPlatform) -> None:
    class Careful(Worker):
        def on_error(self, error: BaseException, message: Message | None = None) -> None:
            self.log.append(f"!{error}")

    log: Log = []
    await platform.start("boss", Supervisor(Child("amy", lambda: Careful(log))))
    bob = await platform.start("bob")
    await crash(bob, "amy")
    assert (await bob.ask("amy")).content == 2
    assert log == ["+amy", "!broken"]


async def test_timer_and_task_errors_are_crashes(platform: MemoryPlatform) -> None:
    class Timed(Worker):
        @after(5)
        def late(self) -> None:
            raise ValueError("late")

    log: Log = []
    await platform.start("boss", Supervisor(Child("amy", lambda: Timed(log)), intensity=10))
    await platform.advance(12)
    assert log.count("+amy") == 3


async def test_children_come_and_go(platform: MemoryPlatform) -> None:
    log: Log = []
    boss, _ = await start(platform, "amy", log=log)
    await boss.start_child(Child("eve", worker(log), keep=Keep()))
    with pytest.raises(WhimbrelError, match="there is a child eve"):
        await boss.start_child(Child("eve", worker(log)))
    await boss.stop_child("amy")
    assert list(boss.children) == ["eve"]
    await boss.stop()
    assert log == ["+amy", "+eve", "-amy finished", "-eve finished"]


def test_wrong_descriptions_are_refused() -> None:
    with pytest.raises(WhimbrelError, match="unknown strategy 'all': use one_for_one"):
        Supervisor(strategy="all")  # type: ignore[arg-type]
    with pytest.raises(WhimbrelError, match="unknown restart 'often'"):
        Supervisor(Child("amy", Agent, restart="often"))  # type: ignore[arg-type]
    with pytest.raises(WhimbrelError, match="same name"):
        Supervisor(Child("amy", Agent), Child("amy", Agent))


@needs_node
@asynchronous
async def test_supervised_agents_survive_on_a_node(society: Society) -> None:
    logging.getLogger("whimbrel").setLevel(logging.CRITICAL)
    log: Log = []
    async with society.platform() as platform:
        boss = Supervisor(Child("amy", worker(log), keep=True), Child("eve", worker(log)), strategy="one_for_all")
        await platform.start("boss", boss)
        bob = await platform.start("bob")
        assert (await bob.ask("amy")).content == 1
        with pytest.raises(FailureError, match="broken"):
            await bob.ask("eve", "crash")
        assert (await bob.ask("amy")).content == 2
        assert (await bob.ask("eve")).content == 1
        await boss.stop()
        assert platform.agents == [bob]


# ---- Monitors


async def test_watch_tells_end_at_once(platform: MemoryPlatform) -> None:
    bob = await platform.start("bob")
    async with platform.another() as program:
        eve = await program.start("eve")
        program.loop.call_later(100, lambda: eve.spawn(eve.stop()))
        with pytest.raises(AgentGoneError) as gone:
            async with bob.watch("eve"):
                await asyncio.sleep(3600)
        assert (platform.time, gone.value.reason) == (100.0, "finished")
        # One question and its answers, however long it takes.
        assert len([one for one in platform.recording if one.message.receivers == (bob.aid,)]) == 3


async def test_watches_of_one_agent_share_news(platform: MemoryPlatform) -> None:
    bob = await platform.start("bob")
    async with platform.another() as program:
        eve = await program.start("eve")
        async with bob.watch("eve"):
            pass
        first = asyncio.ensure_future(bob.watch("eve").wait_gone())
        async with bob.watch("eve"):
            await platform.advance(1)
        second = asyncio.ensure_future(bob.watch("eve").wait_gone())
        await platform.advance(1)
        await eve.ams.kill(eve)
        assert list(await asyncio.gather(first, second)) == ["killed", "killed"]
        assert await bob.watch("eve").wait_gone() == "unknown"
    assert bob.waiting == 0


async def test_watch_of_missing_agent_raises(platform: MemoryPlatform) -> None:
    bob = await platform.start("bob")
    with pytest.raises(AgentGoneError):
        await bob.watch("nobody").__aenter__()


@needs_node
@asynchronous
async def test_node_tells_of_ends(society: Society) -> None:
    async with society.platform() as platform, society.platform() as program:
        bob, eve = await platform.start("bob"), await program.start("eve")
        recording = platform.record()
        with pytest.raises(AgentGoneError) as gone:  # noqa: PT012
            async with bob.watch("eve", interval=0.01):
                await eve.ams.kill(eve)
                await asyncio.sleep(60)
        assert gone.value.reason == "killed"
        assert [one.message.content for one in recording][-1].functor == "ended"
