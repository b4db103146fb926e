"""Standard order of values. It begins as Jason sorts terms: null, numbers, text, lists, literals (with booleans),
variables. Then follow bytes, maps, records and containers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import Any

from .values import Atom, Container, Map, OpenList, Record, Term, Variable, to_value

__all__ = ["compare", "equal", "sorted_pairs", "sorted_set"]

_NUMBER, _TEXT, _LIST, _LITERAL, _VARIABLE, _BYTES, _MAP, _RECORD, _OBJECT = range(1, 10)

_RANKS: dict[type, int] = {
    type(None): 0,
    int: _NUMBER,
    float: _NUMBER,
    str: _TEXT,
    list: _LIST,
    OpenList: _LIST,
    bool: _LITERAL,
    Atom: _LITERAL,
    Term: _LITERAL,
    Variable: _VARIABLE,
    bytes: _BYTES,
    dict: _MAP,
    Map: _MAP,
    Record: _RECORD,
    Container: _OBJECT,
}


def _is_less(one: Any, other: Any) -> int:
    return -1 if one < other else int(one > other)


def compare(one: Any, other: Any) -> int:
    """Compares two values. Returns less than 0 if `one` comes first, 0 if they are equal, else more."""
    rank = _RANKS.get(type(one))
    if rank is None:
        return compare(to_value(one), other)
    other_rank = _RANKS.get(type(other))
    if other_rank is None:
        return compare(one, to_value(other))
    return rank - other_rank or _COMPARE[rank](one, other)


def equal(one: Any, other: Any) -> bool:
    """Returns true if two values are equal: 3 equals 3.0, but not True, and text is no atom."""
    return compare(one, other) == 0


def _numbers(one: Any, other: Any) -> int:
    """Compares numbers exactly. NaN comes last and equals itself."""
    if one < other:
        return -1
    if one > other:
        return 1
    return int(math.isnan(one)) - int(math.isnan(other))


def _texts(one: str, other: str) -> int:
    """Compares texts as Jason does, with their quotes."""
    return _is_less(one + '"', other + '"')


def _all(one: Sequence[Any], other: Sequence[Any], by: Callable[[Any, Any], int] = compare) -> int:
    for left, right in zip(one, other):
        order = by(left, right)
        if order:
            return order
    return len(one) - len(other)


def _lists(one: Any, other: Any) -> int:
    left, left_tail = (one, None) if isinstance(one, list) else (one.items, one.tail)
    right, right_tail = (other, None) if isinstance(other, list) else (other.items, other.tail)
    order = _all(left, right)
    if order or (left_tail is None and right_tail is None):
        return order
    return compare([] if left_tail is None else left_tail, [] if right_tail is None else right_tail)


def _literals(one: Any, other: Any) -> int:
    left = Atom("true" if one else "false") if isinstance(one, bool) else one
    right = Atom("true" if other else "false") if isinstance(other, bool) else other
    return (
        _is_less(left.namespace or "default", right.namespace or "default")
        or _is_less(left.functor, right.functor)
        or left.negated - right.negated
        or _all(left.args, right.args)
        or _annots(left, right)
    )


def _annots(one: Term, other: Term) -> int:
    """Compares annotations. A tail comes after all annotations."""
    length = min(len(one.annots), len(other.annots))
    order = _all(one.annots[:length], other.annots[:length])

    def rest(term: Term) -> tuple[int, Any]:
        if len(term.annots) > length:
            return 1, term.annots[length]
        return (2, term.annot_tail) if term.annot_tail else (0, None)

    left, right = rest(one), rest(other)
    return order or left[0] - right[0] or compare(left[1], right[1])


def _variables(one: Variable, other: Variable) -> int:
    return _is_less(one.name, other.name) or one.slot - other.slot


def _maps(one: Any, other: Any) -> int:
    return _all(pairs_of(one), pairs_of(other), lambda a, b: compare(a[0], b[0]) or compare(a[1], b[1]))


def _records(one: Record, other: Record) -> int:
    by = lambda a, b: _is_less(a[0], b[0]) or compare(a[1], b[1])  # noqa: E731
    return _is_less(one.type_name, other.type_name) or _all(list(one.items()), list(other.items()), by)


def _containers(one: Container, other: Container) -> int:
    """Compares containers by their contents, whatever their kinds."""
    return 0 if one is other else _all(one.items, other.items)


_COMPARE: dict[int, Callable[[Any, Any], int]] = {
    0: lambda _one, _other: 0,
    _NUMBER: _numbers,
    _TEXT: _texts,
    _LIST: _lists,
    _LITERAL: _literals,
    _VARIABLE: _variables,
    _BYTES: _is_less,
    _MAP: _maps,
    _RECORD: _records,
    _OBJECT: _containers,
}

_key = cmp_to_key(compare)


def sorted_set(values: Iterable[Any]) -> list[Any]:
    """Returns the values in order, without duplicates."""
    found: list[Any] = []
    for value in sorted(values, key=_key):
        if not found or compare(found[-1], value):
            found.append(value)
    return found


def sorted_pairs(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Returns pairs in the order of their keys. A later pair replaces an earlier one with the same key."""
    found: list[tuple[Any, Any]] = []
    for key, value in sorted(pairs, key=lambda pair: _key(pair[0])):
        if found and compare(found[-1][0], key) == 0:
            found[-1] = (found[-1][0], value)
        else:
            found.append((key, value))
    return found


def pairs_of(given: Any) -> list[tuple[Any, Any]]:
    """Returns the pairs of a dict or map, sorted by key."""
    if isinstance(given, Map):
        return given.pairs
    if all(type(key) is str for key in given):
        return sorted(given.items(), key=lambda pair: str(pair[0]) + '"')
    return sorted_pairs(given.items())


def contents(kind: str, items: Iterable[Any]) -> list[Any]:
    """Returns the contents of a container, ordered according to its kind."""
    given = list(items)
    if kind == "map":
        pairs = sorted_pairs(zip(given[::2], given[1::2]))
        return [part for pair in pairs for part in pair]
    if kind == "set":
        return sorted_set(given)
    return given if kind == "queue" else sorted(given, key=_key)
