"""Durability of an agent: when its state is sent to the node, and which messages it covers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..acl.errors import WhimbrelError
from .errors import EndedError, RefusedError, StayedError
from .limits import (
    CHECKPOINT_S,
    HELD_BYTES_DUE,
    HELD_BYTES_MAX,
    HELD_MESSAGES_DUE,
    HELD_MESSAGES_MAX,
    STATE_BYTES_MAX,
    UNSAVED_MESSAGES_MAX,
)

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ["Keep", "Progress", "Restored", "SaverPort", "StateSaver"]

OnLeave = Literal["end", "wait", "go-on"]
Saves = Literal["each-message", "checkpoint", "no"]


class Keep(NamedTuple):
    """Durability of an agent, for when its session is over: the program ended, or the network was down for longer than
    the lease.
    """

    #: Fate of the agent after its session: it ends, or waits for this client to create it again. `go-on` is for agents
    #: whose code a node can run.
    on_leave: OnLeave = "wait"
    #: Time of saves. `each-message` saves after each handled message: messages of the agent leave the node together
    #: with the next state, so none is handled or sent twice. `checkpoint` saves at intervals: after a restart, it
    #: repeats its steps since the last one. `no` saves only by `await agent.save()`.
    save: Saves = "each-message"
    #: Interval of checkpoints, in seconds.
    checkpoint: float = CHECKPOINT_S
    #: Name of the agent's code, for people and for the session that restores it; the class's by default.
    code: str | None = None
    #: True if the agent may move when others ask for it.
    yields: bool = True
    #: Makes the object of a successor, if the node hands the agent over to another node.
    again: Callable[[], Agent | Awaitable[Agent]] | None = None


class Restored(NamedTuple):
    """A saved state of an agent."""

    code: str
    state: bytes
    #: Previous place, if the agent moved here.
    origin: str | None = None


class Progress:
    """Progress of an agent: delivered messages, and those that it has finished."""

    __slots__ = ("_done", "_last", "_open")

    def __init__(self) -> None:
        # Unfinished messages, the oldest first, and finished ones behind an unfinished one.
        self._open: dict[int, None] = {}
        self._done: dict[int, None] = {}
        self._last = 0

    def take(self, number: int) -> None:
        """Adds a delivered message."""
        self._last = number
        self._open[number] = None

    def finish(self, number: int) -> None:
        """Marks a message as finished."""
        is_behind = self.upto + 1 < number
        self._open.pop(number, None)
        if is_behind:
            self._done[number] = None
            return
        upto = self.upto
        for done in [one for one in self._done if one <= upto]:
            del self._done[done]

    def known(self, numbers: list[int]) -> None:
        """The node knows that these are finished. Each is reported once."""
        for number in numbers:
            self._done.pop(number, None)

    @property
    def also(self) -> list[int]:
        """Finished messages behind `upto`."""
        return list(self._done)

    @property
    def upto(self) -> int:
        """Number of the last message before the first unfinished one."""
        return next(iter(self._open)) - 1 if self._open else self._last

    @property
    def open(self) -> int:
        """Number of unfinished messages."""
        return len(self._open)


class _Pending:
    """A save without an answer of the node."""

    __slots__ = ("also", "done", "messages", "size")

    def __init__(self, also: list[int], messages: int, size: int) -> None:
        self.also = also
        #: Messages and bytes that leave with the save.
        self.messages = messages
        self.size = size
        self.done: asyncio.Future[None] | None = None


class _Move(NamedTuple):
    """A save with which the agent moves, and actions to do if it stays."""

    number: int
    done: asyncio.Future[None]
    later: list[Callable[[], Any]]


class SaverPort(NamedTuple):
    """A saver's access to its session."""

    loop: asyncio.AbstractEventLoop
    #: Sends a save: state, `upto`, `also`, and the place that the agent moves to. Returns its number.
    say: Callable[[bytes, int, list[int], str | None], int]
    #: Reports an error to the agent.
    tell: Callable[[BaseException], None]
    #: Maximum bytes of a state in this session.
    state_bytes_max: int = STATE_BYTES_MAX


class StateSaver:
    """Writer of an agent's state. While a save is unanswered the next one waits, so that a slow node does not get
    outdated states.
    """

    def __init__(self, keep: Keep, port: SaverPort) -> None:
        self.keep = keep
        self.progress = Progress()
        #: Saved state of a restored agent.
        self.restored: Restored | None = None
        #: Returns the current state; None while it is unknown.
        self.source: Callable[[], bytes | None] = lambda: None
        #: Returns true if the state covers the messages that the agent finished.
        self.covers = False
        #: Last message that the saved states cover. It never decreases.
        self.upto = 0
        self.has_moved = False
        #: Last state that was sent to the node.
        self.state: bytes | None = None
        self._port = port
        self._pending: dict[int, _Pending] = {}
        self._departure: _Move | None = None
        self._is_dirty = self._is_due = self._is_over = False
        self._timer: asyncio.TimerHandle | None = None
        # Messages and bytes sent since the last save.
        self._messages = self._size = 0

    @property
    def holds(self) -> bool:
        """True if the agent's messages leave with the save behind them."""
        return self.keep.save == "each-message"

    def said(self, size: int, receivers: int) -> None:
        """Counts a sent message. Each receiver counts as one message."""
        self._messages += receivers
        self._size += size
        self._is_dirty = True
        # A node refuses to hold more.
        if self.holds and (self._messages >= HELD_MESSAGES_MAX or self._size >= HELD_BYTES_MAX):
            self._write_or_tell()
        else:
            self._plan()

    def finished(self, number: int) -> None:
        """Notes that the agent finished a message."""
        self.progress.finish(number)
        self.touched()

    def touched(self) -> None:
        """Notes that the agent finished a step, so its state may have changed."""
        self._is_dirty = True
        if self._is_much:
            self._write_or_tell()
        else:
            self._plan()

    def _plan(self) -> None:
        if self._is_due or not self._may_write or self.keep.save == "no":
            return
        if not self.holds and self.progress.open < UNSAVED_MESSAGES_MAX:
            if self._timer is None:
                self._timer = self._port.loop.call_later(self.keep.checkpoint, self._write_or_tell)
            return
        self._is_due = True
        # Code after an `await` of a settled future belongs to the same step.
        self._port.loop.call_soon(self._port.loop.call_soon, self._write_if_dirty)

    def _write_if_dirty(self) -> None:
        self._is_due = False
        if self._is_dirty and self._may_write:
            self._write_or_tell()

    @property
    def _may_write(self) -> bool:
        return not self._is_over and self._departure is None and (not self._pending or self._is_much)

    @property
    def _is_much(self) -> bool:
        return self.holds and (self._messages >= HELD_MESSAGES_DUE or self._size >= HELD_BYTES_DUE)

    async def save(self) -> None:
        """Saves the state now. Returns when the node has it.

        Raises WhimbrelError if the state is too long, RefusedError if the node refuses it, EndedError if the agent ends
        first.
        """
        if self._is_over:
            raise EndedError("cannot save: the agent ended, or has moved away")
        pending = self._write()
        if pending is not None:
            pending.done = self._port.loop.create_future()
            await pending.done

    def _write_or_tell(self) -> None:
        try:
            self._write()
        except Exception as error:
            self._port.tell(error)

    def _write(self) -> _Pending | None:
        """Sends the state. Called between two steps, when all messages of the last step are sent."""
        self._stop_timer()
        if self._is_over or self._departure is not None:
            return None
        # If this save fails, the next change starts another.
        self._is_dirty = False
        state = self.source()
        if state is None:
            return None
        pending = _Pending(self.progress.also if self.covers else [], self._messages, self._size)
        self._pending[self._say(state, pending.also, None)] = pending
        self._messages = self._size = 0
        return pending

    def _say(self, state: bytes, also: list[int], to: str | None) -> int:
        most = min(STATE_BYTES_MAX, self._port.state_bytes_max)
        if len(state) > most:
            raise WhimbrelError(f"state too long: {len(state)} bytes, the limit is {most}: keep less in the agent")
        if self.covers:
            self.upto = max(self.upto, self.progress.upto)
        self.state = state
        return self._port.say(state, self.upto, also, to)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- Moves

    @property
    def is_leaving(self) -> bool:
        """True while the agent is moving and the node has not confirmed its arrival."""
        return self._departure is not None

    async def leave(self, to: str) -> None:
        """Moves the agent to another place with its state. Returns when it has arrived there.

        Raises StayedError if the agent stays, EndedError if it ended first.
        """
        if self._is_over:
            raise EndedError("cannot move: the agent ended, or has moved away")
        if self._departure is not None:
            raise StayedError("not_movable", "already moving")
        self._stop_timer()
        state = self.source()
        if state is None:
            raise StayedError("not_movable", "its state is unknown at the moment")
        try:
            number = self._say(state, self.progress.also, to)
        except WhimbrelError as error:
            raise StayedError("too_large", str(error)) from None
        self._departure = _Move(number, self._port.loop.create_future(), [])
        await self._departure.done

    def stay_and(self, what: Callable[[], Any]) -> None:
        """Runs a function at once; while the agent is moving, after it is known to stay."""
        if self._departure is not None:
            self._departure.later.append(what)
        else:
            what()

    def _stay(self, move: _Move, error: BaseException) -> None:
        """Handles a refused move. Delayed actions follow."""
        self._departure = None
        self._is_dirty = True
        if not move.done.done():
            move.done.set_exception(StayedError.of(error) if isinstance(error, RefusedError) else error)
        for what in move.later:
            try:
                what()
            except Exception as wrong:
                self._port.tell(wrong)
        self._plan()

    # ---- Answers of the node

    def saved(self, of: int) -> None:
        """The node has this save and all earlier ones."""
        for number in [one for one in self._pending if one <= of]:
            pending = self._pending.pop(number)
            self.progress.known(pending.also)
            if pending.done is not None and not pending.done.done():
                pending.done.set_result(None)
        if self._is_dirty:
            self._plan()

    def refused(self, of: int, error: BaseException) -> None:
        """The node refused this save."""
        if self._departure is not None and self._departure.number == of:
            return self._stay(self._departure, error)
        pending = self._pending.pop(of, None)
        if pending is not None and pending.done is not None and not pending.done.done():
            pending.done.set_exception(error)
        else:
            self._port.tell(error)
        self._hold_again(pending)
        if self._is_dirty:
            self._plan()

    def _hold_again(self, pending: _Pending | None) -> None:
        """Schedules another save after a refusal, because the node still holds the messages that were to leave."""
        if not self.holds or pending is None or not pending.messages or self._is_over:
            return
        self._messages += pending.messages
        self._size += pending.size
        if self.keep.save != "no" and self._timer is None:
            self._timer = self._port.loop.call_later(self.keep.checkpoint, self._write_or_tell)

    def over(self, has_moved: bool = False) -> None:
        """Ends the saver: the agent ended, or has moved away."""
        self._is_over = True
        self.has_moved = has_moved
        move, self._departure = self._departure, None
        if move is not None and not move.done.done():
            if has_moved:
                move.done.set_result(None)
            else:
                move.done.set_exception(EndedError("the agent ended before it had moved"))
        self._stop_timer()
        for pending in self._pending.values():
            if pending.done is not None and not pending.done.done():
                pending.done.set_exception(EndedError("the agent ended before its node confirmed the save"))
        self._pending.clear()
