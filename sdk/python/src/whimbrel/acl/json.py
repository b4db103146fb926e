"""JSON form of messages and values: the notation of `conformance/acl`. The output is canonical: equal messages give
equal text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring as _basestring
from typing import Any

from .aid import NOBODY, Aid
from .errors import DecodeError, EncodeError, malformed
from .limits import INT_MAX, INT_MIN, RESOLVER_LEVELS_MAX, VALUE_LEVELS_MAX
from .message import OPTIONAL_TEXTS, TEXTS, Message
from .numbers import ecmascript
from .order import pairs_of
from .values import CONTAINERS, Atom, Container, Map, OpenList, Record, Term, Variable, mapping, open_list, to_value

__all__ = ["message_from_json", "message_to_json", "parse_json", "value_from_json", "value_to_json"]

#: Largest integer that every JSON reader preserves.
_EXACT_MAX = 1 << 53

# ---- Writing


#: Writes text with its quotes. Lone surrogates stay: `_as_text` replaces them at the end, in all texts together.
_quote: Callable[[str], str] = _basestring


def _as_text(json: str) -> str:
    """Replaces lone surrogates by the replacement character, because they are not text."""
    if json.isascii():
        return json
    try:
        json.encode()
    except UnicodeEncodeError:
        return json.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json


def value_to_json(value: Any) -> str:
    """Encodes a value as JSON.

    Raises EncodeError if it is nested too deeply, or is not a value.
    """
    return _as_text(_value(value, 0))


def _value(value: Any, level: int) -> str:
    if level > VALUE_LEVELS_MAX:
        raise EncodeError(f"value nested deeper than {VALUE_LEVELS_MAX} levels")
    writer = _WRITERS.get(type(value))
    return writer(value, level + 1) if writer else _value(to_value(value), level + 1)


def _int(n: int, _level: int) -> str:
    if -_EXACT_MAX <= n <= _EXACT_MAX:
        return str(n)
    if not INT_MIN <= n <= INT_MAX:
        raise EncodeError(f"{n} is an integer of more than 64 bits: send it as text")
    return f'{{"int":"{n}"}}'


def _float(n: float, _level: int) -> str:
    """Writes a double. A whole one is marked, so that it differs from an integer."""
    if not math.isfinite(n):
        return '{"num":"%s"}' % ("NaN" if n != n else "Infinity" if n > 0 else "-Infinity")
    if n == 0 and math.copysign(1, n) < 0:
        return '{"num":"-0"}'
    return f'{{"num":{ecmascript(n)}}}' if n.is_integer() else ecmascript(n)


def _all(values: Iterable[Any], level: int) -> str:
    return "[" + ",".join([_value(value, level) for value in values]) + "]"


def _map(given: Any, level: int) -> str:
    pairs = [f"[{_value(key, level + 1)},{_value(value, level + 1)}]" for key, value in pairs_of(given)]
    return '{"map":[' + ",".join(pairs) + "]}"


def _record(given: Record, level: int) -> str:
    fields = [f"[{_quote(name)},{_value(value, level)}]" for name, value in given.items()]
    return f'{{"record":{_quote(given.type_name)},"fields":[{",".join(fields)}]}}'


def _atom(given: Atom, _level: int) -> str:
    name = given.functor
    return name if name in ("true", "false") else f'{{"atom":{_quote(name)}}}'


def _term(given: Term, level: int) -> str:
    parts = [f'"term":{_quote(given.functor)}']
    if given.args:
        parts.append(f'"args":{_all(given.args, level)}')
    if given.namespace is not None:
        parts.append(f'"namespace":{_quote(given.namespace)}')
    if given.negated:
        parts.append('"negated":true')
    if given.annots:
        parts.append(f'"annots":{_all(given.annots, level)}')
    if given.annot_tail is not None:
        parts.append(f'"annot_tail":{_variable(given.annot_tail, level)}')
    return "{" + ",".join(parts) + "}"


def _variable(given: Variable, _level: int) -> str:
    return f'{{"var":{_quote(given.name)},"slot":{given.slot}}}'


def _open(given: OpenList, level: int) -> str:
    return f'{{"list":{_all(given.items, level)},"tail":{_value(given.tail, level)}}}'


def _container(given: Container, level: int) -> str:
    return f'{{"object":"{given.kind}","items":{_all(given.items, level)}}}'


_WRITERS: dict[type, Callable[[Any, int], str]] = {
    type(None): lambda _value, _level: "null",
    bool: lambda value, _level: "true" if value else "false",
    int: _int,
    float: _float,
    str: lambda value, _level: _quote(value),
    bytes: lambda value, _level: f'{{"bytes":"{value.hex()}"}}',
    list: _all,
    dict: _map,
    Map: _map,
    Record: _record,
    Atom: _atom,
    Term: _term,
    Variable: _variable,
    OpenList: _open,
    Container: _container,
}


def _user(user: Iterable[tuple[str, Any]]) -> str:
    return "[" + ",".join([f"[{_quote(name)},{_value(value, 0)}]" for name, value in user]) + "]"


def _aid(aid: Aid) -> str:
    return aid.json or _aid_in_full(aid, 0)


def _aid_in_full(aid: Aid, level: int) -> str:
    text = str(aid)
    if not text:
        raise EncodeError("agent without a name")
    parsed = Aid.parse(text)
    is_name = parsed is not None and parsed == aid
    if is_name and aid.is_plain:
        quoted = aid.json = _quote(text)
        return quoted
    if level > RESOLVER_LEVELS_MAX:
        raise EncodeError("resolvers nested too deeply")
    parts = [f'"name":{_quote(text)}']
    if not is_name:
        parts = [f'"name":{_quote(aid.name)}', f'"platform":{_quote(aid.platform)}']
    if aid.addresses:
        parts.append('"addresses":[' + ",".join(map(_quote, aid.addresses)) + "]")
    if aid.resolvers:
        parts.append('"resolvers":[' + ",".join([_aid_in_full(one, level + 1) for one in aid.resolvers]) + "]")
    if aid.user:
        parts.append(f'"user":{_user(aid.user)}')
    return "{" + ",".join(parts) + "}"


def _aids(some: Iterable[Aid]) -> str:
    return "[" + ",".join([_aid(aid) for aid in some]) + "]"


def message_to_json(message: Message) -> str:
    """Encodes a message as JSON.

    Raises EncodeError if a part of it cannot be encoded.
    """
    json = f'{{"performative":{_quote(message.performative)}'
    sender, receivers = message.sender, message.receivers
    if sender is not NOBODY and str(sender):
        json += f',"sender":{_aid(sender)}'
    if len(receivers) == 1:
        json += f',"receivers":[{_aid(receivers[0])}]'
    elif receivers:
        json += f',"receivers":{_aids(receivers)}'
    content = message.content
    if content is not None:
        json += f',"content":{_value(content, 0)}'
    if message.reply_to:
        json += f',"reply_to":{_aids(message.reply_to)}'
    # Each by its name: this is the most frequent function of all.
    if message.language is not None:
        json += f',"language":{_quote(message.language)}'
    if message.encoding is not None:
        json += f',"encoding":{_quote(message.encoding)}'
    if message.ontology is not None:
        json += f',"ontology":{_quote(message.ontology)}'
    if message.protocol is not None:
        json += f',"protocol":{_quote(message.protocol)}'
    if message.conversation_id is not None:
        json += f',"conversation_id":{_quote(message.conversation_id)}'
    if message.reply_with is not None:
        json += f',"reply_with":{_quote(message.reply_with)}'
    if message.in_reply_to is not None:
        json += f',"in_reply_to":{_quote(message.in_reply_to)}'
    if message.reply_by_ms is not None:
        json += f',"reply_by_ms":{message.reply_by_ms}'
    if message.user:
        json += f',"user":{_user(message.user)}'
    return _as_text(json + "}")


# ---- Reading


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_decoder = json.JSONDecoder(parse_constant=_constant)
# The scanner in C, without the search for white space around.
_scan: Callable[[str, int], tuple[Any, int]] = getattr(_decoder, "scan_once")  # noqa: B009


def _slowly(text: str) -> Any:
    """Parses JSON with white space before it, or none at all."""
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise DecodeError("too-deep", "JSON nested too deeply") from None
    except ValueError as error:
        raise malformed(f"malformed JSON: {error}") from None


def parse_json(text: str) -> Any:
    """Parses JSON text. Raises DecodeError if it is malformed."""
    try:
        # Frames have no white space around them, so most are scanned at once.
        found, end = _scan(text, 0)
        return found if end == len(text) else _decoder.decode(text)
    except StopIteration:
        return _slowly(text)
    except RecursionError:
        raise DecodeError("too-deep", "JSON nested too deeply") from None
    except ValueError as error:
        raise malformed(f"malformed JSON: {error}") from None


def _array(json: Any, what: str) -> list[Any]:
    if not isinstance(json, list):
        raise malformed(f"expected {what}")
    return json


def _text(json: Any, what: str) -> str:
    if not isinstance(json, str):
        raise malformed(f"expected {what}")
    return json


def value_from_json(json: Any, level: int = 0) -> Any:
    """Decodes a value from parsed JSON. Raises DecodeError if it is none."""
    kind = type(json)
    if kind is str or kind is float or kind is bool or json is None:
        return json
    if kind is int:
        return json if INT_MIN <= json <= INT_MAX else _as_float(json)
    if level > VALUE_LEVELS_MAX:
        raise DecodeError("too-deep", f"values nested deeper than {VALUE_LEVELS_MAX} levels")
    if kind is list:
        return [value_from_json(item, level + 1) for item in json]
    return _object_from(json, level + 1)


def _object_from(json: dict[str, Any], level: int) -> Any:
    kind = next((name for name in json if name in _READERS), None)
    for name in json:
        if name not in _READERS and name not in _PARTS:
            raise malformed(f"unknown member {name!r} in a value")
    if kind is None:
        raise malformed("object is not a value")
    parts, read = _READERS[kind]
    if any(name != kind and name not in parts for name in json):
        raise malformed("conflicting members in a value")
    return read(json, level)


def _as_float(n: int) -> float:
    try:
        return float(n)
    except OverflowError:
        raise malformed("number too large") from None


def _int_from(json: dict[str, Any], _level: int) -> int:
    text = _text(json["int"], "an integer as text")
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        raise malformed(f"{text!r} is not an integer")
    n = int(text)
    if not INT_MIN <= n <= INT_MAX:
        raise malformed(f"{text} is not an integer of 64 bits")
    return n


_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}


def _num_from(json: dict[str, Any], _level: int) -> float:
    n = json["num"]
    if isinstance(n, float) or (isinstance(n, int) and not isinstance(n, bool)):
        return n if isinstance(n, float) else _as_float(n)
    if isinstance(n, str) and n in _NUMBERS:
        return _NUMBERS[n]
    raise malformed("expected a number")


def bytes_from_hex(digits: str) -> bytes:
    """Decodes pairs of hexadecimal digits. Raises DecodeError if the text is something else."""
    if not digits.isalnum() and digits:
        raise malformed("expected pairs of hexadecimal digits")
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise malformed("expected pairs of hexadecimal digits") from None


def atom_named(name: str) -> Any:
    """Returns the atom of this name. `true` and `false` are booleans."""
    return Atom(name) if name not in ("true", "false") else name == "true"


def term_of(functor: str, args: Iterable[Any]) -> Any:
    """Returns the term `functor(args)`; an atom or a boolean if there are no arguments."""
    given = tuple(args)
    return Term(functor, *given) if given else atom_named(functor)


def _pair(json: Any, level: int) -> tuple[Any, Any]:
    if not isinstance(json, list) or len(json) != 2:
        raise malformed("expected [key, value]")
    return value_from_json(json[0], level), value_from_json(json[1], level)


def _map_from(json: dict[str, Any], level: int) -> Any:
    return mapping([_pair(pair, level + 1) for pair in _array(json["map"], "pairs")])


def _fields(json: Any, level: int) -> list[tuple[str, Any]]:
    fields = []
    for pair in _array(json, "an array of [name, value]"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise malformed("expected [name, value]")
        fields.append((_text(pair[0], "a name"), value_from_json(pair[1], level)))
    return fields


def _record_from(json: dict[str, Any], level: int) -> Record:
    fields = _fields(json.get("fields", []), level)
    return Record(_text(json["record"], "a record's name"), dict(fields))


def _term_from(json: dict[str, Any], level: int) -> Any:
    negated = json.get("negated", False)
    if not isinstance(negated, bool):
        raise malformed("expected a boolean for negated")
    tail = value_from_json(json["annot_tail"], level) if "annot_tail" in json else None
    if tail is not None and not isinstance(tail, Variable):
        raise malformed("annotation tail is not a variable")
    namespace = json.get("namespace")
    found = Term(
        _text(json["term"], "a functor"),
        *[value_from_json(arg, level) for arg in _array(json.get("args", []), "arguments")],
        namespace=None if namespace is None else _text(namespace, "a namespace"),
        negated=negated,
        annots=[value_from_json(annot, level) for annot in _array(json.get("annots", []), "annotations")],
        annot_tail=tail,
    )
    return atom_named(found.functor) if isinstance(found, Atom) else found


def _variable_from(json: dict[str, Any], _level: int) -> Variable:
    slot = json.get("slot", 0)
    if type(slot) is not int or not 0 <= slot <= 0xFFFF_FFFF:
        raise malformed("variable slot beyond 32 bits")
    return Variable(_text(json["var"], "a variable's name"), slot)


def _open_from(json: dict[str, Any], level: int) -> Any:
    items = [value_from_json(item, level) for item in _array(json["list"], "an array")]
    return open_list(items, value_from_json(json["tail"], level) if "tail" in json else [])


def _container_from(json: dict[str, Any], level: int) -> Container:
    kind = json["object"]
    if not isinstance(kind, str) or kind not in CONTAINERS:
        raise malformed(f"unknown container {kind!r}")
    items = [value_from_json(item, level) for item in _array(json.get("items", []), "an array")]
    if kind == "map" and len(items) % 2:
        raise malformed("key without a value")
    return Container(kind, items)


_READERS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any], int], Any]]] = {
    "int": ((), _int_from),
    "num": ((), _num_from),
    "bytes": ((), lambda json, _level: bytes_from_hex(_text(json["bytes"], "hexadecimal digits"))),
    "atom": ((), lambda json, _level: atom_named(_text(json["atom"], "an atom's name"))),
    "map": ((), _map_from),
    "term": (("args", "namespace", "negated", "annots", "annot_tail"), _term_from),
    "list": (("tail",), _open_from),
    "var": (("slot",), _variable_from),
    "record": (("fields",), _record_from),
    "object": (("items",), _container_from),
}
_PARTS = frozenset(part for parts, _ in _READERS.values() for part in parts)

_AID_MEMBERS = frozenset(("name", "platform", "addresses", "resolvers", "user"))


def _aid_from(json: Any, level: int = 0) -> Aid:
    if type(json) is str:
        return _named(json)
    if level > RESOLVER_LEVELS_MAX:
        raise DecodeError("too-deep", "resolvers nested too deeply")
    if not isinstance(json, dict):
        raise malformed("expected an agent: its name, or an object")
    for member in json:
        if member not in _AID_MEMBERS:
            raise malformed(f"unknown member {member!r} in an agent")
    name = json.get("name")
    if not isinstance(name, str):
        raise malformed("agent without a name")
    home = json.get("platform")
    platform = "" if home is None else _text(home, "a platform")
    is_said = home is not None and (platform != "" or name != "")
    aid = Aid(name, platform) if is_said else _named(name)
    return Aid(
        aid.name,
        aid.platform,
        addresses=[_text(address, "an address") for address in _array(json.get("addresses", []), "addresses")],
        resolvers=[_aid_from(resolver, level + 1) for resolver in _array(json.get("resolvers", []), "agents")],
        user=_fields(json.get("user", []), 0),
    )


def _named(text: str) -> Aid:
    aid = Aid.parse(text)
    if aid is None:
        raise malformed(f"invalid agent name {text!r}")
    return aid


def _aids_from(json: Any) -> tuple[Aid, ...]:
    if len(_array(json, "an array of agents")) == 1:
        return (_aid_from(json[0]),)
    return tuple([_aid_from(aid) for aid in json])


def _reply_by(json: Any) -> int | None:
    if json is None:
        return None
    if type(json) is not int or json < 0:
        raise malformed("expected a non-negative integer")
    return min(json, _EXACT_MAX - 1)


_MEMBERS = frozenset(("performative", "sender", "receivers", "content", "reply_to", "reply_by_ms", "user", *TEXTS))
_new = object.__new__


def message_from_json(json: Any) -> Message:
    """Decodes a message from parsed JSON. Raises DecodeError if it is none."""
    if type(json) is not dict:
        raise malformed("expected a message object")
    get = json.get
    performative = get("performative")
    if type(performative) is not str:
        raise malformed("message without a performative")
    if not json.keys() <= _MEMBERS:
        raise malformed(f"unknown member {next(name for name in json if name not in _MEMBERS)!r} in a message")
    message = _new(Message)
    message._agent = None
    message._number = 0
    message._is_answered = False
    message.performative = performative
    message.conversation_id = conversation_id = get("conversation_id")
    message.reply_with = reply_with = get("reply_with")
    message.in_reply_to = in_reply_to = get("in_reply_to")
    message.language = language = get("language")
    message.encoding = encoding = get("encoding")
    message.ontology = ontology = get("ontology")
    message.protocol = protocol = get("protocol")
    texts = (conversation_id, reply_with, in_reply_to, language, encoding, ontology, protocol)
    if not OPTIONAL_TEXTS.issuperset(map(type, texts)):
        raise malformed(f"expected {next(name for name in TEXTS if type(get(name)) not in OPTIONAL_TEXTS)}")
    content = get("content")
    kind = type(content)
    message.content = content if kind is str or content is None else value_from_json(content)
    message.sender = _aid_from(json["sender"]) if "sender" in json else NOBODY
    message.receivers = _aids_from(json["receivers"]) if "receivers" in json else ()
    message.reply_to = _aids_from(json["reply_to"]) if "reply_to" in json else ()
    message.user = tuple(_fields(json["user"], 0)) if "user" in json else ()
    message.reply_by_ms = _reply_by(json["reply_by_ms"]) if "reply_by_ms" in json else None
    return message
