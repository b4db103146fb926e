"""Platform in memory: agents of a test, without a node's process, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from ..acl.errors import WhimbrelError
from ..loops import close_loop
from ..platform import Platform
from ..recording import Recording
from .clock import VirtualLoop
from .expectations import ANYTHING, Expectation
from .memory_node import MemoryNode

__all__ = ["MemoryPlatform", "run"]

T = TypeVar("T")

#: Seconds of the lease: as long as nodes permit, so that an hour of virtual time has few signs of life.
_LEASE_S = 300.0


class MemoryPlatform(Platform):
    """A platform without a node's process, for tests. Agents run on it unchanged.

    >>> async with MemoryPlatform() as platform:
    ...     await platform.start("ada", Greeter())
    ...     bob = await platform.start("bob")
    ...     await bob.ask("ada", "world")
    ...     platform.assert_says("ada", "inform", "hello, world", to="bob")

    In the event loop of `whimbrel.testing.run`, or of the pytest fixture `platform`, time is virtual.
    """

    def __init__(self, name: str = "whimbrel", *, node: MemoryNode | None = None, **options: Any) -> None:
        """Describes a platform. With `node`, it is another program on that node. `options` are those of `Platform`."""
        #: The node in memory.
        self.memory_node = node if node is not None else MemoryNode(name)
        options.setdefault("lease", _LEASE_S)
        super().__init__(transport=self.memory_node.connect, **options)

    def another(self, **options: Any) -> MemoryPlatform:
        """Returns the platform of another program on the same node: to be opened."""
        return MemoryPlatform(node=self.memory_node, **options)

    async def open(self) -> MemoryPlatform:
        """Begins the session."""
        await super().open()
        return self

    async def __aenter__(self) -> MemoryPlatform:
        return await self.open()

    # ---- Time

    @property
    def _virtual(self) -> VirtualLoop:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            raise WhimbrelError(
                "time is real in this event loop: take the fixture `platform`, or `whimbrel.testing.run(test())`"
            )
        return loop

    @property
    def time(self) -> float:
        """Virtual time in seconds, 0 at the beginning of the test."""
        return self.loop.time()

    async def advance(self, seconds: float) -> None:
        """Lets virtual time pass. All timers, deadlines and behaviours that are due run, in order."""
        await self._virtual.advance(seconds)

    async def settle(self) -> None:
        """Waits until all messages are delivered and handled, at this moment of virtual time."""
        await self._virtual.settle()

    # ---- Faults

    def cut(self) -> None:
        """Breaks the connection. The session connects again, and loses nothing."""
        self.memory_node.sessions[self.session.welcome["session"]].cut()  # type: ignore[index]

    async def crash(self) -> None:
        """Ends this program as `kill -9` and its lease would: its agents end, and kept ones wait at the node."""
        session = self.memory_node.sessions.get(self.session.welcome["session"])  # type: ignore[index]
        self.session.abandon("the program crashed")
        self.driver.flush()
        if session is not None:
            session.over("failed: its lease is over")
        await self.close()

    # ---- Conversations

    @property
    def recording(self) -> Recording:
        """All messages of the platform."""
        return self.memory_node.recording

    def assert_says(
        self,
        agent: Any,
        performative: str | None = None,
        content: Any = ANYTHING,
        *,
        to: Any = None,
        times: int | None = None,
        **parameters: Any,
    ) -> Any:
        """Asserts that an agent said such a message, and returns the last one.

        `content` is equal to the message's, or a function that returns true for it. `to` is a receiver. `times` is the
        exact number of such messages; 0 asserts that there is none. `parameters` are others of the message:
        `ontology="jobs"`.
        """
        __tracebackhide__ = True
        return Expectation(agent, performative, content, to, parameters).check(self.recording, times)

    def assert_silent(
        self, agent: Any, performative: str | None = None, content: Any = ANYTHING, *, to: Any = None, **parameters: Any
    ) -> None:
        """Asserts that an agent said no such message."""
        __tracebackhide__ = True
        Expectation(agent, performative, content, to, parameters).check(self.recording, 0)

    def __repr__(self) -> str:
        return f"<MemoryPlatform {self.memory_node.name}, {len(self.entries)} agents>"


def run(main: Any, *, patience: float | None = None) -> Any:
    """Runs a coroutine in virtual time: `whimbrel.testing.run(test())`. Returns its result.

    `patience` is the virtual time in seconds for which it may wait without `advance`, a day by default.
    """
    loop = VirtualLoop() if patience is None else VirtualLoop(patience)
    try:
        return loop.run_until_complete(main)
    finally:
        close_loop(loop)
