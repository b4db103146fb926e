"""Time of an agent: `after`, `every`, and what its class declares."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from .serving import Serving

__all__ = ["Ticker", "Timing"]


class Ticker:
    """A function that runs on time, until it is cancelled or its agent ends."""

    __slots__ = ("_agent", "_function", "_handle", "_is_over", "_is_repeated", "_seconds")

    def __init__(self, agent: Timing, seconds: float, function: Callable[[], Any], is_repeated: bool) -> None:
        self._agent = agent
        self._seconds = max(seconds, 0.0)
        self._function = function
        self._is_repeated = is_repeated
        self._is_over = False
        self._handle: asyncio.TimerHandle | None = agent.loop.call_later(self._seconds, self._due)

    def cancel(self) -> None:
        """Stops it. A run that has begun goes on."""
        self._is_over = True
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._agent._tickers.discard(self)

    @property
    def is_over(self) -> bool:
        """True if it will not run any more."""
        return self._is_over

    def _due(self) -> None:
        self._handle = None
        if self._is_over or not self._agent.is_alive:
            return
        if self._agent.is_suspended:
            self._agent._late.append(self)
        else:
            self.run()

    def run(self) -> None:
        """Runs the function now."""
        try:
            result = self._function()
        except Exception as error:
            self._agent.tell(error)
            self._again()
            return
        if inspect.isawaitable(result):
            self._agent.spawn(self._finish(result))
        else:
            self._again()

    async def _finish(self, result: Any) -> None:
        try:
            await result
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._agent.tell(error)
        self._again()

    def _again(self) -> None:
        saver = self._agent._entry.saver if self._agent._entry else None
        if saver is not None and self._agent.is_alive:
            saver.touched()
        if not self._is_repeated:
            self._is_over = True
            self._agent._tickers.discard(self)
        elif not self._is_over and self._agent.is_alive:
            self._handle = self._agent.loop.call_later(self._seconds, self._due)


class Timing(Serving):
    """Part of an agent that acts on time."""

    _tickers_: set[Ticker] | None = None
    _late_: list[Ticker] | None = None

    @property
    def _tickers(self) -> set[Ticker]:
        if self._tickers_ is None:
            self._tickers_ = set()
        return self._tickers_

    @property
    def _late(self) -> list[Ticker]:
        if self._late_ is None:
            self._late_ = []
        return self._late_

    def after(self, seconds: float, function: Callable[[], Any]) -> Ticker:
        """Runs a function, or a coroutine function, once after this time. A suspended agent runs it when it resumes."""
        return self._tick(seconds, function, False)

    def every(self, seconds: float, function: Callable[[], Any]) -> Ticker:
        """Runs a function, or a coroutine function, repeatedly: this time after its previous run has finished."""
        return self._tick(seconds, function, True)

    def _tick(self, seconds: float, function: Callable[[], Any], is_repeated: bool) -> Ticker:
        _ = self._bound
        ticker = Ticker(self, seconds, function, is_repeated)
        self._tickers.add(ticker)
        return ticker

    def _start_timers(self) -> None:
        """Starts the timers that the class declares."""
        for name, timer in self._declared_timers:
            self._tick(timer.seconds, getattr(self, name), timer.is_repeated)

    def _run_late_timers(self) -> None:
        late, self._late_ = self._late_ or [], None
        for ticker in late:
            if self.is_suspended:
                self._late.append(ticker)
            elif not ticker.is_over:
                ticker.run()

    def _over(self, reason: str) -> None:
        for ticker in list(self._tickers_ or ()):
            ticker.cancel()
        super()._over(reason)
