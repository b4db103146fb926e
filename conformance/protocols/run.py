#!/usr/bin/env python3
"""Play all scripts of interaction protocols on a node: every language initiates, every other one participates.

usage: run.py [--whimbrel PROGRAM] [--languages python,rust] [--only SCRIPT,...] [--require]

languages.json names the player of each language. A language whose player is not built is listed as MISSING; with
--require that is a failure. The exit status is 0 only if every player heard, judged and ended as its script says.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, TextIO

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(REPOSITORY / "sdk/python/src"), str(REPOSITORY / "sdk/python/tests")]

from scripts import expected, scripts  # noqa: E402

#: Seconds until a program is ready, until all scripts are played, and until a program has ended.
READY_S, PLAY_S, STOP_S = 30, 60, 10
#: Agents of a program: it plays one side of all scripts, with each language.
SESSION_AGENTS = 2000
#: Failures of a pair of languages that are listed.
FAILURES_SHOWN = 10


class Program:
    """A running program, whose lines are read as they come."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], errors: TextIO | int) -> None:
        self.name = name
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._is_over = False
        self.process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.strip())
                self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def wait_for(self, pattern: str, seconds: float) -> str:
        """Waits for a line with this pattern, and returns what its first group found."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._found(pattern) is not None, seconds)
            found = self._found(pattern)
        if found is None:
            sys.exit(f"{self.name}: no line with {pattern!r} within {seconds} s; it printed {self.lines[-5:]}")
        return found

    def _found(self, pattern: str) -> str | None:
        for line in self.lines:
            match = re.search(pattern, line)
            if match:
                return match[match.lastindex or 0]
        return None

    def tell(self, line: str) -> None:
        """Writes a line to the program's input."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_ended(self, until: float) -> None:
        """Waits for the end of the program."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over, max(0.0, until - time.monotonic()))

    def stop(self) -> None:
        """Ends the program, by force if it does not end when told to."""
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def players(names: list[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Returns the commands of the languages whose player exists, and the missing programs of the others."""
    words = {"python": sys.executable, "target": os.environ.get("CARGO_TARGET_DIR", "target")}
    languages = json.loads((HERE / "languages.json").read_text(encoding="utf-8"))
    for name in names:
        if name not in languages:
            sys.exit(f"no language {name}: languages.json has {', '.join(languages)}")
    there: dict[str, list[str]] = {}
    missing: dict[str, str] = {}
    for name, language in languages.items():
        if names and name not in names:
            continue
        program = language["program"].format(**words)
        if (REPOSITORY / program).exists():
            there[name] = [part.format(**words) for part in language["command"]]
        else:
            missing[name] = program
    return there, missing


def compare(script: dict[str, Any], player: str, report: dict[str, Any] | None) -> str | None:
    """Returns what is wrong with a player's report; None if it is as the script says."""
    if report is None:
        return "no report"
    if "error" in report:
        return f"error: {report['error']}"
    wanted = expected(script, player)
    for part in ("heard", "ends"):
        if report.get(part) != wanted[part]:
            return f"{part} {json.dumps(report.get(part))}, expected {json.dumps(wanted[part])}"
    return None


def play(whimbrel: str, commands: dict[str, list[str]], only: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Plays all scripts among all languages. Returns the reports by run, script and player."""
    token = secrets.token_hex(16)
    environment = {**os.environ, "WHIMBREL_TOKEN": token, "WHIMBREL_AGENT_TOKEN": token, "WHIMBREL": whimbrel}
    running: list[Program] = []
    with tempfile.TemporaryDirectory(prefix="whimbrel-protocols-") as folder, open(f"{folder}/log", "w+") as errors:
        project = pathlib.Path(folder, "nobody.asl")
        project.write_text("// Keeps the node running.\n")
        try:
            node = [whimbrel, "run", str(project), "--agent-port", "0", "--http", "0", "--end-with-input"]
            node += ["--listen", "127.0.0.1:0", "--session-agents", str(SESSION_AGENTS)]
            running.append(Program("node", node, environment, subprocess.STDOUT))
            environment["WHIMBREL_NODE"] = running[0].wait_for(r"join at (\S+)", READY_S)
            environment["WHIMBREL_URL"] = "tcp://" + running[0].wait_for(r"connect at (\S+)", READY_S)
            sides: dict[str, list[Program]] = {}
            for role in ("participant", "initiator"):
                for name, command in commands.items():
                    pairs = [(name, other) if role == "initiator" else (other, name) for other in commands]
                    arguments = [role, ",".join("_".join(pair) for pair in pairs), *([only] if only else [])]
                    running.append(Program(f"{name} {role}", command + arguments, environment, errors))
                    sides.setdefault(role, []).append(running[-1])
            for program in running[1:]:
                program.wait_for("^ready$", READY_S)
            for program in sides["initiator"]:
                program.tell("begin")
            until = time.monotonic() + PLAY_S
            for program in running[1:]:
                program.wait_ended(until)
        finally:
            for program in reversed(running):
                program.stop()
            errors.seek(0)
            sys.stderr.write(errors.read())
    found = {}
    for program in running[1:]:
        for line in program.lines:
            if line.startswith("{"):
                report = json.loads(line)
                found[report["run"], report["script"], report["player"]] = report
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whimbrel", default=os.environ.get("WHIMBREL", str(REPOSITORY / "target/debug/whimbrel")))
    parser.add_argument("--languages", default="", help="only these, separated by commas")
    parser.add_argument("--only", default="", help="only these scripts, separated by commas")
    parser.add_argument("--require", action="store_true", help="fail if a language is missing")
    given = parser.parse_args()
    started = time.monotonic()
    commands, missing = players(given.languages.split(",") if given.languages else [])
    chosen = {name: one for name, one in scripts().items() if not given.only or name in given.only.split(",")}
    reports = play(os.path.abspath(given.whimbrel), commands, given.only)
    failed = 0
    for one in commands:
        for other in commands:
            pair = f"{one} initiates, {other} participates"
            wrong = []
            for name, script in chosen.items():
                for player in script["players"]:
                    why = compare(script, player, reports.get((f"{one}_{other}", name, player)))
                    wrong += [f"{name}, player {player}: {why}"] if why else []
            failed += len(wrong)
            for text in wrong[:FAILURES_SHOWN]:
                print(f"FAIL  {pair}: {text}")
            if len(wrong) > FAILURES_SHOWN:
                print(f"FAIL  {pair}: {len(wrong) - FAILURES_SHOWN} more")
            print(f"{pair}: {len(chosen)} scripts, {len(wrong)} players failed")
    for name, program in missing.items():
        print(f"MISSING {name}: no {program}; its conversations with the others are not tested")
    print(f"{len(commands)} languages, {len(missing)} missing, {failed} failed, {time.monotonic() - started:.1f} s")
    return int(failed > 0 or (given.require and bool(missing)))


if __name__ == "__main__":
    sys.exit(main())
