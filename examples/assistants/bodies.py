"""The Python side of the team: three agents that ask models, one that calls tools, and a desk for a person.

None of them decides anything. What they are asked, and what becomes of the answer, is in the AgentSpeak programs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from models import Endpoint, NoAnswer
from toolbox import TOOLS, ToolServer, schemas

from whimbrel import Agent, Atom, Message, Term, on


def to_term(arguments: dict[str, Any]) -> list[Term]:
    """Returns the arguments of a call as AgentSpeak has them: `[sku("M27-B"), quantity(12)]`."""
    return [Term(name, value if isinstance(value, (str, int, float)) else json.dumps(value))
            for name, value in arguments.items()]  # fmt: skip


def from_term(arguments: list[Term]) -> dict[str, Any]:
    """Returns the arguments of a call as JSON has them. All numbers of AgentSpeak are floats."""
    found: dict[str, Any] = {}
    for argument in arguments:
        (value,) = argument.args
        found[argument.functor] = int(value) if isinstance(value, float) and value.is_integer() else value
    return found


def to_messages(brief: str, turns: list[Term]) -> list[dict[str, Any]]:
    """Returns what an assistant remembers of a job as messages of a chat."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": brief}]
    for turn in turns:
        match turn.args[1]:
            case Term("asked", (text,)):
                messages.append({"role": "user", "content": text})
            case Term("said", (text,)):
                messages.append({"role": "assistant", "content": text})
            case Term("called", (call, tool, arguments)):
                function = {"name": str(tool), "arguments": json.dumps(from_term(arguments))}
                calls = [{"id": call, "type": "function", "function": function}]
                messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            case Term("result", (call, Term(kind, (text,)))):
                content = text if kind == "ok" else f"{kind}: {text}"
                messages.append({"role": "tool", "tool_call_id": call, "content": content})
    return messages


class Model(Agent):
    """Asks a model. It remembers nothing: each question has all that its assistant remembers.

    It is kept, so a question waits while this program does not run. After `kill -9` the question comes again.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    @on.ask_one
    async def think(self, message: Message) -> Term:
        brief, tools, left, turns, _ = message.content.args
        messages = to_messages(brief, turns)
        offered = schemas(str(tool) for tool in tools)
        try:
            act = await asyncio.to_thread(self.endpoint.complete, messages, offered, int(left))
        except NoAnswer as error:
            return Term("think", brief, tools, left, turns, Term("answer", Term("failed", str(error)), 0, 0))
        done = Term("said", act.text) if act.call is None else Term(
            "call", act.call, Atom(act.tool), to_term(act.arguments)
        )  # fmt: skip
        return Term("think", brief, tools, left, turns, Term("answer", done, act.tokens, act.cents))


class Tools(Agent):
    """Calls tools, each once.

    A call has a key, by which its server knows a call that comes again after `kill -9`. Some servers know no
    keys: then the key is on the disk before the call leaves. If the call comes again, its outcome is `unknown`.
    """

    kept = ("begun",)
    #: Agents that may call tools. Which tool, each of them decides by itself.
    callers = frozenset(("buyer", "researcher", "writer", "reviewer"))

    def __init__(self, server: ToolServer) -> None:
        self.server = server
        self.begun: list[str] = []

    @on.ask_one
    async def use(self, message: Message) -> Term:
        key, name, arguments, _ = message.content.args
        if message.sender.name.partition("@")[0] not in self.callers:
            return Term("use", key, name, arguments, Term("refused", f"{message.sender} calls no tools"))
        outcome = await self._outcome(key, str(name), from_term(arguments))
        return Term("use", key, name, arguments, outcome)

    async def _outcome(self, key: str, name: str, arguments: dict[str, Any]) -> Term:
        tool = TOOLS.get(name)
        if tool is None:
            return Term("refused", f"there is no tool {name}")
        if tool.repeat == "never":
            if key in self.begun:
                self.begun.remove(key)
                return Term("unknown", "the program ended during the call")
            self.begun.append(key)
            await self.save()
        try:
            result = await asyncio.to_thread(self.server.call, name, arguments, key)
        except NoAnswer as error:
            return Term("refused" if error.is_certain else "unknown", str(error))
        finally:
            if key in self.begun:
                self.begun.remove(key)
        return Term("ok", result)


class Desk(Agent):
    """The desk of a person: it hears what the buyer needs, and passes decisions on."""

    kept = ("stage", "news", "purchases")

    def __init__(self, hear: Callable[[str], None]) -> None:
        self.stage = "new"
        self.news = ""
        self.purchases = 0
        self._hear = hear

    @on("tell", "inform")(sender="buyer")
    def learn(self, message: Message) -> None:
        match message.content:
            case Term("needs_approval", (job, sku, quantity, total)):
                self.stage = "approval"
                self.news = f"{job}: may {quantity:g} of {sku} be ordered for {total:g} pounds?"
            case Term("stopped", (job, who, why)):
                self.stage = "stopped"
                self.news = f"{job}: {who} cannot continue: {why}"
            case Term("finished", (job, result, text)):
                self.stage = "finished"
                self.news = f"{job}: {result}: {text}"
            case _:
                return
        self._hear(self.news)
