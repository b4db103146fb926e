"""Platforms: sessions with a node, and nodes of one's own."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from .acl.errors import WhimbrelError
from .agents.arrivals import Offer
from .agents.creation import Creation
from .agents.deadlines import Deadlines
from .progress import gather, in_notebook
from .recording import MESSAGES_MAX, Recording
from .session.address import Address
from .session.driver import Driver, Sign
from .session.frames import Form, Frame
from .session.limits import LEASE_MS, MESSAGE_BYTES, PATIENCE_MS, WINDOW
from .session.session import SessionError, SessionOptions
from .session.transport import Connect, connector

if TYPE_CHECKING:
    from .blocking import BlockingPlatform
    from .diagram import Diagram
    from .node import Node

__all__ = ["Platform", "connect"]

log = logging.getLogger("whimbrel")

#: Name in every node's certificate.
_NODE_NAME = "node.whimbrel"

#: Listener to the connection: true or false, and the reason of a loss.
ConnectionListener = Callable[[bool, "str | None"], Any]


class Platform(Creation):
    """A platform on which agents of this program live.

    ``async with Platform() as platform`` starts a node of one's own, which ends with the program. With an address, or
    the variables WHIMBREL_URL and WHIMBREL_TOKEN, the agents join that node's platform. A broken connection is restored
    without loss. When the session is over, its agents end.

    Without asyncio, ``with Platform() as platform`` has the same methods, which then wait themselves.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        token: str | None = None,
        project: str | os.PathLike[str] | None = None,
        options: Sequence[str] = (),
        authority: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        ssl_context: ssl.SSLContext | None = None,
        encoding: Literal["json", "compact"] = "json",
        lease: float = LEASE_MS / 1000,
        patience: float = PATIENCE_MS / 1000,
        window: int = WINDOW,
        message_bytes: int = MESSAGE_BYTES,
        transport: Connect | None = None,
        record: bool | None = None,
    ) -> None:
        """Describes a platform; nothing happens yet.

        `address` is a node's: `tcp://`, `tls://`, `ws://` or `wss://HOST:PORT`. `token` admits to it; or `certificate`
        and `key` (files) do. `authority` is the file of the platform's certificate.

        Without an address, `project` is the society that the own node runs beside this program's agents, and `options`
        are further options of `whimbrel run`. With `--durable` or `--store` among them, give the same `token` to each
        run: kept agents are restored for the token that they were kept with. By default it is a new one.

        `lease` is the time in seconds that the agents outlive a lost connection, `patience` that for the first one.

        `record` keeps the messages for `recording` and `diagram`; in a notebook it is on by default.
        """
        super().__init__()
        self._records = in_notebook() if record is None else record
        given = address or (os.environ.get("WHIMBREL_URL") if transport is None else None)
        self._address = Address.parse(given) if given else None
        if self._address is not None and project is not None:
            raise WhimbrelError("give an address, or a project for an own node: not both")
        self._token = token if token is not None else os.environ.get("WHIMBREL_TOKEN") if given else None
        self._project = project
        self._node_options = options
        self._authority = authority
        self._certificate = certificate
        self._key = key
        self._ssl_context = ssl_context
        self._session_options = SessionOptions(
            lease_ms=round(lease * 1000),
            patience_ms=patience * 1000,
            window=window,
            message_bytes=message_bytes,
            form=_form(encoding),
            moves=True,
            follows=True,
        )
        self._transport = transport
        self._sign: Sign | None = None
        self._node: Node | None = None
        self._is_open = False
        self._listeners: list[ConnectionListener] = []
        self._is_connected = False
        self._first: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[SessionError] | None = None
        self._blocking: BlockingPlatform | None = None

    # ---- Opening

    async def open(self) -> Platform:
        """Starts the node, if it is one's own, and begins the session.

        Raises SessionError if the node refuses the client, or no node answers within `patience`; WhimbrelError if there
        is no program for an own node.
        """
        if self._is_open:
            raise WhimbrelError("the platform is open already")
        self._is_open = True
        self.loop = asyncio.get_running_loop()
        self.deadlines = Deadlines(self.loop)
        if self._records:
            self.record()
        self._closed = self.loop.create_future()
        self._first = self.loop.create_future()
        try:
            if self._address is None and self._transport is None:
                await self._start_node()
            self._connect = self._transport or self._connector()
            self.driver = self._begin()
            await asyncio.shield(self._first)
        except BaseException:
            if hasattr(self, "driver"):
                self.driver.session.abandon("the client gave up connecting")
                self.driver.flush()
            await self._stop_node()
            raise
        return self

    async def _start_node(self) -> None:
        from .node import Node

        node = self._node = Node(self._project, self._node_options, self._token)
        await asyncio.to_thread(node.start)
        loop = self.loop
        node.on_exit = lambda why: _soon(loop, self._node_ended, why)
        self._address = Address.parse(node.address)
        self._token = node.token

    def _node_ended(self, why: str) -> None:
        """The own node's process has ended: no connection will come again."""
        if self.session.over is None:
            self.session.abandon(why, code="stopping")
            self.driver.flush()

    async def _stop_node(self) -> None:
        node, self._node = self._node, None
        if node is not None:
            await asyncio.to_thread(node.stop)

    def _connector(self) -> Connect:
        address = self._address
        assert address is not None
        context = self._ssl_context
        if address.is_encrypted and context is None:
            context = ssl.create_default_context(cafile=self._authority)
            if address.scheme == "tls":
                context.minimum_version = ssl.TLSVersion.TLSv1_3
                if self._certificate is not None:
                    context.load_cert_chain(self._certificate, self._key)
        if address.is_web and self._certificate is not None:
            from .session.proof import signer

            self._sign = signer(address, _contents(self._key or self._certificate))
        return connector(address, context, _NODE_NAME if address.scheme == "tls" else None)

    def _begin(self, *, place: str | None = None, stays: bool = False) -> Driver:
        """Begins a session, or one that replaces the session of before."""
        # A replacement may take as long as its predecessor would have lived without a connection.
        patience = max(self._session_options.patience_ms, self._granted["lease_ms"] if self._granted else 0)
        is_web = self._address is not None and self._address.is_web
        certificate = _contents(self._certificate).decode() if self._certificate is not None and is_web else None
        options = self._session_options._replace(
            token=self._token,
            certificate=certificate,
            patience_ms=patience,
            place=place,
            stays=stays,
        )
        # Events of a session that was replaced are ignored.
        driver = Driver(options, self._connect, self._sign, lambda event: self._told(driver, event))
        driver.session.open = lambda: self.open_messages
        return driver

    def _told(self, driver: Driver, event: Frame) -> None:
        if driver is not getattr(self, "driver", driver):
            return
        kind = event["type"]
        if kind == "message":
            self._on_message(event)
            return
        if kind == "welcome":
            self._granted = event["welcome"]
            if self._first is not None and not self._first.done():
                self._first.set_result(None)
            self._set_connected(True, None)
        elif kind == "lost":
            log.info("connection to %s lost: %s", self._address, event["why"])
            self._set_connected(False, event["why"])
        elif kind == "over":
            error: SessionError = event["error"]
            self._set_connected(False, str(error))
            if self._first is not None and not self._first.done():
                self._first.set_exception(error)
            if self._closed is not None and not self._closed.done():
                self._closed.set_result(error)
        self._handle(event)

    # ---- Closing

    async def close(self) -> None:
        """Ends all agents and the session, after the node has all messages; then the node, if it is one's own."""
        self._is_leaving = True
        if hasattr(self, "driver") and self._closed is not None:
            self.session.bye()
            self.driver.flush()
            await asyncio.shield(self._closed)
        for task in list(self._tasks):
            task.cancel()
        await self._stop_node()

    async def wait_closed(self) -> SessionError:
        """Waits until the session is over. Returns the reason; its code is `bye` after `close`."""
        if self._closed is None:
            raise WhimbrelError("the platform is not open yet")
        return await asyncio.shield(self._closed)

    async def __aenter__(self) -> Platform:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, Platform]:
        """Opens the platform: `platform = await whimbrel.connect(...)`."""
        return self.open().__await__()

    def blocking(self) -> BlockingPlatform:
        """Opens the platform for a program without asyncio, such as a cell of a notebook. Its `close` ends it, and so
        does the end of the program.
        """
        return self.__enter__()

    def __enter__(self) -> BlockingPlatform:
        """Opens the platform for a program without asyncio."""
        from .blocking import BlockingPlatform

        self._blocking = BlockingPlatform(self)
        return self._blocking.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        blocking, self._blocking = self._blocking, None
        if blocking is not None:
            blocking.__exit__(kind, error, trace)

    # ---- State

    @property
    def over(self) -> SessionError | None:
        """Reason why the session is over, if it is."""
        return self.session.over if hasattr(self, "driver") else None

    @property
    def is_connected(self) -> bool:
        """True while there is a connection. Without one, the platform reconnects and messages wait."""
        return self._is_connected

    @property
    def node(self) -> Node | None:
        """The own node; None if the platform is another's."""
        return self._node

    def on_connection(self, tell: ConnectionListener) -> Callable[[], None]:
        """Calls back when the connection is lost or restored. The returned function ends that."""
        self._listeners.append(tell)
        return lambda: self._listeners.remove(tell) if tell in self._listeners else None

    def _set_connected(self, is_connected: bool, why: str | None) -> None:
        if is_connected == self._is_connected:
            return
        self._is_connected = is_connected
        for tell in list(self._listeners):
            tell(is_connected, why)

    @property
    def agents_max(self) -> int:
        """Maximum number of agents in this session."""
        return self._granted["agents"] if self._granted else 0

    @property
    def unacknowledged(self) -> int:
        """Number of frames that the node has not acknowledged."""
        return self.session.unacknowledged

    def on_offer(self, take: Callable[[Offer], Any] | None) -> None:
        """Accepts agents that move here: `take` starts an agent of the offered name with `keep`, and that gets the
        state. If it raises, or starts none within 10 s, the agent stays, or returns, with that reason.
        """
        self.arrivals.take = take

    def record(self, limit: int | None = MESSAGES_MAX) -> Recording:
        """Begins to record the messages of this program's agents: those that they send, and those that come to them.
        The recording keeps the newest `limit` messages.
        """
        recording = self._recording = Recording(limit)
        recording.start = self.loop.time() if hasattr(self, "loop") else 0.0
        return recording

    @property
    def recording(self) -> Recording:
        """Recording of this program's messages, which `record` began. Raises WhimbrelError if there is none."""
        if self._recording is None:
            raise WhimbrelError("nothing was recorded: call `platform.record()` first, or give `record=True`")
        return self._recording

    def diagram(self, agents: Any = None, *, directories: bool = False) -> Diagram:
        """Returns the recorded messages as a sequence diagram, which notebooks show: all, or those of `agents`.
        `directories` includes those to and from `df` and `ams`.
        """
        return self.recording.diagram(agents, directories=directories)

    async def start_all(self, agents: dict[str, Any], *, keep: bool = False, progress: bool = False) -> list[Any]:
        """Starts several agents together: objects or set-up functions by name. Returns them in that order. `progress`
        shows a bar.
        """
        started = [self.start(name, agent, keep=keep) for name, agent in agents.items()]
        return await gather(started, "starting agents") if progress else list(await asyncio.gather(*started))

    def _repr_html_(self) -> str:
        from .html import table

        state = "closed" if self.over is not None else "connected" if self.is_connected else "not connected"
        names = tuple(entry.aid.name for entry in self.entries.values())
        rows: list[tuple[str, object]] = [("node", str(self._address or "its own")), ("state", state)]
        return table(f"Platform {self.name or '?'}", [*rows, ("agents", names)])

    def __repr__(self) -> str:
        where = str(self._address) if self._address else "its own node"
        return f"<Platform {self.name or '?'} at {where}, {len(self.entries)} agents>"


def _contents(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _soon(loop: asyncio.AbstractEventLoop, function: Callable[[str], None], why: str) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(function, why)


def _form(encoding: str) -> Form:
    if encoding == "json":
        return None
    if encoding == "compact":
        from .acl import compact

        return compact.CODEC
    raise WhimbrelError(f"unknown encoding {encoding!r}: use json or compact")


def connect(address: str, **options: Any) -> Platform:
    """Joins the platform of a node: ``async with whimbrel.connect("wss://node.example", token=token) as platform``, or
    ``platform = await whimbrel.connect(...)`` and later ``await platform.close()``.

    The options are those of `Platform`.
    """
    return Platform(address, **options)
