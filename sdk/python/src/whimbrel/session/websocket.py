"""WebSocket client (RFC 6455), for sessions at a node's gateway.

JSON frames are text messages, compact frames are binary ones.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import ssl
from typing import cast

from ..acl.errors import WhimbrelError
from .address import Address
from .limits import FRAME_BYTES_MAX, WELCOME_MS_MAX
from .transport import ReadBuffer, Receiver

__all__ = ["WebSocketTransport", "open_websocket"]

#: WebSocket subprotocol of sessions.
SUBPROTOCOL = "whimbrel.v1"

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_FINAL, _MASKED = 0x80, 0x80
#: Most bytes of the server's answer to the handshake.
_HEAD_BYTES_MAX = 16 * 1024


def encode(opcode: int, payload: bytes) -> bytes:
    """Returns a masked message of one frame, as clients send it."""
    length = len(payload)
    head = bytearray((_FINAL | opcode,))
    if length < 126:
        head.append(_MASKED | length)
    elif length < 1 << 16:
        head.append(_MASKED | 126)
        head += length.to_bytes(2, "big")
    else:
        head.append(_MASKED | 127)
        head += length.to_bytes(8, "big")
    mask = os.urandom(4)
    return bytes(head) + mask + masked(payload, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """Returns a payload with each byte combined with one of the mask's four."""
    length = len(payload)
    key = (mask * (length // 4 + 1))[:length]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(length, "big")


class WebSocketTransport(ReadBuffer):
    """One WebSocket: the handshake, then messages."""

    def __init__(self, address: Address, receiver: Receiver, opened: asyncio.Future[None]) -> None:
        super().__init__()
        self._address = address
        self._receiver: Receiver | None = receiver
        self._opened = opened
        self._key = base64.b64encode(os.urandom(16))
        self._transport: asyncio.WriteTransport | None = None
        self._data = bytearray()
        self._message = bytearray()
        self._is_open = False

    # ---- Events of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio. Sends the handshake."""
        self._transport = cast(asyncio.WriteTransport, transport)
        address = self._address
        lines = (
            f"GET {address.path} HTTP/1.1",
            f"Host: {address.place}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {self._key.decode()}",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Protocol: {SUBPROTOCOL}",
        )
        self._transport.write(("\r\n".join(lines) + "\r\n\r\n").encode())

    def _received(self, data: bytes) -> None:
        self._data += data
        first = self._receiver
        try:
            if not self._is_open and not self._read_head():
                return
            while self._receiver is not None and self._read_frame():
                pass
        except WhimbrelError as error:
            self._fail(str(error))
            return
        # Also after a frame that ended the connection: what it caused has to be written, or timed.
        if first is not None:
            first.on_read()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        self._fail(str(exc) if exc else "the node closed the connection")

    # ---- Reading

    def _read_head(self) -> bool:
        """Reads the server's answer to the handshake. Returns false if more has to come."""
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            if len(self._data) > _HEAD_BYTES_MAX:
                raise WhimbrelError("the node's answer to the WebSocket handshake is too long")
            return False
        status, *lines = bytes(self._data[:end]).decode("latin-1").split("\r\n")
        del self._data[: end + 4]
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if status.split(" ")[1:2] != ["101"]:
            raise WhimbrelError(f"no WebSocket at {self._address}: {status}")
        accepted = base64.b64encode(hashlib.sha1(self._key + _GUID).digest()).decode()
        if fields.get("sec-websocket-accept") != accepted:
            raise WhimbrelError(f"no WebSocket at {self._address}: its answer fits another handshake")
        if fields.get("sec-websocket-protocol") != SUBPROTOCOL:
            raise WhimbrelError(f"no sessions at {self._address}: the WebSocket does not speak {SUBPROTOCOL}")
        self._is_open = True
        if not self._opened.done():
            self._opened.set_result(None)
        return True

    def _read_frame(self) -> bool:
        """Reads a frame. Returns false if more has to come."""
        data = self._data
        if len(data) < 2:
            return False
        length, start = data[1] & 0x7F, 2
        if length >= 126:
            start = 4 if length == 126 else 10
            if len(data) < start:
                return False
            length = int.from_bytes(data[2:start], "big")
        if data[1] & _MASKED or data[0] & 0x70:
            raise WhimbrelError("the node sent a malformed WebSocket frame")
        if length + len(self._message) > FRAME_BYTES_MAX:
            raise WhimbrelError(f"the node sent a frame of {length} bytes")
        if len(data) < start + length:
            return False
        opcode, is_final = data[0] & 0x0F, bool(data[0] & _FINAL)
        payload = bytes(data[start : start + length])
        del data[: start + length]
        self._take(opcode, is_final, payload)
        return True

    def _take(self, opcode: int, is_final: bool, payload: bytes) -> None:
        if opcode == _PING:
            self._write(encode(_PONG, payload))
        elif opcode == _CLOSE:
            reason = payload[2:].decode(errors="replace")
            raise WhimbrelError(reason or f"WebSocket closed ({int.from_bytes(payload[:2], 'big')})")
        elif opcode in (_CONTINUATION, _TEXT, _BINARY):
            self._message += payload
            if is_final:
                message, self._message = bytes(self._message), bytearray()
                if self._receiver is not None:
                    self._receiver.on_frame(message)

    def _fail(self, why: str) -> None:
        receiver, self._receiver = self._receiver, None
        if self._transport is not None:
            self._transport.close()
        if not self._opened.done():
            self._opened.set_exception(OSError(why))
        elif receiver is not None:
            receiver.on_close(why)

    # ---- Writing

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def send(self, frames: list[bytes]) -> None:
        """Sends frames."""
        # JSON begins with `{`, and no compact frame does.
        self._write(b"".join([encode(_TEXT if frame[:1] == b"{" else _BINARY, frame) for frame in frames]))

    def close(self) -> None:
        """Closes the connection after pending writes."""
        self._receiver = None
        if self._transport is not None:
            self._write(encode(_CLOSE, (1000).to_bytes(2, "big")))
            self._transport.close()


async def open_websocket(
    address: Address, receiver: Receiver, context: ssl.SSLContext | None, server_name: str | None
) -> WebSocketTransport:
    """Opens a WebSocket. Raises OSError if there is none."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[None] = loop.create_future()
    _, protocol = await loop.create_connection(
        lambda: WebSocketTransport(address, receiver, opened),
        address.host,
        address.port,
        ssl=context,
        server_hostname=server_name,
    )
    try:
        await asyncio.wait_for(opened, WELCOME_MS_MAX / 1000)
    except asyncio.TimeoutError:
        protocol.close()
        raise OSError(f"{address} does not answer the WebSocket handshake") from None
    return protocol
