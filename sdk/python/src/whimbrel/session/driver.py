"""Driver of a session: connects, moves frames, keeps time."""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Awaitable, Callable

from .frames import Frame
from .session import Session, SessionOptions
from .transport import Connect, Transport

__all__ = ["Driver", "Sign"]

log = logging.getLogger("whimbrel")

#: Signs a node's challenge with the key of the client's certificate. The place is the node's, if it redirected.
Sign = Callable[[str, "str | None"], Awaitable[bytes]]

#: Frames that may wait for the node before senders are made to wait, and the number at which they go on.
UNWRITTEN_HIGH = 1024
UNWRITTEN_LOW = 512


class _Link:
    """One connection, or the attempt to open one. Its calls count only while it is the driver's current one."""

    __slots__ = ("_driver", "task", "transport")

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.transport: Transport | None = None
        self.task: asyncio.Task[None] | None = None

    async def open(self, connect: Connect, place: str | None) -> None:
        """Opens the connection."""
        driver = self._driver
        try:
            transport = await connect(self, place)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self.on_close(str(error) or type(error).__name__)
            return
        if driver.link is not self:
            transport.close()
            return
        self.transport = transport
        driver.session.handle_connected(driver.now())
        driver.flush()

    def on_frame(self, data: bytes) -> None:
        """Handles a received frame."""
        driver = self._driver
        if driver.link is self:
            if not driver.hold:
                driver.hold = True
                driver.read_at = driver.now()
            session = driver.session
            session.handle_frame(data, driver.read_at)
            driver.handle_events()
            # A quarter of the window came, and there may be more: the node can send on meanwhile.
            if session.ack_due_at <= driver.read_at:
                driver.write()

    def on_read(self) -> None:
        """Writes all answers to the frames that were read together."""
        driver = self._driver
        driver.hold = False
        driver.flush()

    def on_close(self, why: str) -> None:
        """Handles the end of the connection."""
        driver = self._driver
        if driver.link is self:
            driver.link = None
            driver.session.handle_closed(driver.now(), why)
            driver.flush()

    def close(self) -> None:
        """Closes the connection, or gives the attempt up."""
        if self.task and not self.task.done():
            self.task.cancel()
        if self.transport:
            self.transport.close()


def _random() -> float:
    """Returns a number from 0 to 1. The module `random` takes a millisecond to import."""
    return int.from_bytes(os.urandom(4), "big") / (1 << 32)


class Driver:
    """A running session. Call `pump` after commands to `session`."""

    def __init__(
        self,
        options: SessionOptions,
        connect: Connect,
        sign: Sign | None,
        handle: Callable[[Frame], None],
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.session = Session(options, self.now(), _random)
        #: True while frames are being read: what they cause is written together.
        self.hold = False
        #: Time of the frames that are being read.
        self.read_at = 0.0
        self.link: _Link | None = None
        self._connect = connect
        self._sign = sign
        self._handle = handle
        # True if the next command is written at once, false if those that follow it wait for a moment.
        self._is_idle = True
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._drained: asyncio.Future[None] | None = None
        self._proving: asyncio.Task[None] | None = None
        self._is_due = False
        self._is_over = False
        # Place that the session was redirected to, if any.
        self._place: str | None = None
        self.loop.call_soon(self._pump_rest)

    def now(self) -> float:
        """Monotonic time in milliseconds."""
        return self.loop.time() * 1000

    def pump(self) -> None:
        """Writes frames: the first one of a burst at once, the others together a moment later."""
        if self.hold:
            return
        if not self._is_idle:
            if not self._is_due:
                self._is_due = True
                self.loop.call_soon(self._pump_rest)
            return
        self._is_idle = False
        self.write()
        if self.session.ack_due_at < self._timer_at:
            self._sleep()

    def _pump_rest(self) -> None:
        self._is_due = False
        self.flush()

    def flush(self) -> None:
        """Processes events, writes frames, and sets the timer."""
        if self.hold:
            return
        self._is_idle = True
        try:
            self.handle_events()
            self.write()
        finally:
            # The timer must run even after an error.
            self._sleep()

    def write(self) -> None:
        """Writes all frames that may be written."""
        link, session = self.link, self.session
        if link is None or link.transport is None:
            return
        frames = session.poll_frames(self.now())
        if frames:
            link.transport.send(frames)
            if self._drained is not None and session.unwritten <= UNWRITTEN_LOW:
                self._let_on()

    def _let_on(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    @property
    def is_congested(self) -> bool:
        """True if senders should wait."""
        return self.session.unwritten >= UNWRITTEN_HIGH and self.session.over is None

    async def drained(self) -> None:
        """Waits until the node has taken enough frames."""
        while self.is_congested:
            if self._drained is None:
                self._drained = self.loop.create_future()
            await asyncio.shield(self._drained)

    def _sleep(self) -> None:
        due = self.session.poll_timeout()
        # A timer that fires too early only looks again.
        if self._timer_at <= due and self._timer is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = due
        if due < math.inf and not self._is_over:
            self._timer = self.loop.call_at(due / 1000, self._wake)

    def _wake(self) -> None:
        self._timer, self._timer_at = None, math.inf
        self.session.handle_timeout(self.now())
        self.flush()

    def handle_events(self) -> None:
        """Handles all events of the session."""
        events = self.session.events
        while events:
            event = events.popleft()
            # Nearly all are messages.
            if event["type"] == "message":
                self._hand_over(event)
            else:
                self._happened(event)

    def _hand_over(self, event: Frame) -> None:
        """Gives an event to the platform. An error in one handler must not stop the events after it."""
        try:
            self._handle(event)
        except Exception:
            log.exception("handling %r", event["type"])

    def _happened(self, event: Frame) -> None:
        kind = event["type"]
        if kind == "connect":
            self._place = event["place"]
            self.link = link = _Link(self)
            link.task = self.loop.create_task(link.open(self._connect, event["place"]), name="whimbrel connect")
        elif kind == "disconnect":
            log.debug("connection dropped: %s", event["why"])
            self._close()
        elif kind == "challenge":
            self._proving = self.loop.create_task(self._prove(event["text"]), name="whimbrel prove")
        else:
            self._hand_over(event)
        if kind == "over":
            self._is_over = True
            self._close()
            self._let_on()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    async def _prove(self, challenge: str) -> None:
        try:
            if self._sign is None:
                raise ValueError("the certificate has no key: give `key=`")
            self.session.prove(challenge, await self._sign(challenge, self._place))
        except Exception as error:
            self.session.cannot_prove(str(error))
        self.flush()

    def _close(self) -> None:
        link, self.link = self.link, None
        if link:
            link.close()
