"""Behaviours by the names of JADE and SPADE: `OneShot`, `Cyclic`, `Periodic`, `Timeout`, `FSM`, `Sequential`,
`Parallel`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ..acl.errors import WhimbrelError
from ..acl.message import Message
from ..acl.template import Matcher
from .core import settled
from .keeping import Keeping
from .mailbox import Inbox

if TYPE_CHECKING:
    from .agent import Agent

__all__ = [
    "FSM",
    "Behaviour",
    "Cyclic",
    "OneShot",
    "Parallel",
    "Periodic",
    "Sequential",
    "State",
    "Timeout",
]


class Behaving(Keeping):
    """Part of an agent that has behaviours."""


class Behaviour:
    """A task of an agent: subclass and override `run`, or give a function of the behaviour.

    `template` narrows `receive` down: matching messages are this behaviour's, as long as it lives.
    """

    template: Matcher | None = None

    def __init__(self, run: Callable[..., Any] | None = None, *, template: Matcher | None = None) -> None:
        self._function = run
        if template is not None:
            self.template = template
        self._agent: Agent | None = None
        self._task: asyncio.Task[None] | None = None
        self._inbox: Inbox | None = None
        self._is_killed = False
        #: Result for programs: set it in `run`, or by `kill`.
        self.exit_code: Any = None

    @property
    def agent(self) -> Agent:
        """Agent of the behaviour."""
        if self._agent is None:
            raise WhimbrelError("the behaviour has no agent yet: `agent.add_behaviour(behaviour)`")
        return self._agent

    # ---- For subclasses

    def on_start(self) -> Any:
        """Called before the first `run`: a function or a coroutine."""

    def run(self) -> Any:
        """Does the work: a function or a coroutine."""
        if self._function is None:
            raise WhimbrelError(f"{type(self).__name__} has nothing to do: override `run`, or give a function")
        wants_self = bool(inspect.signature(self._function).parameters)
        return self._function(self) if wants_self else self._function()

    def on_end(self) -> Any:
        """Called after the last `run`: a function or a coroutine."""

    # ---- Life

    def start(self, agent: Agent) -> Behaviour:
        """Starts the behaviour as a task of the agent."""
        self._bind(agent)
        self._task = agent.spawn(self.perform())
        return self

    def _bind(self, agent: Agent) -> None:
        if self._agent is not None:
            raise WhimbrelError("the behaviour has an agent already: create another object")
        self._agent = agent
        if self.template is not None:
            self._inbox = agent.listen(self.template)

    async def perform(self) -> None:
        """Runs the behaviour from its start to its end."""
        try:
            await settled(self.on_start())
            await self._repeat()
            await settled(self.on_end())
        finally:
            self._close()

    async def _repeat(self) -> None:
        await settled(self.run())

    def _close(self) -> None:
        if self._inbox is not None:
            self._inbox.close()
        if self._agent is not None and self._agent.is_alive:
            saver = self._agent._bound.saver
            if saver is not None:
                saver.touched()

    def kill(self, exit_code: Any = None) -> None:
        """Ends the behaviour after the current `run`."""
        self._is_killed = True
        if exit_code is not None:
            self.exit_code = exit_code

    @property
    def is_killed(self) -> bool:
        """True after `kill`."""
        return self._is_killed

    @property
    def is_done(self) -> bool:
        """True after the behaviour's end."""
        return self._task is not None and self._task.done()

    async def join(self, timeout: float | None = None) -> Any:
        """Waits for the behaviour's end. Returns its exit code. Raises TimeoutError if it does not end in time."""
        if self._task is not None:
            done, _ = await asyncio.wait([self._task], timeout=timeout)
            if not done:
                raise TimeoutError(f"the behaviour did not end within {timeout:g} s")
        return self.exit_code

    # ---- Messages

    async def receive(self, timeout: float | None = None) -> Message:
        """Takes the next message of the behaviour's template; any message if it has none.

        Raises DeadlineError (a TimeoutError) if none comes in time.
        """
        if self._inbox is not None:
            return await self._inbox.next(timeout)
        return await self.agent.receive(timeout=timeout)

    def send(self, *arguments: Any, **parameters: Any) -> Awaitable[None]:
        """Sends a message of the agent: see `Agent.send`."""
        sent: Awaitable[None] = self.agent.send(*arguments, **parameters)
        return sent


class OneShot(Behaviour):
    """Runs once."""


class Cyclic(Behaviour):
    """Runs again and again, until it is killed."""

    async def _repeat(self) -> None:
        while not self._is_killed:
            await settled(self.run())
            # A run that never waits must not keep the others from running.
            await asyncio.sleep(0)


class Periodic(Behaviour):
    """Runs once in each period, until it is killed. A run that takes longer delays the next one."""

    def __init__(
        self, period: float, run: Callable[..., Any] | None = None, *, template: Matcher | None = None
    ) -> None:
        super().__init__(run, template=template)
        #: Seconds from one run to the next.
        self.period = period

    async def _repeat(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while not self._is_killed:
            await settled(self.run())
            due = max(due + self.period, loop.time())
            if not self._is_killed:
                await asyncio.sleep(max(0.0, due - loop.time()))


class Timeout(Behaviour):
    """Runs once after some seconds, unless it is killed before."""

    def __init__(self, delay: float, run: Callable[..., Any] | None = None, *, template: Matcher | None = None) -> None:
        super().__init__(run, template=template)
        self.delay = delay

    async def _repeat(self) -> None:
        await asyncio.sleep(self.delay)
        if not self._is_killed:
            await settled(self.run())


class State(OneShot):
    """State of an `FSM`. Its `run` names the next one by `set_next_state`; without a name, the machine ends there."""

    _next: str | None = None

    def set_next_state(self, name: str | None) -> None:
        """Names the state that follows this run."""
        self._next = name


class FSM(Behaviour):
    """Finite state machine: runs one state after another."""

    def __init__(self, *, template: Matcher | None = None) -> None:
        super().__init__(template=template)
        self._states: dict[str, State] = {}
        self._initial: str | None = None
        self._transitions: set[tuple[str, str]] | None = None
        #: Name of the state that runs, or ran last.
        self.current_state: str | None = None

    def add_state(self, name: str, state: State, initial: bool = False) -> None:
        """Adds a state. The first one, or the one with `initial`, begins."""
        if name in self._states:
            raise WhimbrelError(f"there is a state {name!r} already")
        self._states[name] = state
        if initial or self._initial is None:
            self._initial = name

    def add_transition(self, source: str, dest: str) -> None:
        """Permits a transition. Without any, all are permitted."""
        self._transitions = self._transitions or set()
        self._transitions.add((source, dest))

    async def _repeat(self) -> None:
        name = self._initial
        while name is not None and not self._is_killed:
            state = self._states.get(name)
            if state is None:
                raise WhimbrelError(f"no state {name!r}: there are {', '.join(self._states)}")
            self.current_state = name
            state._next = None
            state._agent = self._agent
            state._inbox = self._inbox if state.template is None else self.agent.listen(state.template)
            try:
                await settled(state.on_start())
                await settled(state.run())
                await settled(state.on_end())
            finally:
                if state._inbox is not None and state._inbox is not self._inbox:
                    state._inbox.close()
            name = self._following(name, state._next)

    def _following(self, source: str, dest: str | None) -> str | None:
        if dest is not None and self._transitions is not None and (source, dest) not in self._transitions:
            raise WhimbrelError(f"no transition from {source!r} to {dest!r}: add_transition permits one")
        return dest


class _Composite(Behaviour):
    """Behaviour of other ones."""

    def __init__(self, *parts: Behaviour, template: Matcher | None = None) -> None:
        super().__init__(template=template)
        self.parts = list(parts)

    def add(self, part: Behaviour) -> None:
        """Adds a behaviour."""
        self.parts.append(part)


class Sequential(_Composite):
    """Runs behaviours one after another."""

    async def _repeat(self) -> None:
        for part in self.parts:
            if self._is_killed:
                return
            part._bind(self.agent)
            await part.perform()


class Parallel(_Composite):
    """Runs behaviours beside each other, and ends when all have ended; with `until="any"`, when the first has."""

    ALL: ClassVar[str] = "all"
    ANY: ClassVar[str] = "any"

    def __init__(self, *parts: Behaviour, until: str = "all", template: Matcher | None = None) -> None:
        super().__init__(*parts, template=template)
        self.until = until

    async def _repeat(self) -> None:
        if not self.parts:
            return
        for part in self.parts:
            part._bind(self.agent)
        tasks = [asyncio.ensure_future(part.perform()) for part in self.parts]
        try:
            first = asyncio.FIRST_COMPLETED if self.until == "any" else asyncio.FIRST_EXCEPTION
            done, _ = await asyncio.wait(tasks, return_when=first)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
