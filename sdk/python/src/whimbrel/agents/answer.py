"""Future answer of a question: its task goes on at once, without a turn of the event loop."""

from __future__ import annotations

import asyncio
import contextvars
from asyncio import CancelledError, InvalidStateError
from collections.abc import Callable, Generator
from typing import Any

from ..acl.message import Message

__all__ = ["AnswerFuture"]


class AnswerFuture:
    """Future answer that one task waits for.

    A future of asyncio has its task run in the next turn of the loop, which looks at all sockets before. Here the task
    runs inside `set_result`, unless another task is running: what it sends next leaves with the other answers to what
    was read together.
    """

    __slots__ = (
        "__weakref__",
        "_asyncio_future_blocking",
        "_callback",
        "_error",
        "_is_cancelled",
        "_is_done",
        "_loop",
        "_result",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._is_done = False
        self._is_cancelled = False
        self._result: Message | None = None
        self._error: BaseException | None = None
        self._callback: tuple[Callable[[Any], Any], contextvars.Context | None] | None = None
        self._asyncio_future_blocking = False

    def __await__(self) -> Generator[Any, None, Message]:
        if not self._is_done:
            self._asyncio_future_blocking = True
            yield self
        return self.result()

    # ---- What a task asks of its future

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Returns the event loop."""
        return self._loop

    def add_done_callback(self, callback: Callable[[Any], Any], *, context: contextvars.Context | None = None) -> None:
        """Sets the one callback, the task's."""
        self._callback = (callback, context)
        if self._is_done:
            self._call_soon()

    def remove_done_callback(self, callback: Callable[[Any], Any]) -> int:
        """Removes the callback."""
        had, self._callback = self._callback, None
        return int(had is not None)

    def done(self) -> bool:
        """Returns true once there is an answer, or an error."""
        return self._is_done

    def cancelled(self) -> bool:
        """Returns true after `cancel`."""
        return self._is_cancelled

    def cancel(self, msg: Any = None) -> bool:
        """Cancels the wait, as a cancelled task does."""
        if self._is_done:
            return False
        self._is_done = self._is_cancelled = True
        self._error = CancelledError() if msg is None else CancelledError(msg)
        self._call_soon()
        return True

    def result(self) -> Message:
        """Returns the answer, or raises the error."""
        if self._error is not None:
            # A traceback would grow with each raise, and tie the error to its frames.
            error, self._error = self._error, None
            raise error
        if self._result is None:
            raise InvalidStateError("there is no answer yet")
        return self._result

    # ---- What the question says to it

    def set_result(self, answer: Message) -> None:
        """Sets the answer, and has the waiting task go on."""
        self._result = answer
        self._is_done = True
        callback = self._callback
        if callback is None:
            return
        if asyncio.current_task(self._loop) is not None:
            self._call_soon()
            return
        self._callback = None
        function, context = callback
        if context is None:
            function(self)
        else:
            context.run(function, self)

    def set_exception(self, error: BaseException) -> None:
        """Sets an error. The waiting task goes on in the next turn of the loop."""
        self._error = error
        self._is_done = True
        self._call_soon()

    def _call_soon(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            self._loop.call_soon(callback[0], self, context=callback[1])
