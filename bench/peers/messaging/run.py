#!/usr/bin/env python3
"""Measures messaging between two processes with `whimbrel bench messaging` and with its peers, in turns, and prints medians
and ratios.

    bench/peers/messaging/run.py                       # needs: cargo build --release; cargo
    bench/peers/messaging/run.py --quick --rounds 1    # a look
    bench/peers/messaging/run.py --only one-to-one --bytes 64 --security authenticated --json
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from harness import toolchains  # noqa: E402

ROOT = HERE.parents[2]
PEERS = {"bare": "a bare tokio and rustls link"}
# Scenario, producers, consumers.
SCENARIOS = [("one-to-one", 10, 10), ("one-to-one", 50, 50), ("one-to-one", 100, 100), ("many-to-one", 10, 1),
             ("many-to-one", 50, 1), ("many-to-one", 100, 1), ("broadcast", 10, 10), ("broadcast", 10, 50),
             ("broadcast", 10, 100)]
QUICK = [SCENARIOS[0], SCENARIOS[2], SCENARIOS[5], SCENARIOS[6]]
PACED_MESSAGES = 500
SATURATED_DELIVERIES = 4_000_000
TIMEOUT_S = 400


def main():
    options = parse_options()
    program = str(rust())
    results = []
    for case in cases(options):
        commands = {"whimbrel": ours(options.whimbrel, case), **{peer: [program, peer, *theirs(case)] for peer in PEERS}}
        rounds = {name: [] for name in commands}
        order = list(commands)
        for round_ in range(options.rounds):
            for name in order[round_ % len(order):] + order[:round_ % len(order)]:
                rounds[name].append(run(commands[name]))
        results.append({"case": case, "rounds": rounds})
        if not options.json:
            print_case(case, {name: median(all_) for name, all_ in rounds.items()}, first=len(results) == 1)
    if options.json:
        print(json.dumps({"load": os.getloadavg()[0], "cores": os.cpu_count(), "results": results}))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--whimbrel", default=str(target / "release" / "whimbrel"), help="our binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="four scenarios instead of nine")
    parser.add_argument("--only", choices=["one-to-one", "many-to-one", "broadcast"])
    parser.add_argument("--bytes", type=int, choices=[64, 1024])
    parser.add_argument("--mode", choices=["paced", "saturated"])
    parser.add_argument("--security", choices=["open", "authenticated"])
    parser.add_argument("--json", action="store_true", help="every round, as one line")
    return parser.parse_args()


def cases(options):
    for scenario, producers, consumers in QUICK if options.quick else SCENARIOS:
        for mode in ["saturated", "paced"]:
            for bytes_ in [64, 1024]:
                for security in ["open", "authenticated"]:
                    wanted = [(options.only, scenario), (options.mode, mode), (options.bytes, bytes_),
                              (options.security, security)]
                    if all(asked in (None, this) for asked, this in wanted):
                        yield {"scenario": scenario, "producers": producers, "consumers": consumers, "bytes": bytes_,
                               "mode": mode, "security": security, "messages": messages(scenario, producers, consumers, mode)}


def messages(scenario, producers, consumers, mode):
    """How many each producer sends."""
    if mode == "paced":
        return PACED_MESSAGES
    return SATURATED_DELIVERIES // producers // (consumers if scenario == "broadcast" else 1)


def ours(program, case):
    named = [f"--{name}={value}" for name, value in case.items() if name != "consumers" or case["scenario"] == "broadcast"]
    return [program, "bench", "messaging", *named, "--json"]


def theirs(case):
    names = ["scenario", "producers", "consumers", "bytes", "mode", "security", "messages"]
    return [str(case[name]) for name in names]


def rust():
    toolchains.require("cargo", "install Rust")
    cache = toolchains.CACHE / "messaging-rust"
    toolchains.CACHE.mkdir(exist_ok=True)
    sources = [*(HERE / "rust" / "src").glob("*.rs"), *(HERE / "rust").glob("Cargo.*")]
    program = cache / "release" / "messaging-peer"
    if toolchains.is_stale(program, sources):
        toolchains.step(lambda text: print(text, file=sys.stderr), "messaging/rust", "compiling",
                        ["cargo", "build", "--release", "--locked", "--target-dir", str(cache)], cwd=HERE / "rust")
    return program


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])["metrics"]


def median(rounds):
    return {metric: statistics.median(one[metric] for one in rounds) for metric in rounds[0]}


def print_case(case, medians, first):
    if first:
        print(f"{'':58} {'k msg/s':>9} {'p50 us':>9} {'p99 us':>9} {'CPU s/M':>8}   ours / theirs: msg/s, p50, p99, CPU")
    what = f"{case['scenario']} {case['producers']}x{case['consumers']}, {case['bytes']} B, {case['mode']}, {case['security']}"
    our = medians["whimbrel"]
    for name, peer in medians.items():
        row = (f"{what + ': ' + name:58} {peer['messages_per_s'] / 1000:9.0f} {peer['p50_us']:9.0f} {peer['p99_us']:9.0f} "
               f"{peer['cpu_s_per_million']:8.2f}")
        if name != "whimbrel":
            metrics = ["messages_per_s", "p50_us", "p99_us", "cpu_s_per_million"]
            row += "   " + ", ".join(f"{our[metric] / peer[metric]:.2f}" for metric in metrics if peer[metric])
        print(row, flush=True)


if __name__ == "__main__":
    main()
