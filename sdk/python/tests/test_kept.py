"""Kept agents: they go on after their program, survive its end without doing anything twice, and move."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
from types import SimpleNamespace
from typing import Any

import pytest
from society import TOKEN, WHIMBREL, Society, asynchronous, needs_node, until

from whimbrel import Agent, EndedError, Keep, Message, Offer, Platform, StayedError, WhimbrelError, on
from whimbrel.acl.json import value_to_json
from whimbrel.agents.saver import Restored

pytestmark = needs_node


class Counter(Agent):
    """Counts requests, and tells a listener."""

    kept = ("count", "told")

    def __init__(self) -> None:
        self.count = 0
        self.told: list[str] = []

    @on.request
    def add(self, message: Message) -> int:
        self.count += message.content
        self.told.append(str(message.sender))
        return self.count


@asynchronous
async def test_agent_goes_on_with_its_state(society: Society) -> None:
    async with society.platform() as other:
        bob = await other.start("bob")
        async with society.platform() as platform:
            await platform.start("tally", Counter(), keep=True)
            assert (await bob.ask("tally", 3)).content == 3
        # The program is gone. Messages wait for the agent.
        asking = asyncio.ensure_future(bob.ask("tally", 4))
        await asyncio.sleep(0.05)
        async with society.platform() as platform:
            counter = await platform.start("tally", Counter(), keep=True)
            assert counter.restored is not None
            assert (await asking).content == 7
            assert (counter.count, counter.told) == (7, ["bob", "bob"])
            await counter.stop()


def test_state_of_other_code_is_refused() -> None:
    for code in ("py:Counter", "ts:Counter", "asl:00/asl"):
        counter: Any = Counter()
        state = value_to_json({"count": 3, "told": []}).encode()
        counter._entry = SimpleNamespace(saver=SimpleNamespace(restored=Restored(code, state), source=None))
        if code.startswith("asl:"):
            with pytest.raises(WhimbrelError, match="asl, which is not Python"):
                counter._bind_state()
        else:
            counter._bind_state()
            assert counter.count == 3


@asynchronous
async def test_save_by_hand(society: Society) -> None:
    class Note(Agent):
        text = ""
        written = ""

        def save_state(self) -> Any:
            self.written = self.text
            return ["note", self.text]

        def load_state(self, state: Any) -> None:
            self.text = state[1]

    async with society.platform() as platform:
        note = await platform.start("note", Note(), keep=Keep(save="no"))
        note.text = "kept"
        await note.save()
        note.text = "lost"
    async with society.platform() as platform:
        note = await platform.start("note", Note(), keep=Keep(save="checkpoint", checkpoint=0.01))
        assert note.text == "kept"
        note.text = "x" * 600_000
        with pytest.raises(WhimbrelError, match="state too long"):
            await note.save()
        note.text = "newer"
        note.after(0, lambda: None)
        await until(lambda: note.written == "newer" and platform.unacknowledged == 0)
    async with society.platform() as platform:
        note = await platform.start("note", Note(), keep=True)
        assert note.text == "newer"
        await note.stop()
        with pytest.raises(EndedError):
            await note.save()


@asynchronous
async def test_held_messages_leave_with_the_save(society: Society) -> None:
    class Sender(Agent):
        kept = ("sent",)
        sent = 0

        @on.inform
        async def pass_on(self, message: Message) -> None:
            self.sent += 1
            self.send("sink", self.sent)
            if message.content == "stop":
                await asyncio.sleep(100)

    async with society.platform() as other, society.platform() as platform:
        seen: list[Any] = []
        bob = await other.start("bob")
        await other.start("sink", lambda agent: agent.handle(None, lambda message: seen.append(message.content)))
        await platform.start("sender", Sender(), keep=True)
        for _ in range(600):
            await bob.send("sender", "go")
        await until(lambda: len(seen) == 600)
        assert seen == list(range(1, 601))
        await platform.agents[0].stop()


@asynchronous
async def test_failed_setup_keeps_saved_state(society: Society) -> None:
    async with society.platform() as platform:
        await platform.start("counter2", Counter(), keep=True)
        await platform.agents[0].ask("counter2", 5)
    async with society.platform() as platform:

        class Broken(Counter):
            def setup(self) -> None:
                raise RuntimeError("no")

        with pytest.raises(RuntimeError):
            await platform.start("counter2", Broken(), keep=True)
        counter = await platform.start("counter2", Counter(), keep=True)
        assert counter.count == 5
        await counter.stop()


@asynchronous
async def test_agent_moves_to_another_client(harbours: Society) -> None:
    async with harbours.platform() as here, harbours.platform() as there:
        arrived: list[Counter] = []

        async def take(offer: Offer) -> None:
            assert (offer.name, offer.code) == ("mover", "py:Counter")
            arrived.append(await there.start("mover", Counter(), keep=True))

        there.on_offer(take)
        await there.start("harbour")
        bob = await here.start("bob")
        mover = await here.start("mover", Counter(), keep=True)
        assert (await bob.ask("mover", 2)).content == 2
        await mover.move_to("harbour")
        assert mover.end_reason is not None
        assert mover.end_reason.startswith("it moved to")
        await until(lambda: arrived)
        assert (await bob.ask("mover", 3)).content == 5
        assert arrived[0].restored is not None
        await arrived[0].stop()


@asynchronous
async def test_refused_move_keeps_agent_here(harbours: Society) -> None:
    async with harbours.platform() as here, harbours.platform() as there:
        await there.start("island")
        bob = await here.start("bob")
        mover = await here.start("stayer", Counter(), keep=True)
        with pytest.raises(StayedError) as stayed:
            await mover.move_to("island")
        assert "its client accepts no agents" in str(stayed.value)
        assert (await bob.ask("stayer", 1)).content == 1
        with pytest.raises(StayedError, match="keep=True"):
            await bob.move_to("island")
        with pytest.raises(StayedError):
            await mover.move_to("no-such-place")
        await mover.stop()


PROGRAM = """
    import sys, whimbrel
    from whimbrel import Agent, Keep, on

    class Relay(Agent):
        kept = ("count",)
        count = 0

        @on.inform
        def pass_on(self, message):
            self.count += 1
            self.send("sink", [message.content, self.count])

    async def main():
        platform = await whimbrel.connect(sys.argv[1], token=sys.argv[2], lease=1)
        await platform.start("relay", Relay(), keep=True)
        print("ready", flush=True)
        await platform.wait_closed()

    whimbrel.run(main())
"""


def start(address: str, program: str = PROGRAM) -> subprocess.Popen[str]:
    """Starts a program with a relay. Returns when its agent is there."""
    source = pathlib.Path(__file__).parents[1] / "src"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), address, TOKEN],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source), "WHIMBREL": WHIMBREL},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    """Ends a program as a crash does."""
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@asynchronous
async def test_killed_program_does_nothing_twice(society: Society) -> None:
    async with society.platform() as platform:
        seen: list[Any] = []
        await platform.start("sink", lambda agent: agent.handle(None, lambda message: seen.append(message.content)))
        bob = await platform.start("bob")
        relay = await asyncio.to_thread(start, society.address)
        for n in range(1, 301):
            await bob.send("relay", n)
            if n in (100, 200):
                # The kill comes in the middle of the work.
                await until(lambda count=n: len(seen) > count - 60)  # type: ignore[misc]
                await asyncio.to_thread(end, relay)
                relay = await asyncio.to_thread(start, society.address)
        await until(lambda: len(seen) == 300)
        assert seen == [[n, n] for n in range(1, 301)]
        (entry,) = await bob.ams.search("relay")
        assert entry.agent == "relay"
        await asyncio.to_thread(end, relay)


@asynchronous
async def test_own_durable_node_restores_kept_agent(tmp_path: pathlib.Path) -> None:
    for total in (3, 6):
        async with Platform(options=["--store", str(tmp_path / "store")], token="a secret of its own") as platform:
            await platform.start("tally", Counter(), keep=True)
            bob = await platform.start("bob")
            assert (await bob.ask("tally", 3)).content == total
