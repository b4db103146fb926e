#!/usr/bin/env python3
"""SendMessage to an agent over A2A: Whimbrel's AgentSpeak agent and the Python SDK's server, in turns."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PYTHON = ROOT / ".cache/a2a-python/bin/python"
PORTS = {"whimbrel": 8591, "a2a-python": 8592}


def start(name, whimbrel):
    port = str(PORTS[name])
    if name == "whimbrel":
        command = [whimbrel, "run", ROOT / "crates/cli/tests/a2a/shop.asl", "--a2a", "shop", "--http", port, "--quiet"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL), f"http://127.0.0.1:{port}/a2a/shop"
    return subprocess.Popen([PYTHON, HERE / "sdk_server.py", port]), f"http://127.0.0.1:{port}/rpc"


def wait(url, server):
    for _ in range(300):
        try:
            urllib.request.urlopen(url.rsplit("/", 1)[0], timeout=1)
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            if server.poll() is not None:
                sys.exit(f"{url}: the server ended")
            time.sleep(0.1)
    sys.exit(f"{url}: the server does not answer")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whimbrel", default=ROOT / "target/release/whimbrel")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    if not PYTHON.exists():
        sys.exit(f"{PYTHON} is missing: make a2a-sdks installs it")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        load = f"{folder}/load"
        subprocess.run(["go", "build", "-o", load, HERE / "load.go"], check=True)
        for _ in range(options.rounds):
            for name in PORTS:
                server, url = start(name, options.whimbrel)
                try:
                    wait(url, server)
                    for connections in (1, 100):
                        command = [load, url, str(connections), str(options.seconds)]
                        line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                        results.setdefault((name, connections), []).append(json.loads(line))
                finally:
                    server.kill()
                    server.wait()
    print(f"{'server':12} {'connections':>11} {'per s':>8} {'p50 us':>8} {'p99 us':>8}   medians of {options.rounds} rounds")
    for (name, connections), rounds in sorted(results.items()):
        median = {key: statistics.median(one[key] for one in rounds) for key in ("per_s", "p50_us", "p99_us")}
        print(f"{name:12} {connections:11} {median['per_s']:8.0f} {median['p50_us']:8.0f} {median['p99_us']:8.0f}")


main()
