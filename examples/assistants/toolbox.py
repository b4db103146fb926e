"""Tools: what a model may be offered, and their server."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from models import PAUSE_S, post

#: Effect of a second call with the same key: none (`harmless`, `keyed`), or the whole effect again (`never` repeat it).
Repeat = Literal["harmless", "keyed", "never"]


@dataclass(frozen=True)
class Tool:
    """Description of a tool: its parameters by name, with their types in JSON Schema."""

    about: str
    parameters: dict[str, str]
    repeat: Repeat = "harmless"

    def schema(self, name: str) -> dict[str, Any]:
        """Returns the tool as models are told."""
        properties = {one: {"type": kind} for one, kind in self.parameters.items()}
        parameters = {"type": "object", "properties": properties, "required": list(self.parameters)}
        return {"type": "function", "function": {"name": name, "description": self.about, "parameters": parameters}}


TOOLS = {
    "search_catalogue": Tool("Finds products.", {"query": "string"}),
    "check_stock": Tool("Says how many pieces there are, and what delivery costs.", {"sku": "string"}),
    "read_policy": Tool("Reads the purchasing policy.", {}),
    "place_order": Tool(
        "Orders a product.", {"sku": "string", "quantity": "integer", "max_total": "number"}, repeat="keyed"
    ),
    "announce": Tool("Tells the whole team.", {"text": "string"}, repeat="never"),
    # Calls by which a model hands its result over. They have no server: the assistant takes them itself.
    "report": Tool("Hands over what was found.", {"text": "string"}),
    "propose": Tool(
        "Hands over a proposal.", {"sku": "string", "quantity": "integer", "total": "number", "text": "string"}
    ),
    "judge": Tool("Hands over the judgement: verdict good or again.", {"verdict": "string", "reason": "string"}),
}


def schemas(names: Iterable[str]) -> list[dict[str, Any]]:
    """Returns the tools of these names as models are told."""
    return [TOOLS[name].schema(name) for name in names if name in TOOLS]


@dataclass(frozen=True)
class ToolServer:
    """The server that carries tools out: `POST /tools/NAME`, the arguments as JSON, `Idempotency-Key` in the header."""

    url: str
    timeout: float = 30.0
    pause: float = PAUSE_S

    def call(self, name: str, arguments: dict[str, Any], key: str) -> str:
        """Calls a tool. A tool that must not be repeated gets one try.

        Raises NoAnswer: certain if the server refused, uncertain if the call may have had its effect.
        """
        tries = {} if TOOLS[name].repeat != "never" else {"tries": 1}
        headers = {"Idempotency-Key": key}
        answer = post(f"{self.url}/tools/{name}", arguments, headers, self.timeout, pause=self.pause, **tries)
        result = answer.get("result") if isinstance(answer, dict) else None
        return result if isinstance(result, str) else json.dumps(answer)
