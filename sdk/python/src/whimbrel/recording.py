"""Recordings of conversations: messages with their times, as text and as sequence diagrams."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .acl.aid import Aid, AidLike
from .acl.message import Message
from .acl.values import Atom, Record, Term

if TYPE_CHECKING:
    from .diagram import Diagram

__all__ = ["RecordedMessage", "Recording"]

#: Messages that a recording keeps, unless it is told otherwise: the newest.
MESSAGES_MAX = 1000
#: Characters of a content in a line of text.
_CONTENT_MAX = 60
#: Agents of the platform itself.
DIRECTORIES = frozenset(("df", "ams"))
_PARAMETERS = tuple(name for name in Message.__slots__ if not name.startswith("_"))


class RecordedMessage(NamedTuple):
    """A message of a recording."""

    #: Time in seconds since the recording began.
    time: float
    message: Message

    @property
    def is_of_directories(self) -> bool:
        """True for messages to and from `df` and `ams`, but not for reports of undelivered messages."""
        message = self.message
        if message.sender.name in DIRECTORIES:
            return message.ontology is not None
        return all(receiver.name in DIRECTORIES for receiver in message.receivers)

    def __str__(self) -> str:
        message = self.message
        receivers = ", ".join(map(str, message.receivers))
        return f"{self.time:9.3f}  {message.sender} -> {receivers}: {message.performative} {shortened(message.content)}"


def shortened(content: object, most: int = _CONTENT_MAX) -> str:
    """Returns a content for people, cut after this number of characters."""
    text = (
        ""
        if content is None
        else " ".join((str(content) if isinstance(content, (str, Aid)) else worded(content)).split())
    )
    return text if len(text) <= most else text[: most - 1] + "…"


def worded(value: object) -> str:
    """Returns a value for people: terms as AgentSpeak writes them, all else as Python does."""
    if isinstance(value, Atom):
        return value.name
    if isinstance(value, Term):
        return f"{'~' if value.negated else ''}{value.functor}({', '.join(map(worded, value.args))})"
    if isinstance(value, Record):
        return f"{value.type_name}({', '.join(f'{name}={worded(item)}' for name, item in value.items())})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(worded, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{worded(key)}: {worded(item)}' for key, item in value.items())}}}"
    return repr(value)


class Recording:
    """Messages in the order in which they were sent or arrived."""

    def __init__(self, limit: int | None = MESSAGES_MAX) -> None:
        """Begins a recording of this many messages, the newest; None stands for all."""
        self._kept: deque[RecordedMessage] = deque(maxlen=limit)
        #: Time of the clock at which the recording began.
        self.start = 0.0

    def add(self, time: float, message: Message) -> None:
        """Adds a message that was sent at this time of the clock."""
        self._kept.append(RecordedMessage(time - self.start, message))

    def sent(self, time: float, sender: Aid, message: Message) -> None:
        """Adds a message of an agent. The node names its sender only for those who get it."""
        if message.sender != sender:
            given, message = message, Message._blank(message.performative)
            for name in _PARAMETERS:
                setattr(message, name, getattr(given, name))
            message.sender = sender
        self.add(time, message)

    def clear(self) -> None:
        """Forgets all messages."""
        self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[RecordedMessage]:
        return iter(self._kept)

    def messages(
        self, agents: AidLike | Iterable[AidLike] | None = None, *, directories: bool = False
    ) -> list[RecordedMessage]:
        """Returns the messages between agents: all, or those from or to one of `agents`. `directories` includes those
        to and from `df` and `ams`.
        """
        chosen = self._kept if directories else [one for one in self._kept if not one.is_of_directories]
        if agents is None:
            return list(chosen)
        given = agents if isinstance(agents, (list, tuple, set, frozenset)) else [agents]
        names = {Aid.of(agent).name for agent in given}

        def is_about(message: Message) -> bool:
            return message.sender.name in names or any(receiver.name in names for receiver in message.receivers)

        return [one for one in chosen if is_about(one.message)]

    def text(self, agents: AidLike | Iterable[AidLike] | None = None, *, directories: bool = False) -> str:
        """Returns the messages as lines: time, sender, receivers, performative and content."""
        return "\n".join(map(str, self.messages(agents, directories=directories)))

    def diagram(self, agents: AidLike | Iterable[AidLike] | None = None, *, directories: bool = False) -> Diagram:
        """Returns the messages as a sequence diagram, which notebooks show."""
        from .diagram import Diagram

        return Diagram(self.messages(agents, directories=directories))

    def __repr__(self) -> str:
        return f"<Recording of {len(self)} messages>"
