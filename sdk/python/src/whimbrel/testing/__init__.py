"""Tests of agents: a platform in memory, in virtual time, with a recording of all conversations.

>>> from whimbrel.testing import MemoryPlatform, run
>>>
>>> async def test():
...     async with MemoryPlatform() as platform:
...         await platform.start("ada", Greeter())
...         bob = await platform.start("bob")
...         await bob.ask("ada", "world")
...         platform.assert_says("ada", "inform", "hello, world", to="bob")
>>> run(test())

With pytest, the fixture `platform` is such a platform, and tests that take it may be coroutine functions.
"""

from __future__ import annotations

from .clock import StuckError, VirtualLoop
from .expectations import ANYTHING
from .memory_node import MemoryNode
from .platform import MemoryPlatform, run

__all__ = ["ANYTHING", "MemoryNode", "MemoryPlatform", "StuckError", "VirtualLoop", "run"]
