"""What all parts of an agent share: its place on a platform, its errors, its tasks and its end."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from ..acl.aid import Aid
from ..acl.errors import WhimbrelError
from ..acl.message import Message
from .deadlines import Deadlines
from .errors import EndedError, RefusedError
from .mailbox import Mailbox

if TYPE_CHECKING:
    from ..platform import Platform
    from .entry import Entry
    from .supervisor import Supervisor

__all__ = ["AgentCore", "eager", "settled"]

log = logging.getLogger("whimbrel")

if sys.version_info >= (3, 12):

    def eager(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], name: str | None) -> asyncio.Task[Any]:
        """Runs a coroutine at once, up to its first wait. The rest is a task."""
        return asyncio.Task(work, loop=loop, name=name, eager_start=True)

else:

    def eager(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], name: str | None) -> asyncio.Task[Any]:
        """Starts a task."""
        return loop.create_task(work, name=name)


async def settled(result: Any) -> Any:
    """Returns the result of a function, or of the coroutine that it returned."""
    return await result if inspect.isawaitable(result) else result


class AgentCore:
    """Base of agents. Subclasses may have any `__init__`: it needs no call of this one's."""

    # Few agents need all of these, and a process may have ten thousand agents.
    _entry: Entry | None = None
    _mailbox_: Mailbox | None = None
    _tasks: set[asyncio.Task[Any]] | None = None
    _end_reason: str | None = None
    _ended: asyncio.Future[str] | None = None
    _stopping: asyncio.Task[Any] | None = None
    _is_claimed = False
    #: Supervisor of the agent, which restarts it after a crash.
    _supervisor: Supervisor | None = None
    #: Reason for the end of an agent that failed, for those in this program.
    _failure: str | None = None

    @property
    def _bound(self) -> Entry:
        """Entry of a living agent."""
        if self._end_reason is not None:
            raise EndedError(f"the agent ended: {self._end_reason}")
        if self._entry is None:
            raise WhimbrelError("the agent has no platform yet: `await platform.start(name, agent)`")
        return self._entry

    @property
    def aid(self) -> Aid:
        """Identifier of the agent: its local name, as other agents of the platform see it."""
        if self._entry is None:
            raise WhimbrelError("the agent has no platform yet: `await platform.start(name, agent)`")
        return self._entry.aid

    @property
    def name(self) -> str:
        """Local name of the agent."""
        return self.aid.name

    @property
    def full_name(self) -> str:
        """Name of the agent for other platforms: `name@platform`."""
        return f"{self.name}@{self._bound.platform.name}"

    @property
    def platform(self) -> Platform:
        """Platform of the agent."""
        return self._bound.platform

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Event loop of the agent's platform."""
        return self._bound.platform.loop

    @property
    def deadlines(self) -> Deadlines:
        """Deadlines of the agent's platform."""
        return self._bound.platform.deadlines

    @property
    def _mailbox(self) -> Mailbox:
        if self._mailbox_ is None:
            self._mailbox_ = Mailbox(self)
        return self._mailbox_

    # ---- Errors

    def on_error(self, error: BaseException, message: Message | None = None) -> None:
        """Receives errors of handlers with their messages, and messages that the node refuses. Logs them by default;
        errors of a supervised agent are crashes.
        """
        self._log_error(error)
        # News of the node, and of the agent's own end, are no crashes.
        if self._supervisor is not None and not isinstance(error, (RefusedError, EndedError)):
            self._supervisor._crashed(self, error)  # type: ignore[arg-type]

    def _log_error(self, error: BaseException) -> None:
        name = self._entry.aid.name if self._entry else "?"
        log.error("agent %s: %s", name, error, exc_info=error if error.__traceback__ else None)

    def tell(self, error: BaseException, message: Message | None = None) -> None:
        """Reports an error to `on_error`. Logs an error that `on_error` raises."""
        try:
            self.on_error(error, message)
        except Exception:
            log.exception("agent %s: on_error fails, called with %r", self._entry and self._entry.aid, error)

    # ---- Tasks

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs a coroutine as a task that ends with the agent. Its errors go to `on_error`."""
        name = f"agent {self._bound.aid.name}"
        task = eager(self.loop, work, name)
        if task.done():
            self._task_done(task)
            return task
        if self._tasks is None:
            self._tasks = set()
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        if self._tasks is not None:
            self._tasks.discard(task)
        if not task.cancelled():
            error = task.exception()
            # A task that waited when the agent ended has not failed.
            if error is not None and not (self._end_reason is not None and isinstance(error, EndedError)):
                self.tell(error)

    # ---- End

    @property
    def is_alive(self) -> bool:
        """True from the agent's start until its end."""
        return self._entry is not None and self._end_reason is None

    @property
    def end_reason(self) -> str | None:
        """Reason of the agent's end: `finished`, `killed`, `failed: ...`; None while it lives."""
        return self._end_reason

    async def wait_ended(self) -> str:
        """Waits for the agent's end. Returns the reason."""
        if self._end_reason is not None:
            return self._end_reason
        if self._ended is None:
            self._ended = self.loop.create_future()
        return await asyncio.shield(self._ended)

    async def stop(self) -> None:
        """Ends the agent. It leaves the AMS and the DF."""
        if self._end_reason is not None:
            return
        entry = self._bound
        # A handler that stops its own agent goes on to its end.
        self._stopping = asyncio.current_task()
        entry.end()
        await self.wait_ended()

    def teardown(self, reason: str) -> Any:
        """Called when the agent has ended, for subclasses: a function or a coroutine. It cannot send any more."""

    def _over(self, reason: str) -> None:
        """Ends the agent in this program."""
        if self._end_reason is not None:
            return
        entry = self._entry
        reason = f"failed: {self._failure}" if self._failure is not None else reason
        self._end_reason = reason
        error = EndedError(f"the agent ended: {reason}")
        if self._mailbox_ is not None:
            for inbox in list(self._mailbox_.inboxes):
                inbox.fail(error)
        self._fail_questions(error)
        for task in list(self._tasks or ()):
            if task is not self._stopping:
                task.cancel()
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(reason)
        if self._supervisor is not None:
            self._supervisor._child_over(self, reason)  # type: ignore[arg-type]
        if entry is not None:
            self._tear_down(entry, reason)

    def _fail_questions(self, error: BaseException) -> None:
        """Fails the questions that wait for an answer."""

    def _tear_down(self, entry: Entry, reason: str) -> None:
        try:
            result = self.teardown(reason)
        except Exception as error:
            self.tell(error)
            return
        if asyncio.iscoroutine(result):

            async def finish() -> None:
                try:
                    await result
                except Exception as error:
                    self.tell(error)

            entry.platform.background(finish())

    # ---- Messages, for mailboxes

    def finished(self, message: Message) -> None:
        """Notes that the agent has finished a message."""
        raise NotImplementedError

    def redeliver(self, message: Message) -> None:
        """Delivers a message again that a receiver gave back."""
        raise NotImplementedError
