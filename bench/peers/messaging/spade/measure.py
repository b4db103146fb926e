#!/usr/bin/env python3
"""Measures a society in a ring over SPADE and over Whimbrel's SPADE layer, which runs the same program (society.py).

    measure.py                             both, 100 agents, in one process and in two
    measure.py --over whimbrel --agents 100000 --messages 3000000 --processes 1
    measure.py --over spade --processes 2  with Prosody between the processes, as bench/peers/run.py has it

In one process, SPADE hands messages over within it; only logins go to the server. Whimbrel's go through its node.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[3]
sys.path[:0] = [str(HERE.parents[1]), str(REPOSITORY / "sdk" / "python" / "src")]

from harness import servers, toolchains  # noqa: E402

SIZE = 64
START_S, RUN_S = 600, 1800


class Failed(Exception):
    """A run that did not end as it should."""


def over_spade(options):
    """Yields what SPADE's processes are started with, and its version, while Prosody runs."""
    toolchains.prepare("spade", lambda text: print(text, file=sys.stderr))
    server = servers.running("prosody")
    python = toolchains.CACHE / "spade" / "bin" / "python"
    asked = subprocess.run([python, "-c", "import spade; print(spade.__version__)"], capture_output=True, text=True)
    with server:
        yield [str(python)], {}, server.ports[1], f"SPADE {asked.stdout.strip()}"


def over_whimbrel(options):
    """Yields the same for Whimbrel, while a node of its own runs."""
    from whimbrel.node import Node

    os.environ["WHIMBREL"] = str(options.whimbrel)
    version = subprocess.run([options.whimbrel, "--version"], capture_output=True, text=True).stdout.strip()
    node = Node()
    node.start()
    environment = {"WHIMBREL_URL": node.address, "WHIMBREL_TOKEN": node.token,
                   "PYTHONPATH": str(REPOSITORY / "sdk" / "python" / "src")}
    try:
        yield [options.python], environment, 0, version
    finally:
        node.stop()


def measure(over, options, processes):
    """Runs one society. Returns its figures."""
    made = {"spade": over_spade, "whimbrel": over_whimbrel}[over](options)
    command, environment, port, version = next(made)
    started = []
    try:
        for share in range(processes):
            arguments = [over, share, processes, options.agents, options.messages, SIZE, port]
            started.append(subprocess.Popen(
                [*command, str(HERE / "society.py"), *map(str, arguments)], text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, env=os.environ | environment))
        starts = [float(line(one, "ready", START_S).split()[1]) for one in started]
        begun = time.monotonic()
        for one in started:
            one.stdin.write("go\n")
            one.stdin.flush()
        ends = [json.loads(line(one, "{", RUN_S)) for one in started]
        seconds = time.monotonic() - begun
    finally:
        for one in started:
            one.stdin.close()
        for one in started:
            one.wait()
        made.close()
    return {"over": over, "version": version, "processes": processes, "agents": options.agents,
            "messages": sum(end["deliveries"] for end in ends), "start_s": max(starts), "seconds": round(seconds, 2),
            "messages_per_s": round(sum(end["deliveries"] for end in ends) / seconds),
            "cpu_s": round(sum(end["cpu_s"] for end in ends), 2), "memory_mb": sum(end["memory_mb"] for end in ends)}


def line(process, begins, limit_s):
    """Returns the next line of a process that begins so."""
    late = subprocess.Popen(["sh", "-c", f"sleep {limit_s}; kill {process.pid}"], start_new_session=True)
    try:
        for text in process.stdout:
            if text.startswith(begins):
                return text
        raise Failed(f"a process ended without {begins!r}, or it took {limit_s} s")
    finally:
        os.killpg(late.pid, 15)
        late.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--over", default="spade,whimbrel", help="default: %(default)s")
    parser.add_argument("--processes", default="1,2", help="default: %(default)s")
    parser.add_argument("--agents", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--messages", type=int, default=20_000, help="of all agents together; default: %(default)s")
    parser.add_argument("--whimbrel", type=Path, default=REPOSITORY / "target/release/whimbrel", metavar="PATH")
    parser.add_argument("--python", default=sys.executable, help="the Python of Whimbrel's layer; 3.10 or later")
    options = parser.parse_args()
    try:
        for processes in map(int, options.processes.split(",")):
            for over in options.over.split(","):
                print(json.dumps(measure(over, options, processes)), flush=True)
    finally:
        servers.end_all()


if __name__ == "__main__":
    main()
