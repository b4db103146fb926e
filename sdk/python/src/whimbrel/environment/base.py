"""Environment: what agents act on and perceive."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol

from ..acl.json import value_to_json
from ..acl.values import Atom, Term
from ..actions import ActionError
from .calls import Signature, UnknownError
from .grid import GridWorld

__all__ = ["Channel", "Environment", "act_variable"]

#: Shortest time between two views of a grid, in seconds.
VIEW_EVERY = 0.05
#: Number of the action that runs.
act_variable: contextvars.ContextVar[int | None] = contextvars.ContextVar("whimbrel_act", default=None)


class Channel(Protocol):
    """Way to the node."""

    def percepts(self, agent: str, whole: bool, added: list[str], removed: list[str]) -> None:
        """Shows an agent percepts, which are JSON already."""

    def progress(self, number: int, report: Any) -> None:
        """Reports how far an action is."""

    def grid(self, columns: int, rows: int, objects: list[Any]) -> None:
        """Shows a grid."""


class Environment:
    """Base class of environments. Each public `async def` of a subclass is an action: it gets the name of the agent
    that acts, and the arguments of the action. It succeeds when it returns, and fails if it returns False or raises.
    """

    #: Names of the agents that there are.
    agents: list[str]
    #: Grid that the console shows, if it is set.
    view: GridWorld | None = None

    _channel: Channel

    #: Actions: the public `async def` of subclasses, with their signatures.
    _actions: ClassVar[dict[str, tuple[Any, Signature]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Finds the actions of a subclass.

        Raises TypeError if one has the name of a method that subclasses use.
        """
        super().__init_subclass__(**kwargs)
        cls._actions = dict(cls._actions)
        if _is_own(cls):
            return
        own = [base for base in cls.__mro__ if base is not object and _is_own(base)]
        for name, method in vars(cls).items():
            if name in _USED:
                raise TypeError(f"{cls.__name__}.{name} hides a method of Environment: give it another name")
            is_action = not name.startswith("_") and inspect.iscoroutinefunction(method)
            if is_action and not any(hasattr(base, name) for base in own):
                cls._actions[name] = (method, Signature(method, skip=2))

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Environment:
        """Makes the environment's own parts, so that subclasses need not call `__init__`."""
        self = super().__new__(cls)
        self.agents = []
        self._common = {}
        self._own = {}
        self._shown = {}
        self._viewed = None
        self._view_timer = None
        return self

    _common: dict[str, None]
    _own: dict[str, dict[str, None]]
    _shown: dict[str, dict[str, None]]
    _viewed: tuple[int, int] | None
    _view_timer: asyncio.TimerHandle | None

    # ---- What subclasses write

    def percepts(self, agent: str) -> Iterable[Any]:
        """Returns the percepts of an agent: terms. They are shown with those of `add_percept`."""
        return ()

    async def begin(self) -> None:
        """Begins the environment; agents act only after this. Here subclasses start tasks."""

    async def end(self) -> None:
        """Ends the environment, with its society."""

    def agent_came(self, agent: str) -> None:
        """Takes note of an agent that came after the environment began."""

    def agent_gone(self, agent: str) -> None:
        """Takes note of an agent that has ended."""

    async def act(self, agent: str, action: Term) -> Any:
        """Performs an action. A subclass may replace this if it treats all actions alike."""
        return await _method(self, agent, action)

    # ---- What subclasses use

    def add_percept(self, percept: Any, agent: str | None = None) -> None:
        """Adds a percept of one agent, or of all. Agents see it after the action that runs, or with `update`."""
        self._stored(agent)[_percept(percept)] = None

    def remove_percept(self, percept: Any, agent: str | None = None) -> bool:
        """Removes a percept that was added. Returns false if there is none."""
        key, stored = _percept(percept), self._stored(agent)
        return key in stored and stored.pop(key) is None

    def clear_percepts(self, agent: str | None = None) -> None:
        """Removes all percepts that were added for one agent, or for all agents in common."""
        self._stored(agent).clear()

    def update(self) -> None:
        """Shows all agents what has changed. After each action this happens by itself."""
        for agent in self.agents:
            self._show(agent)
        self._show_grid()

    def progress(self, report: Any) -> None:
        """Tells the agent how far the action is that runs: an event `+progress(Action, Report)`. What has changed is
        shown first.

        Raises ActionError outside of an action.
        """
        number = act_variable.get()
        if number is None:
            raise ActionError("progress is reported by an action while it runs")
        self.update()
        self._channel.progress(number, report)

    # ---- What the host uses

    async def _perform(self, agent: str, action: Term) -> None:
        """Performs an action to its end.

        Raises whatever is the reason of its failure.
        """
        if await self.act(agent, action) is False:
            raise ActionError(f"{action.functor} returned False")

    async def _begin(self, channel: Channel) -> None:
        self._channel = channel
        await self.begin()
        self.update()

    async def _end(self) -> None:
        await self.end()

    def _stored(self, agent: str | None) -> dict[str, None]:
        return self._common if agent is None else self._own.setdefault(str(agent), {})

    def _came(self, agents: Iterable[str]) -> None:
        for agent in agents:
            if agent not in self.agents:
                self.agents.append(agent)
                if hasattr(self, "_channel"):
                    self.agent_came(agent)
                    self._show(agent)

    def _gone(self, agent: str) -> None:
        if agent in self.agents:
            self.agents.remove(agent)
            self._shown.pop(agent, None)
            self._own.pop(agent, None)
            self.agent_gone(agent)

    def _show(self, agent: str) -> None:
        now = dict.fromkeys(_percept(percept) for percept in self.percepts(agent))
        now.update(self._common)
        now.update(self._own.get(agent, {}))
        before = self._shown.get(agent)
        if now == before or (before is None and not now):
            return
        self._shown[agent] = now
        if before is None:
            self._channel.percepts(agent, True, list(now), [])
        else:
            added = [percept for percept in now if percept not in before]
            self._channel.percepts(agent, False, added, [percept for percept in before if percept not in now])

    def _show_grid(self) -> None:
        world = self.view
        if world is None or self._view_timer is not None or self._viewed == (id(world), world.version):
            return
        self._send_grid()
        self._view_timer = asyncio.get_running_loop().call_later(VIEW_EVERY, self._view_again)

    def _view_again(self) -> None:
        self._view_timer = None
        self._show_grid()

    def _send_grid(self) -> None:
        world = self.view
        if world is not None:
            self._viewed = (id(world), world.version)
            self._channel.grid(world.columns, world.rows, world.shown())


def _percept(given: Any) -> str:
    """Returns a percept as JSON. Text is the name of an atom."""
    percept = Atom(given) if type(given) is str else given
    if not isinstance(percept, Term):
        raise TypeError(f"{given!r} is no percept: use Term or Atom")
    return value_to_json(percept)


def _is_own(cls: type) -> bool:
    """Returns true for a class of this package, whose methods are no actions."""
    return cls.__module__.split(".")[:2] == ["whimbrel", "environment"]


#: Methods that subclasses use and do not replace.
_USED = ("add_percept", "remove_percept", "clear_percepts", "update", "progress")


async def _method(environment: Environment, agent: str, action: Term) -> Any:
    found = environment._actions.get(action.functor)
    if found is None:
        raise UnknownError(type(environment), action.functor, list(environment._actions))
    method, signature = found
    return await method(environment, agent, *signature.inputs(action.functor, action.args))
