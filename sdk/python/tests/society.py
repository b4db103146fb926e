"""Real nodes in processes of their own, and what tests with them share."""

from __future__ import annotations

import asyncio
import functools
import os
import pathlib
import re
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from vectors import REPOSITORY

from whimbrel import Platform

T = TypeVar("T")

#: Path of the program: WHIMBREL, or the debug build.
WHIMBREL = os.environ.get("WHIMBREL", str(REPOSITORY / "target/debug/whimbrel"))
TOKEN = "a token for tests"

#: Seconds for a test with a node.
TEST_S = 20

needs_node = pytest.mark.skipif(
    not pathlib.Path(WHIMBREL).exists() and not os.environ.get("WHIMBREL_REQUIRED"),
    reason=f"there is no {WHIMBREL}: set WHIMBREL",
)


def asynchronous(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a coroutine function as a test."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        async def limited() -> None:
            await asyncio.wait_for(test(*arguments, **named), TEST_S)

        asyncio.run(limited())

    return run


async def until(condition: Callable[[], Any]) -> None:
    """Waits until a condition holds."""
    while not condition():
        await asyncio.sleep(0.005)


class Society:
    """A running society."""

    def __init__(self, programs: dict[str, str], *options: str, port: int = 0) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="whimbrel-tests-")
        folder = pathlib.Path(self._folder.name)
        for name, program in programs.items():
            (folder / f"{name}.asl").write_text(program)
        agents = " ".join(f"{name};" for name in programs)
        (folder / "society.mas2j").write_text(f"MAS home {{ agents: {agents} }}")
        command = [WHIMBREL, "run", str(folder), "--agent-port", str(port), "--http", "0", "--end-with-input", *options]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "WHIMBREL_AGENT_TOKEN": TOKEN},
        )
        self.output = ""
        self._is_ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._is_ready.wait(TEST_S), self.output
        assert self.process.poll() is None, self.output
        self.address = "tcp://" + self._find(r"connect at (\S+)")
        self.gateway = "ws://" + self._find(r"console is at https?://([^/]+)")

    def _find(self, pattern: str) -> str:
        found = re.search(pattern, self.output)
        assert found, self.output
        return found[1]

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output += line
            if "connect at" in self.output and "console is at" in self.output:
                self._is_ready.set()
        self._is_ready.set()

    @asynccontextmanager
    async def platform(self, address: str = "", **options: Any) -> AsyncIterator[Platform]:
        """Joins the society."""
        async with Platform(address or self.address, token=TOKEN, **options) as platform:
            yield platform

    def stop(self) -> None:
        """Ends the process at once."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self._folder.cleanup()


class Proxy:
    """A TCP proxy whose connections break on demand."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition("//")[2].rpartition(":")
        self._target = (host, int(port))
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.address = ""
        #: True if connections are refused.
        self.is_down = False
        #: True if nothing is passed on.
        self.is_mute = False
        self.connections = 0

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"tcp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: Any) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        if self.is_down:
            writer.transport.abort()
            return
        to_reader, to_writer = await asyncio.open_connection(*self._target)
        self._writers |= {writer, to_writer}
        await asyncio.gather(self._copy(reader, to_writer), self._copy(to_reader, writer), return_exceptions=True)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            if not self.is_mute:
                writer.write(data)
                await writer.drain()
        writer.close()

    def cut(self) -> None:
        """Breaks all connections."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()
