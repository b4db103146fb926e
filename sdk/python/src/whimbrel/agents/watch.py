"""Monitors: blocks that end when another agent is gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..acl.aid import Aid, AidLike
from .errors import AgentGoneError, DeadlineError, EndedError
from .limits import WATCH_S

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ["Watch"]


class Watch:
    """A block that is cancelled when the watched agent is gone, and raises AgentGoneError then.

    An agent of this program is known to be gone at once. For others the AMS is asked, once a second.
    """

    def __init__(self, agent: Agent, watched: AidLike, interval: float = WATCH_S) -> None:
        self._agent = agent
        self.watched = Aid.of(watched)
        self._interval = interval
        self._block: asyncio.Task[Any] | None = None
        self._look: asyncio.Task[None] | None = None
        self._gone: asyncio.Future[None] | None = None

    @property
    def is_gone(self) -> bool:
        """True if the watched agent is not on the platform any more."""
        return self._gone is not None and self._gone.done()

    async def wait_gone(self) -> None:
        """Waits until the watched agent is gone, for programs that watch by a task of their own."""
        await self._until_gone()

    async def __aenter__(self) -> Watch:
        """Begins to watch. Raises AgentGoneError if there is no such agent."""
        if not await self._is_there():
            raise AgentGoneError(str(self.watched))
        self._gone = self._agent.loop.create_future()
        self._block = asyncio.current_task()
        self._look = self._agent.spawn(self._watch())
        return self

    async def _watch(self) -> None:
        await self._until_gone()
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(None)
            if self._block is not None:
                self._block.cancel()

    async def _until_gone(self) -> None:
        local = self._agent.platform.agent_named(self.watched)
        if local is not None:
            await local.wait_ended()
            return
        while await self._is_there():  # noqa: ASYNC110 - nothing tells when another agent ends
            await asyncio.sleep(self._interval)

    async def _is_there(self) -> bool:
        if self._agent.platform.agent_named(self.watched) is not None:
            return True
        try:
            found = await self._agent.ams.search(str(self.watched), max_results=1)
        except DeadlineError:
            # A node that is slow to answer says nothing about the agent.
            return True
        return bool(found)

    async def __aexit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        was_gone = self.is_gone
        if self._look is not None and not self._look.done():
            self._look.cancel()
        if not was_gone:
            return
        if isinstance(error, asyncio.CancelledError):
            uncancel = getattr(self._block, "uncancel", None)
            if uncancel is not None and uncancel() > 0:
                # Another party cancels the task, too.
                return
            raise AgentGoneError(str(self.watched)) from None
        if error is None or isinstance(error, EndedError):
            raise AgentGoneError(str(self.watched))
