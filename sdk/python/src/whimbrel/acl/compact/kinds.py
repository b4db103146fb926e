"""Kinds of values, and the preparation of values for writing."""

from __future__ import annotations

from typing import Any

from ..errors import EncodeError
from ..limits import INT_MAX, INT_MIN, VALUE_LEVELS_MAX
from ..order import pairs_of
from ..values import Atom, Container, Map, OpenList, Record, Term, Variable, to_value

#: Kinds by type.
KINDS: dict[type, str] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "num",
    str: "str",
    bytes: "bytes",
    list: "list",
    OpenList: "open",
    Atom: "atom",
    Term: "term",
    Variable: "var",
    dict: "map",
    Map: "map",
    Record: "record",
    Container: "object",
}
_SIMPLE = frozenset((type(None), bool, float, str, bytes, Variable))

#: Maximum entries of a map that is written as an object. All its keys must be text.
_SHAPED_MAP_ENTRIES_MAX = 64
#: Maximum entries of such a map if all its values are of one kind.
_OBJECT_ENTRIES_MAX = 15


def kind_of(value: Any) -> str:
    """Returns the kind of a prepared value. Atoms `true` and `false` are booleans."""
    kind = KINDS[type(value)]
    return "bool" if kind == "atom" and value.functor in ("true", "false") else kind


def prepared(value: Any) -> Any:
    """Converts a value so that only this package's types are in it. Returns the same object if nothing changes.

    Raises EncodeError if something is no value, nested too deeply, or an integer of more than 64 bits.
    """
    return _prepare(value, 0, set())


def _prepare(value: Any, level: int, seen: set[int]) -> Any:
    kind = type(value)
    if kind in _SIMPLE:
        return value
    if kind is int:
        if not INT_MIN <= value <= INT_MAX:
            raise EncodeError(f"{value} is an integer of more than 64 bits: send it as text")
        return value
    if level > VALUE_LEVELS_MAX:
        raise EncodeError(f"value nested deeper than {VALUE_LEVELS_MAX} levels")
    inner = level + 1
    if kind is list:
        items = [_prepare(item, inner, seen) for item in value]
        return items if any(a is not b for a, b in zip(items, value)) else value
    if kind is dict or kind is Map:
        pairs = [(_prepare(key, inner, seen), _prepare(item, inner, seen)) for key, item in _pairs(value)]
        is_same = all(a[0] is b[0] and a[1] is b[1] for a, b in zip(pairs, _pairs(value)))
        return value if is_same else Map(pairs)
    if kind is Atom:
        return value
    if kind is Term:
        return _prepare_term(value, inner, seen)
    if kind is Record:
        fields = {name: _prepare(item, inner, seen) for name, item in value.items()}
        return value if all(fields[name] is item for name, item in value.items()) else Record(value.type_name, fields)
    if kind is OpenList:
        items = [_prepare(item, inner, seen) for item in value.items]
        return OpenList(items, _prepare(value.tail, inner, seen))
    if kind is Container:
        if id(value) not in seen:
            seen.add(id(value))
            value.items = [_prepare(item, inner, seen) for item in value.items]
        return value
    return _prepare(to_value(value), inner, seen)


def _pairs(given: Any) -> list[tuple[Any, Any]]:
    return given.pairs if isinstance(given, Map) else list(given.items())


def _prepare_term(term: Term, level: int, seen: set[int]) -> Term:
    args = [_prepare(arg, level, seen) for arg in term.args]
    annots = [_prepare(annot, level, seen) for annot in term.annots]
    is_same = all(a is b for a, b in zip((*args, *annots), (*term.args, *term.annots)))
    if is_same:
        return term
    return Term(
        term.functor,
        *args,
        namespace=term.namespace,
        negated=term.negated,
        annots=annots,
        annot_tail=term.annot_tail,
    )


def column_kind(value: Any) -> str:
    """Returns the column kind of a value. Values with equal texts share a column."""
    kind = kind_of(value)
    if kind == "record":
        return f"record {value.type_name}"
    if kind == "map":
        return "shaped" if shaped_keys(pairs_of(value)) else "map"
    if kind == "term":
        return f"term {len(value.args)} {value.functor}" if value.is_plain and value.args else "other"
    return "other" if kind in ("open", "var", "object") else kind


def kind_of_all(values: list[Any]) -> str:
    """Returns the column kind that all values have; `other` if they differ."""
    if not values:
        return "other"
    first = column_kind(values[0])
    if first == "other" or any(column_kind(value) != first for value in values):
        return "other"
    return first


def shaped_keys(pairs: list[tuple[Any, Any]]) -> list[str] | None:
    """Returns the keys of a map that is written as an object; None for others."""
    if not 0 < len(pairs) <= _SHAPED_MAP_ENTRIES_MAX or not all(type(key) is str for key, _ in pairs):
        return None
    is_small = len(pairs) <= _OBJECT_ENTRIES_MAX
    simple = ("bool", "int", "num", "atom", "str", "bytes")
    if not is_small and kind_of_all([item for _, item in pairs]) in simple:
        return None
    return [key for key, _ in pairs]
