"""Directory facilitator: the directory of services (yellow pages)."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..acl.aid import Aid, AidLike
from ..acl.values import Record, Term
from .directory import (
    ONTOLOGY,
    action_of,
    agent_identifier,
    agent_of,
    elements_of,
    field,
    perform,
    record,
    result_of,
    search,
    set_of,
    text_of,
    texts_of,
)
from .errors import error_of
from .limits import ANSWER_S
from .messaging import Conversation

if TYPE_CHECKING:
    from .messaging import Messaging

__all__ = ["Change", "Df", "Entry", "Service", "Subscription"]


class Service(NamedTuple):
    """A service that an agent offers, or searches for (`service-description`)."""

    type: str | None = None
    name: str | None = None
    protocols: tuple[str, ...] = ()
    ontologies: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    ownership: str | None = None
    properties: Mapping[str, Any] = MappingProxyType({})

    def to_record(self) -> Record:
        """Encodes the service."""
        properties = [Record("property", {"name": key, "value": value}) for key, value in self.properties.items()]
        return record(
            "service-description",
            name=self.name,
            type=self.type,
            protocols=set_of(self.protocols),
            ontologies=set_of(self.ontologies),
            languages=set_of(self.languages),
            ownership=self.ownership,
            properties=set_of(properties),
        )

    @classmethod
    def of(cls, value: Any) -> Service:
        """Decodes a service."""
        properties = {
            key: field(one, "value")
            for one in elements_of(field(value, "properties"))
            if (key := text_of(field(one, "name"))) is not None
        }
        return cls(
            type=text_of(field(value, "type")),
            name=text_of(field(value, "name")),
            protocols=tuple(texts_of(field(value, "protocols"))),
            ontologies=tuple(texts_of(field(value, "ontologies"))),
            languages=tuple(texts_of(field(value, "languages"))),
            ownership=text_of(field(value, "ownership")),
            properties=properties,
        )


class Entry(NamedTuple):
    """An entry of the DF."""

    agent: Aid
    services: tuple[Service, ...] = ()
    protocols: tuple[str, ...] = ()
    ontologies: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    #: Expiry in milliseconds since 1970; None if the entry lives as long as the agent.
    lease_until_ms: int | None = None

    @property
    def aid(self) -> Aid:
        """Identifier of the agent, so that the entry stands for it as a receiver."""
        return self.agent

    def _repr_html_(self) -> str:
        from ..html import listing, table

        rows = [("protocols", self.protocols), ("ontologies", self.ontologies), ("languages", self.languages)]
        services = [(one.type, one.name, dict(one.properties) or None) for one in self.services]
        listed = listing(("type", "name", "properties"), services) if services else ""
        return table(f"DF entry of {self.agent}", rows) + listed

    @classmethod
    def of(cls, value: Any, home: str) -> Entry | None:
        """Decodes an entry; None if it names no agent."""
        agent = agent_of(field(value, "name"), home)
        if agent is None:
            return None
        lease = field(value, "lease-time")
        is_moment = isinstance(lease, Term) and lease.functor == "datetime"
        return cls(
            agent,
            tuple(map(Service.of, elements_of(field(value, "services")))),
            tuple(texts_of(field(value, "protocols"))),
            tuple(texts_of(field(value, "ontologies"))),
            tuple(texts_of(field(value, "languages"))),
            lease.args[0] if is_moment else None,
        )


class Change(NamedTuple):
    """A change that a subscriber is notified of."""

    agent: Aid
    #: The new entry; None if it does not match any more.
    entry: Entry | None


def _description(
    agent: AidLike | None,
    services: Iterable[Service],
    protocols: Iterable[str],
    ontologies: Iterable[str],
    languages: Iterable[str],
    lease: float | datetime.timedelta | None,
) -> Record:
    seconds = lease.total_seconds() if isinstance(lease, datetime.timedelta) else lease
    return record(
        "df-agent-description",
        name=None if agent is None else agent_identifier(agent),
        services=set_of([service.to_record() for service in services]),
        protocols=set_of(protocols),
        ontologies=set_of(ontologies),
        languages=set_of(languages),
        lease_time=None if seconds is None else Term("duration", round(seconds * 1000)),
    )


def _services(service: Service | str | None, type_: str | None, name: str | None, properties: Any) -> list[Service]:
    if isinstance(service, Service):
        return [service]
    kind = type_ if service is None else service
    if kind is None and name is None and not properties:
        return []
    return [Service(kind, name, properties=properties or {})]


class Df:
    """The directory of services, for one agent: `agent.df`."""

    def __init__(self, agent: Messaging) -> None:
        self._agent = agent

    async def register(
        self,
        service: Service | str | None = None,
        *more: Service,
        name: str | None = None,
        properties: Mapping[str, Any] | None = None,
        protocols: Iterable[str] = (),
        ontologies: Iterable[str] = (),
        languages: Iterable[str] = (),
        lease: float | datetime.timedelta | None = None,
        timeout: float | None = ANSWER_S,
    ) -> None:
        """Registers this agent's services: `await self.df.register("weather")`, or whole services.

        `lease` is the lifetime of the entry in seconds; that of the agent by default.

        Raises FailureError if the agent is registered already: `modify` changes the entry.
        """
        services = [*_services(service, None, name, properties), *more]
        await self._perform("register", services, protocols, ontologies, languages, lease, timeout)

    async def modify(
        self,
        service: Service | str | None = None,
        *more: Service,
        name: str | None = None,
        properties: Mapping[str, Any] | None = None,
        protocols: Iterable[str] = (),
        ontologies: Iterable[str] = (),
        languages: Iterable[str] = (),
        lease: float | datetime.timedelta | None = None,
        timeout: float | None = ANSWER_S,
    ) -> None:
        """Replaces the agent's entry."""
        services = [*_services(service, None, name, properties), *more]
        await self._perform("modify", services, protocols, ontologies, languages, lease, timeout)

    async def deregister(self, timeout: float | None = ANSWER_S) -> None:
        """Removes the agent's entry."""
        await self._perform("deregister", (), (), (), (), None, timeout)

    async def _perform(
        self,
        function: str,
        services: Iterable[Service],
        protocols: Iterable[str],
        ontologies: Iterable[str],
        languages: Iterable[str],
        lease: float | datetime.timedelta | None,
        timeout: float | None,
    ) -> None:
        own = _description(self._agent.full_name, services, protocols, ontologies, languages, lease)
        await perform(self._agent, "df", Term(function, own), timeout)

    async def search(
        self,
        service: Service | str | None = None,
        *,
        name: str | None = None,
        properties: Mapping[str, Any] | None = None,
        agent: AidLike | None = None,
        protocols: Iterable[str] = (),
        ontologies: Iterable[str] = (),
        languages: Iterable[str] = (),
        max_results: int | None = None,
        timeout: float | None = ANSWER_S,
    ) -> list[Entry]:
        """Returns the entries that match all that is given, in the order of registration."""
        services = _services(service, None, name, properties)
        template = _description(agent, services, protocols, ontologies, languages, None)
        home = self._agent.platform.name
        found = await search(self._agent, "df", template, max_results, timeout)
        return [entry for value in found if (entry := Entry.of(value, home)) is not None]

    def subscribe(
        self,
        service: Service | str | None = None,
        *,
        name: str | None = None,
        properties: Mapping[str, Any] | None = None,
        agent: AidLike | None = None,
        protocols: Iterable[str] = (),
        ontologies: Iterable[str] = (),
        languages: Iterable[str] = (),
        timeout: float | None = ANSWER_S,
    ) -> Subscription:
        """Subscribes to changes: of each matching entry, present or future, and when one stops matching.

        ``async with self.df.subscribe("weather") as changes: async for change in changes: ...``
        """
        services = _services(service, None, name, properties)
        template = _description(agent, services, protocols, ontologies, languages, None)
        return Subscription(self._agent, template, timeout)


class Subscription:
    """Changes in the DF, as an asynchronous iterator. Leaving its block ends the subscription; so does the agent's end.

    A loop without a block subscribes at its beginning.
    """

    def __init__(self, agent: Messaging, template: Record, timeout: float | None) -> None:
        self._agent = agent
        self._template = template
        self._timeout = timeout
        self._talk: Conversation | None = None
        self._changes: deque[Change] = deque()

    async def __aenter__(self) -> Subscription:
        """Subscribes. Raises RefuseError if the DF refuses."""
        content = action_of("df", Term("search", self._template))
        talk = self._talk = self._agent.conversation(
            "df", content, "subscribe", protocol="fipa-subscribe", ontology=ONTOLOGY
        )
        try:
            error = error_of(await talk.next(self._timeout))
            if error is not None:
                raise error
        except BaseException:
            # The DF may still agree after a deadline.
            self.cancel()
            raise
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.cancel()

    def cancel(self) -> None:
        """Ends the subscription."""
        talk, self._talk = self._talk, None
        if talk is None:
            return
        if self._agent.is_alive:
            talk.send("df", None, "cancel")
        talk.give_up()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Change:
        """Waits for the next change."""
        if self._talk is None:
            await self.__aenter__()
        while not self._changes:
            if self._talk is None:
                raise StopAsyncIteration
            message = await self._talk.__anext__()
            home = self._agent.platform.name
            for value in elements_of(result_of(message.content)):
                entry = Entry.of(value, home)
                if entry is not None:
                    is_gone = not any((entry.services, entry.protocols, entry.ontologies, entry.languages))
                    self._changes.append(Change(entry.agent, None if is_gone else entry))
        return self._changes.popleft()
