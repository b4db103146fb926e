"""Calls of functions: which arguments they take, and which results they give."""

from __future__ import annotations

import difflib
import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any

from ..acl.values import Atom, Variable
from ..actions import Shape, shape_of

__all__ = ["CallError", "Signature", "UnknownError", "functions_of", "solutions"]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class CallError(Exception):
    """Call that cannot be made as it is. `error` becomes `error(..)`; `code` is the function, if it is known."""

    def __init__(self, error: str, text: str, code: CodeType | None = None) -> None:
        super().__init__(text)
        self.error = error
        self.code = code


class UnknownError(CallError):
    """Unknown action of an environment."""

    def __init__(self, cls: type, name: str, known: list[str]) -> None:
        plain = getattr(cls, name, None)
        code = getattr(plain, "__code__", None)
        if code is not None and not name.startswith("_"):
            text = f"{cls.__name__}.{name} is no action: actions are `async def`"
        else:
            text = f"{cls.__name__} has no action {name}{similar(name, known)}"
        super().__init__("action_failed", text, code)


def similar(name: str, known: Sequence[str]) -> str:
    """Returns the question if another name was meant."""
    close = difflib.get_close_matches(name, known, 1)
    return f": did you mean {close[0]}?" if close else ""


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


class Signature:
    """Parameters of a function, without the first `skip`."""

    __slots__ = ("code", "converters", "is_open", "least", "most", "names", "returned", "shape")

    def __init__(self, function: Callable[..., Any], skip: int = 0) -> None:
        self.shape: Shape = shape_of(function)
        self.code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        #: Number of results of a call that asks for them.
        self.returned = self.shape.results or _results_of(signature.return_annotation)
        self.is_open = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
        plain = [parameter for parameter in parameters if parameter.kind in _POSITIONAL][skip:]
        self.names = [parameter.name for parameter in plain]
        self.least = sum(parameter.default is parameter.empty for parameter in plain)
        self.most = len(plain)
        self.converters = [_wants_text(parameter.annotation) for parameter in plain]

    def _takes(self) -> str:
        if self.is_open:
            return f"at least {_count(self.least, 'argument')}"
        if self.least == self.most:
            return _count(self.most, "argument") + (f" ({', '.join(self.names)})" if self.names else "")
        return f"{self.least} to {_count(self.most, 'argument')} ({', '.join(self.names)})"

    def inputs(self, name: str, args: Sequence[Any]) -> list[Any]:
        """Returns the arguments as the function wants them: atoms as text, if its annotation says `str`.

        Raises CallError for a wrong number.
        """
        if len(args) < self.least or (len(args) > self.most and not self.is_open):
            raise CallError("wrong_arguments", f"{name} takes {self._takes()}, not {len(args)}", self.code)
        if not any(self.converters):
            return list(args)
        wanted = [*self.converters, *[False] * len(args)]
        return [str(arg) if text and isinstance(arg, Atom) else arg for arg, text in zip(args, wanted, strict=False)]

    def split(self, name: str, args: Sequence[Any]) -> tuple[list[Any], int]:
        """Divides the arguments of a call into inputs and a number of results.

        Raises CallError for a wrong number.
        """
        count = len(args)
        if self.shape.is_relation:
            return self.inputs(name, [None if isinstance(arg, Variable) else arg for arg in args]), count
        results = self._results(args) if self.shape.results is None else self.shape.results
        try:
            return self.inputs(name, args[: max(0, count - results)]), results
        except CallError:
            most = "" if self.shape.is_procedure else f" and {_count(self.returned, 'result')}"
            text = f"py.{name} takes {self._takes()}{most}, and the call has {_count(count, 'argument')}"
            raise CallError("wrong_arguments", text, self.code) from None

    def _results(self, args: Sequence[Any]) -> int:
        """Returns the number of last arguments that are results: those beyond the parameters. A last argument without
        a value is one, too, if its parameter has a default. A call without them is a test.
        """
        if self.is_open:
            return min(self.returned, max(0, len(args) - self.least))
        if len(args) > self.most:
            return self.returned
        is_unbound = bool(args) and isinstance(args[-1], Variable)
        return self.returned if is_unbound and len(args) >= self.least + self.returned else 0


def _results_of(annotation: Any) -> int:
    """Returns the number of results that a return annotation says: that of a tuple's parts, or one."""
    if isinstance(annotation, str):
        inner = annotation.strip().removeprefix("tuple[").removesuffix("]")
        is_tuple = annotation.strip().startswith("tuple[") and "..." not in inner
        return _parts(inner) if is_tuple else 1
    parts = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else ()
    return len(parts) if parts and parts[-1] is not Ellipsis else 1


def _parts(text: str) -> int:
    """Returns the number of parts between commas outside of brackets."""
    depth = 0
    parts = 1
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        parts += letter == "," and depth == 0
    return parts


def _wants_text(annotation: Any) -> bool:
    return annotation is str or annotation == "str"


def functions_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Returns the functions that agents may call: those of `__all__`, or else the module's own public ones."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return {name: getattr(module, name) for name in listed if callable(getattr(module, name, None))}
    own = {
        name: thing
        for name, thing in vars(module).items()
        if not name.startswith("_") and callable(thing) and getattr(thing, "__module__", None) == module.__name__
    }
    return {name: thing for name, thing in own.items() if not isinstance(thing, type)}


def solutions(name: str, signature: Signature, results: int, returned: Any) -> Iterator[list[Any]]:
    """Returns the solutions of a call, one after another, of what its function returned.

    Raises CallError for a result that is none.
    """
    each = returned if isinstance(returned, Iterator) else iter((returned,))
    is_generator = each is returned
    for result in each:
        found = _solution(name, signature, results, result)
        if found is not None:
            yield found
        elif not is_generator:
            said = "False" if result is False else "None"
            advice = "" if result is False else ": a function that succeeds returns a value, or is a @procedure"
            raise CallError("ia_failed", f"py.{name} returned {said}{advice}", signature.code)


def _solution(name: str, signature: Signature, results: int, result: Any) -> list[Any] | None:
    if signature.shape.is_procedure and result is None:
        return []
    if result is None or (result is False and results == 0):
        return None
    if results == 0:
        return []
    if results == 1 and not signature.shape.is_relation:
        return [result]
    if isinstance(result, (tuple, list)) and len(result) == results:
        return list(result)
    if results == 1:
        return [result]
    text = f"py.{name} returned {result!r:.100}: expected a tuple of {results} results"
    raise CallError("wrong_arguments", text, signature.code)
