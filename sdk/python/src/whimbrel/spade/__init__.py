"""SPADE 4 over Whimbrel: its agents, behaviours, messages, templates and presence by their names.

>>> import whimbrel.spade as spade
>>> from whimbrel.spade.agent import Agent
>>> from whimbrel.spade.behaviour import CyclicBehaviour

`import whimbrel.spade.alias` instead makes `import spade` itself Whimbrel's. There is no XMPP server: agents live on a
node, and the name of a JID, before `@`, is the agent's name there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from . import agent, behaviour, container, message, presence, template
from .agent import AgentType
from .container import Container
from .container import run_container as run
from .jid import JID, InvalidJID

__version__ = "4.1.4"

__all__ = [
    "JID",
    "AgentType",
    "Container",
    "InvalidJID",
    "agent",
    "behaviour",
    "container",
    "message",
    "presence",
    "quit_spade",
    "run",
    "start_agents",
    "template",
    "wait_until_finished",
]

logger = logging.getLogger("spade")


async def wait_until_finished(agents: Sequence[agent.Agent] | agent.Agent) -> None:
    """Waits until agents have stopped. If the program is interrupted meanwhile, it stops them."""
    waited = [agents] if isinstance(agents, agent.Agent) else list(agents)
    try:
        await asyncio.gather(*(one._wait_ended() for one in waited))
    finally:
        await asyncio.gather(*(one.stop() for one in waited if one.is_alive()))


async def start_agents(agents: Sequence[agent.Agent] | agent.Agent) -> None:
    """Starts agents beside each other."""
    await asyncio.gather(*(one.start() for one in ([agents] if isinstance(agents, agent.Agent) else agents)))


async def quit_spade() -> None:
    """Stops all agents of this program, and closes their platform. `run` does so at its end."""
    await Container().disconnect()
