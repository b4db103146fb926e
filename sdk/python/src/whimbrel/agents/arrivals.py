"""Moves of agents: offers of other places, requests to leave, and code that travels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..acl.errors import WhimbrelError
from ..session.frames import Frame
from .core import settled
from .errors import StayedError
from .limits import CODE_BYTES_MAX

if TYPE_CHECKING:
    from ..platform import Platform
    from .entry import Entry

__all__ = ["Arrivals", "CodeFetch", "Offer"]


class Offer(NamedTuple):
    """An agent that wants to move here."""

    name: str
    #: Name of the agent's code: `asl:HASH/NAME`, `wasm:HASH/NAME`, `ts:NAME` or `py:NAME`.
    code: str


class CodeFetch:
    """Code of an agent that comes in parts."""

    def __init__(self, code: str, done: asyncio.Future[bytes]) -> None:
        self.code = code
        self.done = done
        self._parts = bytearray()

    def add(self, part: Frame) -> bool:
        """Adds a part. Returns true at the end, good or bad."""
        data, of = part["bytes"], part["of"]
        is_next = part["at"] == len(self._parts) and 0 < of <= CODE_BYTES_MAX and part["at"] + len(data) <= of
        self._parts += data
        if is_next and len(self._parts) < of:
            return False
        if not self.done.done():
            if is_next:
                self.done.set_result(bytes(self._parts))
            else:
                why = f"its node does not have the code {self.code}" if of == 0 else "unexpected part of the code"
                self.done.set_exception(WhimbrelError(why))
        return True


class Arrivals:
    """Moves of a session's agents."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        #: Creates an agent that is offered.
        self.take: Callable[[Offer], Any] | None = None

    async def offered(self, offer: Offer) -> None:
        """Accepts or refuses an agent that wants to move here."""
        # A repeated offer: the agent is here already.
        if any(entry.aid.name == offer.name and not entry.is_left for entry in self._platform.entries.values()):
            return
        try:
            if self.take is None:
                raise WhimbrelError("its client accepts no agents")
            await settled(self.take(offer))
        except Exception as error:
            self.stays(offer.name, error)

    async def yields(self, entry: Entry, to: str) -> None:
        """Moves an agent because another agent asked for it."""
        try:
            if entry.saver is None or not entry.saver.keep.yields or entry.is_left:
                raise WhimbrelError("its client does not let it move")
            await entry.agent.move_to(to)
        except Exception as error:
            # A refusal by the node was reported already.
            if not (isinstance(error, StayedError) and error.is_nodes):
                self.stays(entry.aid.name, error)

    def stays(self, name: str, why: object) -> None:
        """Refuses a move."""
        session = self._platform.session
        if session.over is None:
            session.stays(name, str(why))
            self._platform.pump()

    async def fetch_code(self, entry: Entry, code: str) -> bytes:
        """Fetches an agent's code from its node."""
        platform = self._platform
        fetch = entry.coming = CodeFetch(code, platform.loop.create_future())
        frame = platform.session.lacks(entry.number, code)
        platform.expect(frame, entry.number, fetch.done)
        platform.pump()
        return await fetch.done
