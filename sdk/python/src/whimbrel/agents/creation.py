"""Creation of agents: at this node, or at the one that has them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, Union, overload

from ..acl.errors import WhimbrelError
from ..session.driver import Driver
from ..session.frames import ON_LEAVE
from ..session.limits import MISSES_MAX, SENDINGS_AT_ONCE, SENDINGS_MAX
from .agent import Agent
from .core import settled
from .entry import Entry
from .errors import RefusedError
from .keeping import CODE_PREFIX
from .limits import CREATE_AGAIN_S, CREATE_NOT_YET_S_MAX
from .roster import Roster
from .saver import Keep, Restored, SaverPort, StateSaver

__all__ = ["Creation", "Setup"]

A = TypeVar("A", bound=Agent)

#: Function that sets an agent up which has no class of its own.
Setup = Callable[[Agent], Any]
#: What an agent is started from.
Startable = Union[Agent, Setup, None]


class Creation(Roster):
    """Part of a platform that creates agents."""

    _is_leaving = False

    def _begin(self, *, place: str | None = None, stays: bool = False) -> Driver:
        """Begins a session."""
        raise NotImplementedError

    @overload
    async def start(self, name: str, agent: A, *, keep: Keep | bool = False) -> A: ...
    @overload
    async def start(self, name: str, agent: Setup | None = None, *, keep: Keep | bool = False) -> Agent: ...
    async def start(self, name: str, agent: Startable = None, *, keep: Keep | bool = False) -> Agent:
        """Starts an agent: an object of a class, or a function that sets one up. Returns it when it is registered with
        the AMS and set up.

        With `keep`, the agent outlives this program: if one of its name waits for this client, it is restored. If its
        last session is not over yet, or the node is still recovering, this call waits. If the agent waits on another
        node, a session without agents begins anew there.

        Raises RefusedError if the node refuses it: `name-taken`, `not-allowed`, `bad-name`, `too-many-agents`.
        """
        durability = (Keep() if keep is True else keep) or None
        _check(name, durability)
        if isinstance(agent, type):
            raise WhimbrelError(f"start an object, not a class: {agent.__name__}(...)")
        made = agent if isinstance(agent, Agent) else Agent()
        setup: Callable[[], Any] = made.setup if isinstance(agent, Agent) else lambda: agent(made) if agent else None
        again = self._again(name, agent, durability)
        begun = self.loop.time()
        lease = self._granted["lease_ms"] / 1000 if self._granted else 0.0
        patience = {"name-taken": 2 * lease if durability else 0.0, "not-yet": CREATE_NOT_YET_S_MAX}
        redirections = [0, 0]
        while True:
            driver = self.driver
            try:
                return await self._create(name, made, setup, durability, again)
            except RefusedError as error:
                if made.end_reason is not None:
                    raise
                if error.code == "elsewhere":
                    await self._follow(error, driver, redirections)
                elif self.loop.time() < begun + patience.get(error.code, 0.0):
                    await asyncio.sleep(CREATE_AGAIN_S)
                else:
                    raise

    def _again(self, name: str, agent: Startable, keep: Keep | None) -> Callable[[], Awaitable[Agent]] | None:
        """Returns the function that creates a successor of a kept agent."""
        make = keep.again if keep is not None and isinstance(agent, Agent) else None
        if keep is None or (isinstance(agent, Agent) and make is None):
            return None

        async def again() -> Agent:
            given: Any = agent if make is None else await settled(make())
            started: Agent = await self.start(name, given, keep=keep)
            return started

        return again

    async def _follow(self, error: RefusedError, driver: Driver, redirections: list[int]) -> None:
        """Begins the session anew at the node that has, or should have, the agent. A session with other agents stays.

        After too many redirections or unreachable nodes, the agent is created wherever the last one leads.
        """
        # Another agent's creation may have replaced the session meanwhile.
        if self.driver is not driver:
            return
        if driver.session.has_missed:
            redirections[1] += 1
        redirections[0] += 1
        sendings, misses = redirections
        stays = sendings > SENDINGS_MAX or misses >= MISSES_MAX
        is_settled = self._is_leaving or any(entry.created is None for entry in self.entries.values())
        if is_settled or sendings > SENDINGS_MAX + 1:
            raise error
        if error.text == "" or sendings > SENDINGS_AT_ONCE or self.entries:
            await asyncio.sleep(CREATE_AGAIN_S)
        if self._is_leaving:
            raise error
        if self.driver is not driver or self.entries:
            return
        self._expected.clear()
        place = error.text if error.text and not stays else None
        self.driver = self._begin(place=place, stays=stays)
        driver.session.bye()
        driver.pump()

    async def _create(
        self,
        name: str,
        agent: Agent,
        setup: Callable[[], Any],
        keep: Keep | None,
        again: Callable[[], Awaitable[Agent]] | None,
    ) -> Agent:
        session = self.session
        if session.over is not None:
            raise session.over
        for entry in self.entries.values():
            if keep is not None and entry.is_left and entry.aid.name == name:
                return await self._take_over(entry, agent, setup, keep)
        number = self._free_number()
        _claim(agent)
        entry = Entry(self, number, name, agent)  # type: ignore[arg-type]
        entry.again = again
        entry.frame = session.create(number, name)
        if keep is not None:
            entry.saver = self._saver_of(number, keep, agent)
        entry.created = created = self.loop.create_future()
        self.entries[number] = entry
        self._names.setdefault(name, entry)

        def refused(error: RefusedError) -> None:
            self.entries.pop(number, None)
            if self._names.get(name) is entry:
                del self._names[name]
            agent._is_claimed = False
            if not created.done():
                created.set_exception(error)

        self.expect(entry.frame, number, refused)
        self.pump()
        try:
            await created
        except asyncio.CancelledError:
            # An interrupted call leaves no half-made agent behind.
            if keep is None and session.over is None:
                entry.end()
            raise
        return await self._set_up(entry, setup)

    async def _take_over(self, entry: Entry, agent: Agent, setup: Callable[[], Any], keep: Keep) -> Agent:
        """Gives a restored agent, whose set-up failed, to another object, with all its messages."""
        _claim(agent)
        before = entry.saver
        saver = self._saver_of(entry.number, keep, agent)
        if before is not None:
            saver.restored, saver.upto = before.restored, before.upto
        entry.agent, entry.saver, entry.is_left = agent, saver, False
        agent._entry = entry
        self.pump()
        for message, size, number in entry.early or ():
            agent._deliver(message, size, number)
        return await self._set_up(entry, setup)

    async def replace(self, before: Agent, agent: Agent, reason: str) -> Agent:
        """Continues an agent by another object, as supervisors do after a crash. The name, the waiting messages, the
        conversations that others initiated and the last saved state stay. The senders of messages that it was handling
        get `failure` with this reason.
        """
        entry = before._bound
        _claim(agent)
        waiting = before._mailbox_.numbers() if before._mailbox_ is not None else frozenset()
        left, entry.open = entry.open or {}, {}
        saver = entry.saver
        if saver is not None:
            entry.saver = successor = self._saver_of(entry.number, saver.keep, agent)
            successor.upto, successor.progress, successor.restored = saver.upto, saver.progress, saver.restored
            if saver.state is not None:
                successor.restored = Restored(_code(saver, before), saver.state)
            saver.over()
        entry.agent = agent
        agent._entry = entry
        agent._continue(before)
        before._over(reason)
        for number, (message, size) in left.items():
            message._agent = agent
            if number in waiting:
                entry.open[number] = (message, size)
                agent._route(message, size)
            else:
                agent._abandon(message, reason)
        return await self._set_up(entry, agent.setup)

    async def _set_up(self, entry: Entry, setup: Callable[[], Any]) -> Agent:
        agent, saver = entry.agent, entry.saver
        try:
            agent._bind_state()
            await settled(setup())
            if saver is not None:
                saver.covers = True
                saver.touched()
            entry.early = None
            if agent.is_alive:
                agent._settle()
                agent._start_timers()
        except BaseException as error:
            if agent.end_reason is not None:
                raise
            # A failed set-up must not delete a saved state.
            if saver is not None and saver.restored is not None:
                entry.is_left = True
                saver.over()
                agent._over(f"failed: {error}")
                raise
            entry.end()
            # Return only when the name is free again.
            await agent.wait_ended()
            raise
        return agent

    def _saver_of(self, number: int, keep: Keep, agent: Agent) -> StateSaver:
        session = self.session
        is_json = session.form is None
        most = self._granted["message_bytes"] if self._granted else 1 << 62

        def tell(error: BaseException) -> None:
            entry = self.entries.get(number)
            if entry is not None:
                entry.agent.tell(error)

        def say(state: bytes, upto: int, also: list[int], to: str | None) -> int:
            code = _code(saver, agent)
            frame = session.save(number, upto, code, state, also, to)
            entry = self.entries.get(number)
            if entry is not None and entry.early is not None:
                origin = saver.restored.origin if saver.restored else None
                saver.restored = Restored(code, state, origin)
                entry.early = [one for one in entry.early if one[2] > upto and one[2] not in also]
            self.expect(frame, number, lambda error: saver.refused(frame, error), is_save=True)
            self.pump()
            return frame

        # Base64 makes a state a third longer.
        port = SaverPort(self.loop, say, tell, most * 3 // 4 if is_json else most)
        saver = StateSaver(keep, port)
        kept = session.keep(number, keep.on_leave, saver.holds)
        self.expect(kept, number, tell, is_save=True)
        return saver

    def _free_number(self) -> int:
        most = max(1, self._granted["agents"] if self._granted else 0)
        if len(self.entries) >= most:
            raise RefusedError(
                "too-many-agents",
                f"the session has its maximum of {most} agents: give the node --session-agents N, or connect again",
            )
        number = self._next_number % most
        while number in self.entries:
            number = (number + 1) % most
        self._next_number = number + 1
        return number

    _next_number = 0


def _claim(agent: Agent) -> None:
    if agent._is_claimed:
        raise WhimbrelError("the agent already belongs to a platform: create another object")
    agent._is_claimed = True


def _code(saver: StateSaver, agent: Agent) -> str:
    """Returns the name of a kept agent's code."""
    return saver.restored.code if saver.restored else CODE_PREFIX + (saver.keep.code or type(agent).__name__)


def _check(name: str, keep: Keep | None) -> None:
    """Checks a name and options. An invalid frame would end the session with all its agents."""
    if not isinstance(name, str):
        raise RefusedError("bad-name", f"agent name {name!r}: not a text")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise RefusedError("bad-name", f"agent name {name!r}: not a text") from None
    if keep is not None and keep.on_leave not in ON_LEAVE:
        raise WhimbrelError(f"invalid on_leave {keep.on_leave!r}: use one of {', '.join(ON_LEAVE)}")
    if keep is not None and keep.save not in ("each-message", "checkpoint", "no"):
        raise WhimbrelError(f"invalid save {keep.save!r}: use each-message, checkpoint or no")
