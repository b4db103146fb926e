"""Output of a project's Python: what it prints appears as lines of the agent whose call runs, or of the environment."""

from __future__ import annotations

import contextvars
import io
import threading

from ..actions import caller_variable
from .frames import FrameWriter

__all__ = ["AgentOutput", "begin_call"]

#: Longest line; longer ones are printed in parts.
LINE_MAX = 1 << 16
#: Number of the call that runs.
_call_variable: contextvars.ContextVar[int | None] = contextvars.ContextVar("whimbrel_call", default=None)


def begin_call(agent: str, number: int) -> None:
    """Begins an agent's call: what is printed in this context from now on is its output."""
    caller_variable.set(agent)
    _call_variable.set(number)


class AgentOutput(io.TextIOBase):
    """Standard output. A line is printed when it ends; what is left of one when its call ends."""

    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        #: Lines that have begun, by agent and call: an agent's calls may run at the same time.
        self._begun: dict[tuple[str | None, int | None], str] = {}

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the output."""
        return "utf-8"

    def writable(self) -> bool:
        """Returns true."""
        return True

    def write(self, text: str, /) -> int:
        """Writes text of the agent whose call runs."""
        agent = caller_variable.get()
        key = (agent, _call_variable.get())
        with self._lock:
            *lines, rest = (self._begun.pop(key, "") + text).split("\n")
            if len(rest) > LINE_MAX:
                lines.append(rest)
                rest = ""
            if rest:
                self._begun[key] = rest
        for line in lines:
            self._writer.print(agent, line)
        return len(text)

    def end_line(self) -> None:
        """Prints what the agent whose call ends has written of a line."""
        agent = caller_variable.get()
        with self._lock:
            rest = self._begun.pop((agent, _call_variable.get()), None)
        if rest is not None:
            self._writer.print(agent, rest)
