"""Agents of a Whimbrel platform in Python.

>>> from whimbrel import Agent, Platform, on, run
>>>
>>> class Greeter(Agent):
...     @on.request
...     def greet(self, message):
...         return f"hello, {message.content}"
...
>>> async def main():
...     async with Platform() as platform:
...         await platform.start("ada", Greeter())
...         bob = await platform.start("bob")
...         print((await bob.ask("ada", "world")).content)
"""

from __future__ import annotations

from .acl import (
    Aid,
    AidLike,
    Atom,
    DecodeError,
    EncodeError,
    Matcher,
    Message,
    Record,
    Reply,
    Template,
    Term,
    WhimbrelError,
)
from .agents.agent import Agent
from .agents.arrivals import Offer
from .agents.behaviours import FSM, Behaviour, Cyclic, OneShot, Parallel, Periodic, Sequential, State, Timeout
from .agents.df import Change, Service
from .agents.errors import (
    AgentGoneError,
    AnswerError,
    DeadlineError,
    EndedError,
    FailureError,
    NotUnderstoodError,
    Refusal,
    RefusedError,
    RefuseError,
    StayedError,
)
from .agents.handlers import after, every, on
from .agents.mailbox import Inbox
from .agents.messaging import Conversation
from .agents.saver import Keep
from .agents.supervisor import Child, Supervisor
from .blocking import run
from .platform import Platform, connect
from .protocols import ProtocolError
from .session.session import SessionError

__version__ = "0.1.0"

__all__ = [
    "FSM",
    "Agent",
    "AgentGoneError",
    "Aid",
    "AidLike",
    "AnswerError",
    "Atom",
    "Behaviour",
    "Change",
    "Child",
    "Conversation",
    "Cyclic",
    "DeadlineError",
    "DecodeError",
    "EncodeError",
    "EndedError",
    "FailureError",
    "Inbox",
    "Keep",
    "Matcher",
    "Message",
    "NotUnderstoodError",
    "Offer",
    "OneShot",
    "Parallel",
    "Periodic",
    "Platform",
    "ProtocolError",
    "Record",
    "Refusal",
    "RefuseError",
    "RefusedError",
    "Reply",
    "Sequential",
    "Service",
    "SessionError",
    "State",
    "StayedError",
    "Supervisor",
    "Template",
    "Term",
    "Timeout",
    "WhimbrelError",
    "after",
    "connect",
    "every",
    "on",
    "run",
]
