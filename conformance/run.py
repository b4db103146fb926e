#!/usr/bin/env python3
"""Run AgentSpeak conformance cases against an engine and compare what it prints.

usage: run.py --cmd 'target/release/whimbrel run {file}' [options] DIR [DIR ...]

A case is a folder with prog.asl (one agent called prog) or prog.mas2j, and
expected.txt. The command runs with the case folder as working directory,
{file} being the name of the program in it. A relative program path in --cmd
that exists here is made absolute. Lines that look like '[agent] text' are
compared: each agent's lines must come in the expected order, the interleaving
of different agents does not matter, generated variable names (_12, _3X) are
all the same, and engine warnings are left out. The last line printed is
'N passed, N failed'; the exit status is 0 only if nothing failed.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

LINE = re.compile(r"\[([A-Za-z]\w*)\] ?(.*)")
GENERATED = re.compile(r"\b_\d+\w*")
WARNINGS = ("No failure event was generated", "No fail event was generated",
            "Found a goal for which there is no", "Could not finish intention",
            "was replaced by", "warning:")
# Reports of failures that no plan handles, in the words of Jason. An empty line ends one. Those of Whimbrel begin with
# "error:".
REPORT = re.compile(r"$|Error in internal action |file:\S+:\d+: ")


def by_agent(text):
    """Map each agent to its comparable lines, in order."""
    agents = {}
    for line in text.splitlines():
        m = LINE.match(line)
        if not m or m.group(1) == "RunLocalMAS" or REPORT.match(m.group(2)) or any(w in line for w in WARNINGS):
            continue
        agents.setdefault(m.group(1), []).append(GENERATED.sub("_V", m.group(2)).rstrip())
    return agents


def text_of(data):
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else (data or "")


def run_case(folder, command, timeout):
    program = "prog.mas2j" if os.path.exists(os.path.join(folder, "prog.mas2j")) else "prog.asl"
    started, note = time.time(), ""
    try:
        done = subprocess.run(command.replace("{file}", program), shell=True, cwd=folder, timeout=timeout,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = text_of(done.stdout)
    except subprocess.TimeoutExpired as stop:
        output, note = text_of(stop.stdout), "timed out"
    with open(os.path.join(folder, "expected.txt"), encoding="utf-8") as f:
        wanted = by_agent(f.read())
    got = by_agent(output)
    return folder, wanted == got and not note, note, wanted, got, time.time() - started


def known_deviations(folder):
    """The cases that the engine deliberately answers otherwise, with the reason: one a line in DEVIATIONS."""
    path = os.path.join(folder, "DEVIATIONS")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        lines = [line.split(None, 1) for line in f if line.strip() and not line.startswith("#")]
    return {name: reason.strip() for name, reason in lines}


def absolute_command(command):
    first, _, rest = command.partition(" ")
    if os.sep in first and os.path.exists(first):
        first = os.path.abspath(first)
    return f"{first} {rest}".strip()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cmd", required=True, help="command to run a case; {file} is replaced")
    p.add_argument("--only", default="", help="only cases whose name contains this")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--timeout", type=float, default=10)
    p.add_argument("-v", "--verbose", action="store_true", help="also list the cases that pass")
    p.add_argument("dirs", nargs="+")
    a = p.parse_args()
    command = absolute_command(a.cmd)
    folders = [os.path.join(d, n) for d in a.dirs for n in sorted(os.listdir(d))
               if a.only in n and os.path.exists(os.path.join(d, n, "expected.txt"))]
    deviations = {}
    for d in a.dirs:
        deviations.update(known_deviations(d))
    passed = failed = deviating = 0
    with ThreadPoolExecutor(a.jobs) as pool:
        for folder, ok, note, wanted, got, secs in pool.map(lambda f: run_case(f, command, a.timeout), folders):
            name = os.path.basename(folder)
            if not ok and not note and name in deviations:
                deviating += 1
                print(f"known {name}: {deviations[name]}")
                continue
            passed += ok
            failed += not ok
            if ok and a.verbose:
                print(f"ok    {os.path.basename(folder)} {secs:.2f}s")
            elif not ok:
                print(f"FAIL  {os.path.basename(folder)} {note} {secs:.2f}s")
                for agent in sorted(set(wanted) | set(got)):
                    for d in difflib.unified_diff(wanted.get(agent, []), got.get(agent, []), "expected", "got", lineterm="", n=1):
                        if not d.startswith(("---", "+++", "@@")):
                            print(f"        [{agent}] {d}")
    if deviating:
        print(f"{deviating} known deviations")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
