"""Entry of an agent in its session: its number, its creation, and its way to the node."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..acl.aid import Aid
from ..acl.message import Message

if TYPE_CHECKING:
    from ..platform import Platform
    from .agent import Agent
    from .arrivals import CodeFetch
    from .messaging import Question
    from .saver import StateSaver

__all__ = ["Entry"]


class Entry:
    """An agent of a session."""

    __slots__ = (
        "again",
        "agent",
        "aid",
        "certified",
        "coming",
        "created",
        "early",
        "frame",
        "is_left",
        "number",
        "open",
        "platform",
        "saver",
    )

    def __init__(self, platform: Platform, number: int, name: str, agent: Agent) -> None:
        self.platform = platform
        self.number = number
        self.agent = agent
        self.aid = Aid.of(name)
        #: Number of the frame that creates the agent.
        self.frame = 0
        #: Resolves when the agent is created; None after that.
        self.created: asyncio.Future[None] | None = None
        self.saver: StateSaver | None = None
        #: Messages that arrived before a restored agent was set up.
        self.early: list[tuple[Message, int, int]] | None = None
        #: True if set-up failed. The agent waits for another attempt.
        self.is_left = False
        #: Requests for certificates, in order, with the numbers of their frames.
        self.certified: list[tuple[int, asyncio.Future[str]]] | None = None
        #: Code that is being fetched.
        self.coming: CodeFetch | None = None
        #: Messages that a supervised agent has not finished, with their memory, by the numbers of their frames.
        self.open: dict[int, tuple[Message, int]] | None = None if agent._supervisor is None else {}
        #: Creates the agent again, if that is possible.
        self.again: Callable[[], Awaitable[Agent]] | None = None

    def send(self, message: Message, question: Question | None = None) -> None:
        """Sends a message. The agent, or the question, learns of a refusal by the node."""
        saver = self.saver
        if saver is None:
            self.platform.transmit(self, message, question)
        else:
            # Messages of an agent that is moving wait: it must not send them twice.
            saver.stay_and(lambda: self._send_kept(message, question))

    def _send_kept(self, message: Message, question: Question | None) -> None:
        size = self.platform.transmit(self, message, question)
        if self.saver:
            self.saver.said(size, len(message.receivers))

    def end(self) -> None:
        """Ends the agent."""
        self.platform.session.end(self.number)
        self.platform.pump()
