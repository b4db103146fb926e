"""Addresses of nodes: `tcp://`, `tls://`, `ws://` and `wss://`."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..acl.errors import WhimbrelError

__all__ = ["Address"]

_SCHEMES = {"tcp": None, "tls": None, "ws": 80, "wss": 443, "http": 80, "https": 443}
_PLACE = r"([\w.-]*|\[[\da-fA-F:.]+\]):(\d{1,5})"


class Address(NamedTuple):
    """Address of a node."""

    scheme: str
    host: str
    port: int
    path: str = "/session"

    @classmethod
    def parse(cls, url: str) -> Address:
        """Parses a URL; `http://`, the address of a console, is its WebSocket.

        Raises WhimbrelError if it is no address of a node.
        """
        # Takes some milliseconds to import, and programs with a node of their own need it only after that has started.
        from urllib.parse import urlsplit

        parts = urlsplit(url)
        if parts.scheme not in _SCHEMES:
            raise WhimbrelError(f"cannot connect to {url!r}: use tcp://, tls://, ws:// or wss://")
        try:
            port = parts.port or _SCHEMES[parts.scheme]
        except ValueError as error:
            raise WhimbrelError(f"cannot connect to {url!r}: {error}") from None
        if not parts.hostname or port is None:
            raise WhimbrelError(f"cannot connect to {url!r}: it has no {'port' if parts.hostname else 'host'}")
        scheme = parts.scheme.replace("http", "ws")
        path = "/session" if parts.path in ("", "/") else parts.path
        return cls(scheme, parts.hostname, port, path + (f"?{parts.query}" if parts.query else ""))

    @property
    def is_encrypted(self) -> bool:
        """True for TLS."""
        return self.scheme in ("tls", "wss")

    @property
    def is_web(self) -> bool:
        """True for WebSocket."""
        return self.scheme in ("ws", "wss")

    @property
    def place(self) -> str:
        """Host and port as browsers write them in `Host`: in small letters, without the usual port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _SCHEMES[self.scheme] else f"{host}:{self.port}"

    def at(self, place: str | None) -> Address:
        """Returns the address of the node at `place`: `HOST:PORT`, or `:PORT` at the same host.

        Raises WhimbrelError if the place is malformed.
        """
        if place is None:
            return self
        found = re.fullmatch(_PLACE, place)
        if not found:
            raise WhimbrelError(f"invalid place of a node: {place}")
        return self._replace(host=found[1].strip("[]") or self.host, port=int(found[2]))

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}{self.path if self.is_web else ''}"
