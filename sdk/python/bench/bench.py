"""Speed of the SDK beside a real node: `python bench/bench.py [ask|window|oneway|start|agents]...`

WHIMBREL names the node's program; a debug build makes all figures worse. Each of two processes has one agent.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import pathlib
import resource
import subprocess
import sys
import time
import tracemalloc
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "src"
sys.path.insert(0, str(SOURCE))

from whimbrel import Agent, Message, Platform, on, run  # noqa: E402


class Echo(Agent):
    """Answers each request."""

    @on.request
    def echo(self, message: Message) -> Any:
        return message.content

    @on.query_ref
    def used(self, message: Message) -> float:
        """Answers the processor time of this process."""
        return time.process_time()


class Sink(Agent):
    """Counts messages, and answers when all have come."""

    seen = 0
    asked: Message | None = None

    @on.inform
    def count(self, message: Message) -> None:
        self.seen += 1
        if self.asked is not None and self.seen == self.asked.content:
            self.finish()

    @on.query_ref
    def wait(self, message: Message) -> None:
        self.asked = message
        if self.seen == message.content:
            self.finish()

    def finish(self) -> None:
        """Answers, and begins anew."""
        assert self.asked is not None
        self.send(self.asked.inform(self.seen))
        self.asked, self.seen = None, 0


async def serve(address: str, token: str, encoding: Any) -> None:
    """The other process: an echo and a sink."""
    async with Platform(address, token=token, encoding=encoding) as platform:
        await platform.start_all({"echo": Echo(), "sink": Sink()})
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


@contextlib.asynccontextmanager
async def other_process(platform: Platform, encoding: str) -> Any:
    """Starts the other process at the same node."""
    node = platform.node
    assert node is not None
    command = [sys.executable, __file__, "--serve", node.address, "--encoding", encoding]
    environment = {**os.environ, "WHIMBREL_BENCH_TOKEN": node.token}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdin is not None
    assert process.stdout is not None
    await asyncio.to_thread(process.stdout.readline)
    try:
        yield
    finally:
        process.stdin.close()
        await asyncio.to_thread(process.wait)
        process.stdout.close()


async def ask_in_turn(agent: Agent, count: int) -> float:
    """Asks one at a time."""
    begun = time.perf_counter()
    for number in range(count):
        await agent.ask("echo", number)
    return count / (time.perf_counter() - begun)


async def ask_windowed(agent: Agent, count: int, window: int = 100) -> float:
    """Asks with some questions in flight."""

    async def worker() -> None:
        for number in range(count // window):
            await agent.ask("echo", number)

    begun = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(window)))
    return count / (time.perf_counter() - begun)


async def send_one_way(agent: Agent, count: int) -> float:
    """Sends messages of 64 characters, and waits until all have come."""
    content = "x" * 64
    begun = time.perf_counter()
    for _ in range(count):
        await agent.send("sink", content)
    await agent.ask("sink", count, "query-ref", timeout=120)
    return count / (time.perf_counter() - begun)


def node_time(platform: Platform) -> float:
    """Returns the processor time of the node."""
    assert platform.node is not None
    stat = pathlib.Path(f"/proc/{platform.node.pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def times(agent: Agent) -> list[float]:
    """Returns the processor times of this process, the other one, and the node."""
    other: float = (await agent.ask("echo", None, "query-ref")).content
    return [time.process_time(), other, node_time(agent.platform)]


async def traffic(parts: list[str], encoding: Any, rounds: int) -> None:
    """Runs the parts that need another process."""
    async with Platform(encoding=encoding) as platform, other_process(platform, encoding):
        agent = await platform.start("bench")
        await ask_in_turn(agent, 300)
        measured = {"ask": (4000, ask_in_turn), "window": (20_000, ask_windowed), "oneway": (50_000, send_one_way)}
        for name, (count, part) in measured.items():
            if name not in parts:
                continue
            before = await times(agent)
            rates = sorted([await part(agent, count) for _ in range(rounds)])
            used = [(late - early) / count / rounds * 1e6 for early, late in zip(before, await times(agent))]
            line = f"{name:8} {encoding:8} median {rates[len(rates) // 2]:9,.0f}/s  best {rates[-1]:9,.0f}/s"
            print(f"{line}  processor time: {used[0]:.0f} us here, {used[1]:.0f} there, {used[2]:.0f} in the node")


async def start_time() -> None:
    """Measures the import, and the start of an own node."""
    program = "import time; begun = time.perf_counter(); import whimbrel; print((time.perf_counter() - begun) * 1000)"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    times = []
    for _ in range(7):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
        )
        times.append(float(done.stdout))
    print(f"import   median {sorted(times)[3]:.0f} ms, best {min(times):.0f} ms")
    times = []
    for _ in range(7):
        begun = time.perf_counter()
        async with Platform():
            times.append((time.perf_counter() - begun) * 1000)
    print(f"Platform() ready: median {sorted(times)[3]:.0f} ms, best {min(times):.0f} ms")


async def many_agents(count: int) -> None:
    """Starts many agents in one process, and measures their memory in the client."""
    async with Platform() as platform:
        await platform.start("first", Echo())
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        await platform.start_all({f"traced{number}": Echo() for number in range(count)})
        traced = (tracemalloc.get_traced_memory()[0] - before) / count / 1024
        tracemalloc.stop()
    async with Platform() as platform:
        begun = time.perf_counter()
        await platform.start_all({f"agent{number}": Echo() for number in range(count)})
        took = time.perf_counter() - begun
        print(f"agents   {count:,}: {traced:.2f} KiB each, created in {took:.2f} s")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"         the process took {peak} MiB at most")


async def measure(parts: list[str], encoding: str, rounds: int) -> None:
    """Runs the chosen parts."""
    if {"ask", "window", "oneway"} & set(parts):
        await traffic(parts, encoding, rounds)
    if "start" in parts:
        await start_time()
    if "agents" in parts:
        await many_agents(9_999)


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="ask, window, oneway, start, agents; all by default")
    parser.add_argument("--encoding", default="json", choices=["json", "compact"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        run(serve(given.serve, os.environ["WHIMBREL_BENCH_TOKEN"], given.encoding))
    else:
        print(f"Python {sys.version.split()[0]}, node {os.environ.get('WHIMBREL', 'as found')}")
        run(measure(given.parts or ["ask", "window", "oneway", "start", "agents"], given.encoding, given.rounds))


if __name__ == "__main__":
    main()
