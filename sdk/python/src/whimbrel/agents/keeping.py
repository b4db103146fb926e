"""State of a kept agent: what is saved, and its moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..acl.errors import WhimbrelError
from ..acl.json import parse_json, value_from_json, value_to_json
from ..acl.message import Message
from .errors import StayedError
from .saver import Restored
from .timing import Timing

__all__ = ["Keeping"]

#: Prefix of the names of code that only clients in Python know.
CODE_PREFIX = "py:"
#: Prefixes of code names that states of agents in Python may have. Earlier versions had no prefix of their own.
_CODE_PREFIXES = (CODE_PREFIX, "ts:")


class Keeping(Timing):
    """Part of an agent that outlives its program: `await platform.start("bob", Bob(), keep=True)`.

    The state of an agent is the attributes that `kept` names, or what `save_state` returns. Between two saves lies one
    step: a handled message, with all that its handler changed and sent.
    """

    #: Names of the attributes that are saved. Their values are contents: plain Python, terms, records.
    kept: ClassVar[tuple[str, ...]] = ()

    def save_state(self) -> Any:
        """Returns the state to save: the attributes of `kept`. It is called between two handlers."""
        return {name: getattr(self, name) for name in self.kept}

    def load_state(self, state: Any) -> None:
        """Takes a saved state, before `setup` is called: the attributes of `kept`."""
        if not isinstance(state, Mapping):
            raise WhimbrelError(f"cannot restore {type(self).__name__}: its saved state is {state!r}, no dict")
        for name in self.kept:
            if name in state:
                setattr(self, name, state[name])

    @property
    def restored(self) -> Restored | None:
        """Saved state of an agent that was restored. Its DF entry still exists."""
        saver = self._entry.saver if self._entry else None
        return saver.restored if saver else None

    async def save(self) -> None:
        """Saves the agent's state now. Returns when the node has it; at once for an agent that is not kept.

        Raises RefusedError if the node refuses it, WhimbrelError if the state is longer than 512 KiB, EndedError if the
        agent ends first.
        """
        saver = self._bound.saver
        if saver is not None:
            await saver.save()

    async def move_to(self, place: str, handled: Message | None = None) -> None:
        """Moves the agent to another place, with its state. The agent must be kept.

        `place` names a node, or an agent whose client accepts agents (`Platform.on_offer`) and knows this code by name
        (`Keep.code`). `handled` is the message that asked for the move, and counts as handled; other unfinished ones
        are delivered again there. Returns when the agent has arrived; here it has ended by then.

        Raises StayedError if the agent cannot move. It continues here.
        """
        saver = self._bound.saver
        if saver is None:
            raise StayedError("not_movable", "not kept: give `keep=True` to start")
        if handled is not None:
            self.finished(handled)
        was_suspended = self.is_suspended
        self.suspend()
        try:
            await saver.leave(place)
        except BaseException:
            if not was_suspended and self.is_alive:
                self.resume()
            raise

    def _bind_state(self) -> None:
        """Connects the saver to the state. Before set-up, the saved state stays as it is."""
        saver = self._bound.saver
        if saver is None:
            return
        restored = saver.restored
        if restored is not None:
            if not restored.code.startswith(_CODE_PREFIXES):
                raise WhimbrelError(
                    f"cannot restore the agent: its saved state belongs to {restored.code}, which is not Python"
                )
            self.load_state(value_from_json(parse_json(restored.state.decode())))
        saver.source = lambda: value_to_json(self.save_state()).encode()
