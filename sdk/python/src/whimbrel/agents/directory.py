"""Requests to the agents `df` and `ams`: docs/reference/fipa-agent-management.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..acl.aid import Aid, AidLike
from ..acl.errors import WhimbrelError
from ..acl.values import Atom, Record, Term

if TYPE_CHECKING:
    from .messaging import Messaging

#: Ontology of both agents.
ONTOLOGY = "fipa-agent-management"


def record(type_name: str, /, **fields: Any) -> Record:
    """Creates a record. Fields that are None are left out; `_` stands for `-`."""
    return Record(type_name, {key.replace("_", "-"): value for key, value in fields.items() if value is not None})


def agent_identifier(agent: AidLike) -> Record:
    """Encodes an agent identifier."""
    aid = Aid.of(agent)
    return record(
        "agent-identifier",
        name=str(aid),
        addresses=list(aid.addresses) or None,
        resolvers=[agent_identifier(one) for one in aid.resolvers] or None,
    )


def field(value: Any, name: str) -> Any:
    """Returns a field of a record or dict; None if there is none."""
    return value.get(name) if isinstance(value, Mapping) else None


def text_of(value: Any) -> str | None:
    """Returns a text, or the name of an atom; None for other values."""
    if isinstance(value, str):
        return value
    return value.name if isinstance(value, Atom) else None


def agent_of(value: Any, home: str) -> Aid | None:
    """Decodes an agent identifier, or a plain name. Agents of the platform `home` are named locally, as senders are."""
    name = text_of(value) or text_of(field(value, "name"))
    aid = Aid.parse(name) if name else None
    return Aid.of(aid.name) if aid is not None and aid.platform == home else aid


def set_of(items: Iterable[Any] | None) -> Any:
    """Encodes a set; None if it is empty."""
    given = list(items or ())
    return Term("set", *given) if given else None


def elements_of(value: Any) -> list[Any]:
    """Returns the elements of a set, a list, or a single element."""
    if value is None:
        return []
    if isinstance(value, Term) and value.functor == "set":
        return list(value.args)
    return value if isinstance(value, list) else [value]


def texts_of(value: Any) -> list[str]:
    """Returns the text elements of a set."""
    return [text for text in map(text_of, elements_of(value)) if text is not None]


def action_of(service: str, what: Any) -> list[Any]:
    """Returns the content `action(Service, Function)`."""
    return [Term("action", agent_identifier(service), what)]


def result_of(content: Any) -> Any:
    """Returns the result in `[result(Action, Result)]`."""
    expression = content[0] if isinstance(content, list) and content else content
    if isinstance(expression, Term) and expression.functor == "result" and len(expression.args) == 2:
        return expression.args[1]
    return None


async def perform(agent: Messaging, service: str, what: Any, timeout: float | None) -> Any:
    """Requests an action of `df` or `ams`. Returns its result; None if it has none."""
    answer = await agent.ask(
        service,
        action_of(service, what),
        timeout=timeout,
        protocol="fipa-request",
        ontology=ONTOLOGY,
    )
    return result_of(answer.content)


async def search(
    agent: Messaging, service: str, template: Record, max_results: int | None, timeout: float | None
) -> list[Any]:
    """Searches `df` or `ams`."""
    constraints = () if max_results is None else (Record("search-constraints", {"max-results": max_results}),)
    result = await perform(agent, service, Term("search", template, *constraints), timeout)
    if result is None:
        raise WhimbrelError(f"invalid answer of {service}: a search without a result")
    return elements_of(result)
