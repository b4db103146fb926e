"""Fault run: two kept agents talk while the network is cut and processes are killed. No number may be lost, doubled or
out of order.

`python faults.py` does 17 rounds of three faults: the network of one program is cut for 10 s, in three ways by turns;
then the node is killed (kill -9), then a program. `--rounds 2 --scale 0.1` is the short form.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pathlib
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "src"), str(HERE.parent)]

from society import TOKEN, WHIMBREL  # noqa: E402

from whimbrel import Agent, Platform, WhimbrelError  # noqa: E402

ROUNDS = 17
OUTAGE_S = 10.0
LEASE_S = 20.0
#: Seconds between two numbers.
INTERVAL_S = 0.01
#: Seconds for all to be well again.
PATIENCE_S = 120.0
WAYS = ("refused", "stalled", "one-way")


class Report(NamedTuple):
    """Result of a run."""

    rounds: int
    outages: dict[str, int]
    node_kills: int
    program_kills: int
    messages: int
    faults: list[Any]
    seconds: float

    def __str__(self) -> str:
        ways = ", ".join(f"{count} {way}" for way, count in self.outages.items())
        verdict = "nothing lost, doubled or reordered" if not self.faults else f"faults: {self.faults}"
        return (
            f"{self.rounds} rounds in {self.seconds:.0f} s: {sum(self.outages.values())} network cuts ({ways}), "
            f"{self.node_kills} kills of the node, {self.program_kills} kills of a program; "
            f"{self.messages} messages, {verdict}"
        )


class Network:
    """A TCP proxy that fails in three ways: it refuses and resets; it holds all bytes back; it drops those to the
    client, whose connection then ends.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._way = ""
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Listens at a port of its own."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Ends all connections."""
        assert self._server is not None
        self._server.close()
        self._reset()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def fail(self, way: str, seconds: float) -> None:
        """Fails for this long."""
        self._way = way
        if way == "refused":
            self._reset()
        if way == "stalled":
            self._flows.clear()
        await asyncio.sleep(seconds)
        self._way = ""
        self._flows.set()
        if way == "one-way":
            self._reset()

    def _reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            if self._way == "refused":
                raise OSError("the network is down")
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, to_writer}
        await asyncio.gather(
            self._copy(reader, to_writer, False), self._copy(to_reader, writer, True), return_exceptions=True
        )

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_to_client: bool) -> None:
        try:
            while data := await reader.read(1 << 16):
                await self._flows.wait()
                if not (is_to_client and self._way == "one-way"):
                    writer.write(data)
                    await writer.drain()
        finally:
            writer.close()


class Run:
    """Processes of a run: the node, the two programs, and the network between."""

    def __init__(self, folder: pathlib.Path, scale: float) -> None:
        self._folder = folder
        self._scale = scale
        self._port = _free_port()
        self._network = Network(self._port)
        self._node: asyncio.subprocess.Process | None = None
        self._programs: dict[str, asyncio.subprocess.Process] = {}

    async def start(self) -> None:
        """Starts all. Returns when both agents are there."""
        (self._folder / "home.asl").write_text("// The agents are in other programs.\n")
        await self._start_node()
        await self._network.start()
        for name in ("sink", "source"):
            await self._start_program(name)

    async def stop(self) -> None:
        """Kills all."""
        for process in (self._node, *self._programs.values()):
            if process is not None and process.returncode is None:
                process.kill()
                await process.wait()
        await self._network.stop()

    async def _start_node(self) -> None:
        command = [WHIMBREL, "run", str(self._folder / "home.asl"), "--agent-port", str(self._port), "--http", "off"]
        self._node = await asyncio.create_subprocess_exec(
            *command,
            *("--store", str(self._folder / "store"), "--durable"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "WHIMBREL_AGENT_TOKEN": TOKEN},
        )
        said = b""
        assert self._node.stderr is not None
        while b"connect at" not in said:
            line = await self._node.stderr.readline()
            if not line:
                raise WhimbrelError(f"the node ended: {said.decode()}")
            said += line

    async def _start_program(self, name: str) -> None:
        arguments = [name, f"tcp://127.0.0.1:{self._network.port}", TOKEN, str(self.lease), str(INTERVAL_S)]
        process = self._programs[name] = await asyncio.create_subprocess_exec(
            sys.executable,
            str(HERE / "program.py"),
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")},
        )
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
        if line != b"ready\n":
            raise WhimbrelError(f"{name} does not start")

    @property
    def lease(self) -> float:
        """Lease of the programs, in seconds."""
        return max(1.0, LEASE_S * self._scale)

    # ---- Faults

    async def cut(self, way: str) -> None:
        """Cuts the network for a while."""
        await self._network.fail(way, OUTAGE_S * self._scale)

    async def kill_node(self) -> None:
        """Kills the node, and starts it again."""
        assert self._node is not None
        self._node.kill()
        await self._node.wait()
        await self._start_node()

    async def kill_program(self, name: str) -> None:
        """Kills a program, and starts it again."""
        process = self._programs[name]
        process.kill()
        await process.wait()
        await self._start_program(name)

    # ---- Figures

    async def ask(self, name: str, content: str) -> Any:
        """Asks an agent, as often as it takes, by a connection that does not fail."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                async with Platform(f"tcp://127.0.0.1:{self._port}", token=TOKEN) as platform:
                    judge: Agent = await platform.start("judge")
                    return (await judge.ask(name, content, timeout=5)).content
            except WhimbrelError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.1)

    async def progress(self) -> None:
        """Waits until a number arrives that was sent from now on."""
        sent = await self.ask("source", "how many?")
        await self.reaches(sent + 1)

    async def reaches(self, number: int) -> Any:
        """Waits until the sink has this number. Returns its report."""
        until = time.monotonic() + PATIENCE_S
        while True:
            report = await self.ask("sink", "report")
            if report["last"] >= number or time.monotonic() > until:
                return report
            await asyncio.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


async def run_faults(rounds: int, scale: float, tell: Callable[[str], None] = lambda _: None) -> Report:
    """Does the run. `scale` shortens the outages and the lease."""
    begun = time.monotonic()
    outages = dict.fromkeys(WAYS, 0)
    with tempfile.TemporaryDirectory(prefix="whimbrel-faults-") as folder:
        run = Run(pathlib.Path(folder), scale)
        try:
            await run.start()
            for number in range(rounds):
                way, victim = WAYS[number % len(WAYS)], ("sink", "source")[number % 2]
                await run.cut(way)
                outages[way] += 1
                await run.progress()
                await run.kill_node()
                await run.progress()
                await run.kill_program(victim)
                await run.progress()
                tell(f"round {number + 1}: network {way}, node killed, {victim} killed")
            last = await run.ask("source", "stop")
            report = await run.reaches(last)
        finally:
            await run.stop()
    faults = list(report["faults"])
    if report["last"] != last:
        faults.append([report["last"], f"lost up to {last}"])
    return Report(rounds, outages, rounds, rounds, last, faults, time.monotonic() - begun)


def main() -> None:
    """Runs from the command line. The exit status is 1 if a number was lost, doubled or out of order."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the outages and the lease")
    options = parser.parse_args()
    report = asyncio.run(run_faults(options.rounds, options.scale, lambda line: print(line, flush=True)))
    print(report)
    sys.exit(1 if report.faults else 0)


if __name__ == "__main__":
    main()
