"""Session with a node: frames, their state machine, transports, and the driver that moves and times them."""

from __future__ import annotations

from .session import Session, SessionError, SessionOptions

__all__ = ["Session", "SessionError", "SessionOptions"]
