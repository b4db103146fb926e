"""Handlers of messages, and the decorators that declare them: `@on.cfp(ontology="jobs")`, `@every(5)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from ..acl.aid import AidLike
from ..acl.message import Message
from ..acl.template import Matcher, Template

__all__ = ["Handler", "On", "Selector", "Table", "Timer", "after", "every", "on"]

F = TypeVar("F", bound=Callable[..., Any])

#: Attributes of functions that the decorators leave for the class.
_ON, _TIMERS = "_whimbrel_on", "_whimbrel_timers"


class Handler:
    """A function for messages that match."""

    __slots__ = ("function", "is_async", "is_method", "matcher", "performatives")

    def __init__(
        self,
        function: Callable[..., Any],
        performatives: frozenset[str] | None,
        matcher: Matcher | None,
        is_method: bool = False,
    ) -> None:
        self.function = function
        self.is_method = is_method
        self.performatives = performatives
        self.matcher = matcher
        self.is_async = inspect.iscoroutinefunction(function)


class Table:
    """Handlers in their order, found by performative."""

    __slots__ = ("_found", "handlers")

    def __init__(self, handlers: Iterable[Handler] = ()) -> None:
        self.handlers = list(handlers)
        self._found: dict[str, list[Handler]] = {}

    def add(self, handler: Handler) -> Callable[[], None]:
        """Adds a handler. The returned function removes it."""
        self.handlers.append(handler)
        self._found.clear()

        def remove() -> None:
            if handler in self.handlers:
                self.handlers.remove(handler)
                self._found.clear()

        return remove

    def of(self, performative: str) -> list[Handler]:
        """Returns the handlers for a performative."""
        found = self._found.get(performative)
        if found is None:
            found = [one for one in self.handlers if one.performatives is None or performative in one.performatives]
            if len(self._found) < 256:
                self._found[performative] = found
        return found


class Selector:
    """Decorator for handlers of some performatives: `@on.request`, or `@on.request(ontology="shop")`."""

    __slots__ = ("_performatives", "_register")

    def __init__(self, performatives: frozenset[str] | None, register: Callable[[Any, Handler], Any]) -> None:
        self._performatives = performatives
        self._register = register

    @overload
    def __call__(self, function: F, /) -> F: ...
    @overload
    def __call__(
        self,
        matcher: Template | None = None,
        /,
        *,
        sender: AidLike | None = None,
        receiver: AidLike | None = None,
        conversation_id: str | None = None,
        ontology: str | None = None,
        protocol: str | None = None,
        language: str | None = None,
        in_reply_to: str | None = None,
        where: Callable[[Message], Any] | None = None,
    ) -> Callable[[F], F]: ...
    def __call__(self, given: Any = None, /, *, where: Callable[[Message], Any] | None = None, **template: Any) -> Any:
        """Declares a handler. The template narrows the messages down; `where` is any condition on a message."""
        if given is not None and not isinstance(given, Template):
            self._add(given, None)
            return given
        matcher: Matcher | None = given
        if template:
            more = Template(**template)
            matcher = more if matcher is None else more & matcher
        if where is not None:
            matcher = where if matcher is None else Template() & matcher & where

        def decorate(function: F) -> F:
            self._add(function, matcher)
            return function

        return decorate

    def _add(self, function: Any, matcher: Matcher | None) -> None:
        if not callable(function):
            raise TypeError(f"@on: expected a function or a Template, found {function!r}")
        self._register(function, Handler(function, self._performatives, matcher))


class On:
    """Decorators by performative. `on` declares methods of a class, `agent.on` adds functions to one agent.

    The first matching handler gets a message. It may return a reply, or the content of the usual one; raise `Refusal`;
    or yield several replies.
    """

    __slots__ = ("_register",)

    def __init__(self, register: Callable[[Any, Handler], Any]) -> None:
        self._register = register

    def __call__(self, *performatives: str) -> Selector:
        """Selects several performatives, or other words: `@on("propose", "refuse")`."""
        return Selector(frozenset(performatives) if performatives else None, self._register)

    @property
    def message(self) -> Selector:
        """Selects messages of any performative."""
        return self()

    @property
    def accept_proposal(self) -> Selector:
        """Selects acceptances of proposals."""
        return self("accept-proposal")

    @property
    def agree(self) -> Selector:
        """Selects agreements to do what was asked."""
        return self("agree")

    @property
    def cancel(self) -> Selector:
        """Selects cancellations."""
        return self("cancel")

    @property
    def cfp(self) -> Selector:
        """Selects calls for proposals."""
        return self("cfp")

    @property
    def confirm(self) -> Selector:
        """Selects confirmations."""
        return self("confirm")

    @property
    def disconfirm(self) -> Selector:
        """Selects disconfirmations."""
        return self("disconfirm")

    @property
    def failure(self) -> Selector:
        """Selects failures."""
        return self("failure")

    @property
    def inform(self) -> Selector:
        """Selects information."""
        return self("inform")

    @property
    def inform_if(self) -> Selector:
        """Selects `inform-if`."""
        return self("inform-if")

    @property
    def inform_ref(self) -> Selector:
        """Selects `inform-ref`."""
        return self("inform-ref")

    @property
    def not_understood(self) -> Selector:
        """Selects messages that another agent did not understand."""
        return self("not-understood")

    @property
    def propagate(self) -> Selector:
        """Selects messages to pass on."""
        return self("propagate")

    @property
    def propose(self) -> Selector:
        """Selects proposals."""
        return self("propose")

    @property
    def proxy(self) -> Selector:
        """Selects `proxy`."""
        return self("proxy")

    @property
    def query_if(self) -> Selector:
        """Selects questions whether something is true."""
        return self("query-if")

    @property
    def query_ref(self) -> Selector:
        """Selects questions for a value."""
        return self("query-ref")

    @property
    def refuse(self) -> Selector:
        """Selects refusals."""
        return self("refuse")

    @property
    def reject_proposal(self) -> Selector:
        """Selects rejections of proposals."""
        return self("reject-proposal")

    @property
    def request(self) -> Selector:
        """Selects requests."""
        return self("request")

    @property
    def request_when(self) -> Selector:
        """Selects requests for later, once."""
        return self("request-when")

    @property
    def request_whenever(self) -> Selector:
        """Selects requests for later, each time."""
        return self("request-whenever")

    @property
    def subscribe(self) -> Selector:
        """Selects subscriptions."""
        return self("subscribe")

    @property
    def tell(self) -> Selector:
        """Selects beliefs that AgentSpeak agents tell."""
        return self("tell")

    @property
    def untell(self) -> Selector:
        """Selects beliefs that do not hold any more."""
        return self("untell")

    @property
    def achieve(self) -> Selector:
        """Selects goals that AgentSpeak agents delegate."""
        return self("achieve")

    @property
    def unachieve(self) -> Selector:
        """Selects goals to drop."""
        return self("unachieve")

    @property
    def ask_one(self) -> Selector:
        """Selects AgentSpeak's questions for one answer."""
        return self("askOne")

    @property
    def ask_all(self) -> Selector:
        """Selects AgentSpeak's questions for all answers."""
        return self("askAll")


def _mark(function: Any, handler: Handler) -> None:
    """Notes a handler at the function, for the class that it becomes a method of."""
    marks: list[Handler] = function.__dict__.setdefault(_ON, [])
    # Decorators are applied from the lowest up, and read from the highest down.
    marks.insert(0, handler)


#: Decorators for methods of an agent's class.
on = On(_mark)


class Timer:
    """A method that runs on time."""

    __slots__ = ("is_repeated", "name", "seconds")

    def __init__(self, seconds: float, is_repeated: bool) -> None:
        self.seconds = seconds
        self.is_repeated = is_repeated
        self.name = ""


def every(seconds: float) -> Callable[[F], F]:
    """Declares a method that runs repeatedly, this time after its previous run has finished."""
    return _timed(Timer(seconds, True))


def after(seconds: float) -> Callable[[F], F]:
    """Declares a method that runs once, this time after the agent was set up."""
    return _timed(Timer(seconds, False))


def _timed(timer: Timer) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        function.__dict__.setdefault(_TIMERS, []).append(timer)
        return function

    return decorate


def declared(cls: type) -> tuple[Table, list[tuple[str, Timer]]]:
    """Collects the handlers and timers of a class: its own first, then those of its base classes. A method that
    overrides a handler without a decorator takes its place.
    """
    handlers: list[Handler] = []
    timers: list[tuple[str, Timer]] = []
    seen: set[str] = set()
    for base in cls.__mro__:
        for name, function in vars(base).items():
            if name in seen:
                continue
            marks, clocks = getattr(function, _ON, ()), getattr(function, _TIMERS, ())
            if not marks and not clocks:
                continue
            seen.add(name)
            now = getattr(cls, name)
            handlers += [Handler(now, mark.performatives, mark.matcher, True) for mark in marks]
            timers += [(name, timer) for timer in clocks]
    return Table(handlers), timers
