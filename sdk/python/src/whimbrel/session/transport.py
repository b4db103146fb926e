"""Transports of frames over asyncio: TCP, with TLS or without. WebSocket is in `websocket`."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Protocol, cast

from .address import Address
from .limits import FRAME_BYTES_MAX

__all__ = ["Connect", "ReadBuffer", "Receiver", "TcpTransport", "Transport", "connector"]


class Receiver(Protocol):
    """Owner of a transport. `on_close` is the last call."""

    def on_frame(self, data: bytes) -> None:
        """Handles a received frame."""

    def on_read(self) -> None:
        """All frames that were read together have been handled."""

    def on_close(self, why: str) -> None:
        """Handles the end of the connection."""


class Transport(Protocol):
    """An open connection."""

    def send(self, frames: list[bytes]) -> None:
        """Sends frames."""

    def close(self) -> None:
        """Closes the connection after pending writes. `on_close` does not follow."""


#: Opens a connection at a place that a node named, or at the usual address (None). Raises OSError.
Connect = Callable[[Receiver, "str | None"], Awaitable[Transport]]

_LENGTH_BYTES = 4
#: Bytes of one read.
_READ_BYTES = 64 * 1024
#: Bytes in a socket's way beyond which a connection counts as blocked.
_WRITE_BYTES_HIGH = 1 << 20


class ReadBuffer(asyncio.BufferedProtocol):
    """Base of transports: reads into one buffer, which lasts as long as the connection.

    asyncio's own reads allocate 256 KiB each, which the system has to map and clear: that takes longer than all other
    work for a message.
    """

    def __init__(self) -> None:
        self._into = memoryview(bytearray(_READ_BYTES))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Called by asyncio."""
        return self._into

    def buffer_updated(self, nbytes: int) -> None:
        """Called by asyncio."""
        self._received(bytes(self._into[:nbytes]))

    def _received(self, data: bytes) -> None:
        """Handles received bytes."""
        raise NotImplementedError


class TcpTransport(ReadBuffer):
    """Frames with their length before them: four bytes, the highest first."""

    def __init__(self, receiver: Receiver) -> None:
        super().__init__()
        self._receiver: Receiver | None = receiver
        self._transport: asyncio.WriteTransport | None = None
        self._rest = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        # Those of uvloop are no subclasses of asyncio's.
        self._transport = cast(asyncio.WriteTransport, transport)
        self._transport.set_write_buffer_limits(high=_WRITE_BYTES_HIGH)

    def _received(self, data: bytes) -> None:
        if self._rest:
            self._rest += data
            need = int.from_bytes(self._rest[:_LENGTH_BYTES], "big") + _LENGTH_BYTES
            if len(self._rest) < _LENGTH_BYTES or len(self._rest) < need <= FRAME_BYTES_MAX:
                return
            data = bytes(self._rest)
            self._rest = bytearray()
        first = self._receiver
        at, end = 0, len(data)
        while end - at >= _LENGTH_BYTES:
            start = at + _LENGTH_BYTES
            stop = start + int.from_bytes(data[at:start], "big")
            if stop > end:
                if stop - start > FRAME_BYTES_MAX:
                    return self._fail(f"the node sent a frame of {stop - start} bytes")
                break
            receiver = self._receiver
            if receiver is None:
                break
            receiver.on_frame(data[start:stop])
            at = stop
        if at < end:
            self._rest += data[at:]
        # Also after a frame that ended the connection: what it caused has to be written, or timed.
        if first is not None:
            first.on_read()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        self._fail(str(exc) if exc else "the node closed the connection")

    def _fail(self, why: str) -> None:
        receiver, self._receiver = self._receiver, None
        if self._transport:
            self._transport.close()
        if receiver:
            receiver.on_close(why)

    def send(self, frames: list[bytes]) -> None:
        """Sends frames."""
        if self._transport is None:
            return
        if len(frames) == 1:
            self._transport.write(len(frames[0]).to_bytes(_LENGTH_BYTES, "big") + frames[0])
            return
        parts: list[bytes] = []
        for frame in frames:
            parts += (len(frame).to_bytes(_LENGTH_BYTES, "big"), frame)
        self._transport.write(b"".join(parts))

    def close(self) -> None:
        """Closes the connection after pending writes."""
        self._receiver = None
        if self._transport:
            self._transport.close()


def connector(address: Address, context: ssl.SSLContext | None, server_name: str | None) -> Connect:
    """Returns the function that connects to a node by the address's transport."""

    async def connect(receiver: Receiver, place: str | None) -> Transport:
        at = address.at(place)
        name = (server_name or at.host) if at.is_encrypted else None
        factory: Callable[[], TcpTransport] = lambda: TcpTransport(receiver)  # noqa: E731
        if at.is_web:
            from .websocket import open_websocket

            return await open_websocket(at, receiver, context if at.is_encrypted else None, name)
        _, protocol = await asyncio.get_running_loop().create_connection(
            factory, at.host, at.port, ssl=context if at.is_encrypted else None, server_hostname=name
        )
        return protocol

    return connect
