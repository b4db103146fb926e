"""ACL messages (FIPA00061)."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Any, TypeVar

from .aid import NOBODY, Aid, AidLike, aids
from .errors import EncodeError
from .values import into, milliseconds

__all__ = ["Message", "Reply"]

T = TypeVar("T")
M = TypeVar("M", bound="Message")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Message:
    """A message: its performative, receivers, content, and FIPA's parameters.

    >>> message = Message("request", "bob", "tea", ontology="kitchen")
    >>> message.agree().performative
    'agree'
    """

    __slots__ = (
        "_agent",
        "_is_answered",
        "_number",
        "content",
        "conversation_id",
        "encoding",
        "in_reply_to",
        "language",
        "ontology",
        "performative",
        "protocol",
        "receivers",
        "reply_by_ms",
        "reply_to",
        "reply_with",
        "sender",
        "user",
    )

    #: Purpose: a performative of FIPA, of KQML, or any other word.
    performative: str
    #: Sender; the empty `NOBODY` if unset. A node then uses the sending agent.
    sender: Aid
    receivers: tuple[Aid, ...]
    #: Content: plain Python, or a value of `whimbrel.acl`.
    content: Any
    #: Receivers of the answer, if not the sender.
    reply_to: tuple[Aid, ...]
    language: str | None
    encoding: str | None
    ontology: str | None
    #: Interaction protocol, such as `fipa-contract-net`.
    protocol: str | None
    conversation_id: str | None
    #: Identifier for an answer to quote.
    reply_with: str | None
    #: Identifier that this answer quotes.
    in_reply_to: str | None
    #: Time after which an answer is useless: milliseconds since 1970-01-01 UTC.
    reply_by_ms: int | None
    #: `X-` parameters, in order.
    user: tuple[tuple[str, Any], ...]

    def __init__(
        self,
        performative: str,
        receivers: AidLike | Iterable[AidLike] | None = None,
        content: Any = None,
        *,
        sender: AidLike | None = None,
        reply_to: AidLike | Iterable[AidLike] | None = None,
        language: str | None = None,
        encoding: str | None = None,
        ontology: str | None = None,
        protocol: str | None = None,
        conversation_id: str | None = None,
        reply_with: str | None = None,
        in_reply_to: str | None = None,
        reply_by: datetime.datetime | int | None = None,
        user: Iterable[tuple[str, Any]] = (),
    ) -> None:
        """Creates a message. Agents are given by name, identifier, or as agents. `reply_by` is a time, or milliseconds
        since 1970.

        Raises EncodeError if an agent name is invalid, or a parameter has the wrong type.
        """
        if not isinstance(performative, str) or not performative:
            raise EncodeError("message without a performative")
        self._agent: Any = None
        #: Number of the message's frame while its agent has not finished it; 0 otherwise.
        self._number = 0
        #: True if the agent has answered it, by more than `agree`.
        self._is_answered = False
        self.performative = performative
        self.receivers = aids(receivers)
        self.content = content
        self.sender = NOBODY if sender is None else Aid.of(sender)
        self.reply_to = () if reply_to is None else aids(reply_to)
        self.language = language
        self.encoding = encoding
        self.ontology = ontology
        self.protocol = protocol
        self.conversation_id = conversation_id
        self.reply_with = reply_with
        self.in_reply_to = in_reply_to
        texts = (language, encoding, ontology, protocol, conversation_id, reply_with, in_reply_to)
        if not OPTIONAL_TEXTS.issuperset(map(type, texts)):
            _check_texts(self)
        self.reply_by_ms = milliseconds(reply_by) if isinstance(reply_by, datetime.datetime) else reply_by
        self.user = tuple(user) if user else ()

    @classmethod
    def _blank(cls: type[M], performative: str) -> M:
        """Creates a message quickly, its parts unset."""
        made = object.__new__(cls)
        made._agent = None
        made._number = 0
        made._is_answered = False
        made.performative = performative
        made.sender = NOBODY
        made.receivers = made.reply_to = made.user = ()
        made.content = None
        made.language = made.encoding = made.ontology = made.protocol = None
        made.conversation_id = made.reply_with = made.in_reply_to = None
        made.reply_by_ms = None
        return made

    @property
    def reply_by(self) -> datetime.datetime | None:
        """Time after which an answer is useless, in UTC."""
        if self.reply_by_ms is None:
            return None
        return _EPOCH + datetime.timedelta(milliseconds=min(self.reply_by_ms, 253_402_300_799_999))

    @property
    def is_negative(self) -> bool:
        """True for `refuse`, `failure` and `not-understood`."""
        return self.performative in ("refuse", "failure", "not-understood")

    def content_as(self, cls: type[T]) -> T:
        """Reads the content as a dataclass or pydantic model: a record's or dict's entries by name.

        Raises WhimbrelError if the content has no such entries.
        """
        return into(self.content, cls)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _COMPARED)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        parts = [repr(self.performative)]
        for name in ("sender", "receivers", "content", *_REST):
            value = getattr(self, name)
            if value is not None and value != () and value is not NOBODY:
                shown = [str(aid) for aid in value] if name in ("receivers", "reply_to") else value
                parts.append(f"{name}={str(shown) if name == 'sender' else shown!r}")
        return f"Message({', '.join(parts)})"

    def _repr_html_(self) -> str:
        from ..html import table

        names = ("sender", "receivers", "content", *_REST)
        rows = [(name.replace("_", " "), getattr(self, name)) for name in names]
        return table(self.performative, [(name, None if value is NOBODY else value) for name, value in rows])

    # ---- Replies

    def reply(self, performative: str, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the reply: to `reply_to`, or else to the sender. It keeps conversation, protocol, ontology, language
        and encoding, and quotes `reply_with` (FIPA00061 2.5). Keyword arguments become a content that is a dict.

        A handler returns the reply, or awaits it to send it at once.
        """
        made = Reply._blank(performative)
        made.receivers = self.reply_to or (self.sender,)
        made.content = fields if fields and content is None else content
        made.language = self.language
        made.encoding = self.encoding
        made.ontology = self.ontology
        made.protocol = self.protocol
        made.conversation_id = self.conversation_id
        made.in_reply_to = self.reply_with
        made._agent = self._agent
        made.question = self
        made._is_sent = self._agent is None
        return made

    def inform(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `inform`: it is so, or it is done."""
        return self.reply("inform", content, **fields)

    def agree(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `agree`: it will be done. The result follows."""
        return self.reply("agree", content, **fields)

    def refuse(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `refuse`: it will not be done, for this reason."""
        return self.reply("refuse", content, **fields)

    def failure(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `failure`: it was tried, and failed for this reason."""
        return self.reply("failure", content, **fields)

    def not_understood(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `not-understood`."""
        return self.reply("not-understood", content, **fields)

    def propose(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `propose` to a call for proposals."""
        return self.reply("propose", content, **fields)

    def accept_proposal(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `accept-proposal`."""
        return self.reply("accept-proposal", content, **fields)

    def reject_proposal(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `reject-proposal`."""
        return self.reply("reject-proposal", content, **fields)

    def confirm(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `confirm`: it is true."""
        return self.reply("confirm", content, **fields)

    def disconfirm(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the answer `disconfirm`: it is false."""
        return self.reply("disconfirm", content, **fields)

    def cancel(self, content: Any = None, /, **fields: Any) -> Reply:
        """Builds the message `cancel` in this conversation."""
        return self.reply("cancel", content, **fields)


#: Parameters of a message that are texts, or None.
TEXTS = ("language", "encoding", "ontology", "protocol", "conversation_id", "reply_with", "in_reply_to")
#: Types of these parameters.
OPTIONAL_TEXTS = frozenset((str, type(None)))
_REST = ("reply_to", *TEXTS, "reply_by_ms", "user")
_COMPARED = ("performative", "sender", "receivers", "content", *_REST)


def _check_texts(message: Message) -> None:
    for name in TEXTS:
        value = getattr(message, name)
        if value is not None and not isinstance(value, str):
            raise EncodeError(f"invalid message: {name} is not a text")


class Reply(Message):
    """A reply that a handler returns, or awaits to send it at once. Dropping it is a mistake, and warned of."""

    __slots__ = ("_is_sent", "question")

    #: Message that is answered.
    question: Message
    _is_sent: bool

    def __await__(self) -> Generator[Any, None, None]:
        """Sends the reply. Waits while the node takes no more."""
        send: Callable[[Message], Awaitable[None]] | None = getattr(self._agent, "send", None)
        if send is None:
            raise EncodeError("cannot send the reply: the message that it answers came to no agent")
        return send(self).__await__()

    def __del__(self) -> None:
        if not getattr(self, "_is_sent", True):
            text = f"reply {self.performative!r} was never sent: return it from the handler, or await it"
            warnings.warn(text, RuntimeWarning, stacklevel=2, source=self)
