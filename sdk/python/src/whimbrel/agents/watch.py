"""Monitors: blocks that end when another agent has ended. The AMS tells of ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..acl.aid import Aid, AidLike
from ..acl.message import Message
from ..acl.values import Atom, Term
from .directory import agent_identifier, perform
from .errors import AgentGoneError, DeadlineError, EndedError, FailureError, RefuseError, in_words
from .limits import ANSWER_S, WATCH_S
from .mailbox import Inbox

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ["Ends", "Watch"]


class Ends(Inbox):
    """News of the AMS about agents that ended, for all monitors of an agent. It comes before all other receivers."""

    def __init__(self, agent: Agent) -> None:
        mailbox = agent._mailbox
        self._waiting: dict[str, list[asyncio.Future[str]]] = {}
        super().__init__(mailbox, self._is_news)
        mailbox.inboxes.remove(self)
        mailbox.inboxes.insert(0, self)

    def _is_news(self, message: Message) -> bool:
        content = message.content
        return (
            message.sender == "ams"
            and isinstance(content, Term)
            and content.functor == "ended"
            and len(content.args) == 2
            and in_words(content.args[0]) in self._waiting
        )

    def put(self, message: Message, size: int, *, is_reserved: bool = False) -> bool:
        """Tells those who wait for the end of this agent."""
        name, reason = message.content.args
        is_failure = isinstance(reason, Term) and not isinstance(reason, Atom) and len(reason.args) == 1
        text = f"{reason.functor}: {in_words(reason.args[0])}" if is_failure else in_words(reason)
        for future in self._waiting.pop(in_words(name), ()):
            if not future.done():
                future.set_result(text)
        self._agent.finished(message)
        return True

    def wait_for(self, name: str) -> asyncio.Future[str]:
        """Returns the future end of an agent, with its reason."""
        future: asyncio.Future[str] = self._agent.loop.create_future()
        self._waiting.setdefault(name, []).append(future)
        return future

    def forget(self, name: str, future: asyncio.Future[str]) -> bool:
        """Waits no more. Returns true if nothing else waits for this agent, which has not ended."""
        waiting = self._waiting.get(name, [])
        if future in waiting:
            waiting.remove(future)
            if not waiting:
                del self._waiting[name]
                return True
        return False

    def fail(self, error: BaseException) -> None:
        """The watching agent has ended."""
        for futures in self._waiting.values():
            for future in futures:
                future.cancel()
        self._waiting.clear()
        super().fail(error)


class Watch:
    """A block that is cancelled when the watched agent has ended, and raises AgentGoneError then.

    The node tells of the end at once. A node that has no monitors for clients yet is asked once a second.
    """

    def __init__(self, agent: Agent, watched: AidLike, interval: float = WATCH_S) -> None:
        self._agent = agent
        self.watched = Aid.of(watched)
        #: Reason of the end: `finished`, `killed`, `failed: ...`; None while the agent lives.
        self.reason: str | None = None
        self._interval = interval
        self._block: asyncio.Task[Any] | None = None
        self._look: asyncio.Task[None] | None = None
        self._end: asyncio.Future[str] | None = None

    @property
    def is_gone(self) -> bool:
        """True if the watched agent has ended."""
        return self.reason is not None

    async def wait_gone(self) -> str:
        """Waits until the watched agent has ended, for programs that watch by a task of their own. Returns the reason;
        `unknown` if there is no such agent.
        """
        try:
            await self._begin()
        except AgentGoneError:
            return "unknown"
        try:
            return await self._until_gone()
        finally:
            self._finish()

    async def __aenter__(self) -> Watch:
        """Begins to watch. Raises AgentGoneError if there is no such agent."""
        await self._begin()
        self._block = asyncio.current_task()
        self._look = self._agent.spawn(self._watch())
        return self

    async def _watch(self) -> None:
        self.reason = await self._until_gone()
        if self._block is not None:
            self._block.cancel()

    async def _begin(self) -> None:
        """Has the AMS tell of the end. An agent of this program is known to end without it."""
        if self._agent.platform.agent_named(self.watched) is not None:
            return
        name = self.watched.name
        self._end = self._agent._ends.wait_for(name)
        try:
            await perform(self._agent, "ams", Term("watch", agent_identifier(self.watched)), ANSWER_S)
        except FailureError:
            self._finish()
            raise AgentGoneError(str(self.watched)) from None
        except RefuseError:
            # An agent of another platform, or an older node.
            self._finish()
            if not await self._is_there():
                raise AgentGoneError(str(self.watched)) from None
        except BaseException:
            self._finish()
            raise

    async def _until_gone(self) -> str:
        local = self._agent.platform.agent_named(self.watched)
        if local is not None:
            return await local.wait_ended()
        if self._end is not None:
            return await self._end
        while await self._is_there():  # noqa: ASYNC110 - this node does not tell
            await asyncio.sleep(self._interval)
        return "unknown"

    async def _is_there(self) -> bool:
        try:
            found = await self._agent.ams.search(str(self.watched), max_results=1)
        except DeadlineError:
            # A node that is slow to answer says nothing about the agent.
            return True
        return bool(found)

    def _finish(self) -> None:
        """Has the AMS tell no more, if nothing else waits for it."""
        end, self._end = self._end, None
        if end is None or not self._agent.is_alive:
            return
        if self._agent._ends.forget(self.watched.name, end):
            content = [Term("action", agent_identifier("ams"), Term("unwatch", agent_identifier(self.watched)))]
            talk = self._agent.conversation("ams", content, "request", protocol="fipa-request")
            # Its answers are of no use.
            talk.give_up()

    async def __aexit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        was_gone = self.is_gone
        if self._look is not None and not self._look.done():
            self._look.cancel()
        self._finish()
        if not was_gone:
            return
        gone = AgentGoneError(str(self.watched), self.reason)
        if isinstance(error, asyncio.CancelledError):
            uncancel = getattr(self._block, "uncancel", None)
            if uncancel is not None and uncancel() > 0:
                # Another party cancels the task, too.
                return
            raise gone from None
        if error is None or isinstance(error, EndedError):
            raise gone
