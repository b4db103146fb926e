"""Agent management system: the directory of agents (white pages)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from ..acl.aid import Aid, AidLike
from ..acl.values import Atom, Record, Term
from .directory import agent_identifier, agent_of, field, perform, record, search, text_of
from .errors import EndedError
from .limits import ANSWER_S

if TYPE_CHECKING:
    from .messaging import Messaging

__all__ = ["AgentDescription", "AgentState", "Ams"]

#: State of an agent's life (FIPA00023 5.1).
AgentState = Literal["initiated", "active", "suspended", "waiting", "transit"]


class AgentDescription(NamedTuple):
    """An agent's entry in the AMS. Agents of other nodes have no state and owner here."""

    agent: Aid
    ownership: str | None = None
    state: str | None = None

    @property
    def aid(self) -> Aid:
        """Identifier of the agent, so that the entry stands for it as a receiver."""
        return self.agent

    def _repr_html_(self) -> str:
        from ..html import table

        return table(f"AMS entry of {self.agent}", [("ownership", self.ownership), ("state", self.state)])


class Ams:
    """The directory of agents, for one agent: `agent.ams`."""

    def __init__(self, agent: Messaging) -> None:
        self._agent = agent

    async def search(
        self,
        name: str | None = None,
        *,
        ownership: str | None = None,
        state: AgentState | None = None,
        max_results: int | None = None,
        timeout: float | None = ANSWER_S,
    ) -> list[AgentDescription]:
        """Searches for agents: those of the node in the order of creation, then those of other nodes by name. The name
        may have the wildcards `*` and `?`.
        """
        template = record(
            "ams-agent-description",
            name=None if name is None else Record("agent-identifier", name=name),
            ownership=ownership,
            state=None if state is None else Atom(state),
        )
        found = await search(self._agent, "ams", template, max_results, timeout)
        home = self._agent.platform.name
        return [
            AgentDescription(agent, text_of(field(value, "ownership")), text_of(field(value, "state")))
            for value in found
            if (agent := agent_of(field(value, "name"), home)) is not None
        ]

    async def platform_name(self, timeout: float | None = ANSWER_S) -> str | None:
        """Returns the platform's name."""
        return text_of(field(await perform(self._agent, "ams", Atom("get-description"), timeout), "name"))

    async def set_state(self, agent: AidLike, state: AgentState, timeout: float | None = ANSWER_S) -> None:
        """Changes the state of an agent: of this one, or of one that it owns."""
        described = record("ams-agent-description", name=agent_identifier(agent), state=Atom(state))
        await perform(self._agent, "ams", Term("modify", described), timeout)

    async def suspend(self, agent: AidLike, timeout: float | None = ANSWER_S) -> None:
        """Suspends an agent that this one owns, or itself: it gets no turns until it is resumed."""
        await self.set_state(agent, "suspended", timeout)

    async def resume(self, agent: AidLike, timeout: float | None = ANSWER_S) -> None:
        """Resumes a suspended agent."""
        await self.set_state(agent, "active", timeout)

    async def kill(self, agent: AidLike, timeout: float | None = ANSWER_S) -> None:
        """Ends an agent: this one, or one that it owns."""
        described = record("ams-agent-description", name=agent_identifier(agent))
        try:
            await perform(self._agent, "ams", Term("deregister", described), timeout)
        except EndedError:
            # An agent that ends itself gets no answer.
            if Aid.of(agent) != self._agent.aid:
                raise

    async def join(self, name: str, timeout: float | None = ANSWER_S) -> None:
        """Subscribes to a topic, `topic:weather`, or joins a group, `group:crew`."""
        await perform(self._agent, "ams", Term("join", agent_identifier(name)), timeout)

    async def leave(self, name: str, timeout: float | None = ANSWER_S) -> None:
        """Leaves a topic or group."""
        await perform(self._agent, "ams", Term("leave", agent_identifier(name)), timeout)
