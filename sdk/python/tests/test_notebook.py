"""Notebooks: cells that await, pictures and tables, progress, interrupts, and the example."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import pathlib
import re
import signal
import sys
import threading
import types
import xml.dom.minidom
from collections.abc import Callable
from typing import Any

import pytest
from notebooks import run_cells, texts
from society import Society, asynchronous, needs_node
from vectors import REPOSITORY

from whimbrel import Agent, Aid, DeadlineError, Message, Platform, Service, WhimbrelError, on
from whimbrel.agents.ams import AgentDescription
from whimbrel.agents.df import Entry
from whimbrel.progress import Progress, gather
from whimbrel.recording import Recording
from whimbrel.testing import MemoryPlatform, run

NOTEBOOK = REPOSITORY / "examples/notebook/market.ipynb"


class Greeter(Agent):
    @on.request
    def greet(self, message: Message) -> str:
        return f"hello, {message.content}"


# ---- The example


@needs_node
@asynchronous
async def test_notebook_shows_what_it_says() -> None:
    pytest.importorskip("IPython")
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    saved = [normalized(texts(cell["outputs"])) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [normalized(texts(outputs)) for outputs in await run_cells(notebook)] == saved
    printed = [text.strip() for shown in saved for text in shown]
    assert "\n".join(printed) + "\n" == NOTEBOOK.with_name("expected.txt").read_text(encoding="utf-8")


def normalized(shown: list[str]) -> list[str]:
    """Returns outputs without identifiers of conversations."""
    return [re.sub(r"buyer-[0-9a-z]+-\d+", "buyer-ID", text) for text in shown]


def test_notebook_has_no_place_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|work)\b|127\.0\.0\.1|localhost", text)
    assert len(text) < 32 * 1024


# ---- Pictures


def recorded(*messages: Message) -> Recording:
    recording = Recording(limit=None)
    for number, message in enumerate(messages):
        recording.add(number / 8, message)
    return recording


def test_diagram_has_lifelines_and_arrows() -> None:
    diagram = recorded(
        Message("cfp", ["ada", "bob"], {"size": 5}, sender="eve"),
        Message("refuse", "eve", "x" * 1000, sender="ada"),
        Message("inform", "eve", "<script>&", sender="eve"),
    ).diagram()
    svg = xml.dom.minidom.parseString(diagram._repr_svg_())
    shown = [one.firstChild.data for one in svg.getElementsByTagName("text")]  # type: ignore[union-attr]
    assert [text for text in shown if text in ("eve", "ada", "bob")] == ["eve", "ada", "bob"]
    assert "cfp {'size': 5}" in shown
    assert "inform <script>&" in shown
    assert all(len(text) <= 41 for text in shown)
    arrows = [one for one in svg.getElementsByTagName("path") if one.getAttribute("marker-end")]
    assert [one.getAttribute("class") for one in arrows] == [
        "w-arrow w-ask",
        "w-arrow w-ask",
        "w-arrow w-no",
        "w-arrow w-tell",
    ]
    assert "prefers-color-scheme:dark" in str(diagram)
    assert repr(diagram) == "<Diagram of 3 messages between 3 agents>"


def test_diagram_is_bounded_and_may_be_empty(tmp_path: pathlib.Path) -> None:
    assert "no messages" in str(recorded().diagram())
    many = recorded(*(Message("inform", "ada", number, sender="bob") for number in range(300))).diagram()
    assert "100 earlier messages" in str(many)
    many.save(tmp_path / "many.svg")
    assert (tmp_path / "many.svg").read_text(encoding="utf-8") == str(many)


async def test_namesake_on_other_platform_is_recorded(platform: MemoryPlatform) -> None:
    recording = platform.record()
    await platform.start("ada", Greeter())
    platform.memory_node.route(Message("request", "ada", "hello", sender="ada@elsewhere"))
    await platform.settle()
    assert [str(one.message.sender) for one in recording][:1] == ["ada@elsewhere"]


async def test_diagram_leaves_directories_out(platform: MemoryPlatform) -> None:
    await platform.start("ada", Greeter())
    bob, eve = await platform.start("bob"), await platform.start("eve")
    await bob.df.register("x")
    await bob.ask("ada")
    await eve.ask("ada")
    assert repr(platform.diagram()) == "<Diagram of 4 messages between 3 agents>"
    assert repr(platform.diagram("eve")) == "<Diagram of 2 messages between 2 agents>"
    assert "df" in str(platform.diagram(["bob"], directories=True))


@needs_node
@asynchronous
async def test_platform_records_when_asked(society: Society) -> None:
    async with society.platform() as platform:
        bob = await platform.start("bob")
        with pytest.raises(WhimbrelError, match=r"call `platform\.record\(\)` first"):
            platform.diagram()
        recording = platform.record(limit=3)
        await platform.start("ada", Greeter())
        await bob.ask("ada", "you")
        await bob.ams.search()
        assert len(recording) == 3
        assert [one.message.performative for one in recording] == ["request", "agree", "inform"]


# ---- Tables


async def test_tables_escape_their_texts(platform: MemoryPlatform) -> None:
    class Danger(Greeter):
        def __init__(self) -> None:
            self.note = "<b>&"

    ada = await platform.start("ada<i>", Danger())
    shown: list[Any] = [
        ada,
        Danger(),
        ada.aid,
        Message("inform", "bob", "<b>&", sender="ada<i>"),
        Entry(Aid.of("ada<i>"), (Service("<b>&", properties={"<b>": "&"}),)),
        AgentDescription(Aid.of("ada<i>"), "<b>&", "active"),
        platform,
    ]
    for one in shown:
        html = one._repr_html_()
        assert html.startswith("<table>")
        assert not re.search(r"<[bi]>|&(?!amp;|lt;|gt;|quot;|#x27;)", html), html
    assert repr(ada) == "<Danger ada<i>, alive>"


# ---- Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_writes_one_line_in_a_terminal() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for file in (terminal, pipe):
        with Progress(4, "asking", file=file) as progress:
            progress.step(3)
            assert progress._repr_html_() == '<progress max="4" value="3"></progress> asking 3 of 4'
            progress.step()
    assert "\rasking [##############################] 4 of 4" in terminal.getvalue()
    assert terminal.getvalue().count("\n") == 1
    assert pipe.getvalue() == ""


async def test_gather_keeps_order_and_cancels(platform: MemoryPlatform) -> None:
    await platform.start_all({"ada": Greeter(), "eve": Greeter()}, progress=True)
    await platform.start("mute")
    bob = await platform.start("bob")
    answers = await gather((bob.ask(name, name) for name in ("ada", "eve")), "asking")
    assert [answer.content for answer in answers] == ["hello, ada", "hello, eve"]
    with pytest.raises(DeadlineError):
        await gather((bob.ask("mute", timeout=1), bob.ask("mute", timeout=100)))
    assert platform.time == 1.0


# ---- Interrupts


async def test_cancelled_start_leaves_name_free(platform: MemoryPlatform) -> None:
    starting = asyncio.ensure_future(platform.start("bob"))
    await asyncio.sleep(0)
    starting.cancel()
    await platform.settle()
    assert platform.agents == []
    assert (await platform.start("bob")).is_alive


@needs_node
def test_interrupted_cell_leaves_platform_usable() -> None:
    class Busy(Agent):
        @on.request
        async def never(self, message: Message) -> None:
            # As Ctrl-C does, while the main thread waits for the answer.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            await asyncio.sleep(3600)

    platform = Platform().blocking()
    try:
        platform.start("ada", Greeter())
        platform.start("busy", Busy())
        with pytest.raises(KeyboardInterrupt):
            platform.ask("busy")
        assert platform.ask("ada", "again").content == "hello, again"
    finally:
        platform.close()
    platform.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "whimbrel"]
    with pytest.raises(WhimbrelError, match="the platform is closed"):
        platform.ask("ada")


def test_failed_block_closes_platform() -> None:
    with pytest.raises(ZeroDivisionError), MemoryPlatform() as platform:  # noqa: PT012
        platform.start("ada", Greeter())
        assert platform.ask("ada", "you").content == "hello, you"
        raise ZeroDivisionError
    assert platform.platform.over is not None


def test_blocking_platform_takes_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[asyncio.AbstractEventLoop] = []

    def new_event_loop() -> asyncio.AbstractEventLoop:
        made.append(asyncio.new_event_loop())
        return made[-1]

    monkeypatch.setitem(sys.modules, "uvloop", types.SimpleNamespace(new_event_loop=new_event_loop))
    with MemoryPlatform() as platform:
        assert platform.start("ada", Greeter()).loop is made[0]


@pytest.mark.parametrize("make", [MemoryPlatform, pytest.param(Platform, marks=needs_node)])
def test_debug_mode_is_silent(make: Callable[[], Any], caplog: pytest.LogCaptureFixture) -> None:
    async def society() -> None:
        # A slow machine is no fault.
        asyncio.get_running_loop().slow_callback_duration = 60
        async with make() as platform:
            await platform.start("ada", Greeter())
            bob = await platform.start("bob")
            await bob.df.register("x")
            await bob.ask("ada", "you")
            bob.every(0.001, lambda: None)
            await bob.stop()

    asyncio.run(society(), debug=True)
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


def test_virtual_loop_runs_in_debug_mode() -> None:
    async def society() -> float:
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        async with MemoryPlatform() as platform:
            await platform.advance(5)
            return loop.time()

    assert run(society()) == 5.0
