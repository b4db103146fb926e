"""Environments in Python for societies of AgentSpeak agents: `environment: py("env.py")` in a project.

>>> from whimbrel.environment import Environment, Term
>>>
>>> class Lamp(Environment):
...     on = False
...
...     def percepts(self, agent):
...         if self.on:
...             yield Term("light")
...
...     async def press(self, agent):
...         self.on = not self.on
"""

from __future__ import annotations

from ..acl.values import Atom, Term
from ..actions import ActionError
from .base import Environment
from .grid import DIRECTIONS, GridWorld
from .stepped import TimeSteppedEnvironment

__all__ = ["DIRECTIONS", "ActionError", "Atom", "Environment", "GridWorld", "Term", "TimeSteppedEnvironment"]
