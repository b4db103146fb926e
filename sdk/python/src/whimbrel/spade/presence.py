"""Presence: who of an agent's contacts is there.

Agents tell each other, by messages of the ontology `spade-presence`, what an XMPP server would keep for them: requests
for subscriptions, their approval, and each change of their presence. A contact that crashes is unavailable, too.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..acl.message import Message as AclMessage
from ..agents.errors import EndedError
from .jid import JID
from .mapping import sender_of

if TYPE_CHECKING:
    from .agent import Agent

__all__ = [
    "PRESENCE",
    "Contact",
    "ContactNotFound",
    "PresenceInfo",
    "PresenceManager",
    "PresenceNotFound",
    "PresenceShow",
    "PresenceType",
]

logger = logging.getLogger("spade.presence")

#: Ontology of messages about presence.
PRESENCE = "spade-presence"
#: Seconds until a request is sent again to an agent that is not there yet: at first, and at most.
_AGAIN_S_MIN, _AGAIN_S_MAX = 0.1, 10.0
#: Interval in seconds at which a node that has no monitors for clients is asked for a contact.
_WATCH_S = 5.0


class ContactNotFound(Exception):
    """The agent has no such contact."""


class PresenceNotFound(Exception):
    """Nothing is known of the contact's presence."""


class PresenceShow(Enum):
    """Availability of an agent that is there."""

    EXTENDED_AWAY = "xa"
    AWAY = "away"
    CHAT = "chat"
    DND = "dnd"
    NONE = "none"


class PresenceType(Enum):
    """Kind of a message about presence."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    ERROR = "error"
    PROBE = "probe"
    SUBSCRIBE = "subscribe"
    SUBSCRIBED = "subscribed"
    UNSUBSCRIBE = "unsubscribe"
    UNSUBSCRIBED = "unsubscribed"


#: Performatives of these messages.
_PERFORMATIVES = {
    PresenceType.SUBSCRIBE: "subscribe",
    PresenceType.SUBSCRIBED: "agree",
    PresenceType.UNSUBSCRIBE: "cancel",
    PresenceType.UNSUBSCRIBED: "refuse",
}


class PresenceInfo:
    """Presence of an agent: whether it is there, how available, a status in words, and a priority."""

    __slots__ = ("priority", "show", "status", "type")

    def __init__(
        self,
        presence_type: PresenceType,
        show: PresenceShow = PresenceShow.NONE,
        status: str | None = "",
        priority: int = 0,
    ) -> None:
        self.type = presence_type
        self.show = show
        self.status = status
        self.priority = priority

    def is_available(self) -> bool:
        """True if the agent is there."""
        return self.type == PresenceType.AVAILABLE

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PresenceInfo):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"PresenceInfo(Type: {self.type}, Show: {self.show}, Status: {self.status}, Priority: {self.priority})"

    __repr__ = __str__


class Contact:
    """A contact: the subscription between it and the agent, and its presence.

    `subscription` is `to` if the agent sees the contact, `from` if the contact sees the agent, `both` or `none`. `ask`
    is `subscribe` while the agent waits for approval.
    """

    __slots__ = ("ask", "current_presence", "groups", "jid", "last_presence", "name", "resources", "subscription")

    def __init__(self, jid: JID, name: str, subscription: str, ask: str, groups: list[str]) -> None:
        self.jid = jid
        self.name = name
        self.subscription = subscription
        self.ask = ask
        self.groups = groups
        self.resources: dict[str, PresenceInfo] = {}
        self.current_presence: PresenceInfo | None = None
        self.last_presence: PresenceInfo | None = None

    def update_presence(self, resource: str, presence_info: PresenceInfo) -> None:
        """Notes a presence. That of the highest priority counts."""
        if presence_info == self.resources.get(resource):
            return
        self.resources[resource] = presence_info
        found = max(self.resources.values(), key=lambda one: one.priority)
        if found != self.current_presence:
            self.last_presence, self.current_presence = self.current_presence, found

    def get_presence(self, resource: str | None = None) -> PresenceInfo:
        """Returns the presence; that of a resource if one is named.

        Raises PresenceNotFound if nothing is known of it, KeyError if there is no such resource.
        """
        if resource:
            if resource in self.resources:
                return self.resources[resource]
            raise KeyError(f"Resource '{resource}' not found for contact {self.jid}.")
        if self.current_presence is None:
            raise PresenceNotFound(f"No presence information available for contact {self.jid}.")
        return self.current_presence

    def update_subscription(self, subscription: str, ask: str) -> None:
        """Sets the subscription."""
        self.subscription = subscription
        self.ask = ask

    def is_available(self) -> bool:
        """True if the contact is known to be there."""
        return self.current_presence is not None and self.current_presence.is_available()

    def is_subscribed(self) -> bool:
        """True if the agent sees the contact, or has asked to."""
        return self._sees or self.ask == "subscribe"

    @property
    def _sees(self) -> bool:
        return self.subscription in ("to", "both")

    @property
    def _is_seen(self) -> bool:
        return self.subscription in ("from", "both")

    def _set(self, sees: bool | None = None, is_seen: bool | None = None) -> None:
        to = self._sees if sees is None else sees
        of = self._is_seen if is_seen is None else is_seen
        self.subscription = "both" if to and of else "to" if to else "from" if of else "none"

    def __str__(self) -> str:
        return f"Contact(JID: {self.jid}, Name: {self.name}, Presence: {self.current_presence})"

    __repr__ = __str__


def _ignore(*_: Any) -> None:
    """Handles nothing."""


class PresenceManager:
    """Presence of an agent and its contacts. The handlers are attributes: set functions of your own."""

    def __init__(self, agent: Agent, approve_all: bool = False) -> None:
        self.agent = agent
        #: True to approve all requests for subscriptions.
        self.approve_all = approve_all
        #: Contacts by their bare JIDs.
        self.contacts: dict[str, Contact] = {}
        self.current_presence: PresenceInfo | None = None
        #: Called with the JID of who asks for a subscription.
        self.on_subscribe: Callable[[str], Any] = _ignore
        #: Called with the JID of who approved one.
        self.on_subscribed: Callable[[str], Any] = _ignore
        #: Called with the JID of who ended its own.
        self.on_unsubscribe: Callable[[str], Any] = _ignore
        #: Called with the JID of who withdrew its approval.
        self.on_unsubscribed: Callable[[str], Any] = _ignore
        #: Called with the JID of a contact, its presence, and the one before.
        self.on_available: Callable[[str, PresenceInfo, PresenceInfo | None], Any] = _ignore
        self.on_unavailable: Callable[[str, PresenceInfo, PresenceInfo | None], Any] = _ignore
        #: Called with each message about a contact's presence: a dict of `from`, `type`, `show`, `status`, `priority`.
        self.on_presence_received: Callable[[Mapping[str, Any]], Any] = _ignore
        self._watches: dict[str, asyncio.Task[Any]] = {}
        self._delays: dict[str, float] = {}

    # ---- The agent's presence

    def is_available(self) -> bool:
        """True if the agent said that it is there."""
        return self.current_presence is not None and self.current_presence.is_available()

    def get_presence(self) -> PresenceInfo | None:
        """Returns the agent's presence; None before it was set."""
        return self.current_presence

    def get_show(self) -> PresenceShow:
        """Returns how available the agent is."""
        return self.current_presence.show if self.current_presence else PresenceShow.NONE

    def get_status(self) -> str | None:
        """Returns the agent's status."""
        return self.current_presence.status if self.current_presence else None

    def get_priority(self) -> int:
        """Returns the agent's priority."""
        return self.current_presence.priority if self.current_presence else 0

    def set_presence(
        self,
        presence_type: PresenceType = PresenceType.AVAILABLE,
        show: PresenceShow = PresenceShow.CHAT,
        status: str | None = "",
        priority: int = 0,
    ) -> None:
        """Sets the agent's presence, and tells those who see it."""
        self.current_presence = PresenceInfo(presence_type, show, status, priority)
        for contact in self.contacts.values():
            if contact._is_seen:
                self._show(contact)

    def set_available(self) -> None:
        """Says that the agent is there."""
        self.set_presence(PresenceType.AVAILABLE)

    def set_unavailable(self) -> None:
        """Says that the agent is not there."""
        self.set_presence(PresenceType.UNAVAILABLE, PresenceShow.NONE, None, 0)

    # ---- Contacts

    def get_contact(self, jid: JID | str) -> Contact:
        """Returns a contact. Raises ContactNotFound if there is none."""
        bare = JID(str(jid)).bare
        if bare not in self.contacts:
            raise ContactNotFound(f"Contact with JID '{bare}' not found.")
        return self.contacts[bare]

    def get_contact_presence(self, jid: JID | str, resource: str | None = None) -> PresenceInfo:
        """Returns the presence of a contact. Raises ContactNotFound or PresenceNotFound."""
        return self.get_contact(jid).get_presence(resource)

    def get_contacts(self) -> dict[str, Contact]:
        """Returns the contacts that the agent sees or has asked to see."""
        return {jid: contact for jid, contact in self.contacts.items() if contact.is_subscribed()}

    def _contact(self, jid: JID | str) -> Contact:
        given = jid if isinstance(jid, JID) else JID(str(jid))
        bare = JID(given, bare=True)
        contact = self.contacts.get(bare.bare)
        if contact is None:
            contact = self.contacts[bare.bare] = Contact(bare, bare.bare, "none", "", [])
        return contact

    # ---- Subscriptions

    def subscribe(self, jid: JID | str) -> None:
        """Asks to see a contact's presence. If there is no such agent yet, it is asked when there is."""
        contact = self._contact(jid)
        contact.ask = "subscribe"
        self._send(contact, PresenceType.SUBSCRIBE)

    def approve_subscription(self, jid: JID | str) -> None:
        """Lets a contact see the agent's presence."""
        contact = self._contact(jid)
        contact._set(is_seen=True)
        self._send(contact, PresenceType.SUBSCRIBED)
        self._show(contact)

    def subscribed(self, jid: JID | str) -> None:
        """Notes that a contact has approved a subscription."""
        contact = self._contact(jid)
        contact.ask = ""
        contact._set(sees=True)

    def unsubscribe(self, jid: JID | str) -> None:
        """Stops seeing a contact's presence."""
        contact = self._contact(jid)
        contact.ask = ""
        contact._set(sees=False)
        self._unwatch(contact)
        self._send(contact, PresenceType.UNSUBSCRIBE)

    def unsubscribed(self, jid: JID | str) -> None:
        """Withdraws the approval: the contact does not see the agent's presence any more."""
        contact = self._contact(jid)
        if contact._is_seen:
            contact._set(is_seen=False)
            self._send(contact, PresenceType.UNSUBSCRIBED)

    # ---- Messages to contacts

    def _send(self, contact: Contact, kind: PresenceType, **more: Any) -> None:
        message = AclMessage(
            _PERFORMATIVES.get(kind, "inform"),
            contact.jid.node,
            {"type": kind.value, **more},
            ontology=PRESENCE,
            conversation_id=contact.jid.bare,
        )
        try:
            self.agent.client.send(message)
        except EndedError:
            logger.debug("agent %s has stopped: it does not tell %s", self.agent.jid, contact.jid)

    def _show(self, contact: Contact) -> None:
        """Tells a contact the agent's presence."""
        shown = self.current_presence or PresenceInfo(PresenceType.AVAILABLE)
        self._send(contact, shown.type, show=shown.show.value, status=shown.status, priority=shown.priority)

    # ---- Messages of contacts

    def _came(self, message: AclMessage) -> None:
        content = message.content
        if message.sender.name == "ams":
            self._undelivered(message)
        elif isinstance(content, Mapping) and isinstance(content.get("type"), str):
            stanza = {**content, "from": sender_of(message, self.agent.jid)}
            if stanza["type"] in ("available", "unavailable"):
                self.handle_presence(stanza)
            else:
                self.handle_subscription(stanza)

    def _undelivered(self, message: AclMessage) -> None:
        """Asks an agent again later that is not there yet."""
        contact = self.contacts.get(message.conversation_id or "")
        if contact is not None and contact.ask == "subscribe":
            bare = contact.jid.bare
            delay = self._delays.get(bare, _AGAIN_S_MIN)
            self._delays[bare] = min(2 * delay, _AGAIN_S_MAX)
            asyncio.get_running_loop().call_later(delay, self._ask_again, contact)

    def _ask_again(self, contact: Contact) -> None:
        if contact.ask == "subscribe" and self.agent.client.is_alive:
            self._send(contact, PresenceType.SUBSCRIBE)

    def handle_subscription(self, presence: Mapping[str, Any]) -> None:
        """Handles a message about a subscription."""
        contact = self._contact(presence["from"])
        peer, kind = contact.jid.bare, presence["type"]
        if kind == "subscribe":
            if self.approve_all:
                self.approve_subscription(peer)
            self._call(self.on_subscribe, peer)
        elif kind == "subscribed" and contact.is_subscribed():
            self._delays.pop(peer, None)
            self.subscribed(peer)
            self._call(self.on_subscribed, peer)
        elif kind == "unsubscribe":
            contact._set(is_seen=False)
            self._call(self.on_unsubscribe, peer)
        elif kind == "unsubscribed":
            contact.ask = ""
            contact._set(sees=False)
            self._unwatch(contact)
            self._call(self.on_unsubscribed, peer)

    def handle_presence(self, presence: Mapping[str, Any]) -> None:
        """Handles a message about a contact's presence."""
        jid: JID = presence["from"]
        contact = self._contact(jid)
        try:
            info = PresenceInfo(
                PresenceType(presence["type"]),
                PresenceShow(presence.get("show", "none")),
                presence.get("status"),
                int(presence.get("priority", 0)),
            )
        except (TypeError, ValueError) as error:
            logger.warning("agent %s: cannot read the presence of %s: %s", self.agent.jid, jid, error)
            return
        if not info.is_available() and contact.current_presence == info:
            return
        contact.update_presence(jid.resource, info)
        if info.is_available():
            self._watch(contact)
            self._call(self.on_available, jid.full, info, contact.last_presence)
        else:
            self._unwatch(contact)
            self._call(self.on_unavailable, jid.full, info, contact.last_presence)
        self._call(self.on_presence_received, presence)

    def _call(self, handler: Callable[..., Any], *arguments: Any) -> None:
        """Calls a handler: a function, or a coroutine function."""
        try:
            result = handler(*arguments)
        except Exception:
            logger.exception("agent %s: a handler of presence fails", self.agent.jid)
            return
        if inspect.iscoroutine(result):
            self.agent.submit(result)

    # ---- Contacts that crash

    def _watch(self, contact: Contact) -> None:
        if contact.jid.bare not in self._watches:
            self._watches[contact.jid.bare] = self.agent.client.spawn(self._until_gone(contact))

    async def _until_gone(self, contact: Contact) -> None:
        await self.agent.client.watch(contact.jid.node, _WATCH_S).wait_gone()
        self._watches.pop(contact.jid.bare, None)
        gone = PresenceInfo(PresenceType.UNAVAILABLE, PresenceShow.NONE, None, 0)
        self.handle_presence({"from": contact.jid, "type": "unavailable", "status": gone.status})

    def _unwatch(self, contact: Contact) -> None:
        watch = self._watches.pop(contact.jid.bare, None)
        if watch is not None:
            watch.cancel()
