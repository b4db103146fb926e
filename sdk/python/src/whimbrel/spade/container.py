"""Container: the agents of this program, and their place on a platform."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ..agents.deadlines import Deadlines
from ..loops import close_loop, new_loop
from ..platform import Platform
from .jid import JID
from .mapping import to_acl

if TYPE_CHECKING:
    from .agent import Agent
    from .behaviour import CyclicBehaviour
    from .message import Message

__all__ = ["Container", "run_container"]

logger = logging.getLogger("spade.Container")

#: Lease of sessions with a node of one's own. Programs for SPADE may block the event loop, as by `input`.
_OWN_LEASE_S = 300.0
#: Makes the platform of the agents.
MakePlatform = Callable[[], Platform]


def _own_or_joined() -> Platform:
    """Returns the platform that the variables WHIMBREL_URL and WHIMBREL_TOKEN name, or one with a node of its own."""
    if os.environ.get("WHIMBREL_URL"):
        return Platform()
    return Platform(options=("--http", os.environ.get("WHIMBREL_HTTP") or "127.0.0.1:0"), lease=_OWN_LEASE_S)


class Container:
    """The agents of this program. There is one container in a program.

    The first agent that starts opens the platform. Messages go through its node, also from one agent to another of this
    program: operators see them, and a policy holds for them.
    """

    _only: Container | None = None

    def __new__(cls) -> Container:
        """Returns the container of the program."""
        if cls._only is None:
            cls._only = object.__new__(cls)
            cls._only._begin()
        return cls._only

    def _begin(self) -> None:
        self._agents: dict[str, Agent] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._make: MakePlatform = _own_or_joined
        #: Event loop of the open platforms.
        self._home: asyncio.AbstractEventLoop | None = None
        self._platforms: list[Platform] = []
        self._lock: asyncio.Lock | None = None
        self._deadlines: Deadlines | None = None
        self.is_running = True

    def reset(self) -> None:
        """Forgets all agents."""
        self._agents.clear()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Event loop: the running one, or that of `spade.run`."""
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            if self._loop is None or self._loop.is_closed():
                self._loop = new_loop()
            return self._loop

    # ---- Agents

    def register(self, agent: Agent) -> None:
        """Adds an agent. One with the same JID is forgotten."""
        self._agents[str(agent.jid)] = agent
        agent.set_container(self)

    def unregister(self, jid: JID | str) -> None:
        """Forgets an agent."""
        self._agents.pop(str(jid), None)

    def has_agent(self, jid: JID | str) -> bool:
        """True if there is an agent with this JID."""
        return str(jid) in self._agents

    def get_agent(self, jid: JID | str) -> Agent:
        """Returns the agent with this JID. Raises KeyError if there is none."""
        return self._agents[str(jid)]

    async def send(self, msg: Message, behaviour: CyclicBehaviour) -> None:
        """Sends a message of a behaviour's agent. Waits while the node takes no more.

        Raises ValueError if the message has no receiver, EndedError if the agent has stopped.
        """
        agent = behaviour.agent
        await agent.client.send(to_acl(msg, agent.jid))

    # ---- Platform

    @property
    def platform(self) -> Platform | None:
        """The platform of the agents, once the first one has started."""
        return self._platforms[0] if self._platforms and self._home is self.loop else None

    @property
    def deadlines(self) -> Deadlines:
        """Deadlines of behaviours that wait."""
        self._settle()
        assert self._deadlines is not None
        return self._deadlines

    def _settle(self) -> None:
        """Notes the running event loop. Platforms of an earlier one are gone."""
        loop = asyncio.get_running_loop()
        if self._home is not loop:
            self._home, self._platforms, self._lock = loop, [], asyncio.Lock()
            self._deadlines = Deadlines(loop)

    async def connect(self, agent: Agent) -> None:
        """Starts an agent at the node."""
        self._settle()
        assert self._lock is not None
        while (platform := self._with_room()) is None:
            async with self._lock:
                if self._with_room() is None:
                    another = await self._another()
                    self._platforms.append(another)
        await platform.start(agent.jid.node, agent.client)

    def _with_room(self) -> Platform | None:
        """Returns a platform that takes a further agent."""
        return next((platform for platform in self._platforms if _has_room(platform)), None)

    async def _another(self) -> Platform:
        """Opens a platform; beside a full one, a further session with its node."""
        living = [platform for platform in self._platforms if platform.over is None]
        self._platforms = living
        node = living[0].node if living else None
        if node is None:
            return await self._make().open()
        return await Platform(node.address, token=node.token, lease=_OWN_LEASE_S).open()

    async def disconnect(self) -> None:
        """Stops all agents, and closes the platform."""
        loop = asyncio.get_running_loop()
        # Agents of an earlier event loop have gone with it.
        started = [agent for agent in self._agents.values() if agent._has_client and agent._home is loop]
        await asyncio.gather(*(agent.stop() for agent in started), return_exceptions=True)
        for agent in started:
            for task in list(agent._tasks):
                if task is not asyncio.current_task():
                    task.cancel()
        if self._home is loop:
            platforms, self._platforms = self._platforms, []
            # The node of one's own belongs to the first.
            for platform in reversed(platforms):
                await platform.close()

    def stop_agents(self) -> None:
        """Stops all agents, from outside the event loop."""
        started = [agent for agent in self._agents.values() if agent._has_client]

        async def stop() -> None:
            await asyncio.gather(*(agent.stop() for agent in started))

        self.run(stop())

    def run(self, coro: Awaitable[Any]) -> Any:
        """Runs a coroutine to its end, from outside the event loop."""
        return self.loop.run_until_complete(coro)

    def _run_main(self, main: Coroutine[Any, Any, Any]) -> None:
        loop = self.loop
        try:
            loop.run_until_complete(main)
        except KeyboardInterrupt:
            logger.warning("Keyboard interrupt received. Stopping SPADE...")
        finally:
            try:
                loop.run_until_complete(self.disconnect())
            finally:
                close_loop(loop)
                self._loop = self._home = None
                self.reset()


def _has_room(platform: Platform) -> bool:
    return platform.over is None and len(platform.entries) < platform.agents_max


def run_container(
    main_func: Coroutine[Any, Any, Any],
    embedded_xmpp_server: bool = False,
    *,
    platform: MakePlatform | None = None,
) -> None:
    """Runs a program: `spade.run(main())`. At its end all agents stop.

    The node is that of the variables WHIMBREL_URL and WHIMBREL_TOKEN, or one of the program's own; `platform` makes
    another one: ``spade.run(main(), platform=lambda: Platform("tls://..."))``. `embedded_xmpp_server` changes nothing.
    """
    container = Container()
    before = container._make
    container._make = platform or before
    try:
        container._run_main(main_func)
    finally:
        container._make = before
