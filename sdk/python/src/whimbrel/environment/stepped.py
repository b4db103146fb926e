"""Environments that go in steps, as Jason's TimeSteppedEnvironment: each agent acts once in a step."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import time
from dataclasses import dataclass, field
from typing import Any

from ..acl.values import Term
from ..actions import ActionError
from .base import Channel, Environment

__all__ = ["TimeSteppedEnvironment"]


@dataclass
class _Choice:
    """Action that an agent has chosen."""

    agent: str
    action: Term
    context: contextvars.Context
    done: asyncio.Future[None] = field(repr=False)


class TimeSteppedEnvironment(Environment):
    """Environment that waits in each step until every agent has chosen its action, or the step's time is over. Then it
    performs the actions in the order in which they were chosen, shows the percepts, and tells the agents that their
    actions are done.
    """

    #: Seconds after which a step does not wait for further actions; None waits for all agents.
    step_timeout: float | None = None
    #: What becomes of another action in the same step: "queue" keeps it for the next step, "fail" lets it fail, and
    #: "replace" lets the earlier one fail.
    over_actions: str = "queue"
    #: Number of the present step: 1, 2, ...
    step: int = 0

    _choices: dict[str, _Choice]
    _queue: list[_Choice]
    #: True while the actions of a step are performed: what is chosen meanwhile comes after what is queued.
    _performs: bool
    _changed: asyncio.Event
    _steps: asyncio.Task[None] | None = None

    # ---- What subclasses write

    def awaited(self) -> int:
        """Returns the number of agents whose actions a step waits for: all, unless a subclass says otherwise."""
        return len(self.agents)

    async def step_started(self, step: int) -> None:
        """Begins a step."""

    async def step_finished(self, step: int, elapsed: float, timed_out: bool) -> None:
        """Ends a step, before its percepts are shown. `elapsed` are seconds."""

    # ---- What the host uses

    async def _begin(self, channel: Channel) -> None:
        self._choices = {}
        self._queue = []
        self._performs = False
        self._changed = asyncio.Event()
        self.step = 1
        await super()._begin(channel)
        self._steps = asyncio.get_running_loop().create_task(self._run_steps())

    async def _end(self) -> None:
        if self._steps is not None:
            self._steps.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._steps
        await super()._end()

    def _came(self, agents: Any) -> None:
        super()._came(agents)
        self._wake()

    def _gone(self, agent: str) -> None:
        super()._gone(agent)
        self._wake()

    def _wake(self) -> None:
        if self._steps is not None:
            self._changed.set()

    async def _perform(self, agent: str, action: Term) -> None:
        loop = asyncio.get_running_loop()
        choice = _Choice(agent, action, contextvars.copy_context(), loop.create_future())
        if self.over_actions == "queue" and (self._performs or agent in self._choices):
            self._queue.append(choice)
        elif agent not in self._choices:
            self._choices[agent] = choice
        elif self.over_actions == "fail":
            raise ActionError(Term("acts_once_in_a_step", self.step))
        else:
            self._choices.pop(agent).done.set_exception(ActionError(Term("acts_once_in_a_step", self.step)))
            self._choices[agent] = choice
        self._changed.set()
        await choice.done

    async def _run_steps(self) -> None:
        while True:
            began = time.monotonic()
            await self.step_started(self.step)
            timed_out = await self._all_chosen()
            choices = list(self._choices.values())
            self._choices = {}
            self._performs = True
            outcomes = [(choice, await self._carry_out(choice)) for choice in choices]
            await self.step_finished(self.step, time.monotonic() - began, timed_out)
            self.update()
            for choice, error in outcomes:
                _settle(choice, error)
            self.step += 1
            self._performs = False
            queued, self._queue = self._queue, []
            for choice in queued:
                if choice.agent in self._choices:
                    self._queue.append(choice)
                else:
                    self._choices[choice.agent] = choice

    async def _all_chosen(self) -> bool:
        """Waits for the actions of a step. Returns true if its time is over."""
        deadline = None if self.step_timeout is None else time.monotonic() + self.step_timeout
        while not self._choices or len(self._choices) < self.awaited():
            self._changed.clear()
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return True
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except asyncio.TimeoutError:
                return True
        return False

    async def _carry_out(self, choice: _Choice) -> BaseException | None:
        task = choice.context.run(asyncio.get_running_loop().create_task, super()._perform(choice.agent, choice.action))
        try:
            await task
        except Exception as error:
            return error
        return None


def _settle(choice: _Choice, error: BaseException | None) -> None:
    if choice.done.done():
        return
    if error is None:
        choice.done.set_result(None)
    else:
        choice.done.set_exception(error)
