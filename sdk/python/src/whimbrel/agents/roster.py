"""Agents of a session: frames of the node for them, and their frames to the node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ..acl.aid import Aid, AidLike
from ..acl.errors import WhimbrelError
from ..acl.message import Message
from ..session.driver import Driver
from ..session.frames import Frame
from ..session.session import Session, SessionError
from .arrivals import Arrivals, Offer
from .deadlines import Deadlines
from .entry import Entry
from .errors import RefusedError
from .expectations import Expectations
from .limits import SENT_MAX
from .saver import Restored

if TYPE_CHECKING:
    from ..recording import Recording
    from .agent import Agent
    from .messaging import Question

__all__ = ["Roster"]

log = logging.getLogger("whimbrel")

#: Reasons of a node for an agent that moved, or that the node handed over.
MOVED = "it moved to "
HANDED_OVER = "it goes on at another node"

#: Place of a sent message, for its refusal: frame, entry, receivers, question.
_Sent = tuple[int, Entry, "tuple[Aid, ...]", "Question | None"]


class Roster:
    """Entries of a session's agents."""

    driver: Driver
    loop: asyncio.AbstractEventLoop
    deadlines: Deadlines

    def __init__(self) -> None:
        #: Entries by their numbers on the connection.
        self.entries: dict[int, Entry] = {}
        #: Entries by the local names of their agents.
        self._names: dict[str, Entry] = {}
        #: Numbers of messages that agents have not handled, in their order. Kept agents report by their saves.
        self.open_messages: dict[int, None] = {}
        self.arrivals = Arrivals(self)  # type: ignore[arg-type]
        self._expected = Expectations()
        self._sent: list[_Sent | None] = [None] * SENT_MAX
        self._granted: Frame | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._recording: Recording | None = None

    @property
    def session(self) -> Session:
        """Session of the agents."""
        return self.driver.session

    @property
    def name(self) -> str:
        """Name of the platform, after `@` in its agents' identifiers."""
        return self._granted["platform"] if self._granted else ""

    @property
    def agents(self) -> list[Agent]:
        """Agents of this program."""
        return [entry.agent for entry in self.entries.values() if entry.created is None and not entry.is_left]

    def agent_named(self, name: AidLike) -> Agent | None:
        """Returns the agent of this program with this name; None if there is none."""
        aid = Aid.of(name)
        entry = self._names.get(aid.name) if aid.platform in ("", self.name) else None
        return entry.agent if entry is not None and entry.created is None and not entry.is_left else None

    def pump(self) -> None:
        """Writes what was commanded."""
        self.driver.pump()

    def background(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs a coroutine beside the agents."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ---- Frames to the node

    def transmit(self, entry: Entry, message: Message, question: Question | None) -> int:
        """Sends a message of an agent. Returns its length."""
        session = self.driver.session
        number = session.send(entry.number, message)
        self._sent[number % SENT_MAX] = (number, entry, message.receivers, question)
        size = session.last_bytes if entry.saver is not None else 0
        if self._recording is not None:
            self._recording.sent(self.loop.time(), entry.aid, message)
        self.driver.pump()
        return size

    def handled(self, number: int) -> None:
        """Notes that an agent has handled a message."""
        if self.open_messages.pop(number, 0) is None:
            driver = self.driver
            driver.session.is_stale = True
            if not driver.hold and driver.session.lists_open:
                driver.pump()

    def expect(
        self,
        frame: int,
        agent: int,
        refused: asyncio.Future[Any] | Callable[[RefusedError], Any],
        *,
        is_save: bool = False,
    ) -> None:
        """Expects that the node may refuse a frame."""
        if isinstance(refused, asyncio.Future):
            future = refused

            def fail(error: RefusedError) -> None:
                if not future.done():
                    future.set_exception(error)

            self._expected.add(frame, agent, fail, is_save=is_save)
        else:
            self._expected.add(frame, agent, refused, is_save=is_save)

    async def certify(self, entry: Entry, request: str) -> str:
        """Has the node certify an agent's key."""
        future: asyncio.Future[str] = self.loop.create_future()
        frame = self.session.certify(entry.number, request)
        entry.certified = entry.certified or []
        entry.certified.append((frame, future))
        self.expect(frame, entry.number, future)
        self.pump()
        try:
            return await future
        except RefusedError:
            entry.certified.remove((frame, future))
            raise

    # ---- Frames of the node

    def _handle(self, event: Frame) -> None:
        """Handles an event of the session."""
        handler = getattr(self, f"_on_{event['type']}", None)
        if handler is not None:
            handler(event)

    def _on_message(self, event: Frame) -> None:
        entry = self.entries.get(event["agent"])
        if entry is None:
            return
        message, size, number = event["message"], event["bytes"], event["number"]
        if self._recording is not None and self.agent_named(message.sender) is None:
            self._recording.add(self.loop.time(), message)
        if entry.early is not None:
            entry.early.append((message, size, number))
        if not entry.is_left:
            entry.agent._deliver(message, size, number)

    def _on_created(self, event: Frame) -> None:
        entry = self.entries.get(event["agent"])
        if entry is None:
            return
        # From now on a refusal says what the agent cannot have. Its set-up may say who hears that.
        agent = entry.agent
        self.expect(entry.frame, entry.number, lambda error: self.loop.call_soon(agent.tell, error))
        created, entry.created = entry.created, None
        agent._entry = entry
        if created is not None and not created.done():
            created.set_result(None)

    def _on_unreadable(self, event: Frame) -> None:
        entry = self.entries.get(event["agent"])
        if entry is not None:
            entry.agent.tell(WhimbrelError(f"cannot decode a received message: {event['why']}"))

    def _on_saved(self, event: Frame) -> None:
        """The node has this state of an agent."""
        agent, of = event["agent"], event["of"]
        self._expected.saved(agent, of)
        entry = self.entries.get(agent)
        if entry is not None and entry.saver is not None:
            entry.saver.saved(of)

    def _on_state(self, event: Frame) -> None:
        entry = self.entries.get(event["agent"])
        if entry is not None and entry.saver is not None:
            entry.saver.restored = Restored(event["code"], event["state"], event["from"])
            entry.early = []

    def _on_lacks(self, event: Frame) -> None:
        """Answers a node that has to run an agent after this session: this client has no code for it."""
        entry = self.entries.get(event["agent"])
        if entry is not None:
            frame = self.session.code(entry.number, event["code"], b"")
            self.expect(frame, entry.number, entry.agent.tell, is_save=True)
            self.pump()

    def _on_code(self, event: Frame) -> None:
        entry = self.entries.get(event["agent"])
        coming = entry.coming if entry is not None else None
        if entry is not None and coming is not None and coming.code == event["code"] and coming.add(event):
            entry.coming = None

    def _on_yield(self, event: Frame) -> None:
        entry = self.entries.get(event["agent"])
        if entry is not None:
            self.background(self.arrivals.yields(entry, event["to"]))

    def _on_offer(self, event: Frame) -> None:
        self.background(self.arrivals.offered(Offer(event["name"], event["code"])))

    def _on_certified(self, event: Frame) -> None:
        entry = self.entries.get(event["agent"])
        if entry is not None and entry.certified:
            frame, future = entry.certified.pop(0)
            self._expected.take(frame)
            if not future.done():
                future.set_result(event["certificates"])

    def _on_refused(self, event: Frame) -> None:
        of = event["of"]
        error = RefusedError(event["code"], event["text"])
        refused = self._expected.take(of)
        sent = self._sent[of % SENT_MAX]
        if refused is not None:
            refused(error)
        elif sent is not None and sent[0] == of:
            _, entry, receivers, question = sent
            if question is not None:
                question.fail(error)
                return
            names = ", ".join(map(str, receivers))
            text = f"message to {names}: {error.text}" if names else error.text
            entry.agent.tell(RefusedError(error.code, text))
        elif of == 0 and error.code != "no-agent":
            # A message to an agent here could not be delivered. Its sender knows.
            for entry in list(self.entries.values()):
                entry.agent.tell(error)

    def _on_ended(self, event: Frame) -> None:
        self._ended(event["agent"], event["reason"], None)

    def _on_over(self, event: Frame) -> None:
        error: SessionError = event["error"]
        for number in list(self.entries):
            self._ended(number, str(error), error)
        self.deadlines.close()

    def _ended(self, number: int, reason: str, error: Exception | None) -> None:
        """An agent of the session has ended."""
        entry = self.entries.pop(number, None)
        if entry is None:
            return
        if self._names.get(entry.aid.name) is entry:
            del self._names[entry.aid.name]
        self._expected.forget(number)
        is_handed_over = reason == HANDED_OVER
        was_created = entry.created is None
        if entry.created is not None and not entry.created.done():
            entry.created.set_exception(
                error or (RefusedError("not-yet", reason) if is_handed_over else WhimbrelError(reason))
            )
        if entry.coming is not None and not entry.coming.done.done():
            entry.coming.done.set_exception(WhimbrelError(reason))
        if entry.saver is not None:
            entry.saver.over(reason.startswith(MOVED))
        for _, future in entry.certified or ():
            if not future.done():
                future.set_exception(WhimbrelError(reason))
        agent = entry.agent
        if not was_created or agent._entry is not entry:
            return
        if is_handed_over and entry.again is not None and not entry.is_left:
            agent.successor = asyncio.ensure_future(entry.again())
        agent._over(reason)
