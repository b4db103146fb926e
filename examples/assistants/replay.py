"""A fake endpoint: it speaks the chat-completions interface, and answers from replay.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shop import Refused, Server

ANSWERS = Path(__file__).with_name("replay.json")


class Replay(Server):
    """Answers by the role in the system message, and the number of messages behind it."""

    def __init__(self, answers: Path = ANSWERS, port: int = 0) -> None:
        self.answers: dict[str, Any] = json.loads(answers.read_text())
        #: Requests that came, by role and number of messages.
        self.requests: list[str] = []
        #: Called with each request before its answer.
        self.before_answer: Callable[[str, Any], Any] = lambda question, body: None
        super().__init__(port)

    def answer(self, path: str, body: Any, key: str) -> Any:
        system, *others = body["messages"]
        role = next((one for one in self.answers if f"You are the {one} " in system["content"]), "nobody")
        question = f"{role} {len(others)}"
        self.requests.append(question)
        self.before_answer(question, body)
        found = self.answers.get(role, {}).get(str(len(others)))
        if found is None:
            raise Refused(f"replay.json has no answer for {question}: it is one purchase; give a model by --base-url")
        read, written = found["usage"]
        message: dict[str, Any] = {"role": "assistant", "content": found.get("text")}
        if "call" in found:
            function = {"name": found["call"], "arguments": json.dumps(found["arguments"])}
            message["tool_calls"] = [{"id": f"call-{len(others)}", "type": "function", "function": function}]
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return {"object": "chat.completion", "choices": [{"index": 0, "message": message}], "usage": usage}
