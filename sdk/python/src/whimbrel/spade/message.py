"""Messages with a body and metadata."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..acl.message import Message as AclMessage
from .jid import JID

__all__ = ["Message", "MessageBase"]

#: Identifiers that are remembered.
_KNOWN_MAX = 65_536

#: Identifiers never change, so messages share them.
_known = lru_cache(_KNOWN_MAX)(JID)


def _jid(name: str, jid: Any) -> JID:
    if jid is None or isinstance(jid, str):
        return _known(jid)
    if isinstance(jid, JID):
        return jid
    if hasattr(jid, "bare") and hasattr(jid, "resource"):
        # An identifier of another library, such as slixmpp's.
        return JID(str(jid))
    raise TypeError(f"'{name}' MUST be a valid JID, str or None")


def _checked(metadata: dict[str, str]) -> dict[str, str]:
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("Key and Value of metadata MUST be strings")
    return metadata


class MessageBase:
    """Base of messages and templates."""

    __slots__ = ("_body", "_metadata", "_sender", "_thread", "_to", "sent")

    def __init__(
        self,
        to: JID | str | None = None,
        sender: JID | str | None = None,
        body: str | None = None,
        thread: str | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        #: True if this program sent the message.
        self.sent = False
        self._to = _jid("to", to)
        self._sender = _jid("sender", sender)
        self.body = body
        self.thread = thread
        self._metadata: dict[str, str] = {} if metadata is None else _checked(metadata)

    @property
    def to(self) -> JID:
        """Receiver."""
        return self._to

    @to.setter
    def to(self, jid: JID | str | None) -> None:
        self._to = _jid("to", jid)

    @property
    def sender(self) -> JID:
        """Sender."""
        return self._sender

    @sender.setter
    def sender(self, jid: JID | str | None) -> None:
        self._sender = _jid("sender", jid)

    @property
    def body(self) -> str | None:
        """Content."""
        return self._body

    @body.setter
    def body(self, body: str | None) -> None:
        if body is not None and not isinstance(body, str):
            raise TypeError("'body' MUST be a string")
        self._body = body

    @property
    def thread(self) -> str | None:
        """Identifier of the conversation."""
        return self._thread

    @thread.setter
    def thread(self, thread: str | None) -> None:
        if thread is not None and not isinstance(thread, str):
            raise TypeError("'thread' MUST be a string")
        self._thread = thread

    @property
    def metadata(self) -> dict[str, str]:
        """Texts by name: `performative`, `ontology`, `language` and so on, and any others."""
        return self._metadata

    @metadata.setter
    def metadata(self, metadata: dict[str, str]) -> None:
        self._metadata = _checked(metadata)

    def set_metadata(self, key: str, value: str) -> None:
        """Sets a text of the metadata."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("'key' and 'value' of metadata MUST be strings")
        self._metadata[key] = value

    def get_metadata(self, key: str) -> str | None:
        """Returns a text of the metadata; None if there is none of this name."""
        return self._metadata.get(key)

    @staticmethod
    def empty_jid(jid: JID) -> bool:
        """True for the identifier of nobody."""
        return not jid.full

    def empty_to(self) -> bool:
        """True if there is no receiver yet."""
        return self.empty_jid(self._to)

    def empty_sender(self) -> bool:
        """True if there is no sender yet."""
        return self.empty_jid(self._sender)

    def match(self, message: MessageBase) -> bool:
        """Returns true if all parts that are set here are the same in the message."""
        if self._to.full and message._to != self._to:
            return False
        if self._sender.full and message._sender != self._sender:
            return False
        if self._body and message._body != self._body:
            return False
        if self._thread and message._thread != self._thread:
            return False
        theirs = message._metadata
        return all(theirs.get(key) == value for key, value in self._metadata.items())

    @property
    def id(self) -> int:
        """Number of this object."""
        return id(self)

    def __eq__(self, other: object) -> bool:
        """Compares as SPADE does: a part that either message leaves out fits any."""
        return isinstance(other, Message) and self.match(other) and other.match(self)

    __hash__ = None  # type: ignore[assignment] # Messages change.

    def _shown(self, tag: str) -> str:
        text = f'<{tag} to="{self.to}" from="{self.sender}" thread="{self.thread}" metadata={self._metadata}>'
        if self.body:
            text += f"\n{self.body}\n"
        return f"{text}</{tag}>"


class Message(MessageBase):
    """A message: receiver, sender, body, thread, and metadata.

    >>> message = Message(to="bob@localhost", body="tea", metadata={"performative": "request"})
    >>> message.make_reply().sender
    bob@localhost
    """

    #: Message of the platform that this one came as: its content and parameters, whatever their types. None for a
    #: message of this program.
    acl: AclMessage | None = None

    @classmethod
    def _of(cls, to: JID, sender: JID, body: str | None, thread: str | None, metadata: dict[str, str]) -> Message:
        """Creates a message quickly from parts that are known to be right."""
        made = object.__new__(cls)
        made.sent = False
        made._to, made._sender, made._body, made._thread, made._metadata = to, sender, body, thread, metadata
        return made

    def make_reply(self) -> Message:
        """Copies the message with sender and receiver exchanged. A `reply-with` becomes the `in-reply-to` of the reply,
        so that an agent that waits for this answer knows it.
        """
        metadata = self._metadata.copy()
        question = metadata.pop("reply-with", None)
        if question is not None:
            metadata["in-reply-to"] = question
        return Message(to=self.sender, sender=self.to, body=self.body, thread=self.thread, metadata=metadata)

    def __str__(self) -> str:
        return self._shown("message")
