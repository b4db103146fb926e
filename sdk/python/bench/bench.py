"""Speed of the SDK beside a real node: `python bench/bench.py [ask|window|oneway|start|agents]...`

WHIMBREL names the node's program; a debug build makes all figures worse. Each of two processes has one agent.

`--turns N` runs each of `--variants` (pure, fast, compact) N times, a process each, in turns: so all have the same
machine, whatever else runs there.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform as machine
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "src"
sys.path.insert(0, str(SOURCE))

from whimbrel import Agent, Message, Platform, on, run  # noqa: E402

#: Medians of this run, for the process that runs several in turns.
RATES: dict[str, float] = {}


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
            RATES[name] = statistics.median(rates)
            used = [(late - early) / count / rounds * 1e6 for early, late in zip(before, await times(agent))]
            line = f"{name:8} {encoding:8} median {rates[len(rates) // 2]:9,.0f}/s  best {rates[-1]:9,.0f}/s"
            print(f"{line}  processor time: {used[0]:.0f} us here, {used[1]:.0f} there, {used[2]:.0f} in the node")


async def start_time() -> None:
    """Measures the import, and the start of an own node."""
    program = "import time; begun = time.perf_counter(); import whimbrel; print((time.perf_counter() - begun) * 1000)"
    times = []
    with tempfile.TemporaryDirectory() as cache:
        # An installed package is compiled once.
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(8):
            done = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
            )
            times.append(float(done.stdout))
    del times[0]
    print(f"import   median {statistics.median(times):.0f} ms, best {min(times):.0f} ms")
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


def versions() -> str:
    """Returns what is measured."""
    program = os.environ.get("WHIMBREL", "whimbrel")
    with contextlib.suppress(OSError):
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        program = f"{done.stdout.strip()} ({program})"
    packages = []
    for name in ("whimbrel-fast", "uvloop"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages.append(f"{name} {importlib.metadata.version(name)}")
    if os.environ.get("WHIMBREL_PURE"):
        packages = [one for one in packages if not one.startswith("whimbrel-fast")]
    load = " ".join(f"{one:.1f}" for one in os.getloadavg()) if hasattr(os, "getloadavg") else "?"
    parts = [f"Python {sys.version.split()[0]}", *packages, program, f"{os.cpu_count()} x {machine.machine()}"]
    return ", ".join(parts) + f", load {load}"


#: Variants of the SDK: their environment, and encoding.
VARIANTS = {
    "pure": ({"WHIMBREL_PURE": "1"}, "json"),
    "fast": ({"WHIMBREL_PURE": ""}, "json"),
    "compact": ({"WHIMBREL_PURE": "1"}, "compact"),
}


def in_turns(parts: list[str], variants: list[str], turns: int) -> None:
    """Runs variants in turns, each in a process of its own, and prints medians."""
    unknown = [variant for variant in variants if variant not in VARIANTS]
    if unknown:
        sys.exit(f"no variant {unknown[0]}: there are {', '.join(VARIANTS)}")
    if "fast" in variants and importlib.util.find_spec("whimbrel_fast") is None:
        sys.exit(
            "whimbrel_fast is not installed, so that fast would be pure: make python-fast, or give --variants pure"
        )
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(turns):
        for variant in variants:
            environment, encoding = VARIANTS[variant]
            command = [sys.executable, __file__, *parts, "--encoding", encoding, "--rounds", "3", "--json"]
            done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            for part, rate in json.loads(done.stdout.splitlines()[-1]).items():
                found.setdefault((part, variant), []).append(rate)
    for (part, variant), rates in sorted(found.items()):
        line = f"{part:8} {variant:8} median of {turns}: {statistics.median(rates):9,.0f}/s"
        print(f"{line}  from {min(rates):9,.0f} to {max(rates):9,.0f}")


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="ask, window, oneway, start, agents; all by default")
    parser.add_argument("--encoding", default="json", choices=["json", "compact"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=0, help="runs of each variant, in turns")
    parser.add_argument("--variants", default="pure,fast", help="pure, fast (`make python-fast`), compact, with commas")
    parser.add_argument("--json", action="store_true", help="end with the medians as a line of JSON")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        run(serve(given.serve, os.environ["WHIMBREL_BENCH_TOKEN"], given.encoding))
        return
    print(versions())
    if given.turns:
        in_turns(given.parts or ["ask", "window", "oneway"], given.variants.split(","), given.turns)
        return
    run(measure(given.parts or ["ask", "window", "oneway", "start", "agents"], given.encoding, given.rounds))
    if given.json:
        print(json.dumps(RATES))


if __name__ == "__main__":
    main()
