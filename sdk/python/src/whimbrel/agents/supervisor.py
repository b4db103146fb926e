"""Supervision: agents that restart others when they crash. Names and meanings are those of Erlang/OTP.

A supervised agent crashes when an exception leaves one of its handlers, timers or tasks, and its class does not
override `on_error`. It does not leave the platform: its name, its DF entry and its waiting messages stay, and a new
object continues it. A kept agent continues from its last saved state. Only messages that it was handling are lost;
their senders get `failure`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from ..acl.errors import WhimbrelError
from ..acl.message import Message
from .agent import Agent
from .core import settled
from .saver import Keep

__all__ = ["Child", "Supervisor"]

#: Agents that are restarted together with one that crashed.
Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]
#: Condition for a restart: always, after a crash only, or never.
Restart = Literal["permanent", "transient", "temporary"]

_STRATEGIES = ("one_for_one", "one_for_all", "rest_for_one")
_RESTARTS = ("permanent", "transient", "temporary")
#: Default restart intensity: so many restarts in so many seconds.
_INTENSITY, _PERIOD_S = 3, 5.0


class Child(NamedTuple):
    """Description of a supervised agent: `Child("ada", Painter)`, `Child("bob", lambda: Painter(3))`."""

    name: str
    #: Makes the agent, at first and for each restart: a class, or a function without arguments.
    make: Callable[[], Any]
    #: `permanent` agents are restarted whenever they end by themselves, `transient` ones when they crash, `temporary`
    #: ones never. Killed agents are not restarted: that was intended.
    restart: Restart = "permanent"
    #: Durability, as of `Platform.start`.
    keep: Keep | bool = False


class Supervisor(Agent):
    """An agent that starts others, and restarts them when they crash.

    >>> office = Supervisor(Child("ada", Painter), Child("bob", Painter), strategy="one_for_all")
    >>> await platform.start("office", office)

    More restarts than `intensity` in `period` seconds end the supervisor with all its children; its own supervisor may
    restart it.
    """

    def __init__(
        self,
        *children: Child,
        strategy: Strategy = "one_for_one",
        intensity: int = _INTENSITY,
        period: float = _PERIOD_S,
    ) -> None:
        """Describes the children, in the order of their start. Raises WhimbrelError if the description is wrong."""
        if strategy not in _STRATEGIES:
            raise WhimbrelError(f"unknown strategy {strategy!r}: use {', '.join(_STRATEGIES)}")
        for child in children:
            if child.restart not in _RESTARTS:
                raise WhimbrelError(
                    f"child {child.name}: unknown restart {child.restart!r}: use {', '.join(_RESTARTS)}"
                )
        self.strategy = strategy
        self.intensity = intensity
        self.period = period
        self._specs = {child.name: child for child in children}
        if len(self._specs) < len(children):
            raise WhimbrelError("two children have the same name: each needs its own")
        self._children: dict[str, Agent] = {}
        self._moments: deque[float] = deque()
        self._crashes: deque[tuple[str, Agent, str]] = deque()
        self._is_restarting = False
        self._gives_up = False

    # ---- Children

    @property
    def children(self) -> dict[str, Agent]:
        """Living children by name, in the order of their start. After a restart, they are other objects."""
        return {name: self._children[name] for name in self._specs if name in self._children}

    async def setup(self) -> None:
        """Starts the children, in order."""
        try:
            for child in list(self._specs.values()):
                await self._start(child)
        except BaseException:
            await self._stop_children()
            raise

    async def start_child(self, child: Child) -> Agent:
        """Adds a child, and starts it."""
        if child.name in self._specs:
            raise WhimbrelError(f"there is a child {child.name}")
        self._specs[child.name] = child
        try:
            return await self._start(child)
        except BaseException:
            del self._specs[child.name]
            raise

    async def stop_child(self, name: str) -> None:
        """Ends a child, which is not restarted, and forgets it."""
        self._specs.pop(name)
        child = self._children.pop(name, None)
        if child is not None:
            await child.stop()

    async def _start(self, child: Child) -> Agent:
        agent = await _made(child)
        agent._supervisor = self
        self._children[child.name] = agent
        try:
            await self.platform.start(child.name, agent, keep=child.keep)
        except BaseException:
            self._children.pop(child.name, None)
            raise
        return agent

    async def stop(self) -> None:
        """Ends the children, the last one first, then the supervisor."""
        if self.is_alive and not self._gives_up:
            self._gives_up = True
            await self._stop_children()
        await super().stop()

    async def _stop_children(self) -> None:
        children, self._children = list(self._children.values()), {}
        for child in reversed(children):
            if child.is_alive:
                await child.stop()

    def _over(self, reason: str) -> None:
        super()._over(reason)
        # Killed, or the session is over: the children must not outlive their supervisor.
        children, self._children = list(self._children.values()), {}
        for child in reversed(children):
            if child.is_alive and child._bound.platform.over is None:
                child._bound.end()

    # ---- Crashes

    def _crashed(self, child: Agent, error: BaseException) -> None:
        """An exception left a child's handler, timer or task. What it changed until then is not saved."""
        saver = child._entry.saver if child._entry is not None else None
        if saver is not None:
            saver.source = lambda: None
        self._note(child, str(error) or type(error).__name__)

    def _child_over(self, child: Agent, reason: str) -> None:
        """A child has ended."""
        name = child._entry.aid.name if child._entry is not None else ""
        if self._children.get(name) is child and self.is_alive:
            self._note(child, reason)

    def _note(self, child: Agent, why: str) -> None:
        if child._entry is None or self._gives_up or not self.is_alive:
            return
        # The handler answers first.
        self._crashes.append((child._entry.aid.name, child, why))
        if not self._is_restarting:
            self._is_restarting = True
            self.spawn(self._restart_all())

    async def _restart_all(self) -> None:
        # The handler of the message ends first, and its sender gets `failure`.
        await asyncio.sleep(0)
        try:
            while self._crashes and self.is_alive:
                name, child, why = self._crashes.popleft()
                if self._children.get(name) is child:
                    await self._restart(name, child, why)
        finally:
            self._is_restarting = False

    async def _restart(self, name: str, child: Agent, why: str) -> None:
        spec = self._specs[name]
        ended = child.end_reason
        is_intended = ended == "killed" or (ended == "finished" and spec.restart == "transient")
        if is_intended or spec.restart == "temporary":
            del self._children[name]
            if ended is None:
                await child.stop()
            return
        now = self.loop.time()
        self._moments.append(now)
        while self._moments[0] <= now - self.period:
            self._moments.popleft()
        if len(self._moments) > self.intensity:
            return await self._give_up(name, why)
        for other in self._together(name):
            if other in self._children:
                await self._restart_child(other, why)
        return None

    def _together(self, name: str) -> list[str]:
        """Returns the names of the children that are restarted with this one, in the order of their start."""
        names = list(self._specs)
        if self.strategy == "one_for_one":
            return [name]
        return names if self.strategy == "one_for_all" else names[names.index(name) :]

    async def _restart_child(self, name: str, why: str) -> None:
        spec, before = self._specs[name], self._children[name]
        try:
            if before.is_alive:
                agent = await _made(spec)
                agent._supervisor = self
                self._children[name] = agent
                await self.platform.replace(before, agent, f"failed: {why}")
            else:
                await self._start(spec)
        except Exception as error:
            if not self.is_alive:
                return
            # A child whose set-up fails crashed again.
            self.tell(error)
            found = self._children.get(name)
            self._crashes.append((name, found or before, str(error)))
            self._children[name] = found or before

    async def _give_up(self, name: str, why: str) -> None:
        """Ends the supervisor, because its children crash too often."""
        self._gives_up = True
        self._failure = f"child {name} crashed more than {self.intensity} times in {self.period:g} s: {why}"
        super().on_error(WhimbrelError(f"supervisor: {self._failure}"))
        await self._stop_children()
        await super().stop()

    def on_error(self, error: BaseException, message: Message | None = None) -> None:
        """Logs errors. A supervisor is restarted when it gives up, not for a single error."""
        self._log_error(error)


async def _made(child: Child) -> Agent:
    agent = await settled(child.make())
    if not isinstance(agent, Agent):
        raise WhimbrelError(f"child {child.name}: {child.make!r} makes no agent but {agent!r}")
    return agent
