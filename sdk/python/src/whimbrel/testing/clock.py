"""Virtual clock: an event loop whose time passes only when nothing else is left to do.

All of asyncio follows it: `sleep`, `wait_for`, timers and deadlines. A test of an hour takes milliseconds, and two runs
of it do the same in the same order.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import math
import selectors
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from ..acl.errors import WhimbrelError

__all__ = ["StuckError", "VirtualLoop"]

#: Seconds of virtual time, and moments in it, for which a program may wait without `advance`.
PATIENCE_S = 86_400.0
MOMENTS_MAX = 1_000_000
#: Virtual time is counted in nanoseconds: sums of decimal fractions stay exact.
_PER_S = 1_000_000_000


class StuckError(WhimbrelError):
    """A test waits for something that does not happen in virtual time."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Event loop with virtual time. When no callback is ready, it jumps to the next timer.

    Timers that are due at the same moment run in the order in which they were set. Work in other threads
    (`asyncio.to_thread`) is waited for before time passes. Sockets work, but virtual time does not wait for them.
    """

    def __init__(self, patience: float = PATIENCE_S) -> None:
        self._now_ns = 0
        self._patience_ns = round(patience * _PER_S)
        #: Moment of the last advance, and moments since then.
        self._since_ns = self._moments = 0
        #: Number of advances in progress.
        self._advances = 0
        #: Timers set for a moment so far, for moments to come.
        self._ties: dict[int, int] = {}
        self._ties_max = 64
        self._settling: list[asyncio.Future[None]] = []
        self._threads = 0
        super().__init__(_VirtualSelector(self))

    def time(self) -> float:
        """Virtual time in seconds, 0 at the beginning."""
        return self._now_ns / _PER_S

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Sets a timer. Those of one moment differ by the least possible, so that their order is that of the calls."""
        at_ns = max(round(when * _PER_S), self._now_ns)
        count = self._ties.get(at_ns, 0)
        self._ties[at_ns] = count + 1
        exact = at_ns / _PER_S
        return super().call_at(exact + count * math.ulp(exact), callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Runs a function in another thread. No time passes until it has returned."""
        self._threads += 1
        future = super().run_in_executor(executor, func, *args)

        def done(_: asyncio.Future[Any] | Future[Any]) -> None:
            self._threads -= 1

        future.add_done_callback(done)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Waits for the threads of `run_in_executor`."""
        self._threads += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self._threads -= 1

    # ---- Time

    async def settle(self) -> None:
        """Waits until nothing is left to do at this moment."""
        future: asyncio.Future[None] = self.create_future()
        self._settling.append(future)
        await future

    async def advance(self, seconds: float) -> None:
        """Lets time pass, and runs all that is due, its last moment included."""
        if seconds < 0:
            raise WhimbrelError(f"cannot advance by {seconds} s: time does not go back")
        self._advances += 1
        try:
            await self.settle()
            await asyncio.sleep(seconds)
            await self.settle()
        finally:
            self._advances -= 1
            self._since_ns, self._moments = self._now_ns, 0

    def _idle(self, timeout: float | None) -> bool:
        """Nothing is ready: ends a `settle`, or jumps to the next timer. Returns false if threads are still at work."""
        if self._settling:
            waiting, self._settling = self._settling, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)
            return True
        if self._threads:
            return False
        if timeout is None:
            text = "the test waits for what never happens: no message is on its way, and no timer is set"
            raise StuckError(f"{text}\n{self._stacks()}")
        now_ns = self._now_ns + max(1, math.ceil(timeout * _PER_S - 0.5))
        self._moments += 1
        is_late = now_ns > self._since_ns + self._patience_ns or self._moments > MOMENTS_MAX
        if is_late and not self._advances:
            waited = (self._now_ns - self._since_ns) / _PER_S
            raise StuckError(
                f"the test waits since {waited:g} s of virtual time, in which timers ran at {self._moments} moments. "
                f"If that is meant, `await platform.advance(seconds)`\n{self._stacks()}"
            )
        self._now_ns = now_ns
        if len(self._ties) > self._ties_max:
            self._ties = {at: count for at, count in self._ties.items() if at > now_ns}
            self._ties_max = 2 * len(self._ties) + 64
        return True

    def _stacks(self) -> str:
        """Places at which the tasks of this loop wait."""
        out = io.StringIO()
        for task in sorted(asyncio.all_tasks(self), key=lambda task: task.get_name()):
            task.print_stack(limit=1, file=out)
        return out.getvalue()


class _VirtualSelector(selectors.BaseSelector):
    """Selector that lets virtual time pass instead of sleeping."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        if self._loop._idle(timeout):
            return []
        # A thread wakes the loop by its own socket.
        return self._real.select(None)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def close(self) -> None:
        self._real.close()

    def get_map(self) -> Any:
        return self._real.get_map()
