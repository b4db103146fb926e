"""SPADE's messages as ACL messages, and back. Nothing is lost on the way.

| SPADE | ACL |
|---|---|
| `to`, `sender` | receiver and sender: the name before `@` |
| `body` | content, a text |
| `thread` | conversation-id |
| metadata `performative`, `language`, `encoding`, `ontology`, `protocol`, `reply-with`, `in-reply-to`, `reply-to`, \
`reply-by` | the parameter of that name |
| metadata `conversation-id` | conversation-id, if there is no thread |
| other metadata | `X-` parameters |

The parameter `X-spade` has what none of these can say: that there is no performative, hosts and resources that the
receiver could not know, and names that are no parameter's.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from ..acl.aid import Aid
from ..acl.message import Message as AclMessage
from ..acl.values import milliseconds
from ..agents.errors import in_words
from .jid import JID, InvalidJID, jid_of
from .message import Message, MessageBase

__all__ = ["from_acl", "sender_of", "to_acl"]

#: Parameter for what has no other one.
_MORE = "X-spade"
#: Performative of messages without one.
_PLAIN = "inform"
#: Metadata that are parameters of the same meaning.
_PARAMETERS = {
    "language": "language",
    "encoding": "encoding",
    "ontology": "ontology",
    "protocol": "protocol",
    "reply-with": "reply_with",
    "in-reply-to": "in_reply_to",
}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
#: Metadata that none of the rules for other names apply to.
_SPECIAL = frozenset(("performative", "conversation-id", *_PARAMETERS))


def to_acl(message: MessageBase, own: JID) -> AclMessage:
    """Returns the ACL message for a message of the agent `own`.

    Raises ValueError if the message has no receiver.
    """
    to = message._to
    if not to.node:
        raise ValueError(f"cannot send a message to {to.full!r}: expected name@host")
    metadata = message._metadata
    performative = metadata.get("performative")
    is_plain = performative is None or not _NAME.fullmatch(performative)
    made = AclMessage._blank(_PLAIN if performative is None or is_plain else performative)
    made.receivers = (_aid(to.node),)
    made.content = message._body
    more: dict[str, Any] = {"performative": performative} if is_plain else {}
    _add_addresses(message, own, more)
    thread = message._thread
    if thread:
        made.conversation_id = thread
    elif thread is not None:
        more["thread"] = thread
    if metadata and not (len(metadata) == 1 and not is_plain):
        _add_metadata(made, metadata, thread, own, more)
    if more:
        # The usual case, a message without a performative, is the shortest.
        made.user = ((_MORE, None if more == {"performative": None} else more), *made.user)
    return made


def _aid(name: str) -> Aid:
    return Aid.parse(name) or Aid(name)


def _add_addresses(message: MessageBase, own: JID, more: dict[str, Any]) -> None:
    """Adds what the receiver cannot know by its own host: that of its name here, and resources."""
    to, sender = message._to, message._sender
    if to.domain != own.domain or to.resource:
        more["to"] = to.full
    if sender.full and (to.domain != own.domain or sender.resource or sender.domain != own.domain):
        more["from"] = sender.full


def _add_metadata(
    made: AclMessage, metadata: dict[str, str], thread: str | None, own: JID, more: dict[str, Any]
) -> None:
    user: list[tuple[str, Any]] = []
    odd: dict[str, str] = {}
    for key, value in metadata.items():
        if value and key in _PARAMETERS:
            setattr(made, _PARAMETERS[key], value)
        elif value and key == "conversation-id" and not thread:
            made.conversation_id = value
            more.setdefault("thread", None)
        elif key in _SPECIAL or key == "spade" or not _NAME.fullmatch(key):
            if key != "performative":
                odd[key] = value
        elif not _add_known(made, key, value, own):
            user.append((f"X-{key}", value))
    if odd:
        more["metadata"] = odd
    made.user = tuple(user)


def _add_known(made: AclMessage, key: str, value: str, own: JID) -> bool:
    """Sets `reply-to` and `reply-by`. Returns true if the parameter says the same as the text."""
    if key == "reply-to":
        try:
            jid = JID(value)
        except InvalidJID:
            return False
        if jid.node:
            made.reply_to = (_aid(jid.node),)
            return f"{jid.node}@{own.domain}" == value
    elif key == "reply-by":
        try:
            due = datetime.datetime.fromisoformat(value)
            made.reply_by_ms = milliseconds(due.astimezone(datetime.timezone.utc))
        except (ValueError, OverflowError):
            return False
        if made.reply_by_ms < 0:
            made.reply_by_ms = None
            return False
        return _time_of(made) == value
    return False


def _time_of(message: AclMessage) -> str:
    due = message.reply_by
    return "" if due is None else due.isoformat(timespec="milliseconds")


def sender_of(message: AclMessage, own: JID) -> JID:
    """Returns the sender as the agent `own` knows it: by its own host, or that of another platform."""
    sender = message.sender
    return jid_of(sender.name, sender.platform or own.domain)


def from_acl(message: AclMessage, own: JID) -> Message:
    """Returns the message of SPADE that the agent `own` gets."""
    metadata: dict[str, str] = {}
    for key, name in _PARAMETERS.items():
        value = getattr(message, name)
        if value is not None:
            metadata[key] = value
    if message.reply_to:
        metadata["reply-to"] = " ".join(f"{one.name}@{one.platform or own.domain}" for one in message.reply_to)
    if message.reply_by_ms is not None:
        metadata["reply-by"] = _time_of(message)
    more: Mapping[str, Any] = {}
    for name, value in message.user:
        if name == _MORE:
            more = value if isinstance(value, Mapping) else {"performative": None}
        else:
            metadata[name.removeprefix("X-")] = value if isinstance(value, str) else in_words(value)
    performative = more.get("performative", message.performative)
    if performative is not None:
        metadata["performative"] = str(performative)
    thread = message.conversation_id
    if "thread" in more:
        if thread is not None:
            metadata["conversation-id"] = thread
        thread = more["thread"]
    odd = more.get("metadata")
    if isinstance(odd, Mapping):
        metadata.update((str(key), str(value)) for key, value in odd.items())
    content = message.content
    made = Message._of(
        (_said(more["to"], own.node) if "to" in more else None) or own,
        (_said(more["from"], message.sender.name) if "from" in more else None) or sender_of(message, own),
        content if content is None or isinstance(content, str) else in_words(content),
        thread if thread is None or isinstance(thread, str) else str(thread),
        metadata,
    )
    made.acl = message
    return made


def _said(jid: Any, name: str) -> JID | None:
    """Returns an identifier that the sender gave, if it is that of the agent that the node names."""
    if not isinstance(jid, str):
        return None
    try:
        found = JID(jid)
    except InvalidJID:
        return None
    return found if found.node == name else None
