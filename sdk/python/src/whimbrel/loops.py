"""Event loops: uvloop's if that is installed, and their end."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

__all__ = ["close_loop", "new_loop", "uvloop"]


def uvloop() -> Any:
    """Returns the module uvloop; None if it is not installed."""
    try:
        return importlib.import_module("uvloop")
    except ImportError:
        return None


def new_loop() -> asyncio.AbstractEventLoop:
    """Returns an event loop; uvloop's if that is installed."""
    loop: asyncio.AbstractEventLoop = (uvloop() or asyncio).new_event_loop()
    return loop


def close_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Ends all tasks of a loop, then the loop."""
    try:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
