"""Web page of an agent: the console of its node takes its place."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ["WebApp"]

logger = logging.getLogger("spade.Web")


class WebApp:
    """The console of the node, for an agent: all agents, their messages and states. It serves no pages of one's own."""

    __slots__ = ("_is_started", "address", "agent", "hostname", "port")

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        #: Address of the console with its token, once `start` was called; None if only the node's operator knows it.
        self.address: str | None = None
        self.hostname: str | None = None
        self.port: int | None = None
        self._is_started = False

    def start(
        self, hostname: str | None = None, port: int | None = None, templates_path: str | None = None
    ) -> asyncio.Future[None]:
        """Says the address of the console, on the standard error. It runs already: host and port are the node's."""
        self._is_started = True
        platform = self.agent.container.platform
        node = platform.node if platform is not None else None
        self.address = node.console if node is not None else None
        if self.address is None:
            text = "the console is that of the node: ask its operator for the address"
        else:
            where = urlparse(self.address)
            self.hostname, self.port = where.hostname, where.port
            text = f"the console is at {self.address}"
        print(f"agent {self.agent.jid}: {text}", file=sys.stderr, flush=True)
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        started.set_result(None)
        return started

    def is_started(self) -> bool:
        """True after `start`."""
        return self._is_started

    def add_get(self, path: str, controller: Any, template: str | None = None, raw: bool = False) -> None:
        """Warns that the page is not served."""
        logger.warning("agent %s: page %s is not served: the console has no pages of agents", self.agent.jid, path)

    add_post = add_get

    def add_menu_entry(self, name: str, url: str, icon: str = "") -> None:
        """Warns that there is no such menu."""
        logger.warning("agent %s: menu entry %s is not shown: the console has no pages of agents", self.agent.jid, name)

    def add_template_path(self, templates_path: str) -> None:
        """Does nothing: there are no pages of agents."""
