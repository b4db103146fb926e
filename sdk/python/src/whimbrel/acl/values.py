"""Content values of messages.

Most content is plain Python: None, bool, int (64 bits), float, str, bytes, list and dict. The classes of this module
stand for the rest: atoms and terms of AgentSpeak, records of typed languages, and rarities.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from .errors import EncodeError, WhimbrelError

__all__ = ["Atom", "Container", "Map", "OpenList", "Record", "Term", "Variable", "mapping", "plain", "to_value"]

T = TypeVar("T")


class Term:
    """A term: `at(robot, 3)`, `~raining[source(amy)]`. Without arguments it is an :class:`Atom`.

    >>> Term("at", Atom("robot"), 3)
    Term('at', Atom('robot'), 3)
    >>> match Term("price", 20):
    ...     case Term("price", (amount,)):
    ...         print(amount)
    20
    """

    __slots__ = ("annot_tail", "annots", "args", "functor", "namespace", "negated")
    __match_args__ = ("functor", "args")

    functor: str
    args: tuple[Any, ...]
    #: Namespace; None for the default one.
    namespace: str | None
    #: True for strong negation, `~`.
    negated: bool
    #: Annotations: a sorted set.
    annots: tuple[Any, ...]
    #: Tail of an open pattern of annotations: `[a|R]`.
    annot_tail: Variable | None

    def __new__(
        cls,
        functor: str,
        *args: Any,
        namespace: str | None = None,
        negated: bool = False,
        annots: Iterable[Any] = (),
        annot_tail: Variable | None = None,
    ) -> Term:
        """Creates a term. Without arguments and other parts, the result is an `Atom`."""
        if namespace == "default":
            namespace = None
        sorted_annots = _sorted_set(annots) if annots else ()
        is_atom = not (args or namespace is not None or negated or sorted_annots or annot_tail)
        self = object.__new__(Atom if is_atom else Term)
        self.functor = functor
        self.args = args
        self.namespace = namespace
        self.negated = negated
        self.annots = sorted_annots
        self.annot_tail = annot_tail
        return self

    @property
    def is_plain(self) -> bool:
        """True if the term has no negation, annotations or namespace."""
        return not (self.negated or self.namespace is not None or self.annots or self.annot_tail)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Term):
            return NotImplemented
        return (
            self.functor == other.functor
            and self.args == other.args
            and self.negated == other.negated
            and self.namespace == other.namespace
            and self.annots == other.annots
            and self.annot_tail == other.annot_tail
        )

    def __hash__(self) -> int:
        return hash((self.functor, self.args, self.negated))

    def __len__(self) -> int:
        return len(self.args)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, place: int) -> Any:
        return self.args[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.args)

    def __repr__(self) -> str:
        parts = [repr(self.functor), *map(repr, self.args)]
        for name in ("namespace", "negated", "annots", "annot_tail"):
            value = getattr(self, name)
            if value:
                parts.append(f"{name}={value!r}")
        return f"Term({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _term, (self.functor, self.args, self.namespace, self.negated, self.annots, self.annot_tail)


class Atom(Term):
    """An atom: `bob`. It differs from the text `"bob"`; `str(atom)` is its name."""

    __slots__ = ()
    __match_args__ = ("name",)

    def __new__(cls, name: str) -> Atom:
        """Creates the atom of this name."""
        return _atom(name)

    @property
    def name(self) -> str:
        """Name of the atom."""
        return self.functor

    def __str__(self) -> str:
        return self.functor

    def __repr__(self) -> str:
        return f"Atom({self.functor!r})"


def _atom(name: str) -> Atom:
    made = object.__new__(Atom)
    made.functor = name
    made.args = ()
    made.namespace = None
    made.negated = False
    made.annots = ()
    made.annot_tail = None
    return made


def _term(
    functor: str,
    args: tuple[Any, ...],
    namespace: str | None,
    negated: bool,
    annots: tuple[Any, ...],
    annot_tail: Variable | None,
) -> Term:
    return Term(functor, *args, namespace=namespace, negated=negated, annots=annots, annot_tail=annot_tail)


def _sorted_set(values: Iterable[Any]) -> tuple[Any, ...]:
    from .order import sorted_set

    return tuple(sorted_set(values))


class Variable:
    """A variable of a rule or pattern. `slot` distinguishes variables of the same name."""

    __slots__ = ("name", "slot")
    __match_args__ = ("name", "slot")

    def __init__(self, name: str, slot: int = 0) -> None:
        self.name = name
        self.slot = slot

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variable):
            return NotImplemented
        return self.name == other.name and self.slot == other.slot

    def __hash__(self) -> int:
        return hash((self.name, self.slot))

    def __repr__(self) -> str:
        return f"Variable({self.name!r}, {self.slot})"


class OpenList:
    """A list with a tail: `[1, 2 | T]`."""

    __slots__ = ("items", "tail")
    __match_args__ = ("items", "tail")

    def __init__(self, items: Sequence[Any], tail: Any) -> None:
        self.items = items
        self.tail = tail

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpenList):
            return NotImplemented
        return list(self.items) == list(other.items) and bool(self.tail == other.tail)

    def __hash__(self) -> int:
        return hash(len(self.items))

    def __repr__(self) -> str:
        return f"OpenList({list(self.items)!r}, {self.tail!r})"


class Record(Mapping[str, Any]):
    """A record of a named type, as typed languages send it. It reads like a dict, and its fields like attributes.

    >>> offer = Record("offer", item="house", price=99.5)
    >>> offer["item"], offer.price
    ('house', 99.5)
    """

    __slots__ = ("_fields", "_name")

    def __init__(self, name: str, fields: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Creates a record of the type `name`. The order of the fields counts."""
        self._name = name
        self._fields: dict[str, Any] = {**(fields or {}), **more}

    @property
    def type_name(self) -> str:
        """Name of the record's type."""
        return self._name

    def into(self, cls: type[T]) -> T:
        """Converts the record to a dataclass: fields by name, unknown ones left out.

        Raises WhimbrelError if a field without a default is missing.
        """
        return into(self, cls)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(
                f"record {self._name} has no field {name!r}: it has {', '.join(self._fields)}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return self._name == other._name and list(self._fields.items()) == list(other._fields.items())

    def __hash__(self) -> int:
        return hash((self._name, tuple(self._fields)))

    def __repr__(self) -> str:
        return f"Record({self._name!r}, {self._fields!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, (self._name, self._fields)


class Map(Mapping[Any, Any]):
    """A map that no dict can represent, because a key is a list, or because keys like 1 and True are different ones."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Creates a map, sorted by key. A later pair replaces an earlier one with the same key."""
        from .order import sorted_pairs

        self.pairs: list[tuple[Any, Any]] = sorted_pairs(pairs)

    def __getitem__(self, key: Any) -> Any:
        from .order import equal

        for known, value in self.pairs:
            if equal(known, key):
                return value
        raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self.pairs])

    def __len__(self) -> int:
        return len(self.pairs)

    def __eq__(self, other: object) -> bool:
        return self.pairs == other.pairs if isinstance(other, Map) else NotImplemented

    def __hash__(self) -> int:
        return hash(len(self.pairs))

    def __repr__(self) -> str:
        return f"Map({self.pairs!r})"


#: Kinds of containers, by their numbers in the compact codec.
CONTAINERS = ("map", "set", "queue", "priority-queue")


class Container:
    """A mutable container of AgentSpeak: `map`, `set`, `queue` or `priority-queue`. In a map, keys and values
    alternate. Containers are references, so equal contents do not make two of them one.
    """

    __slots__ = ("items", "kind")

    def __init__(self, kind: str, items: Iterable[Any] = ()) -> None:
        """Creates a container. Its contents are ordered according to its kind."""
        from .order import contents

        if kind not in CONTAINERS:
            raise EncodeError(f"unknown container {kind!r}: use one of {', '.join(CONTAINERS)}")
        self.kind = kind
        self.items: list[Any] = contents(kind, items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Container):
            return NotImplemented
        return self is other or (self.kind == other.kind and self.items == other.items)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Container({self.kind!r}, <{len(self.items)} items>)"


def mapping(pairs: list[tuple[Any, Any]]) -> dict[Any, Any] | Map:
    """Returns the dict of some pairs; a :class:`Map` if a dict would lose something."""
    try:
        found = dict(pairs)
    except TypeError:
        return Map(pairs)
    if len(found) == len(pairs):
        return found
    exact = Map(pairs)
    found = dict(exact.pairs)
    return found if len(found) == len(exact.pairs) else exact


def open_list(items: list[Any], tail: Any) -> Any:
    """Returns a list with a tail. If the tail is a list, the result is an ordinary list."""
    if not items:
        return tail
    if isinstance(tail, list):
        return items + tail
    if isinstance(tail, OpenList):
        return OpenList([*items, *tail.items], tail.tail)
    return OpenList(items, tail)


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)


def milliseconds(moment: datetime.datetime) -> int:
    """Returns milliseconds since 1970. A time without a zone is local, as in the standard library."""
    return (moment.astimezone(datetime.timezone.utc) - _EPOCH) // _MS


def to_value(given: Any) -> Any:
    """Converts an object to a value of this module: dataclasses and pydantic models to records, tuples to lists, times
    to `datetime(Ms)` and `duration(Ms)`, enum members to their values.

    Raises EncodeError for anything else.
    """
    if isinstance(given, (bool, int, float, str, bytes, list, dict)):
        return _base(given)
    if isinstance(given, (tuple, frozenset, set)):
        return list(given) if isinstance(given, tuple) else Term("set", *given)
    if _is_dataclass(type(given)):
        return Record(type(given).__name__, {name: getattr(given, name) for name in type(given).__dataclass_fields__})
    if isinstance(given, datetime.datetime):
        return Term("datetime", milliseconds(given))
    if isinstance(given, datetime.timedelta):
        return Term("duration", given // _MS)
    return _foreign(given)


def _is_dataclass(cls: type) -> bool:
    """Returns true for a dataclass. Programs without any need not load that module."""
    return hasattr(cls, "__dataclass_fields__")


def _base(given: Any) -> Any:
    """Converts an instance of a subclass of a built-in type."""
    value = getattr(given, "value", None) if hasattr(type(given), "__members__") else None
    if value is not None:
        return value
    kinds: tuple[Any, ...] = (bool, int, float, str, bytes, list, dict)
    found = next(kind for kind in kinds if isinstance(given, kind))
    return found(given)


def _foreign(given: Any) -> Any:
    if hasattr(type(given), "__members__"):
        return given.value
    if isinstance(given, (bytearray, memoryview)):
        return bytes(given)
    dump: Any = getattr(given, "model_dump", None)
    if dump is not None:
        return Record(type(given).__name__, dump())
    aid = getattr(given, "aid", None) or given
    if type(aid).__name__ == "Aid":
        return Atom(str(aid))
    try:
        return operator.index(given)
    except TypeError:
        pass
    if hasattr(given, "__float__"):
        return float(given)
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, Iterable):
        return list(given)
    raise EncodeError(
        f"content of the type {type(given).__name__} is not a value: use numbers, text, bytes, lists, dicts, "
        "dataclasses, Atom or Term"
    )


def into(value: Any, cls: type[T]) -> T:
    """Converts a record or dict to a dataclass or a pydantic model.

    Raises WhimbrelError if the value has no such fields.
    """
    fields = {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else None
    if fields is None:
        raise WhimbrelError(f"cannot read {cls.__name__} from {value!r}: expected a record or a dict")
    validate = getattr(cls, "model_validate", None)
    try:
        if validate is not None:
            return validate(fields)  # type: ignore[no-any-return]
        if not _is_dataclass(cls):
            raise TypeError("it is no dataclass")
        known: Any = cls
        names = {name for name, field in known.__dataclass_fields__.items() if field.init}
        return cls(**{name: item for name, item in fields.items() if name in names})
    except (TypeError, ValueError) as error:
        raise WhimbrelError(f"cannot read {cls.__name__} from {value!r}: {error}") from error


def plain(value: Any) -> Any:
    """Converts a value to builtins, for printing, JSON or a data frame: atoms become text, records become dicts, terms
    become `{"functor": ..., "args": [...]}`. The conversion cannot be reversed.
    """
    if isinstance(value, Atom):
        return value.name
    if isinstance(value, Term):
        return {"functor": value.functor, "args": [plain(arg) for arg in value.args]}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Map):
        return [[plain(key), plain(item)] for key, item in value.pairs]
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    return value
