"""Head of a message: sender, receivers, and all parameters but the content."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar, Union

from ..aid import Aid
from ..errors import DecodeError, EncodeError
from ..limits import MARKS_MAX, RESOLVER_LEVELS_MAX
from ..message import Message
from ..performatives import KQML_PERFORMATIVES, PERFORMATIVES
from . import tags
from .dictionary import ReceiverTable, SenderTable
from .known import KNOWN_NUMBERS
from .read_value import read_value
from .reader import Limits, Reader
from .varints import utf8, write_number, write_text
from .write_value import write_body
from .writer import item_in_full

T = TypeVar("T")

#: Performatives by code. Others are written by name.
_CODES = (*PERFORMATIVES, *KQML_PERFORMATIVES)
_PLACES = {name: place for place, name in enumerate(_CODES)}
_NAMED, _RECEIVERS, _MASK = 0x3F, 0x40, 0x80

# Parameters in the order of writing, with their bits. Identifiers may not recur.
_TEXTS = (
    ("conversation_id", 1, False),
    ("reply_with", 4, False),
    ("in_reply_to", 8, False),
    ("protocol", 2, True),
    ("ontology", 16, True),
    ("language", 32, True),
    ("encoding", 256, True),
)
_REPLY_BY, _REPLY_TO, _USER = 64, 128, 512

#: Maximum memory of an agent besides its bytes, and of a user-defined parameter.
_AGENT_BYTES, _PARAMETER_BYTES = 64, 32

#: An item of a dictionary: a text, or the bytes of a shape.
Item = Union[str, bytes]


class SenderDictionary:
    """Dictionary of a connection's sender."""

    def __init__(self, remember: int) -> None:
        self.remember = remember
        self._agents = SenderTable(remember)
        self._items = SenderTable(remember)
        # Texts seen once, mostly conversation identifiers. They enter the dictionary when they recur.
        self._once: set[str] = set()

    def agent(self, out: bytearray, agent: Aid) -> None:
        """Writes an agent."""
        text = _text_of(agent)
        parts = None if text is not None else _parts_of(agent)
        if self.remember:
            key: Hashable = text if text is not None else parts
            known = self._agents.find(key)
            if known is not None:
                write_number(out, known << 2)
                return
            number = self._agents.remember(key, _agent_bytes(agent))
            if number is not None:
                write_number(out, number << 2 | tags.REMEMBER_ITEM)
        if text is not None:
            item_in_full(out, tags.TEXT_ITEM, utf8(text))
        else:
            item_in_full(out, tags.SHAPE_ITEM, parts or b"")

    def text(self, out: bytearray, text: str, is_lasting: bool) -> None:
        """Writes a text. One that may not recur enters the dictionary the second time."""
        known = KNOWN_NUMBERS.get(text) if is_lasting else None
        if known is not None:
            write_number(out, known << 3 | 4)
            return
        data = utf8(text)
        if (is_lasting or self._was_said_once(text)) and self._is_known(out, tags.TEXT_ITEM, data):
            return
        item_in_full(out, tags.TEXT_ITEM, data)

    def _was_said_once(self, text: str) -> bool:
        if self.remember == 0:
            return False
        if text in self._once:
            return True
        if len(self._once) == MARKS_MAX:
            self._once.clear()
        self._once.add(text)
        return False

    def item(self, out: bytearray, kind: int, data: bytes) -> None:
        """Writes a text or a shape."""
        if not self._is_known(out, kind, data):
            item_in_full(out, kind, data)

    def _is_known(self, out: bytearray, kind: int, data: bytes) -> bool:
        """Writes the dictionary number of a known item and returns true. Otherwise announces a new entry."""
        if self.remember == 0:
            return False
        key = (kind, data)
        known = self._items.find(key)
        if known is not None:
            write_number(out, known << 3)
            return True
        number = self._items.remember(key, len(data))
        if number is not None:
            write_number(out, number << 2 | tags.REMEMBER_ITEM)
        return False


class ReceiverDictionary:
    """Dictionary of a connection's receiver."""

    def __init__(self, remember: int) -> None:
        self._agents: ReceiverTable[Aid] = ReceiverTable(remember)
        self._items: ReceiverTable[Item] = ReceiverTable(remember)

    def agent(self, r: Reader) -> Aid:
        """Reads an agent."""
        at = r.at
        number = r.number()
        kind, place = number & 3, number >> 2
        if kind == tags.KNOWN_ITEM:
            return self._agents.recall(place, at)
        if kind != tags.REMEMBER_ITEM:
            return _agent_of(r, number)
        agent = _agent_of(r, r.number())
        self._agents.remember(place, agent, _agent_bytes(agent), at)
        return agent

    def text(self, r: Reader) -> str:
        """Reads a text."""
        at = r.at
        item = self.item(r)
        if isinstance(item, str):
            return item
        raise DecodeError("malformed", "shape instead of a text", at)

    def item(self, r: Reader) -> Item:
        """Reads an item."""
        at = r.at
        number = r.number()
        kind, place = number & 3, number >> 2
        if kind == tags.KNOWN_ITEM:
            return r.known_text(number >> 3) if number & 4 else self._items.recall(place >> 1, at)
        if kind != tags.REMEMBER_ITEM:
            return _told(r, number)
        inner = r.number()
        if inner & 3 not in (tags.TEXT_ITEM, tags.SHAPE_ITEM):
            raise DecodeError("malformed", "dictionary entry for a known item", at)
        item = _told(r, inner)
        self._items.remember(place, item, inner >> 2, at)
        return item


def _told(r: Reader, number: int) -> Item:
    """Reads the rest of an item that is written in full."""
    length = number >> 2
    if number & 3 == tags.SHAPE_ITEM:
        return r.take(length)
    r.charge(length + 16)
    return r.text(length)


# ---- Writing


def write_head(out: bytearray, message: Message, said: SenderDictionary) -> None:
    """Writes the head of a message."""
    place = _PLACES.get(message.performative, _NAMED)
    receivers = message.receivers
    mask = 0
    for name, bit, _ in _TEXTS:
        if getattr(message, name) is not None:
            mask |= bit
    mask |= _REPLY_BY if message.reply_by_ms is not None else 0
    mask |= _REPLY_TO if message.reply_to else 0
    mask |= _USER if message.user else 0
    out.append(place | (0 if len(receivers) == 1 else _RECEIVERS) | (_MASK if mask else 0))
    if place == _NAMED:
        said.text(out, message.performative, True)
    said.agent(out, message.sender)
    if len(receivers) != 1:
        write_number(out, len(receivers))
    for receiver in receivers:
        said.agent(out, receiver)
    if mask:
        write_number(out, mask)
        _write_parameters(out, message, said)


def _write_parameters(out: bytearray, message: Message, said: SenderDictionary) -> None:
    for name, _, is_lasting in _TEXTS:
        text = getattr(message, name)
        if text is not None:
            said.text(out, text, is_lasting)
    reply_by = message.reply_by_ms
    if reply_by is not None:
        if not 0 <= reply_by < 1 << 64:
            raise EncodeError(f"invalid time {reply_by}: expected whole milliseconds since 1970")
        write_number(out, reply_by)
    if message.reply_to:
        write_number(out, len(message.reply_to))
        for agent in message.reply_to:
            said.agent(out, agent)
    if message.user:
        write_number(out, len(message.user))
        for name, value in message.user:
            said.text(out, name, True)
            _write_user_value(out, value)


def _write_user_value(out: bytearray, value: Any) -> None:
    """Writes a value as a body with its length, so that a forwarder need not decode it."""
    body = write_body(value)
    write_number(out, len(body))
    out += body


def _agent_bytes(agent: Aid) -> int:
    """Estimates the bytes of an agent in full. Both ends of a connection compute the same number."""
    own = len(utf8(agent.name)) + len(utf8(agent.platform)) + _AGENT_BYTES
    if agent.is_plain:
        return own
    addresses = sum(len(utf8(address)) + _AGENT_BYTES for address in agent.addresses)
    parameters = bytearray()
    _user_parts(parameters, agent.user)
    return own + addresses + len(agent.resolvers) * _AGENT_BYTES + len(parameters)


def _text_of(agent: Aid) -> str | None:
    """Returns the text form of an agent; None if it has more than a name."""
    is_text = agent.is_plain and "@" not in agent.platform and not (agent.platform == "" and "@" in agent.name)
    return str(agent) if is_text else None


def _parts_of(agent: Aid) -> bytes:
    out = bytearray()
    _agent_parts(out, agent, 0)
    return bytes(out)


def _agent_parts(out: bytearray, agent: Aid, level: int) -> None:
    write_text(out, agent.name)
    write_text(out, agent.platform)
    write_number(out, len(agent.addresses))
    for address in agent.addresses:
        write_text(out, address)
    resolvers = agent.resolvers if level < RESOLVER_LEVELS_MAX else ()
    write_number(out, len(resolvers))
    for resolver in resolvers:
        _agent_parts(out, resolver, level + 1)
    write_number(out, len(agent.user))
    _user_parts(out, agent.user)


def _user_parts(out: bytearray, user: Iterable[tuple[str, Any]]) -> None:
    for name, value in user:
        write_text(out, name)
        _write_user_value(out, value)


# ---- Reading


def read_head(r: Reader, heard: ReceiverDictionary) -> Message:
    """Reads a head. The content is None."""
    act = r.byte()
    code = act & _NAMED
    if code == _NAMED:
        performative = heard.text(r)
    else:
        performative = _CODES[code] if code < len(_CODES) else r.fail("unknown performative")
    message = Message._blank(performative)
    message.sender = heard.agent(r)
    message.receivers = _read_agents(r, heard) if act & _RECEIVERS else (heard.agent(r),)
    if act & _MASK:
        _read_parameters(r, heard, message)
    return message


def _read_agents(r: Reader, heard: ReceiverDictionary) -> tuple[Aid, ...]:
    count = r.count(1)
    r.charge(count * _AGENT_BYTES)
    return tuple([heard.agent(r) for _ in range(count)])


def _read_parameters(r: Reader, heard: ReceiverDictionary, message: Message) -> None:
    mask = r.number()
    if mask == 0 or mask >= 2 * _USER:
        r.fail("unknown parameters")
    for name, bit, _ in _TEXTS:
        if mask & bit:
            setattr(message, name, heard.text(r))
    if mask & _REPLY_BY:
        message.reply_by_ms = r.number()
    if mask & _REPLY_TO:
        message.reply_to = _read_agents(r, heard)
    if mask & _USER:
        message.user = _read_user(r, lambda: heard.text(r))


def _read_user(r: Reader, name: Callable[[], str]) -> tuple[tuple[str, Any], ...]:
    count = r.count(2)
    r.charge(count * _PARAMETER_BYTES)
    return tuple([(name(), _read_user_value(r)) for _ in range(count)])


def _read_user_value(r: Reader) -> Any:
    body = r.take(r.count(1))
    inner = Reader(body, Limits(r.limits.budget_bytes - r.spent, r.limits.circles))
    inner.read_dictionary()
    value = read_value(inner)
    inner.finish()
    r.charge(inner.spent)
    return value


def _agent_of(r: Reader, number: int) -> Aid:
    """Reads the rest of an agent."""
    length = number >> 2
    kind = number & 3
    if kind == tags.TEXT_ITEM:
        text = r.text(length)
        name, at, platform = text.rpartition("@")
        if at and not platform:
            r.fail("agent name ends in @")
        return Aid(name, platform) if at else Aid(text)
    if kind != tags.SHAPE_ITEM:
        r.fail("dictionary entry for a known item")
    end = r.at + length
    agent = _read_parts(r, 0)
    return agent if r.at == end else r.fail("agent of the wrong length")


def _read_parts(r: Reader, level: int) -> Aid:
    if level > RESOLVER_LEVELS_MAX:
        r.fail("resolvers nested too deeply")
    name, platform = r.plain_text(), r.plain_text()

    def read_all(least_bytes: int, read: Callable[[], T]) -> list[T]:
        count = r.count(least_bytes)
        r.charge(count * _AGENT_BYTES)
        return [read() for _ in range(count)]

    addresses = read_all(1, r.plain_text)
    resolvers = read_all(4, lambda: _read_parts(r, level + 1))
    return Aid(name, platform, addresses=addresses, resolvers=resolvers, user=_read_user(r, r.plain_text))
