"""Client of a language model: any endpoint that speaks the chat-completions interface of OpenAI."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Tries of one request, the first included.
TRIES_MAX = 3
#: Seconds before the second try; each further wait is twice as long.
PAUSE_S = 0.5
#: Statuses of HTTP after which another try may help.
TRANSIENT = frozenset((408, 409, 429, 500, 502, 503, 504))


class NoAnswer(Exception):
    """A request without a useful answer. `is_certain` says that the other side did nothing."""

    def __init__(self, text: str, is_certain: bool = False) -> None:
        super().__init__(text)
        self.is_certain = is_certain


def post(
    url: str, body: Any, headers: Mapping[str, str], timeout: float, tries: int = TRIES_MAX, pause: float = PAUSE_S
) -> Any:
    """Posts JSON and returns the JSON of the answer. It tries again after transient faults, with growing pauses.

    Raises NoAnswer with the reason: certain for a refusal, uncertain if the last try had no answer.
    """
    data = json.dumps(body).encode()
    why = ""
    for attempt in range(tries):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                why = f"{url}: {error.code} {error.read(500).decode(errors='replace').strip()}"
            if error.code not in TRANSIENT:
                raise NoAnswer(why, is_certain=True) from None
        except (OSError, ValueError) as error:
            why = f"{url}: {getattr(error, 'reason', error) or type(error).__name__}"
    raise NoAnswer(f"no answer in {tries} tries: {why}")


@dataclass(frozen=True)
class Act:
    """Next act of a model: a call of a tool, or a text, and what it cost."""

    text: str
    call: str | None
    tool: str
    arguments: dict[str, Any]
    tokens: int
    cents: float


@dataclass(frozen=True)
class Endpoint:
    """A language model at an address."""

    base_url: str
    model: str = "replay"
    key: str = ""
    #: Cents for a million tokens that the model reads, and for a million that it writes.
    reading: float = 15.0
    writing: float = 60.0
    timeout: float = 60.0
    pause: float = PAUSE_S

    def complete(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], most: int) -> Act:
        """Asks for the next act. The answer has `most` tokens at most.

        Raises NoAnswer if there is no answer, or none that can be understood.
        """
        body = {"model": self.model, "messages": messages, "tools": tools, "max_tokens": max(1, min(most, 2000))}
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        answer = post(url, body, headers, self.timeout, pause=self.pause)
        try:
            return self._act(answer)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise NoAnswer(f"{url}: not a chat completion ({error!r}): {json.dumps(answer)[:200]}") from None

    def _act(self, answer: Any) -> Act:
        message = answer["choices"][0]["message"]
        usage = answer.get("usage") or {}
        read, written = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        cents = (read * self.reading + written * self.writing) / 1e6
        calls = message.get("tool_calls")
        if not calls:
            return Act(str(message["content"] or ""), None, "", {}, read + written, cents)
        # One call at a time: the model may repeat the others when it has the result.
        call = calls[0]
        arguments = json.loads(call["function"]["arguments"] or "{}")
        if not isinstance(arguments, dict):
            raise ValueError(f"arguments {arguments!r}")
        return Act("", str(call["id"]), str(call["function"]["name"]), arguments, read + written, cents)
