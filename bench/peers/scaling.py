#!/usr/bin/env python3
"""Runs a token ring of several sizes with 1, 2, 4 ... threads, in Whimbrel and in its peers, and prints a table.

    bench/peers/scaling.py                              all programs that are there, up to the number of cores
    bench/peers/scaling.py --threads 1,4,16 --rounds 5
    bench/peers/scaling.py --whimbrel target/release/whimbrel --peers bench/peers/.cache

Every round runs each program once with each number of threads, so that whatever else the machine does hits all alike.
The figures are medians over the rounds. The peers are those that bench/peers/run.py builds on first use; a program
that is not there is left out, and the last line says so.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# Name of a row: agents in the ring, and as many tokens; messages of one run in all.
SIZES = {"500": (500, 20_000_000), "5,000": (5_000, 20_000_000), "50,000": (50_000, 20_000_000)}
# AgentSpeak agents think at each message, so they get fewer.
ASL_SHARE = 4
RUN_S_MAX = 120


def commands(whimbrel, peers):
    """Returns, by name of a program, a function from options and number of threads to command and environment."""
    erlang = ["erl", "-noshell", "+P", "4000000", "-pa", str(peers / "erlang")]
    return {
        "native": lambda options, n: ([whimbrel, "bench", *options, "--threads", str(n), "--json"], {}),
        "asl": lambda options, n: ([whimbrel, "bench", *options, "--kind", "asl", "--threads", str(n), "--json"], {}),
        "erlang": lambda options, n: ([*erlang, "+S", f"{n}:{n}", "-run", "bench", "main", "-extra", *options], {}),
        "go": lambda options, n: ([str(peers / "go" / "peer"), *options], {"GOMAXPROCS": str(n)}),
        "tokio": lambda options, n: ([str(peers / "tokio" / "release" / "tokio-peer"), *options, "--threads", str(n)], {}),
    }


def measure(command, environment):
    """Returns the version and the messages per second that a program prints as a line of JSON; nothing if it fails."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S_MAX, env=os.environ | environment)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if ran.returncode != 0 or len(lines) != 1:
        return None
    answer = json.loads(lines[0])
    return answer["version"], answer["metrics"]["messages_per_s"]


def ring(agents, messages):
    options = {"workers": agents, "tokens": agents, "passes": messages // agents}
    return ["ring", *(text for name, value in options.items() for text in (f"--{name}", str(value)))]


def main():
    cores = len(os.sched_getaffinity(0))
    doubling = [str(2**i) for i in range(cores.bit_length()) if 2**i <= cores]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default=",".join(doubling), help="numbers of threads (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--whimbrel", default=str(REPOSITORY / "target/release/whimbrel"), metavar="PATH")
    parser.add_argument("--peers", type=Path, default=REPOSITORY / "bench/peers/.cache", metavar="FOLDER")
    options = parser.parse_args()
    threads = [int(text) for text in options.threads.split(",")]
    programs = commands(options.whimbrel, options.peers)
    figures, versions, missing = {}, {}, set()
    for number in range(options.rounds):
        for size, (agents, messages) in SIZES.items():
            for count in threads:
                for name, program in programs.items():
                    if name in missing:
                        continue
                    share = messages // ASL_SHARE if name == "asl" else messages
                    measured = measure(*program(ring(agents, share), count))
                    if measured is None:
                        missing.add(name)
                        continue
                    versions[name] = measured[0]
                    figures.setdefault((size, name, count), []).append(measured[1])
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    print(f"{cores} cores; " + ", ".join(f"{name}: {version}" for name, version in versions.items()))
    print("Millions of messages a second, by agents in the ring, program and threads:\n")
    print("| agents | program | " + " | ".join(map(str, threads)) + " |\n|---|---|" + "---:|" * len(threads))
    for size in SIZES:
        for name in versions:
            cells = [statistics.median(figures.get((size, name, count), [0])) / 1e6 for count in threads]
            print(f"| {size} | {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
    if missing:
        print(f"\nleft out, because they are not there or fail: {', '.join(sorted(missing))}")


if __name__ == "__main__":
    main()
