"""Agents whose code runs in this program."""

from __future__ import annotations

from typing import Any

from ..acl.aid import AidLike
from ..protocols.conversing import Conversing
from .ams import Ams
from .behaviours import Behaving, Behaviour
from .df import Df
from .limits import ANSWER_S, WATCH_S
from .watch import Ends, Watch

__all__ = ["Agent"]


class Agent(Conversing, Behaving):
    """An agent of a platform. It is registered with the AMS, can be found in the DF, sends, receives, is monitored and
    can be killed, like every agent.

    >>> class Bidder(Agent):
    ...     capacity = 10
    ...
    ...     @on.cfp(ontology="jobs")
    ...     async def offer(self, cfp):
    ...         if cfp.content["size"] > self.capacity:
    ...             return cfp.refuse("too big")
    ...         return cfp.propose(price=self.capacity * 2)

    A subclass may have any `__init__`; it is given to `platform.start(name, agent)`. All its behaviours, timers and
    tasks end with it.
    """

    #: Successor of an agent that its node handed over to another node. It continues from the last saved state.
    successor: Any = None
    _ends_: Ends | None = None

    def setup(self) -> Any:
        """Called when the agent has joined the platform, for subclasses: a function or a coroutine. `start` returns
        after it.
        """

    @property
    def _ends(self) -> Ends:
        if self._ends_ is None:
            self._ends_ = Ends(self)
        return self._ends_

    @property
    def df(self) -> Df:
        """The directory of services (yellow pages)."""
        return Df(self)

    @property
    def ams(self) -> Ams:
        """The directory of agents (white pages)."""
        return Ams(self)

    async def join(self, name: str, timeout: float | None = ANSWER_S) -> None:
        """Subscribes to a topic, `topic:weather`, or joins a group, `group:crew`."""
        await self.ams.join(name, timeout)

    async def leave(self, name: str, timeout: float | None = ANSWER_S) -> None:
        """Leaves a topic or group."""
        await self.ams.leave(name, timeout)

    def watch(self, agent: AidLike, interval: float = WATCH_S) -> Watch:
        """Watches another agent: a block that is cancelled, and raises AgentGoneError, when that agent has ended. The
        node tells of the end at once. `interval` is for agents of other platforms, which the AMS is asked for.

        ``async with self.watch("bob"): await self.long_work()``
        """
        return Watch(self, agent, interval)

    async def certify(self, request: str) -> str:
        """Has the node certify a key of this agent. `request` is a certificate signing request (PKCS #10) for an
        Ed25519 key, as PEM. Returns the agent's and the node's certificates as PEM, valid for an hour.

        Raises RefusedError if the node issues no certificates, or the request names another agent.
        """
        entry = self._bound
        return await entry.platform.certify(entry, request)

    def _shown(self) -> tuple[str, str]:
        """Name and state of the agent, for people."""
        return ("?", "not started") if self._entry is None else (self.name, self.end_reason or "alive")

    def __repr__(self) -> str:
        name, state = self._shown()
        return f"<{type(self).__name__} {name}, {state}>"

    def _repr_html_(self) -> str:
        from ..html import table

        name, state = self._shown()
        own = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        rows: list[tuple[str, object]] = [("class", type(self).__name__), ("state", state), ("waiting", self.waiting)]
        return table(f"Agent {name}", [*rows, *own.items()])

    def add_behaviour(self, behaviour: Behaviour) -> Behaviour:
        """Starts a behaviour. It ends with the agent."""
        return behaviour.start(self)
