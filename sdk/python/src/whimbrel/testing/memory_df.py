"""Directory facilitator of a platform in memory (FIPA00023 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..acl.aid import Aid
from ..acl.message import Message
from ..acl.values import Atom, Record, Term
from ..agents.directory import record, set_of
from .memory_directory import MemoryDirectory
from .requests import (
    Answers,
    FailureReason,
    Parameters,
    RequestRefusal,
    ServiceRequest,
    finding,
    full_identifier,
    identifier,
)

__all__ = ["MemoryDf"]

_LISTS = ("protocols", "ontologies", "languages")
_ENTRY = ("name", "services", *_LISTS, "lease-time", "scope")
_SERVICE = ("name", "type", *_LISTS, "ownership", "properties")


class _Service(NamedTuple):
    """A service, or a template of services."""

    texts: dict[str, str]
    lists: dict[str, tuple[str, ...]]
    properties: tuple[tuple[str, Any], ...]

    @classmethod
    def read(cls, value: Any) -> _Service:
        given = Parameters(value, "service-description", _SERVICE)
        texts = {name: text for name in ("name", "type", "ownership") if (text := given.text(name))}
        return cls(texts, {name: given.texts(name) for name in _LISTS}, tuple(map(_property, given.all("properties"))))

    def matches(self, service: _Service) -> bool:
        """True if the service has all that this template asks for (6.2.4.1)."""
        return (
            all(service.texts.get(name) == text for name, text in self.texts.items())
            and _all_in(self.lists, service.lists)
            and all(
                any(name == other and (wanted is None or wanted == value) for other, value in service.properties)
                for name, wanted in self.properties
            )
        )

    def to_record(self) -> Record:
        """Encodes the service."""
        properties = [Record("property", {"name": Atom(name), "value": value}) for name, value in self.properties]
        return record(
            "service-description",
            name=_atom(self.texts.get("name")),
            type=_atom(self.texts.get("type")),
            **{name: _atoms(self.lists[name]) for name in _LISTS},
            ownership=_atom(self.texts.get("ownership")),
            properties=set_of(properties),
        )


class _Description(NamedTuple):
    """An entry of the DF, or a template of entries."""

    agent: Aid | None
    services: tuple[_Service, ...]
    lists: dict[str, tuple[str, ...]]
    lease_ms: int | None = None

    @classmethod
    def read(cls, value: Any, home: str, wall_ms: int) -> _Description:
        given = Parameters(value, "df-agent-description", _ENTRY)
        agent = given.optional("name", lambda one: identifier(one, home))
        lease = given.optional("lease-time", lambda one: _lease_ms(one, wall_ms))
        services = tuple(map(_Service.read, given.all("services")))
        return cls(agent, services, {name: given.texts(name) for name in _LISTS}, lease)

    def matches(self, entry: _Description) -> bool:
        """True if the entry has all that this template asks for (6.2.4.1)."""
        return (
            (self.agent is None or self.agent == entry.agent)
            and _all_in(self.lists, entry.lists)
            and all(any(wanted.matches(service) for service in entry.services) for wanted in self.services)
        )

    def to_record(self, platform: str, lease_ends_ms: int | None) -> Record:
        """Encodes the entry."""
        agent = None if self.agent is None else full_identifier(self.agent, platform)
        return record(
            "df-agent-description",
            name=agent,
            services=set_of([service.to_record() for service in self.services]),
            **{name: _atoms(self.lists[name]) for name in _LISTS},
            lease_time=None if lease_ends_ms is None else Term("datetime", lease_ends_ms),
        )


def _atom(text: str | None) -> Atom | None:
    return None if text is None else Atom(text)


def _atoms(texts: tuple[str, ...]) -> Any:
    return set_of(map(Atom, texts))


def _all_in(wanted: dict[str, tuple[str, ...]], offered: dict[str, tuple[str, ...]]) -> bool:
    return all(set(texts) <= set(offered[name]) for name, texts in wanted.items())


def _property(value: Any) -> tuple[str, Any]:
    given = Parameters(value, "property", ("name", "value"))
    name = given.text("name")
    if name is None:
        raise RequestRefusal("missing-parameter", "property", "name")
    return name, given.optional("value", lambda one: one)


def _lease_ms(value: Any, wall_ms: int) -> int | None:
    if isinstance(value, Term) and len(value.args) == 1 and isinstance(value.args[0], (int, float)):
        ms = int(value.args[0])
        if value.functor == "datetime":
            return max(0, ms - wall_ms)
        return ms if value.functor == "duration" else None
    return int(value) if isinstance(value, (int, float)) and value >= 0 else None


class _Entry(NamedTuple):
    description: _Description
    #: End of the lease, in seconds of the platform's clock; None without one.
    ends: float | None


class _Subscription(NamedTuple):
    subscriber: Aid
    template: _Description
    asked: ServiceRequest
    answers: Answers


class MemoryDf(MemoryDirectory):
    """The agent `df`: entries, leases, subscriptions."""

    name = "df"

    def __init__(
        self,
        platform: str,
        send: Callable[[Message], None],
        now: Callable[[], float],
        wall_ms: Callable[[], int],
    ) -> None:
        super().__init__(platform, send)
        self._now = now
        self._wall_ms = wall_ms
        self._entries: dict[Aid, _Entry] = {}
        self._subscriptions: list[_Subscription] = []
        #: Called with the seconds until a lease ends.
        self.on_lease: Callable[[float], None] = lambda _: None

    # ---- Inputs

    def handle_ended(self, agent: Aid) -> None:
        """An agent has ended: its entry and its subscriptions end."""
        self._subscriptions = [one for one in self._subscriptions if one.subscriber != agent]
        if agent in self._entries:
            self._remove(agent)

    def handle_time(self) -> None:
        """Removes entries whose lease is over."""
        for agent, entry in list(self._entries.items()):
            if entry.ends is not None and entry.ends <= self._now():
                self._remove(agent)

    # ---- Requests

    def _answer(self, message: Message, answers: Answers) -> None:
        if message.performative == "cancel":
            self._cancel(message, answers)
        elif message.performative == "subscribe":
            self._subscribe(self._asked(message, is_question=True), answers)
        else:
            super()._answer(message, answers)

    def _query(self, asked: ServiceRequest) -> tuple[_Description, int | None]:
        template, most = asked.search("df-agent-description")
        return _Description.read(template, self._platform, self._wall_ms()), most

    def _read(self, asked: ServiceRequest, sender: Aid) -> Callable[[], Any]:
        """Returns what a request does. Raises RequestRefusal."""
        function = asked.function
        if function == "search":
            template, most = self._query(asked)
            return lambda: Term("set", *self._found(template)[:most])
        if function not in ("register", "deregister", "modify"):
            raise RequestRefusal("unsupported-function", function)
        description = _Description.read(asked.only("df-agent-description"), self._platform, self._wall_ms())
        agent = description.agent
        if agent is None:
            raise RequestRefusal("missing-parameter", "df-agent-description", "name")
        if agent != sender:
            raise RequestRefusal("unauthorised")
        return lambda: self._change(function, agent, description)

    def _change(self, function: str, agent: Aid, description: _Description) -> None:
        self.handle_time()
        known = agent in self._entries
        if function == "register" and known:
            raise FailureReason("already-registered")
        if function != "register" and not known:
            raise FailureReason("not-registered")
        if function == "deregister":
            return self._remove(agent)
        lease_ms = description.lease_ms
        ends = None if lease_ms is None else self._now() + lease_ms / 1000
        old = self._entries.get(agent)
        self._entries[agent] = _Entry(description, ends)
        if lease_ms is not None:
            self.on_lease(lease_ms / 1000)
        self._tell(agent, old.description if old else None)
        return None

    def _remove(self, agent: Aid) -> None:
        self._tell(agent, self._entries.pop(agent).description)

    def _found(self, template: _Description) -> list[Record]:
        self.handle_time()
        return [self._frame(entry) for entry in self._entries.values() if template.matches(entry.description)]

    def _frame(self, entry: _Entry) -> Record:
        ends = None if entry.ends is None else self._wall_ms() + round((entry.ends - self._now()) * 1000)
        return entry.description.to_record(self._platform, ends)

    # ---- Subscriptions

    def _subscribe(self, asked: ServiceRequest, answers: Answers) -> None:
        try:
            self._check_question(asked)
            template, _ = self._query(asked)
        except RequestRefusal as reason:
            return answers.refuse(asked, reason)
        answers.agree(asked)
        subscription = _Subscription(answers.message.sender, template, asked, answers)
        found = self._found(template)
        if found:
            self._notify(subscription, found)
        self._subscriptions.append(subscription)
        return None

    def _cancel(self, message: Message, answers: Answers) -> None:
        def is_meant(one: _Subscription) -> bool:
            opened = one.answers.message.conversation_id
            return one.subscriber == message.sender and opened == message.conversation_id

        left = [one for one in self._subscriptions if not is_meant(one)]
        was_there = len(left) < len(self._subscriptions)
        self._subscriptions = left
        asked = answers.cancelled()
        if was_there:
            answers.report(asked)
        else:
            answers.fail(asked, FailureReason("not-registered"))

    def _tell(self, agent: Aid, old: _Description | None) -> None:
        """Tells the subscribers that an entry changed."""
        new = self._entries.get(agent)
        for one in list(self._subscriptions):
            did = old is not None and one.template.matches(old)
            does = new is not None and one.template.matches(new.description)
            if new is not None and does and not (did and old == new.description):
                self._notify(one, [self._frame(new)])
            elif did and not does:
                gone = _Description(agent, (), dict.fromkeys(_LISTS, ()))
                self._notify(one, [gone.to_record(self._platform, None)])

    def _notify(self, one: _Subscription, found: list[Record]) -> None:
        self._send(one.answers.reply("inform", [finding(one.asked, Term("set", *found))]))
