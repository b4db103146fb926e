"""Platforms for programs without asyncio: the event loop runs in a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from .acl.aid import AidLike
from .acl.errors import WhimbrelError
from .acl.message import Message
from .agents.agent import Agent
from .agents.limits import ANSWER_S
from .loops import new_loop, uvloop

if TYPE_CHECKING:
    from .diagram import Diagram
    from .platform import Platform
    from .recording import Recording

__all__ = ["BlockingPlatform", "run"]

T = TypeVar("T")

#: Name of the agent in whose name a program without agents asks.
_ASKER = "main"


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a program: `whimbrel.run(main())`. It uses uvloop if that is installed; Ctrl-C ends it, and cleans up."""
    result: T = (uvloop() or asyncio).run(main)
    return result


class BlockingPlatform:
    """A platform whose methods wait: ``with Platform() as platform: platform.start("ada", Ada())``."""

    def __init__(self, platform: Platform) -> None:
        #: The platform, for coroutines that run by `run`.
        self.platform = platform
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="whimbrel", daemon=True)
        self._asker: Agent | None = None

    def run(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Runs a coroutine in the platform's event loop. Returns its result. An interrupt cancels it; the platform
        stays usable.
        """
        if self._loop.is_closed():
            work.close()
            raise WhimbrelError("the platform is closed")
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout)
        except BaseException:
            future.cancel()
            raise

    def start(self, name: str, agent: Any = None, *, keep: Any = False) -> Any:
        """Starts an agent: see `Platform.start`."""
        return self.run(self.platform.start(name, agent, keep=keep))

    def start_all(self, agents: dict[str, Any], *, keep: bool = False, progress: bool = False) -> list[Any]:
        """Starts several agents together: see `Platform.start_all`."""
        return self.run(self.platform.start_all(agents, keep=keep, progress=progress))

    @property
    def recording(self) -> Recording:
        """Recording of this program's messages: see `Platform.recording`."""
        return self.platform.recording

    def diagram(self, agents: Any = None, *, directories: bool = False) -> Diagram:
        """Returns the recorded messages as a sequence diagram: see `Platform.diagram`."""
        return self.platform.diagram(agents, directories=directories)

    def ask(
        self,
        receivers: Message | AidLike | Iterable[AidLike],
        content: Any = None,
        performative: str = "request",
        *,
        timeout: float | None = ANSWER_S,
        **parameters: Any,
    ) -> Message:
        """Sends a message in the name of the agent `main`, and returns its answer: see `Agent.ask`."""

        async def ask() -> Message:
            asker = await self._own_agent()
            return await asker.ask(receivers, content, performative, timeout=timeout, **parameters)

        return self.run(ask())

    def send(
        self, receivers: AidLike | Iterable[AidLike], content: Any = None, performative: str = "inform", **more: Any
    ) -> None:
        """Sends a message in the name of the agent `main`: see `Agent.send`."""

        async def send() -> None:
            await (await self._own_agent()).send(receivers, content, performative, **more)

        self.run(send())

    async def _own_agent(self) -> Agent:
        if self._asker is None:
            self._asker = await self.platform.start(_ASKER)
        return self._asker

    def wait(self, *agents: Agent) -> None:
        """Waits until these agents have ended; without any, until the session is over."""

        async def wait() -> None:
            if agents:
                await asyncio.gather(*(agent.wait_ended() for agent in agents))
            else:
                await self.platform.wait_closed()

        self.run(wait())

    def close(self) -> None:
        """Ends all agents and the session, then the node, if it is one's own."""
        if self._loop.is_closed():
            return
        atexit.unregister(self.close)
        try:
            self.run(self.platform.close())
        finally:
            self._end_loop()

    def __enter__(self) -> BlockingPlatform:
        self._thread.start()
        try:
            self.run(self.platform.open())
        except BaseException:
            self._end_loop()
            raise
        atexit.register(self.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self.platform._repr_html_()

    def __repr__(self) -> str:
        return repr(self.platform)

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
