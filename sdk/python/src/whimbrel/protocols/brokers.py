"""Initiators of brokering and recruiting: other agents find the agents that answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..acl.aid import Aid, AidLike
from ..acl.values import Record
from ..agents.errors import DeadlineError
from .initiating import ask_one
from .machine import INITIATOR, Machine, ProtocolError, protocol
from .talk import Talk

if TYPE_CHECKING:
    from ..agents.messaging import Messaging

__all__ = ["PROTOCOLS", "Answer"]

#: Protocols of the messages that may be passed on.
PROTOCOLS = {"request": "fipa-request", "query-if": "fipa-query", "query-ref": "fipa-query"}


class Answer(NamedTuple):
    """Answer of an agent that a broker or a recruiter found."""

    agent: Aid
    content: Any


def proxied(service: str, performative: str, content: Any, max_results: int | None) -> dict[str, Any]:
    """Builds the content of `proxy`: the agents to find, and the message for them."""
    if performative not in PROTOCOLS:
        raise ProtocolError(f"{performative} cannot be passed on: {', '.join(PROTOCOLS)} can")
    return {"service": service, "performative": performative, "content": content, "max": max_results}


async def broker(
    agent: Messaging, given: dict[str, Any], to: AidLike, deadline: float | None, parameters: Any
) -> list[Answer]:
    """Has a broker ask others. Returns their answers."""
    answer = await ask_one(agent, "fipa-brokering", "proxy", given, to, deadline, parameters)
    return [Answer(Aid.of(one["agent"]), one["content"]) for one in answer.content if isinstance(one, (dict, Record))]


async def recruit(
    agent: Messaging, given: dict[str, Any], to: AidLike, deadline: float | None, parameters: Any
) -> list[Answer]:
    """Has a recruiter pass a message on to others, who answer this agent. Returns their answers."""
    inner = protocol(PROTOCOLS[given["performative"]])
    talk = Talk(agent, inner.name, agent.aid, {})
    expected = Machine(inner, INITIATOR)
    question = talk.id
    expected.send(given["performative"], 0, reply_with=question)
    agent._conversations.expect(talk.id, expected)
    try:
        passed = {**given, "conversation": talk.id, "reply_with": question}
        answer = await ask_one(agent, "fipa-recruiting", "proxy", passed, to, deadline, parameters)
        recruited = [Aid.of(one) for one in answer.content]
        talk.to = tuple(recruited)
        await talk.until(lambda: talk.is_over, deadline)
    finally:
        talk.close()
    good = [Answer(one, talk.last[one].content) for one in recruited if talk.state(one) == "done"]
    if not good:
        error = next((found for one in recruited if (found := talk.error(one)) is not None), None)
        raise error or DeadlineError(f"no recruited agent answered within {deadline:g} s")
    return good
