"""Frames that the node may still refuse, and who hears that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import RefusedError

#: Hears the refusal of a frame.
Refused = Callable[[RefusedError], Any]


class Expectations:
    """Frames by their numbers, and by their agents: what concerns one agent takes no time for the others."""

    def __init__(self) -> None:
        self._agents: dict[int, int] = {}
        #: Of each agent: its frames, whether each is a save, and who hears its refusal.
        self._frames: dict[int, dict[int, tuple[bool, Refused]]] = {}

    def add(self, frame: int, agent: int, refused: Refused, *, is_save: bool = False) -> None:
        """Expects that the node may refuse a frame of an agent. Replaces what was expected of the frame."""
        self._agents[frame] = agent
        self._frames.setdefault(agent, {})[frame] = (is_save, refused)

    def take(self, frame: int) -> Refused | None:
        """Forgets a frame. Returns who hears its refusal."""
        agent = self._agents.pop(frame, None)
        if agent is None:
            return None
        return self._frames[agent].pop(frame)[1]

    def saved(self, agent: int, upto: int) -> None:
        """Forgets the agent's saves up to this frame: the node has them."""
        frames = self._frames.get(agent, {})
        for frame in [one for one, (is_save, _) in frames.items() if is_save and one <= upto]:
            del frames[frame], self._agents[frame]

    def forget(self, agent: int) -> None:
        """Forgets all frames of an agent."""
        for frame in self._frames.pop(agent, ()):
            del self._agents[frame]

    def clear(self) -> None:
        """Forgets all frames."""
        self._agents.clear()
        self._frames.clear()
