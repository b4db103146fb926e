"""Deadlines of many futures with one timer: a timer of its own for each question would cost more than the question."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from .answer import AnswerFuture
from .errors import DeadlineError

__all__ = ["Deadlines"]


class Deadlines:
    """Futures that fail with a DeadlineError when their time is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # By duration: within one, the futures are in the order of their ends.
        self._queues: dict[float, deque[tuple[float, asyncio.Future[Any] | AnswerFuture]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = float("inf")

    def add(self, future: asyncio.Future[Any] | AnswerFuture, seconds: float) -> None:
        """Adds a future."""
        due = self._loop.time() + seconds
        queue = self._queues.get(seconds)
        if queue is None:
            queue = self._queues[seconds] = deque()
        queue.append((due, future))
        while queue[0][1].done():
            queue.popleft()
        if due < self._due:
            self._set(due)

    def _set(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._wake)

    def _wake(self) -> None:
        self._timer, self._due = None, float("inf")
        now = self._loop.time()
        for seconds, queue in list(self._queues.items()):
            while queue and (queue[0][0] <= now or queue[0][1].done()):
                _, future = queue.popleft()
                if not future.done():
                    future.set_exception(DeadlineError(f"no message within {seconds:g} s"))
            if not queue:
                del self._queues[seconds]
        if self._queues:
            self._set(min(queue[0][0] for queue in self._queues.values()))

    def close(self) -> None:
        """Forgets all futures."""
        self._queues.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
