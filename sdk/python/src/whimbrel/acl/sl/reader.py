"""Reader of SL."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from ..errors import DecodeError
from ..json import atom_named, term_of
from ..values import Record, Term, Variable
from .lexis import (
    ACTIONS,
    BINARY,
    HAPPENS,
    LEVELS_MAX,
    MODAL,
    OF_FORMULAS,
    PROFILES,
    QUANTIFIERS,
    REFERENTIAL,
    is_word,
    number_of,
    time_of,
)

__all__ = ["sl_to_value"]


class _Token(NamedTuple):
    """A token: a bracket, a string (quoted or by length), a word or number, or the end."""

    at: int
    kind: str
    text: str
    data: bytes = b""


def _fail(at: int, what: str) -> NoReturn:
    raise DecodeError("malformed", what, at)


def _expected(token: _Token, what: str) -> NoReturn:
    found = {"bare": f"`{token.text}`", "quoted": "a quoted string"}.get(token.kind, token.text)
    _fail(token.at, f"expected {what}, found {found}")


class _Tokens:
    """Tokens of a text."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def peek(self) -> _Token:
        """Returns the next token, and leaves it."""
        at = self.at
        token = self.next()
        self.at = at
        return token

    def next(self) -> _Token:
        """Reads the next token."""
        data, end = self.data, len(self.data)
        while self.at < end and data[self.at] <= 0x20:
            self.at += 1
        at = self.at
        if at == end:
            return _Token(at, "end", "the end")
        first = data[at : at + 1]
        if first in (b"(", b")"):
            self.at += 1
            return _Token(at, "open" if first == b"(" else "close", f"`{first.decode()}`")
        if first == b'"':
            return self._quoted(at)
        return (self._by_length(at) if first == b"#" else None) or self._bare(at)

    def _bare(self, at: int) -> _Token:
        end = at
        while end < len(self.data) and self.data[end] > 0x20 and self.data[end] not in b"()":
            end += 1
        self.at = end
        return _Token(at, "bare", self._text(at, self.data[at:end]))

    def _text(self, at: int, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            _fail(at, "text that is not UTF-8")

    def _quoted(self, at: int) -> _Token:
        """Reads a quoted string. Only the quote itself is escaped."""
        data, end = self.data, at + 1
        while data[end : end + 1] != b'"':
            if end >= len(data):
                raise DecodeError("truncated", "the content ends within a quoted string", len(data))
            end += 2 if data[end : end + 2] == b'\\"' else 1
        self.at = end + 1
        return _Token(at, "quoted", self._text(at, data[at + 1 : end]).replace('\\"', '"'))

    def _by_length(self, at: int) -> _Token | None:
        """Reads a string by length: `#`, digits, `"`, and that many bytes."""
        data, end = self.data, at + 1
        length = 0
        while end < len(data) and 0x30 <= data[end] <= 0x39:
            length = min(length * 10 + data[end] - 0x30, 1 << 62)
            end += 1
        if end == at + 1 or data[end : end + 1] != b'"':
            return None
        start = end + 1
        if start + length > len(data):
            raise DecodeError("truncated", "the content ends within a byte-length-encoded string", len(data))
        self.at = start + length
        content = data[start : self.at]
        try:
            return _Token(at, "quoted", content.decode())
        except UnicodeDecodeError:
            return _Token(at, "bytes", "bytes", content)


class _Parser:
    """Parser of one content. A prenex says which quantifiers may begin a formula: in SL2 they precede all else,
    universal ones first.
    """

    def __init__(self, text: str, profile: str) -> None:
        self._tokens = _Tokens(text.encode("utf-8", "replace"))
        self._profile = PROFILES.index(profile)
        self._variables: list[str] = []
        self._depth = 0

    def content(self) -> list[Any]:
        """Reads the whole content."""
        self._open("`(`, which begins the content")
        expressions = [self._expression()]
        while not self._at_close():
            expressions.append(self._expression())
        self._close()
        token = self._tokens.next()
        if token.kind != "end":
            _fail(token.at, "text follows the content")
        return expressions

    def _open(self, what: str) -> int:
        token = self._tokens.next()
        if token.kind != "open":
            _expected(token, what)
        self._depth += 1
        if self._depth > LEVELS_MAX:
            raise DecodeError("too-deep", f"nested deeper than {LEVELS_MAX} levels", token.at)
        return token.at

    def _close(self) -> None:
        token = self._tokens.next()
        if token.kind != "close":
            _expected(token, "`)`")
        self._depth -= 1

    def _at_close(self) -> bool:
        return self._tokens.peek().kind == "close"

    def _head(self) -> tuple[int, str, str]:
        """Reads an opening bracket and its symbol. A quoted symbol is not an operator."""
        at = self._open("`(`")
        token = self._tokens.next()
        if token.kind == "bare" and is_word(token.text):
            return at, token.text, token.text
        return (at, token.text, "") if token.kind == "quoted" else _expected(token, "an operator or a symbol")

    def _peek_operator(self) -> str:
        """Returns the operator after the next bracket, without reading it."""
        at = self._tokens.at
        token = self._tokens.next() if self._tokens.next().kind == "open" else None
        self._tokens.at = at
        return token.text if token is not None and token.kind == "bare" else ""

    def _require(self, profile: str, at: int, construct: str) -> None:
        """Refuses a construct that the profile lacks."""
        if self._profile < PROFILES.index(profile):
            _fail(at, f"{PROFILES[self._profile]} has no {construct}")

    def _expression(self) -> Any:
        operator = self._peek_operator()
        if operator in REFERENTIAL:
            return self._identifying()
        return self._action() if operator in ACTIONS else self._formula("any")

    def _formula(self, prenex: str) -> Any:
        if self._tokens.peek().kind != "open":
            return self._proposition()
        at, name, operator = self._head()
        formula = self._compound(at, name, operator, prenex)
        self._close()
        return formula

    def _compound(self, at: int, name: str, operator: str, prenex: str) -> Any:
        if operator in QUANTIFIERS:
            return self._quantified(at, operator, prenex)
        if operator in BINARY:
            self._require("fipa-sl1" if operator in ("and", "or") else "fipa-sl2", at, operator)
            return Term(operator, self._formula("none"), self._formula("none"))
        if operator in MODAL:
            self._require("fipa-sl2", at, operator)
            return Term(operator, self._term(), self._formula("any"))
        if operator in HAPPENS:
            return self._happens(at, operator)
        if operator == "not":
            self._require("fipa-sl1", at, operator)
            return Term(operator, self._formula("none"))
        if operator in ("=", "result"):
            return Term(operator, self._term(), self._term())
        if operator in OF_FORMULAS:
            _fail(at, f"expected a formula, found `({name}`")
        args = [self._term()]
        while not self._at_close():
            args.append(self._term())
        return Term(name, *args)

    def _quantified(self, at: int, operator: str, prenex: str) -> Term:
        self._require("fipa-sl2", at, operator)
        if not (prenex == "any" if operator == "forall" else prenex != "none"):
            self._require("fipa-sl", at, "quantifier that is not in front, universal ones first")
        token = self._tokens.next()
        if token.kind != "bare" or not token.text.startswith("?") or len(token.text) < 2:
            _expected(token, "a variable")
        inner = "exists" if operator == "exists" else "any"
        return Term(operator, self._variable(token.text[1:]), self._formula(inner))

    def _happens(self, at: int, operator: str) -> Term:
        if operator == "feasible":
            self._require("fipa-sl2", at, operator)
        action = self._action()
        if self._at_close():
            return Term(operator, action)
        self._require("fipa-sl2", at, "action with a formula")
        return Term(operator, action, self._formula("any"))

    def _proposition(self) -> Any:
        token = self._tokens.next()
        if token.kind == "quoted" or (token.kind == "bare" and is_word(token.text)):
            return atom_named(token.text)
        return _expected(token, "an expression")

    def _identifying(self) -> Term:
        at, _, operator = self._head()
        self._require("fipa-sl2", at, operator)
        identifying = Term(operator, self._term(), self._formula("none"))
        self._close()
        return identifying

    def _action(self) -> Term:
        at, name, operator = self._head()
        if operator == "action":
            action = Term(operator, self._term(), self._term())
        elif operator in ACTIONS:
            self._require("fipa-sl2", at, operator)
            action = Term(operator, self._action(), self._action())
        else:
            _fail(at, f"expected an action, found `({name}`")
        self._close()
        return action

    def _term(self) -> Any:
        if self._tokens.peek().kind != "open":
            return self._constant()
        operator = self._peek_operator()
        if operator in REFERENTIAL:
            return self._identifying()
        if operator in ACTIONS:
            return self._action()
        _, name, operator = self._head()
        read: Any
        if operator == "sequence":
            read = self._terms()
        elif operator == "set":
            read = term_of("set", self._terms())
        else:
            read = self._functional(name)
        self._close()
        return read

    def _terms(self) -> list[Any]:
        terms = []
        while not self._at_close():
            terms.append(self._term())
        return terms

    def _functional(self, name: str) -> Any:
        token = self._tokens.peek()
        if token.kind != "bare" or not token.text.startswith(":"):
            args = self._terms()
            # Without arguments it is a record, which differs from a word.
            return Term(name, *args) if args else Record(name)
        fields: dict[str, Any] = {}
        while not self._at_close():
            token = self._tokens.next()
            if token.kind != "bare" or not token.text.startswith(":") or len(token.text) < 2:
                _expected(token, "`:parameter`")
            fields[token.text[1:]] = self._term()
        return Record(name, fields)

    def _constant(self) -> Any:
        token = self._tokens.next()
        if token.kind == "quoted":
            return token.text
        if token.kind == "bytes":
            return token.data
        if token.kind != "bare":
            _expected(token, "a term")
        text = token.text
        if text.startswith("?") and len(text) > 1:
            self._require("fipa-sl2", token.at, "variables")
            return self._variable(text[1:])
        number = number_of(text)
        constant = number if number is not None else time_of(text)
        if constant is not None:
            return constant
        return atom_named(text) if is_word(text) else _expected(token, "a term")

    def _variable(self, name: str) -> Variable:
        """Returns a variable. Its slot counts first appearances."""
        if name not in self._variables:
            self._variables.append(name)
        return Variable(name, self._variables.index(name))


def sl_to_value(text: str, profile: str = "fipa-sl") -> list[Any]:
    """Decodes SL text to a list of expressions.

    Raises DecodeError if the text is invalid, or uses a construct that the profile lacks.
    """
    return _Parser(text, profile).content()
