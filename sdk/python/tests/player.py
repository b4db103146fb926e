"""Player of protocol scripts on a node, for one side of each script: `conformance/protocols/README.md` says how.

usage: player.py initiator|participant RUN[,RUN...] [SCRIPT,...]
"""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import sys
from typing import Any

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "src")]

from scripts import scripts  # noqa: E402

from whimbrel import Agent, Message, connect, on, run  # noqa: E402
from whimbrel.protocols.clock import now_ms  # noqa: E402

#: Scripts that initiators play at a time.
AT_A_TIME = 16
#: Seconds without progress after which a player gives up. For its first message, a participant waits longer.
PATIENCE_S, FIRST_PATIENCE_S = 10, 100
#: Milliseconds after a deadline that a late message waits for.
LATER_MS = 20


class Player(Agent):
    """Player of a script. The node's messages wait until the script comes to them; then the agent judges them."""

    def __init__(self, run: str, script: dict[str, Any], name: str) -> None:
        self.run = run
        self.script = script
        self.player = name
        self.checks_protocols = name not in script.get("breaks", ())
        self.agents = {other: f"{script['name']}_{other}_{run}".replace("-", "_") for other in script["players"]}
        self.heard: dict[str, list[list[str | None]]] = {}
        self._queues: dict[str, asyncio.Queue[tuple[Message, int, int]]] = {}
        self._verdict: str | None = None
        # The newest `reply-with` by conversation, and the newest `reply-by`, of another player.
        self._last_with: dict[tuple[str, str], str] = {}
        self._last_by: dict[str, int] = {}

    def _queue(self, sender: str) -> asyncio.Queue[tuple[Message, int, int]]:
        return self._queues.setdefault(sender, asyncio.Queue())

    def _deliver(self, message: Message, size: int, number: int) -> None:
        self._queue(message.sender.name).put_nowait((message, size, number))

    def _violated(self, message: Message, verdict: str, reason: str | None) -> None:
        self._verdict = verdict
        super()._violated(message, verdict, reason)

    @on.message
    def _taken(self, _: Message) -> None:
        """The script says what follows."""

    def conversation(self, step: dict[str, Any]) -> str:  # type: ignore[override]
        """Returns the identifier of a step's conversation."""
        suffix = f".{step['conversation']}" if "conversation" in step else ""
        return f"{self.run}.{self.script['name']}{suffix}"

    async def play(self) -> dict[str, Any]:
        """Plays all steps. Returns the report."""
        report: dict[str, Any] = {"run": self.run, "script": self.script["name"], "player": self.player}
        step: dict[str, Any] = {}
        try:
            for step in self.script["steps"]:
                is_first = not self.heard and self.script["players"][self.player] == "participant"
                await asyncio.wait_for(self._step(step), FIRST_PATIENCE_S if is_first else PATIENCE_S)
        except Exception as error:
            report["error"] = f"{step}: {type(error).__name__}: {error}"
        ends: dict[str, str] = {}
        if self.checks_protocols:
            for other, agent in self.agents.items():
                machine = self._conversations.find(self.conversation({}), Message("inform", agent).receivers[0])
                if machine is not None:
                    ends[other] = machine.state
        return {**report, "heard": self.heard, "ends": ends}

    async def _step(self, step: dict[str, Any]) -> None:
        if step.get("take") == self.player:
            await self._take(step["from"])
        elif step.get("deadline") == self.player:
            await self._pass_deadline(step["with"])
        elif step.get("by") == self.player and not step.get("auto"):
            await self._say(step)
        elif self.player in step.get("to", ()) and not step.get("held"):
            await self._take(step["by"])

    async def _take(self, other: str) -> None:
        message, size, number = await self._queue(self.agents[other]).get()
        self._verdict = "ok" if self.checks_protocols else None
        super()._deliver(message, size, number)
        self.heard.setdefault(other, []).append([message.performative, self._verdict])
        if message.reply_with is not None:
            self._last_with[other, message.conversation_id or ""] = message.reply_with
        if message.reply_by_ms is not None:
            self._last_by[other] = message.reply_by_ms

    async def _pass_deadline(self, other: str) -> None:
        machine = self._conversations.find(self.conversation({}), Message("inform", self.agents[other]).receivers[0])
        assert machine is not None
        while machine.deadline_ms is not None:
            await asyncio.sleep(max(0, machine.deadline_ms - now_ms(self.loop)) / 1000)
            self._conversations.tick(now_ms(self.loop))

    async def _say(self, step: dict[str, Any]) -> None:
        first = step["to"][0]
        if step.get("late"):
            await asyncio.sleep(max(0, self._last_by[first] + LATER_MS - now_ms(self.loop)) / 1000)
        conversation = self.conversation(step)
        quoted = step["quotes"] if "quotes" in step else self._last_with.get((first, conversation))
        await self.send(
            Message(
                step["say"],
                [self.agents[other] for other in step["to"]],
                step.get("content"),
                protocol=self.script["protocol"],
                conversation_id=conversation,
                reply_with=step.get("id"),
                in_reply_to=quoted,
                reply_by=now_ms(self.loop) + step["reply_by"] if "reply_by" in step else None,
            )
        )


async def main(role: str, runs: str, names: str = "") -> None:
    chosen = {name: script for name, script in scripts().items() if not names or name in names.split(",")}
    turns = asyncio.Semaphore(AT_A_TIME)

    async def play(players: list[Player]) -> None:
        async with turns:
            for report in await asyncio.gather(*(player.play() for player in players)):
                print(json.dumps(report), flush=True)

    async with connect(os.environ["WHIMBREL_URL"], token=os.environ["WHIMBREL_TOKEN"]) as platform:
        groups: list[list[Player]] = []
        for one in runs.split(","):
            for script in chosen.values():
                groups.append([Player(one, script, who) for who, part in script["players"].items() if part == role])
        everybody = [player for players in groups for player in players]
        await platform.start_all({player.agents[player.player]: player for player in everybody})
        print("ready", flush=True)
        if role == "initiator":
            await asyncio.to_thread(sys.stdin.readline)
            await asyncio.gather(*map(play, groups))
        else:
            turns = asyncio.Semaphore(len(groups))
            await asyncio.gather(*map(play, groups))


if __name__ == "__main__":
    run(main(*sys.argv[1:]))
