"""Clock of deadlines: the time since 1970, or the time of an event loop that has its own."""

from __future__ import annotations

import asyncio
import time

__all__ = ["now_ms"]

#: Greatest difference between the clocks of the system and of an event loop that follows it.
_SAME_S = 1.0


def now_ms(loop: asyncio.AbstractEventLoop) -> int:
    """Returns the time in milliseconds. In an event loop with virtual time it is that time."""
    seconds = loop.time()
    is_real = abs(seconds - time.monotonic()) < _SAME_S
    return int((time.time() if is_real else seconds) * 1000)
