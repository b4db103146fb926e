"""Scripts of interaction protocols (`conformance/protocols`), and their replay in virtual time."""

from __future__ import annotations

import json
from typing import Any

from vectors import REPOSITORY

from whimbrel import Message
from whimbrel.acl import Aid
from whimbrel.protocols.machines import Machines

FOLDER = REPOSITORY / "conformance/protocols"


def scripts() -> dict[str, dict[str, Any]]:
    """Reads all scripts by name, each with its protocol."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((FOLDER / "scripts").glob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        for script in data["scripts"]:
            assert script["name"] not in found, f"two scripts are named {script['name']}"
            found[script["name"]] = {**script, "protocol": data["protocol"]}
    return found


def expected(script: dict[str, Any], player: str) -> dict[str, Any]:
    """Returns what a player must report: the messages that it hears with their verdicts, and the ends."""
    is_judge = player not in script.get("breaks", ())
    heard: dict[str, list[list[str | None]]] = {}
    held: dict[tuple[str, str], list[str]] = {}

    def hears(other: str, say: str, verdict: str) -> None:
        heard.setdefault(other, []).append([say, verdict if is_judge else None])

    for step in script["steps"]:
        if step.get("take") == player:
            hears(step["from"], held[player, step["from"]].pop(0), step.get("verdict", "ok"))
        elif player in step.get("to", ()):
            if step.get("held"):
                held.setdefault((player, step["by"]), []).append(step["say"])
            else:
                # An automatic not-understood in a conversation that nobody opened is for a player that misbehaves.
                hears(step["by"], step["say"], step.get("verdict", "ok"))
    return {"heard": heard, "ends": script["ends"].get(player, {})}


class Replay:
    """Replay of a script by machines, without a network and in virtual time."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.now = 1_000_000
        self.machines = {name: Machines() for name in script["players"] if name not in script.get("breaks", ())}
        self.heard: dict[str, dict[str, list[list[str | None]]]] = {name: {} for name in script["players"]}
        self.automatic: list[tuple[str, str, Message]] = []
        self.held: dict[tuple[str, str], list[Message]] = {}
        #: Moves of machines: protocol, state, role, performative.
        self.moves: set[tuple[str, str, str, str]] = set()
        # The newest `reply-with` and `reply-by` that a player got from another in a conversation.
        self.last_with: dict[tuple[str, str, str], str] = {}
        self.last_by: dict[tuple[str, str], int] = {}

    def run(self) -> None:
        """Replays all steps."""
        for step in self.script["steps"]:
            if "take" in step:
                self.deliver(step["take"], self.held[step["take"], step["from"]].pop(0))
            elif "deadline" in step:
                machine = self.machines[step["deadline"]].find("c", Aid.of(step["with"]))
                assert machine is not None
                assert machine.deadline_ms is not None, step
                self.now = max(self.now, machine.deadline_ms)
                self.machines[step["deadline"]].tick(self.now)
            else:
                for other in step["to"] if step.get("auto") else [None]:
                    self.say(step, other)

    def say(self, step: dict[str, Any], other: str | None) -> None:
        """Sends the message of a step. An automatic one must be there already."""
        by = step["by"]
        if other is not None:
            sender, receiver, message = self.automatic.pop(0)
            assert (sender, receiver, message.performative) == (by, other, step["say"])
            assert step.get("content", message.content) == message.content, step
        else:
            message = self.message(step)
            if by in self.machines and "conversation" not in step:
                for receiver in step["to"]:
                    self._note(by, receiver, self.script["players"][by], step["say"])
                self.machines[by].send(message, self.now)
        for receiver in step["to"]:
            if message.reply_with is not None:
                self.last_with[receiver, by, message.conversation_id or ""] = message.reply_with
            if message.reply_by_ms is not None:
                self.last_by[receiver, by] = message.reply_by_ms
            if step.get("held"):
                self.held.setdefault((receiver, by), []).append(message)
            else:
                self.deliver(receiver, message)

    def message(self, step: dict[str, Any]) -> Message:
        """Builds the message of a step."""
        by, to = step["by"], step["to"]
        if step.get("late"):
            self.now = max(self.now, self.last_by[by, to[0]])
        conversation = f"c.{step['conversation']}" if "conversation" in step else "c"
        quoted = step["quotes"] if "quotes" in step else self.last_with.get((by, to[0], conversation))
        return Message(
            step["say"],
            to,
            step.get("content"),
            sender=by,
            protocol=self.script["protocol"],
            conversation_id=conversation,
            reply_with=step.get("id"),
            in_reply_to=quoted,
            reply_by=self.now + step["reply_by"] if "reply_by" in step else None,
        )

    def deliver(self, player: str, message: Message) -> None:
        """Delivers a message. Players that misbehave judge nothing."""
        sender = message.sender.name
        heard = self.heard[player].setdefault(sender, [])
        machines = self.machines.get(player)
        if machines is None:
            heard.append([message.performative, None])
            return
        self._note(player, sender, self.script["players"][sender], message.performative)
        outcome = machines.receive(message, self.now)
        assert outcome is not None
        heard.append([message.performative, outcome.judgement.verdict])
        answer = machines.answered(message, outcome.judgement)
        if answer is not None:
            answer.sender = Aid.of(player)
            self.automatic.append((player, sender, answer))

    def _note(self, player: str, other: str, role: str, say: str) -> None:
        """Notes the move that a message makes."""
        machine = self.machines[player].find("c", Aid.of(other))
        state = "start" if machine is None else machine.state
        self.moves.add((self.script["protocol"], state, role, say))

    def ends(self, player: str) -> dict[str, str]:
        """Returns the states of a player's machines at the end."""
        machines = self.machines[player]
        found = {other: machines.find("c", Aid.of(other)) for other in self.script["players"]}
        return {other: machine.state for other, machine in found.items() if machine is not None}
