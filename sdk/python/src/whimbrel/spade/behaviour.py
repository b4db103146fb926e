"""Behaviours of SPADE: `CyclicBehaviour`, `OneShotBehaviour`, `PeriodicBehaviour`, `TimeoutBehaviour`, `FSMBehaviour`.

They differ from Whimbrel's own (`whimbrel.Cyclic` and others) where SPADE does:

- each behaviour whose template matches gets a message, not only the first;
- `receive` returns None when the time is over, and at once without a time;
- an error in a behaviour ends it, with the error as its exit code, after `on_end`;
- the agent's end lets behaviours finish their `run`, and `on_end` runs.
"""

from __future__ import annotations

import asyncio
import collections
import logging
import os
import urllib.request
from abc import ABC, abstractmethod
from collections import deque
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import urlparse

from ..agents.errors import DeadlineError
from .message import Message
from .template import BaseTemplate

if TYPE_CHECKING:
    from .agent import Agent
    from .presence import PresenceManager
    from .web import WebApp

__all__ = [
    "BehaviourNotFinishedException",
    "BehaviourType",
    "CyclicBehaviour",
    "FSMBehaviour",
    "NotValidState",
    "NotValidTransition",
    "OneShotBehaviour",
    "PeriodicBehaviour",
    "State",
    "TimeoutBehaviour",
]

logger = logging.getLogger("spade.behaviour")

BehaviourType = TypeVar("BehaviourType", bound="CyclicBehaviour")

#: Messages that wait for one behaviour. Senders of more get `failure`.
QUEUE_MESSAGES_MAX = 100_000


class BehaviourNotFinishedException(Exception):
    """The behaviour has no exit code yet."""


class NotValidState(Exception):
    """The state machine has no such state."""


class NotValidTransition(Exception):
    """The state machine has no such transition."""


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class CyclicBehaviour(ABC):
    """Behaviour that runs again and again until it is killed."""

    _label: ClassVar[str] = ""

    def __init__(self) -> None:
        # Programs read `self.agent` in behaviours that have one, so its type leaves out None.
        self.agent: Agent = None  # type: ignore[assignment]
        self.template: BaseTemplate | None = None
        #: True from the start until the end.
        self.is_running = False
        self._is_killed = False
        self._is_done = False
        self._exit_code: Any = 0
        self._held: deque[Message] = deque()
        self._waiters: deque[asyncio.Future[Message]] = deque()
        self._joining: list[asyncio.Future[None]] | None = None
        self._pause: asyncio.Future[None] | None = None

    def set_agent(self, agent: Agent) -> None:
        """Gives the behaviour to an agent."""
        self.agent = agent

    def set_template(self, template: BaseTemplate | None) -> None:
        """Sets the template of the behaviour's messages."""
        self.template = template

    def match(self, message: Message) -> bool:
        """Returns true if the message is one of this behaviour's."""
        return self.template is None or self.template.match(message)

    @property
    def presence(self) -> PresenceManager:
        """Presence of the agent."""
        return self.agent.presence

    @property
    def web(self) -> WebApp:
        """Web page of the agent."""
        return self.agent.web

    def set(self, name: str, value: Any) -> None:
        """Stores an item in the agent's knowledge base."""
        self.agent.set(name, value)

    def get(self, name: str) -> Any:
        """Returns an item of the agent's knowledge base; None if there is none."""
        return self.agent.get(name)

    # ---- For subclasses

    async def on_start(self) -> None:  # noqa: B027 - most behaviours need none
        """Called before the first `run`."""

    @abstractmethod
    async def run(self) -> None:
        """Does the work."""

    async def on_end(self) -> None:  # noqa: B027
        """Called after the last `run`."""

    # ---- Life

    def start(self) -> None:
        """Starts the behaviour. If the agent is not alive yet, it starts with the agent."""
        if not self.is_running and self.agent.is_alive():
            self.is_running = True
            self.agent.submit(self._live())

    async def _live(self) -> None:
        """Runs the behaviour from its start to its end."""
        try:
            await self._guarded(self.on_start(), "on_start")
            while not self._done() and not self._is_killed:
                await self._guarded(self._run(), "run")
                # A run that never waits must not keep the others from running.
                await asyncio.sleep(0)
            await self._guarded(self.on_end(), "on_end")
        finally:
            self._end()

    async def _guarded(self, work: Any, what: str) -> None:
        """Runs a part of the behaviour. An error kills the behaviour."""
        try:
            await work
        except Exception as error:
            logger.error("agent %s: %s of behaviour %s fails: %s", self.agent.jid, what, self, error, exc_info=True)
            self.kill(exit_code=error)

    def _end(self) -> None:
        self.is_running = False
        self._is_killed = self._is_done = True
        self.agent._forget(self)
        for waiting in self._joining or ():
            _wake(waiting)

    async def _run(self) -> None:
        await self.run()

    def _done(self) -> bool:
        """True if the behaviour need not run again."""
        return False

    def kill(self, exit_code: Any = None) -> None:
        """Ends the behaviour after the current `run`."""
        self._is_killed = True
        if exit_code is not None:
            self._exit_code = exit_code
        if self._pause is not None:
            _wake(self._pause)

    def is_killed(self) -> bool:
        """True after `kill`, and after the behaviour's end."""
        return self._is_killed

    def is_done(self) -> bool:
        """True after the behaviour's end."""
        return self._is_done

    @property
    def exit_code(self) -> Any:
        """Result of the behaviour: that of `kill`, or 0. Raises BehaviourNotFinishedException before its end."""
        if self._is_done or self._is_killed:
            return self._exit_code
        raise BehaviourNotFinishedException(f"behaviour {self} has not finished: it has no exit code yet")

    @exit_code.setter
    def exit_code(self, value: Any) -> None:
        self._exit_code = value

    async def join(self, timeout: float | None = None) -> None:
        """Waits for the behaviour's end. Raises TimeoutError if it does not end in time."""
        if self._is_done:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._joining = self._joining or []
        self._joining.append(waiting)
        try:
            await asyncio.wait_for(waiting, timeout)
        except asyncio.TimeoutError:
            raise TimeoutError(f"behaviour {self} did not end within {timeout:g} s") from None

    async def _sleep(self, seconds: float) -> None:
        """Sleeps until the time is over, or the behaviour is killed."""
        if seconds <= 0 or self._is_killed:
            return
        loop = asyncio.get_running_loop()
        pause = self._pause = loop.create_future()
        timer = loop.call_later(seconds, _wake, pause)
        try:
            await pause
        finally:
            timer.cancel()
            self._pause = None

    # ---- Messages

    def _put(self, message: Message) -> bool:
        """Gives the behaviour a message. Returns false if there is no room."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(message)
                return True
        if len(self._held) >= QUEUE_MESSAGES_MAX:
            return False
        self._held.append(message)
        return True

    async def enqueue(self, message: Message) -> None:
        """Gives the behaviour a message."""
        self._put(message)

    def mailbox_size(self) -> int:
        """Returns the number of messages that wait for the behaviour."""
        return len(self._held)

    async def send(self, msg: Message) -> None:
        """Sends a message of the agent. Waits while the node takes no more."""
        if msg.empty_sender():
            msg.sender = self.agent.jid
        await self.agent.container.send(msg, self)
        msg.sent = True
        self.agent.traces.append(msg, category=str(self))

    async def receive(self, timeout: float | None = None) -> Message | None:
        """Takes the next message of the behaviour. Without a timeout, one that is there already.

        Returns None if none comes in time.
        """
        if self._held:
            return self._held.popleft()
        if not timeout:
            return None
        waiter: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self.agent.container.deadlines.add(waiter, timeout)
        try:
            return await waiter
        except DeadlineError:
            return None
        except asyncio.CancelledError:
            # A message that came in the same moment must not be lost.
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._held.appendleft(waiter.result())
            raise

    # ---- Files

    async def upload_file(self, filename: str, input_file: IO[bytes] | None = None) -> str | None:
        """Returns None, as SPADE does if its server takes no files: a node takes none."""
        logger.error("cannot upload %s: a node takes no files; put it on a web server, and use send_file", filename)
        return None

    async def send_file(self, to: str, url: str) -> None:
        """Sends the address of a file."""
        await self.send(Message(to=to, metadata={"performative": "0363", "url": url}))

    async def upload_and_send_file(self, to: str, filename: str, input_file: IO[bytes] | None = None) -> str | None:
        """Returns None: see `upload_file`."""
        return await self.upload_file(filename, input_file)

    async def download_file(self, url: str, dest_path: str | None = None) -> Path | None:
        """Downloads a file by HTTP into a folder. Returns its path; None if that fails."""
        folder = Path(dest_path if dest_path is not None else os.getcwd())
        if folder.suffix or not await asyncio.to_thread(folder.is_dir):
            raise ValueError("dest_path must be an existing valid dir, with no filename")
        if urlparse(url).scheme not in ("http", "https"):
            raise ValueError(f"cannot download {url}: expected http:// or https://")
        target = folder / (Path(urlparse(url).path).name or "download")
        try:
            await asyncio.to_thread(urllib.request.urlretrieve, url, target)
        except OSError as error:
            logger.error("cannot download %s: %s", url, error)
            return None
        return target

    def __str__(self) -> str:
        cls = type(self)
        if "_label" not in cls.__dict__:
            cls._label = f"{'/'.join(base.__name__ for base in cls.__bases__)}/{cls.__name__}"
        return cls._label


class OneShotBehaviour(CyclicBehaviour):
    """Behaviour that runs once."""

    def __init__(self) -> None:
        super().__init__()
        self._already_executed = False

    def _done(self) -> bool:
        return self._already_executed

    async def _run(self) -> None:
        self._already_executed = True
        await self.run()


class PeriodicBehaviour(CyclicBehaviour):
    """Behaviour that runs once in each period. If a run takes longer, the runs that it misses are left out."""

    def __init__(self, period: float, start_at: datetime | None = None) -> None:
        super().__init__()
        self.period = period
        self._start_at = start_at
        self._due: float | None = None

    @property
    def period(self) -> timedelta:
        """Time from one run to the next. It is set in seconds."""
        return self._period

    @period.setter
    def period(self, value: float) -> None:
        if value < 0:
            raise ValueError("Period must be greater or equal than zero.")
        self._period = timedelta(seconds=value)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        if self._due is None:
            self._due = loop.time() + _seconds_until(self._start_at)
        if loop.time() < self._due:
            await self._sleep(self._due - loop.time())
            return
        await self.run()
        period = self._period.total_seconds()
        late = loop.time() - self._due
        self._due += period * (int(late / period) + 1) if period > 0 else late


class TimeoutBehaviour(OneShotBehaviour):
    """Behaviour that runs once, at a time."""

    def __init__(self, start_at: datetime) -> None:
        super().__init__()
        self._start_at = start_at

    async def _run(self) -> None:
        await self._sleep(_seconds_until(self._start_at))
        if not self._is_killed:
            await super()._run()


def _seconds_until(start_at: datetime | None) -> float:
    return 0.0 if start_at is None else (start_at - datetime.now(start_at.tzinfo)).total_seconds()


class State(OneShotBehaviour):
    """State of an `FSMBehaviour`. Its `run` names the next one by `set_next_state`; without a name, the machine ends
    there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.next_state: str | None = None
        self._machine: FSMBehaviour | None = None

    def set_next_state(self, state_name: str | None) -> None:
        """Names the state that follows."""
        self.next_state = state_name

    async def receive(self, timeout: float | None = None) -> Message | None:
        """Takes the next message of the state machine."""
        machine = self._machine
        return await (super().receive(timeout) if machine is None else machine.receive(timeout))


class FSMBehaviour(CyclicBehaviour):
    """State machine: runs one state after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._states: dict[str, State] = {}
        self._transitions: dict[str, list[str]] = collections.defaultdict(list)
        #: Name of the state that runs, or ran last.
        self.current_state: str | None = None
        self.setup()

    def setup(self) -> None:
        """Called at the end of `__init__`, for subclasses: adds states and transitions."""

    def add_state(self, name: str, state: State, initial: bool = False) -> None:
        """Adds a state. The machine begins with the `initial` one."""
        if not isinstance(state, State):
            raise AttributeError("state must be subclass of spade.behaviour.State")
        self._states[name] = state
        if initial:
            self.current_state = name

    def get_state(self, name: str) -> State:
        """Returns a state."""
        return self._states[name]

    def get_states(self) -> dict[str, State]:
        """Returns all states by name."""
        return self._states

    def add_transition(self, source: str, dest: str) -> None:
        """Permits a transition. All others are errors."""
        self._transitions[source].append(dest)

    def is_valid_transition(self, source: str, dest: str) -> bool:
        """Returns true if there is this transition. Raises NotValidState or NotValidTransition otherwise."""
        if dest not in self._states or source not in self._states:
            raise NotValidState(f"no state {dest!r}: there are {', '.join(self._states)}")
        if dest not in self._transitions[source]:
            raise NotValidTransition(f"no transition from {source!r} to {dest!r}: add_transition permits one")
        return True

    async def _run(self) -> None:
        if self.current_state is None:
            raise NotValidState("the machine has no initial state: add_state(..., initial=True) names it")
        state = self._states[self.current_state]
        state.set_agent(self.agent)
        state._machine, state._is_done = self, False
        for name in ("on_start", "run", "on_end"):
            await self._guarded(getattr(state, name)(), f"{name} of state {self.current_state}")
        state._is_done = True
        dest = state.next_state
        if not dest:
            self.kill()
            return
        try:
            self.is_valid_transition(self.current_state, dest)
            self.current_state = dest
        except (NotValidState, NotValidTransition) as error:
            logger.error("agent %s: behaviour %s: %s", self.agent.jid, self, error)
            self.kill(exit_code=error)

    async def run(self) -> None:
        """Never called: the states have the work."""
        raise RuntimeError("a state machine has no run: its states have")

    def to_graphviz(self) -> str:
        """Writes the states and transitions for Graphviz."""
        named = {name: name.replace(" ", "_") for pair in self._transitions.items() for name in (pair[0], *pair[1])}
        edges = "".join(
            f"{named[source]} -> {named[dest]};" for source, dests in self._transitions.items() for dest in dests
        )
        return f"digraph finite_state_machine {{ rankdir=LR; node [fixedsize=true];{edges}}}"
