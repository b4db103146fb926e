"""Agents by their Jabber identifiers, with a knowledge base, behaviours and presence."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..acl.message import Message as AclMessage
from ..agents.agent import Agent as PlatformAgent
from ..agents.errors import RefusedError, error_of
from ..agents.handlers import on
from ..session.session import SessionError
from .behaviour import CyclicBehaviour, FSMBehaviour
from .container import Container
from .jid import JID
from .mapping import from_acl
from .message import Message
from .presence import PRESENCE, PresenceManager
from .template import BaseTemplate
from .trace import TraceStore
from .web import WebApp

__all__ = ["Agent", "AgentType", "AuthenticationFailure", "Client", "DisconnectedException"]

logger = logging.getLogger("spade.Agent")

AgentType = TypeVar("AgentType", bound="Agent")

#: Messages that an agent's traces keep.
_TRACES = 1000
#: Refusals of a node that SPADE programs know as a failed login.
_NOT_ADMITTED = ("name-taken", "not-allowed", "bad-name")


class AuthenticationFailure(Exception):
    """The node does not admit an agent of this name."""


class DisconnectedException(Exception):
    """There is no connection to the node."""


class Client(PlatformAgent):
    """The agent as the platform knows it: it gets the messages, and has what Whimbrel's own agents have."""

    # Programs for SPADE may send any performative: a protocol's name is mere metadata.
    checks_protocols = False

    def __init__(self, owner: Agent) -> None:
        #: The agent of SPADE.
        self.owner = owner

    async def setup(self) -> None:
        """Sets up the agent of SPADE. Messages wait until then."""
        await self.owner._set_up()

    @on.message
    def _came(self, message: AclMessage) -> None:
        owner = self.owner
        if message.ontology == PRESENCE:
            # Behaviours that have just started set their handlers first.
            self.loop.call_soon(owner.presence._came, message)
        else:
            owner._came(message)

    def teardown(self, reason: str) -> None:
        """Ends the agent of SPADE."""
        self.owner._ended(reason)


class Agent:
    """An agent: its identifier, its behaviours, a knowledge base, and its presence.

    The name of a JID, before `@`, is the agent's name on the platform. There is no password: a node admits programs by
    tokens. `client` is the agent of Whimbrel, with its directories, topics and conversations.
    """

    def __init__(self, jid: JID | str, password: str = "", port: int = 5222, verify_security: bool = False) -> None:
        """Creates an agent. `password`, `port` and `verify_security` have no meaning on a node.

        Raises InvalidJID if the text is no identifier.
        """
        self.jid = JID(str(jid))
        self.password = password
        self.xmpp_port = port
        self.verify_security = verify_security
        self.behaviours: list[CyclicBehaviour] = []
        #: Agent of the platform, from `start` on.
        self.client: Client = None  # type: ignore[assignment]
        self.presence: PresenceManager = None  # type: ignore[assignment]
        self.web = WebApp(self)
        self.traces = TraceStore(_TRACES)
        self._values: dict[str, Any] = {}
        self._is_alive = False
        self._is_stopping = False
        #: Event loop in which the agent was started.
        self._home: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ending: list[asyncio.Future[None]] | None = None
        self.container = Container()
        self.container.register(self)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Event loop of the container."""
        return self.container.loop

    def set_container(self, container: Container) -> None:
        """Sets the container of the agent."""
        self.container = container

    # ---- Life

    async def start(self, auto_register: bool = True) -> None:
        """Starts the agent, and its behaviours after `setup`. There are no accounts to register.

        Raises AuthenticationFailure if the node admits no agent of this name, DisconnectedException if there is none.
        """
        if self._is_alive:
            return
        if not self.jid.node:
            raise AuthenticationFailure(f"{self.jid}: an agent needs a name before @")
        await self._hook_plugin_before_connection()
        self._is_stopping = False
        self._home = asyncio.get_running_loop()
        self.client = Client(self)
        self.presence = PresenceManager(self)
        try:
            await self.container.connect(self)
        except RefusedError as error:
            if error.code in _NOT_ADMITTED:
                raise AuthenticationFailure(f"{self.jid}: {error}") from error
            raise
        except SessionError as error:
            raise DisconnectedException(f"{self.jid}: {error}") from error

    async def _set_up(self) -> None:
        await self._hook_plugin_after_connection()
        await self.setup()
        if not self.client.is_alive:
            return
        self._is_alive = True
        for behaviour in list(self.behaviours):
            behaviour.start()

    async def _hook_plugin_before_connection(self) -> None:
        """Called before the agent is created at the node, for plug-ins."""

    async def _hook_plugin_after_connection(self) -> None:
        """Called after the agent is created at the node, for plug-ins."""

    async def setup(self) -> None:
        """Called when the agent is connected, for subclasses."""

    async def stop(self) -> None:
        """Stops the agent: its contacts see it as unavailable, and its behaviours end after their current `run`."""
        client = self.client
        if self._has_client and client.is_alive:
            if self._is_stopping:
                await client.wait_ended()
                return
            self._is_stopping = True
            self.presence.set_unavailable()
            self._kill_behaviours()
            self._is_alive = False
            await client.stop()
        self._kill_behaviours()

    def is_alive(self) -> bool:
        """True from the end of `setup` until the agent stops."""
        return self._is_alive

    @property
    def _has_client(self) -> bool:
        """True once the agent was started."""
        return getattr(self, "client", None) is not None

    def _kill_behaviours(self) -> None:
        for behaviour in list(self.behaviours):
            behaviour.kill()

    def _ended(self, reason: str) -> None:
        """Notes the end of the agent at the node: it stopped, or an operator killed it, or the session is over."""
        if self._is_alive:
            logger.warning("agent %s ended: %s", self.jid, reason)
        self._is_alive = False
        self._kill_behaviours()
        ending, self._ending = self._ending, None
        for waiting in ending or ():
            if not waiting.done():
                waiting.set_result(None)

    async def _wait_ended(self) -> None:
        """Waits until the agent is not alive any more."""
        if self._is_alive:
            waiting = asyncio.get_running_loop().create_future()
            self._ending = self._ending or []
            self._ending.append(waiting)
            await waiting

    def submit(self, coro: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs a coroutine as a task. It does not end with the agent, but with `spade.run`."""
        task = asyncio.get_running_loop().create_task(coro)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ---- Name

    @property
    def name(self) -> str:
        """Name of the agent, before `@`."""
        return self.jid.node

    @property
    def avatar(self) -> str:
        """Address of a picture for the agent."""
        return self.build_avatar_url(self.jid.bare)

    @staticmethod
    def build_avatar_url(jid: str) -> str:
        """Returns the address of a picture for an agent."""
        digest = hashlib.md5(str(jid).encode(), usedforsecurity=False).hexdigest()
        return f"http://www.gravatar.com/avatar/{digest}?d=monsterid"

    # ---- Behaviours

    def add_behaviour(self, behaviour: CyclicBehaviour, template: BaseTemplate | None = None) -> None:
        """Adds a behaviour for the messages of a template; for all messages without one. It starts with the agent."""
        behaviour.set_agent(self)
        if isinstance(behaviour, FSMBehaviour):
            for state in behaviour.get_states().values():
                state.set_agent(self)
        behaviour.set_template(template)
        self.behaviours.append(behaviour)
        if self._is_alive:
            behaviour.start()

    def remove_behaviour(self, behaviour: CyclicBehaviour) -> None:
        """Kills a behaviour, and takes it from the agent. Raises ValueError if the agent does not have it."""
        if not self.has_behaviour(behaviour):
            raise ValueError("This behaviour is not registered")
        behaviour.kill()
        self.behaviours.remove(behaviour)

    def has_behaviour(self, behaviour: CyclicBehaviour) -> bool:
        """True if the agent has the behaviour."""
        return behaviour in self.behaviours

    def _forget(self, behaviour: CyclicBehaviour) -> None:
        """Takes a behaviour that has ended from the agent."""
        if behaviour in self.behaviours:
            self.behaviours.remove(behaviour)

    # ---- Knowledge base

    def set(self, name: str, value: Any) -> None:
        """Stores an item in the knowledge base."""
        self._values[name] = value

    def get(self, name: str) -> Any:
        """Returns an item of the knowledge base; None if there is none."""
        return self._values.get(name)

    # ---- Messages

    def _came(self, acl: AclMessage) -> None:
        """Takes a message of the platform."""
        message = from_acl(acl, self.jid)
        is_bounce = acl.performative == "failure" and acl.sender.name == "ams"
        found = self._give(message, is_bounce)
        if found is False:
            self.client.send(acl.reply("failure", "mailbox full"))
        elif found is None and is_bounce:
            logger.warning("agent %s: a message was not delivered: %s", self.jid, error_of(acl))
        elif found is None:
            logger.warning("agent %s: no behaviour matched for message %s", self.jid, message)

    def _give(self, message: Message, is_bounce: bool = False) -> bool | None:
        """Gives a message to all behaviours whose templates match. Returns false if all of them are full, None if there
        is none. Notes of the AMS about undelivered messages go only to behaviours that ask for them by a template.
        """
        found: bool | None = None
        for behaviour in self.behaviours:
            if (is_bounce and behaviour.template is None) or not behaviour.match(message):
                continue
            found = behaviour._put(message) or bool(found)
            self.traces.append(message, str(behaviour))
        if found is None:
            self.traces.append(message)
        return found

    def dispatch(self, msg: Message) -> list[asyncio.Future[None]]:
        """Gives a message to all behaviours whose templates match, as if it came. Returns a future of each."""
        loop = asyncio.get_running_loop()
        fitting = [behaviour for behaviour in self.behaviours if behaviour.match(msg)]
        if self._give(msg) is None:
            logger.warning("agent %s: no behaviour matched for message %s", self.jid, msg)
        done: list[asyncio.Future[None]] = [loop.create_future() for _ in fitting]
        for one in done:
            one.set_result(None)
        return done
