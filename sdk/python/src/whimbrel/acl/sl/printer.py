"""Writer of SL."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from ..errors import DecodeError, EncodeError
from ..values import Atom, Map, Record, Term, Variable, to_value
from .lexis import (
    ACTIONS,
    BINARY,
    HAPPENS,
    LEVELS_MAX,
    MODAL,
    OF_FORMULAS,
    OF_TERMS,
    QUANTIFIERS,
    REFERENTIAL,
    double_text,
    is_bare,
    is_word,
    time_text,
)
from .reader import sl_to_value

__all__ = ["value_to_sl"]


def _inexpressible(value: Any) -> NoReturn:
    raise EncodeError(f"SL has no expression for a value of the type {type(value).__name__}")


def _symbol(name: str, reserved: frozenset[str] | tuple[str, ...]) -> str:
    return name if is_word(name) and name not in reserved else _literal(name)


def _literal(text: str) -> str:
    """Writes a string in quotes, or by its length if it ends in a backslash."""
    if text.endswith("\\"):
        return f'#{len(text.encode("utf-8", "replace"))}"{text}'
    escaped = text.replace('"', '\\"')
    return f'"{escaped}"'


def _group(*parts: str) -> str:
    return f"({' '.join(parts)})"


def _plain(value: Any) -> Term | None:
    """Returns a term without namespace, negation and annotations; None for others."""
    return value if type(value) is Term and value.is_plain else None


def _variable(variable: Variable) -> str:
    text = f"?{variable.name}"
    return text if variable.name and is_bare(text) else _inexpressible(variable)


class _Printer:
    """Writer of values at a nesting depth."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    @property
    def _down(self) -> _Printer:
        if self.depth >= LEVELS_MAX:
            raise EncodeError(f"content nested deeper than {LEVELS_MAX} levels")
        return _Printer(self.depth + 1)

    def expression(self, value: Any) -> str:
        """Writes an expression."""
        return self._identifying(value) or self._action(value) or self.formula(value)

    def _identifying(self, value: Any) -> str | None:
        found = _plain(value)
        if found is None or found.functor not in REFERENTIAL or len(found.args) != 2:
            return None
        what, description = found.args
        if not isinstance(description, (bool, Term)):
            return None
        inner = self._down
        return _group(found.functor, inner.term(what), inner.formula(description))

    def _is_action(self, value: Any) -> bool:
        """Returns true if a value has the form of an action. Checking first avoids exponential backtracking."""
        found = _plain(value)
        if found is None or len(found.args) != 2 or found.functor not in ACTIONS:
            return False
        inner = self._down
        return found.functor == "action" or all(inner._is_action(part) for part in found.args)

    def _action(self, value: Any) -> str | None:
        return self._certain_action(value) if self._is_action(value) else None

    def _certain_action(self, term: Term) -> str:
        inner = self._down
        write = inner.term if term.functor == "action" else inner._certain_action
        return _group(term.functor, *map(write, term.args))

    def formula(self, value: Any) -> str:
        """Writes a formula."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, Atom):
            if value.name in ("true", "false"):
                return value.name
            return _symbol(value.name, ("true", "false"))
        found = _plain(value)
        if found is None:
            _inexpressible(value)
        inner = self._down
        compound = inner._compound(found)
        if compound is not None:
            return compound
        return _group(_symbol(found.functor, OF_FORMULAS), *map(inner.term, found.args))

    def _compound(self, term: Term) -> str | None:
        """Writes an operator's formula; None if the term is an ordinary predicate."""
        name, args = term.functor, list(term.args)
        if len(args) > 2:
            return None
        if name in HAPPENS:
            action = self._action(args[0])
            return None if action is None else _group(name, action, *map(self.formula, args[1:]))
        if len(args) == 1:
            return _group(name, self.formula(args[0])) if name == "not" else None
        one, other = args
        if name in ("=", "result"):
            return _group(name, self.term(one), self.term(other))
        if name in BINARY:
            return _group(name, self.formula(one), self.formula(other))
        if name in QUANTIFIERS and isinstance(one, Variable):
            return _group(name, _variable(one), self.formula(other))
        return _group(name, self.term(one), self.formula(other)) if name in MODAL else None

    def term(self, value: Any) -> str:
        """Writes a term."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if type(value) is int:
            return str(value)
        if type(value) is float:
            return double_text(value) if math.isfinite(value) else _inexpressible(value)
        if isinstance(value, Atom):
            if value.name == "set":
                return "(set)"
            return value.name if is_word(value.name) else _literal(value.name)
        if type(value) is str:
            return _literal(value)
        if type(value) is list:
            return _group("sequence", *map(self._down.term, value))
        if isinstance(value, Variable):
            return _variable(value)
        if isinstance(value, Record):
            return self._frame(value)
        if isinstance(value, Term):
            return self._compound_term(value)
        if value is None or isinstance(value, (bytes, dict, Map)):
            _inexpressible(value)
        converted = to_value(value)
        return _inexpressible(value) if type(converted) is type(value) else self.term(converted)

    def _frame(self, value: Record) -> str:
        inner = self._down
        parts = []
        for name, item in value.items():
            if not name or not is_bare(f":{name}"):
                _inexpressible(value)
            parts += [f":{name}", inner.term(item)]
        return _group(_symbol(value.type_name, OF_TERMS), *parts)

    def _compound_term(self, value: Term) -> str:
        special = self._identifying(value) or self._action(value)
        if special is not None:
            return special
        found = _plain(value)
        if found is None:
            _inexpressible(value)
        if len(found.args) == 1 and type(found.args[0]) is int:
            time = time_text(found.functor, found.args[0])
            if time is not None:
                return time
        name = "set" if found.functor == "set" else _symbol(found.functor, OF_TERMS)
        return _group(name, *map(self._down.term, found.args))


def value_to_sl(content: Any, profile: str = "fipa-sl") -> str:
    """Encodes content as SL text: the elements of a list as expressions, or a single expression.

    Raises EncodeError if SL, or the profile, cannot express it.
    """
    expressions = content if isinstance(content, list) else [content]
    if not expressions:
        raise EncodeError("content without an expression")
    text = _group(*(_Printer(1).expression(value) for value in expressions))
    try:
        sl_to_value(text, profile)
    except DecodeError as error:
        raise EncodeError(f"cannot express the content in {profile}: {error}") from None
    return text
