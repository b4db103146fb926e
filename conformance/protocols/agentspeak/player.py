#!/usr/bin/env python3
"""Player of protocol scripts whose players are AgentSpeak agents: `conformance/protocols/README.md` says how.

usage: player.py initiator|participant RUN[,RUN...] [SCRIPT,...]

It writes a project: a program for each protocol, which includes player.asl and the protocol from Whimbrel's library,
with a plan for each player of a script. A node with these agents joins the platform at WHIMBREL_NODE. What an agent
prints is its report.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
sys.path[:0] = [str(REPOSITORY / "sdk/python/src"), str(REPOSITORY / "sdk/python/tests")]

from scripts import scripts  # noqa: E402

#: Scripts that initiators play at a time.
AT_A_TIME = 16
#: Milliseconds that a player waits for its first message. Participants wait until their script begins.
PATIENCE_MS = {"initiator": 10_000, "participant": 100_000}
#: A line of an agent's report.
LINE = re.compile(r"\[(\w+)\] (ready|heard|ends|error|done)\b ?(.*)")

#: Agent that has the initiators begin.
CONDUCTOR = "agentspeak_conductor"
CONDUCTOR_PROGRAM = """\
+!begin(Count)
   <- for (.range(_, 1, Count)) {{
         !next
      }}.
@next[atomic]
+!next : waiting([Agent|Others]) <- -+waiting(Others); .send(Agent, achieve, play).
+!next.
waiting([{agents}]).
"""


def atom(name: str) -> str:
    """Returns a name as AgentSpeak writes it."""
    return name.replace("-", "_")


def term(value: Any) -> str:
    """Returns a content as AgentSpeak writes it."""
    return json.dumps(value, ensure_ascii=False)


def said(step: dict[str, Any]) -> str:
    """Returns the goals of a step by which a player sends something."""
    parameters = ["quotes_nothing"] if step.get("quotes", "") is None else []
    parameters += [f"reply_with({term(step['id'])})"] if "id" in step else []
    parameters += [f"in_reply_to({term(step['quotes'])})"] if step.get("quotes") else []
    parameters += [f"reply_by(system.time + {step['reply_by']})"] if "reply_by" in step else []
    message = f"[{', '.join(step['to'])}], {atom(step['say'])}, {term(step.get('content'))}, [{', '.join(parameters)}]"
    goal = f"!stray({term(step['conversation'])}, {message})" if "conversation" in step else f"!say({message})"
    return f"!wait_late({step['to'][0]}); {goal}" if step.get("late") else goal


def goals(script: dict[str, Any], player: str) -> list[str]:
    """Returns what a player does, step by step."""
    found = []
    for step in script["steps"]:
        if step.get("take") == player:
            found.append(f"!take({step['from']})")
        elif step.get("deadline") == player:
            found.append(f"!pass_deadline({step['with']})")
        elif step.get("by") == player and not step.get("auto"):
            found.append(said(step))
        elif player in step.get("to", ()) and not step.get("held"):
            found.append(f"!take({step['by']})")
    return found or ["true"]


def program_of(protocol: str) -> str:
    """Returns the file of a protocol in the library, `contract_net.asl` of `fipa-contract-net`."""
    return atom(protocol.removeprefix("fipa-")) + ".asl"


class Society:
    """Project with the players of one role."""

    def __init__(self, role: str, runs: list[str], chosen: dict[str, dict[str, Any]]) -> None:
        self.role = role
        self.programs: dict[str, list[str]] = collections.defaultdict(list)
        self.entries: list[str] = []
        #: Reports by agent, in the order of the scripts.
        self.reports: dict[str, dict[str, Any]] = {}
        parts = [(script, player) for script in chosen.values() for player in script["players"]]
        parts = [(script, player) for script, player in parts if script["players"][player] == role]
        for script, player in parts:
            body = ";\n      ".join(goals(script, player))
            plan = f"+!script({atom(script['name'])}, {player})\n   <- {body}.\n"
            self.programs[script["protocol"]].append(plan)
        for run in runs:
            for script, player in parts:
                self._add(run, script, player)

    def _add(self, run: str, script: dict[str, Any], player: str) -> None:
        agents = {other: atom(f"{script['name']}_{other}_{run}") for other in script["players"]}
        beliefs = [
            f"plays({player}, {atom(script['name'])})",
            f"conversation({term(run + '.' + script['name'])})",
            f"patience({PATIENCE_MS[self.role]})",
            *(f"agent({other}, {agent})" for other, agent in agents.items() if other != player),
            *(["misbehaves"] if player in script.get("breaks", ()) else []),
            *([f"conductor({CONDUCTOR})"] if self.role == "initiator" else []),
        ]
        options = [f"beliefs={term(', '.join(beliefs))}"]
        options += ["goals=play"] if self.role == "participant" else []
        self.entries.append(f"{agents[player]} {program_of(script['protocol'])} [{', '.join(options)}];")
        self.reports[agents[player]] = {"run": run, "script": script["name"], "player": player, "heard": {}, "ends": {}}

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        """Writes the project. Returns its file."""
        for protocol, plans in self.programs.items():
            program = program_of(protocol)
            includes = f'{{ include("player.asl") }}\n{{ include("$whimbrel/{program}") }}\n'
            text = "\n".join([includes, f"protocol({term(protocol)}).\n", *plans])
            (folder / program).write_text(text, encoding="utf-8")
        shutil.copy(HERE / "player.asl", folder)
        entries = list(self.entries)
        if self.role == "initiator":
            entries.append(f"{CONDUCTOR} conductor.asl;")
            text = CONDUCTOR_PROGRAM.format(agents=", ".join(self.reports))
            (folder / "conductor.asl").write_text(text, encoding="utf-8")
        project = folder / "players.mas2j"
        listed = "\n        ".join(entries)
        project.write_text(f"MAS players {{\n    agents:\n        {listed}\n}}\n", encoding="utf-8")
        return project

    def note(self, agent: str, kind: str, words: str) -> None:
        """Adds a line of an agent to its report."""
        report = self.reports[agent]
        if kind == "heard":
            other, say, verdict = words.split()
            judged = None if verdict == "null" else verdict
            report["heard"].setdefault(other, []).append([say.replace("_", "-"), judged])
        elif kind == "ends":
            other, state = words.split()
            report["ends"][other] = state.replace("_", "-")
        elif kind == "error":
            report["error"] = words


class Node:
    """Node with the agents of a project, on the platform at WHIMBREL_NODE. It leaves when this program's input ends."""

    def __init__(self, role: str, project: pathlib.Path) -> None:
        self.whimbrel = os.environ["WHIMBREL"]
        # The nodes of both roles are linked, too: the later one is told the address of the other.
        options = ["--name", f"agentspeak-{role}s", "--listen", "127.0.0.1:0", "--strict"]
        command = [self.whimbrel, "join", os.environ["WHIMBREL_NODE"], str(project), *options]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)
        threading.Thread(target=self._follow_input, daemon=True).start()
        threading.Thread(target=self._forward_errors, daemon=True).start()

    def _follow_input(self) -> None:
        for _ in sys.stdin:
            goal = [CONDUCTOR, f"begin({AT_A_TIME})"]
            subprocess.run([self.whimbrel, "achieve", "--pid", str(self.process.pid), *goal], check=True)
        self.process.terminate()

    def _forward_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            # The node's notes about links and its end are nothing that went wrong.
            if not line.startswith("whimbrel: "):
                sys.stderr.write(line)

    def play(self, society: Society) -> bool:
        """Prints `ready`, then the report of each agent that is done. Returns true if all are."""
        assert self.process.stdout is not None
        starting, playing = set(society.reports), set(society.reports)
        while playing and (line := self.process.stdout.readline()):
            found = LINE.fullmatch(line.rstrip("\n"))
            if found is None or found[1] not in society.reports:
                sys.stderr.write(line)
                continue
            agent, kind, words = found.groups()
            society.note(agent, kind, words)
            if kind == "ready":
                starting.discard(agent)
                if not starting:
                    print("ready", flush=True)
            elif kind == "done":
                playing.discard(agent)
                print(json.dumps(society.reports[agent]), flush=True)
        return not playing

    def leave(self) -> None:
        """Has the node leave the platform. What its agents sent is delivered before."""
        self.process.terminate()
        self.process.wait()


def main(role: str, runs: str, names: str = "") -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    chosen = {name: script for name, script in scripts().items() if not names or name in names.split(",")}
    society = Society(role, runs.split(","), chosen)
    with tempfile.TemporaryDirectory(prefix="whimbrel-players-") as folder:
        node = Node(role, society.write(pathlib.Path(folder)))
        try:
            return 0 if node.play(society) else 1
        finally:
            node.leave()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
