"""Kills both versions of the purchase at the same points, starts them again, and counts what each did.

`make langgraph` installs LangGraph and runs this. Without LangGraph, Whimbrel's version is measured alone.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from replay import Replay
from shop import Shop

HERE = Path(__file__).parent
#: Python in which `make langgraph` installs LangGraph.
PYTHON = str(HERE.parents[1] / ".cache/langgraph/bin/python")
#: Places of the kills: a call of a model, a call of a tool with a key, and one of a tool without.
POINTS = ("reviewer 3", "place_order", "announce")
#: Seconds until a program has ended, or has come to the place of its kill.
PATIENCE_S = 120


class Trial:
    """One version between a shop and a model that hold their answers at some points."""

    def __init__(self, command: list[str], state: Path) -> None:
        self._command = command
        self._state = state
        self._awaited: str | None = None
        self._came = threading.Event()
        self._release = threading.Event()
        self.shop = Shop(state / "ledger.jsonl")
        self.model = Replay()
        self.shop.before_answer = self._hold
        self.model.before_answer = lambda question, _: self._hold(question)

    def _hold(self, point: str) -> None:
        if point == self._awaited:
            self._awaited = None
            self._came.set()
            self._release.wait()

    def run(self, word: str, kill_at: str | None = None) -> str:
        """Runs the program until it ends by itself, or is killed in the middle of a call. Returns its output."""
        self._came.clear()
        self._release.clear()
        self._awaited = kill_at
        options = ["--state", str(self._state / "state"), "--base-url", self.model.url, "--tools", self.shop.url]
        process = subprocess.Popen([*self._command, *options, word], stdout=subprocess.PIPE, text=True)
        if kill_at is not None:
            if not self._came.wait(PATIENCE_S):
                process.kill()
                raise TimeoutError(f"{self._command}: did not come to {kill_at}: {process.communicate()[0]}")
            kill(process.pid)
        output = process.communicate(timeout=PATIENCE_S)[0]
        self._release.set()
        if kill_at is None and process.returncode:
            raise RuntimeError(f"{self._command} {word}: exit status {process.returncode}: {output}")
        return output

    def close(self) -> None:
        """Ends the servers."""
        self.shop.close()
        self.model.close()


def kill(process: int) -> None:
    """Ends a process and its node by SIGKILL."""
    for one in [process, *children(process)]:
        os.kill(one, signal.SIGKILL)


def children(process: int) -> list[int]:
    """Returns the processes that a process started."""
    found = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True, check=False)
    return [int(one) for one in found.stdout.split()]


def measure(command: list[str]) -> dict[str, Any]:
    """Drives one version through all kills. Returns what was asked for, and what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(command, Path(folder))
        try:
            trial.run("buy", kill_at=POINTS[0])
            trial.run("buy")
            trial.run("approve", kill_at=POINTS[1])
            trial.run("buy", kill_at=POINTS[2])
            last = trial.run("buy")
        finally:
            trial.close()
        counts: dict[str, Any] = {
            "model calls": len(trial.model.requests),
            "model calls repeated": len(trial.model.requests) - len(set(trial.model.requests)),
        }
        for tool in POINTS[1:]:
            counts[f"{tool}: requests"] = trial.shop.requests[tool]
            counts[f"{tool}: effects"] = len(trial.shop.effects(tool))
        counts["says at last"] = last.strip().splitlines()[-1]
        return counts


def versions(python: str) -> dict[str, tuple[list[str], str]]:
    """Returns the command and the version of each contender that is here."""
    program = os.environ.get("WHIMBREL", "whimbrel")
    ours = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    found = {"whimbrel": ([sys.executable, str(HERE / "assistants.py")], ours)}
    theirs = [python, str(HERE / "langgraph/purchase.py")]
    if Path(python).exists():
        shown = subprocess.run([*theirs, "version"], capture_output=True, text=True, check=True).stdout.strip()
        found["langgraph"] = (theirs, shown)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=PYTHON, help="the Python that has LangGraph [default: %(default)s]")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    given = parser.parse_args()
    found = versions(given.python)
    if "langgraph" not in found:
        print(f"LangGraph is left out: there is no {given.python}: make langgraph", file=sys.stderr)
    results = {name: measure(command) for name, (command, _) in found.items()}
    if given.json:
        print(json.dumps(results))
        return
    for name, (_, version) in found.items():
        print(f"{name}: {version}")
    print(" " * 24, *(f"{name:>28}" for name in results))
    for row in results["whimbrel"]:
        print(f"{row:24}", *(f"{one[row]!s:>28}" for one in results.values()))


if __name__ == "__main__":
    main()
