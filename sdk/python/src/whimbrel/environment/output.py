"""Output of a project's Python: what it prints appears as lines of the agent whose call runs, or of the environment."""

from __future__ import annotations

import io
import threading

from ..actions import caller_variable
from .frames import FrameWriter

__all__ = ["AgentOutput"]

#: Longest line; longer ones are printed in parts.
LINE_MAX = 1 << 16


class AgentOutput(io.TextIOBase):
    """Standard output. A line is printed when it ends; what is left of one when its call ends."""

    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        self._begun: dict[str | None, str] = {}

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
        with self._lock:
            *lines, rest = (self._begun.pop(agent, "") + text).split("\n")
            if len(rest) > LINE_MAX:
                lines.append(rest)
                rest = ""
            if rest:
                self._begun[agent] = rest
        for line in lines:
            self._writer.print(agent, line)
        return len(text)

    def end_line(self) -> None:
        """Prints what the agent whose call ends has written of a line."""
        agent = caller_variable.get()
        with self._lock:
            rest = self._begun.pop(agent, None)
        if rest is not None:
            self._writer.print(agent, rest)
