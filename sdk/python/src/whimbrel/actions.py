"""Actions in Python for AgentSpeak agents: `py.fun(X, Y)` calls `fun` of the project's file `actions.py`.

A plain function suffices. Its parameters are the first arguments of the call; what it returns is unified with the
last one. Without a last one, a result of `False` or `None` fails. A generator yields one result after another. The
decorators of this module are for the rest.

>>> def double(x):
...     return 2 * x
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any, TypeVar, overload

from .acl.errors import WhimbrelError
from .acl.values import Atom, Term

__all__ = ["ActionError", "Atom", "Shape", "Term", "action", "caller", "procedure", "relation", "shape_of"]

F = TypeVar("F", bound=Callable[..., Any])

#: Name under which a decorated function keeps its shape.
_SHAPE = "__whimbrel_shape__"

#: Agent whose call or action runs.
caller_variable: contextvars.ContextVar[str | None] = contextvars.ContextVar("whimbrel_caller", default=None)


class ActionError(WhimbrelError):
    """Failure of an action or a call, with its reason: text, an `Atom` or a `Term`. Other exceptions are failures, too:
    their reasons name the line that raised them.

    `error` becomes `error(..)` in the failure event of a call; further annotations are terms.
    """

    def __init__(self, reason: Any = "", *annots: Term, error: str = "action_failed") -> None:
        super().__init__(reason)
        self.reason = reason
        self.annots = annots
        self.error = error


class Shape:
    """How a call's arguments belong to a function's parameters and results."""

    __slots__ = ("is_procedure", "is_relation", "results")

    def __init__(self, results: int | None = None, is_relation: bool = False, is_procedure: bool = False) -> None:
        self.results = results
        self.is_relation = is_relation
        self.is_procedure = is_procedure


_PLAIN = Shape()


def shape_of(function: Callable[..., Any]) -> Shape:
    """Returns the shape that a decorator gave a function."""
    found = getattr(function, _SHAPE, _PLAIN)
    return found if isinstance(found, Shape) else _PLAIN


def _shaped(function: F, shape: Shape) -> F:
    setattr(function, _SHAPE, shape)
    return function


@overload
def action(function: F) -> F: ...
@overload
def action(*, results: int | None = None) -> Callable[[F], F]: ...
def action(function: Any = None, *, results: int | None = None) -> Any:
    """Marks a function as an action. `results` is the number of last arguments that it computes; a function with
    several results returns a tuple. Needed only for functions whose parameters have defaults, or `*args`.
    """
    if function is not None:
        return _shaped(function, Shape(results))
    return lambda decorated: _shaped(decorated, Shape(results))


def relation(function: F) -> F:
    """Marks a function that gets all arguments and yields tuples that are unified with all of them. Unbound variables
    arrive as `None`.
    """
    return _shaped(function, Shape(is_relation=True))


def procedure(function: F) -> F:
    """Marks a function without a result: it succeeds when it returns, also with `None`."""
    return _shaped(function, Shape(results=0, is_procedure=True))


def caller() -> str:
    """Returns the name of the agent whose call or action runs.

    Raises ActionError outside of calls and actions.
    """
    name = caller_variable.get()
    if name is None:
        raise ActionError("no agent's call runs here")
    return name
