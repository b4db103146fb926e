"""The kit for tests: virtual time, platforms in memory, expectations, the plugin of pytest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from whimbrel import (
    Agent,
    AgentGoneError,
    Atom,
    DeadlineError,
    EndedError,
    FailureError,
    Message,
    Periodic,
    Platform,
    Record,
    RefusedError,
    RefuseError,
    Template,
    Term,
    WhimbrelError,
    after,
    every,
    on,
)
from whimbrel.testing import MemoryPlatform, StuckError, VirtualLoop, run

pytest_plugins = ["pytester"]


class Greeter(Agent):
    """Greets, and counts seconds."""

    ticks = 0

    @on.request
    def greet(self, message: Message) -> str:
        return f"hello, {message.content}"

    @every(1)
    def tick(self) -> None:
        self.ticks += 1


# ---- Virtual time


async def test_hour_of_timers_takes_no_time(platform: MemoryPlatform) -> None:
    begun = time.monotonic()
    greeter = await platform.start("ada", Greeter())
    late: list[float] = []
    greeter.after(1800.5, lambda: late.append(platform.time))
    await platform.advance(3600)
    assert (greeter.ticks, late, platform.time) == (3600, [1800.5], 3600.0)
    assert time.monotonic() - begun < 60


async def test_timers_of_one_moment_keep_their_order(platform: MemoryPlatform) -> None:
    order: list[int] = []
    agents = [await platform.start(f"a{number}") for number in range(50)]
    for number, agent in enumerate(agents):
        agent.after(0.1 + 0.2, lambda number=number: order.append(number))  # type: ignore[misc]
    agents[0].after(0.3, lambda: order.append(-1))
    await platform.advance(0.3)
    assert order == [*range(50), -1]


async def test_ask_follows_virtual_time(platform: MemoryPlatform) -> None:
    await platform.start("mute")
    bob = await platform.start("bob")
    with pytest.raises(DeadlineError):
        await bob.ask("mute", timeout=600)
    assert platform.time == 600.0


async def test_advance_runs_last_moment_to_its_end(platform: MemoryPlatform) -> None:
    class Relay(Agent):
        @after(5)
        async def pass_on(self) -> None:
            await self.ask("ada", "world")

    await platform.start("ada", Greeter())
    await platform.start("relay", Relay())
    await platform.advance(4.999)
    platform.assert_silent("relay", "request")
    await platform.advance(0.001)
    platform.assert_says("ada", "inform", "hello, world", to="relay")


async def test_behaviours_follow_virtual_time(platform: MemoryPlatform) -> None:
    bob = await platform.start("bob")
    runs: list[float] = []
    bob.add_behaviour(Periodic(60, lambda: runs.append(platform.time)))
    await platform.advance(200)
    assert runs == [0.0, 60.0, 120.0, 180.0]


async def test_threads_are_waited_for(platform: MemoryPlatform) -> None:
    answer = await asyncio.wait_for(asyncio.to_thread(lambda: sum(range(1_000_000))), 1)
    assert (answer, platform.time) == (499_999_500_000, 0.0)


async def test_advance_refuses_negative_time(platform: MemoryPlatform) -> None:
    with pytest.raises(WhimbrelError, match="does not go back"):
        await platform.advance(-1)


def test_endless_wait_names_its_place() -> None:
    async def wait() -> None:
        async with MemoryPlatform() as platform:
            bob = await platform.start("bob")
            await bob.receive()

    with pytest.raises(StuckError, match=r"await bob\.receive\(\)"):
        run(wait(), patience=100)


def test_wait_without_timers_is_found() -> None:
    with pytest.raises(StuckError, match="no timer is set"):
        run(asyncio.Event().wait())


def test_real_loop_has_no_virtual_time() -> None:
    async def real() -> None:
        async with MemoryPlatform() as platform:
            bob = await platform.start("bob")
            await platform.start("ada", Greeter())
            assert (await bob.ask("ada", 1)).content == "hello, 1"
            with pytest.raises(WhimbrelError, match="time is real"):
                await platform.advance(1)

    asyncio.run(real())


def test_runs_repeat_exactly() -> None:
    async def society() -> str:
        async with MemoryPlatform() as platform:
            await platform.start("ada", Greeter())
            for number in range(5):
                agent = await platform.start(f"a{number}")
                agent.every(0.1 * (number + 1), lambda agent=agent: agent.ask("ada", agent.name))  # type: ignore[misc]
            await platform.advance(2)
            return platform.recording.text()

    first: str = run(society())
    assert first == run(society())
    assert first.count("request") > 20


# ---- Platforms in memory


async def test_undeliverable_message_fails(platform: MemoryPlatform) -> None:
    bob = await platform.start("bob")
    with pytest.raises(FailureError, match="nobody cannot be reached: unknown agent"):
        await bob.ask("nobody")
    with pytest.raises(RefusedError, match="name-taken"):
        await platform.start("bob")
    with pytest.raises(RefusedError, match="bad-name"):
        await platform.start("topic:news")


async def test_directory_finds_subscribes_and_expires(platform: MemoryPlatform) -> None:
    amy, bob = await platform.start("amy"), await platform.start("bob")
    async with amy.df.subscribe("weather") as changes:
        await bob.df.register("weather", properties={"price": 5}, lease=30)
        change = await changes.__anext__()
        assert change.entry is not None
        assert change.entry.services[0].properties == {"price": 5}
        assert [entry.agent for entry in await amy.df.search("weather")] == ["bob"]
        with pytest.raises(FailureError, match="already-registered"):
            await bob.df.register("weather")
        await platform.advance(31)
        assert (await changes.__anext__()).entry is None
    assert await amy.df.search() == []


async def test_topics_and_groups_reach_members(platform: MemoryPlatform) -> None:
    amy, bob, eve = [await platform.start(name) for name in ("amy", "bob", "eve")]
    await bob.join("topic:news")
    await bob.join("group:crew")
    await eve.join("group:crew")
    amy.send("topic:news", 1)
    amy.send("group:crew", 2)
    amy.send("any:crew", 3)
    amy.send("any:crew", 4)
    await platform.settle()
    assert [(await bob.receive()).content for _ in range(bob.waiting)] == [1, 2, 3]
    assert [(await eve.receive()).content for _ in range(eve.waiting)] == [2, 4]
    await bob.leave("group:crew")
    await eve.stop()
    with pytest.raises(FailureError, match="no member"):
        await amy.ask("any:crew")


async def test_suspended_agent_gets_messages_later(platform: MemoryPlatform) -> None:
    bob = await platform.start("bob")
    ada = await platform.start("ada", Greeter())
    owned = Record("ams-agent-description", name="ada", ownership="bob")
    await ada.ask("ams", [Term("action", Atom("ams"), Term("modify", owned))])
    await bob.ams.suspend(ada)
    question = asyncio.ensure_future(bob.ask("ada", "you", timeout=60))
    await platform.advance(10)
    assert not question.done()
    amy = await platform.start("amy")
    with pytest.raises(RefuseError, match="unauthorised"):
        await amy.ams.resume(ada)
    with pytest.raises(FailureError, match="cannot make agent ada waiting: it is suspended"):
        await bob.ams.set_state(ada, "waiting")
    assert [(str(one.agent), one.ownership) for one in await amy.ams.search(state="suspended")] == [("ada", "bob")]
    await bob.ams.resume(ada)
    assert (await question).content == "hello, you"
    await bob.ams.kill(ada)
    assert await ada.wait_ended() == "killed"


async def test_cut_connection_loses_nothing(platform: MemoryPlatform) -> None:
    bob, amy = await platform.start("bob"), await platform.start("amy")
    for number in range(10):
        bob.send("amy", number)
        if number % 3 == 0:
            platform.cut()
            await platform.advance(0.001)
    await platform.advance(5)
    assert [(await amy.receive()).content for _ in range(10)] == list(range(10))
    assert amy.waiting == 0


class Counter(Agent):
    """Counts, and outlives its program."""

    kept = ("count",)
    count = 0

    @on.request
    def add(self, message: Message) -> int:
        self.count += message.content
        return self.count


async def test_kept_agent_survives_crash(platform: MemoryPlatform) -> None:
    bob = await platform.start("bob")
    program = platform.another()
    await program.open()
    counter = await program.start("counter", Counter(), keep=True)
    assert (await bob.ask("counter", 5)).content == 5
    await program.crash()
    assert counter.end_reason is not None
    question = asyncio.ensure_future(bob.ask("counter", 2, timeout=60))
    async with platform.another() as later:
        restored = await later.start("counter", Counter(), keep=True)
        assert restored.restored is not None
        assert (await question).content == 7


async def test_crash_ends_agents_that_are_not_kept(platform: MemoryPlatform) -> None:
    bob = await platform.start("bob")
    program = platform.another()
    await program.open()
    await program.start("eve")
    with pytest.raises(AgentGoneError):  # noqa: PT012
        async with bob.watch("eve"):
            await program.crash()
            await asyncio.sleep(10)


async def test_silent_program_loses_its_lease(platform: MemoryPlatform) -> None:
    program = platform.another(lease=5)
    await program.open()
    eve = await program.start("eve")
    program.driver._connect = refuse
    program.cut()
    with pytest.raises(EndedError):
        await eve.receive(timeout=30)
    bob = await platform.start("bob")
    assert await bob.ams.search("eve") == []


async def refuse(*_: Any) -> Any:
    """Refuses a connection."""
    raise OSError("the network is down")


# ---- Expectations


async def test_expectation_shows_conversation(platform: MemoryPlatform) -> None:
    await platform.start("ada", Greeter())
    bob = await platform.start("bob")
    await bob.ask("ada", "world", ontology="manners")
    said = platform.assert_says("ada", "inform", lambda text: text.startswith("hello"), to="bob", ontology="manners")
    assert said.content == "hello, world"
    platform.assert_says(bob, times=1)
    platform.assert_silent("ada", "refuse")
    with pytest.raises(AssertionError) as failed:
        platform.assert_says("ada", "propose", {"price": 5}, to="bob")
    assert str(failed.value) == (
        "ada did not say propose {'price': 5} to bob\n"
        "The conversation, with times in seconds:\n"
        "      0.000  bob -> ada: request world\n"
        "      0.000  ada -> bob: inform hello, world"
    )
    with pytest.raises(AssertionError, match=r"(?s)ada said once, but should not have said inform.*> +0\.000  ada"):
        platform.assert_silent("ada", "inform")
    with pytest.raises(AssertionError, match="said once, not twice, inform"):
        platform.assert_says("ada", "inform", times=2)
    with pytest.raises(WhimbrelError, match="no parameter 'colour'"):
        platform.assert_says("ada", colour="red")


# ---- The plugin


@pytest.fixture
async def ada(platform: MemoryPlatform) -> AsyncIterator[Greeter]:
    """A greeter, by an asynchronous fixture."""
    greeter = await platform.start("ada", Greeter())
    yield greeter
    await greeter.stop()


async def test_asynchronous_fixture_shares_platform(ada: Greeter, agent: Callable[..., Any], assert_says: Any) -> None:
    bob = await agent("bob")
    await bob.ask(ada, "you")
    assert_says(ada, "inform", "hello, you")
    assert_says(ada, "refuse", times=0)


class TestClass:
    """Methods may be coroutine functions, too."""

    async def test_method_runs_in_virtual_time(self, platform: Platform) -> None:
        await asyncio.sleep(30)
        assert platform.loop.time() == 30.0
        assert isinstance(platform.loop, VirtualLoop)


PLUGIN_TESTS = """
    import asyncio
    import pytest

    async def test_platform(platform):
        await platform.start("bob")
        await asyncio.sleep(100)
        assert platform.time == 100

    async def test_failure(platform, assert_says):
        bob = await platform.start("bob")
        await bob.send("bob", "hello")
        assert_says("bob", "inform", "goodbye")
"""


@pytest.mark.parametrize("options", [(), ("-p", "fake_asyncio")])
def test_plugin_runs_beside_another_loop(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    # As pytest-asyncio in its automatic mode: it takes all coroutine functions.
    pytester.makepyfile(
        fake_asyncio="""
            import asyncio, inspect, pytest

            class Taken(pytest.Function):
                def runtest(self):
                    asyncio.run(self.obj())

            @pytest.hookimpl(hookwrapper=True)
            def pytest_pycollect_makeitem():
                outcome = yield
                found = outcome.get_result()
                for item in found if isinstance(found, list) else []:
                    if inspect.iscoroutinefunction(item.obj):
                        item.__class__ = Taken
        """
    )
    pytester.makepyfile(PLUGIN_TESTS)
    pytester.syspathinsert()
    result = pytester.runpytest_inprocess("-p", "whimbrel.testing.plugin", *options)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*bob did not say inform goodbye*", "*0.000  bob -> bob: inform hello*"])


def test_template_finds_recorded_messages() -> None:
    async def society() -> None:
        async with MemoryPlatform() as platform:
            await platform.start("ada", Greeter())
            bob = await platform.start("bob")
            await bob.ask("ada", 1)
            informs = [one for one in platform.recording if Template("inform")(one.message)]
            assert [str(one.message.sender) for one in informs] == ["ada"]

    run(society())
