"""Initiators of request, query, request-when, propose, contract net and subscribe."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..acl.aid import Aid, AidLike
from ..acl.errors import WhimbrelError
from ..acl.message import Message
from ..agents.errors import DeadlineError, error_of
from ..agents.limits import ANSWER_S
from .machine import ProtocolError
from .talk import Talk

if TYPE_CHECKING:
    from ..agents.messaging import Messaging

__all__ = ["ContractNet", "Decision", "Feed", "ask_one"]


async def ask_one(
    agent: Messaging,
    protocol: str,
    performative: str,
    content: Any,
    to: AidLike,
    deadline: float | None,
    parameters: Any,
) -> Message:
    """Asks one agent by a protocol in which it answers once. Returns the good answer.

    Raises the error for another answer. After the deadline the conversation is cancelled, and DeadlineError raised.
    """
    talk = Talk(agent, protocol, to, parameters)
    (other,) = talk.to
    try:
        talk.say(performative, content, deadline=deadline)
        is_over = await talk.until(lambda: talk.is_over, deadline)
        if talk.state(other) == "silent":
            raise DeadlineError(f"{other} did not answer within {deadline:g} s")
        if not is_over:
            raise DeadlineError(f"{other} agreed, and did not deliver within {deadline:g} s")
    except BaseException:
        talk.cancel()
        raise
    finally:
        talk.close()
    error = talk.error(other)
    if error is not None:
        raise error
    return talk.last[other]


class Decision(NamedTuple):
    """Decision on a proposal. It is true if the proposal was accepted."""

    accepted: bool
    message: Message

    def __bool__(self) -> bool:
        return self.accepted


async def propose(agent: Messaging, content: Any, to: AidLike, deadline: float | None, parameters: Any) -> Decision:
    """Proposes something to an agent, and returns its decision."""
    talk = Talk(agent, "fipa-propose", to, parameters)
    (other,) = talk.to
    try:
        talk.say("propose", content, deadline=deadline)
        await talk.until(lambda: talk.is_over, deadline)
    except BaseException:
        talk.cancel()
        raise
    finally:
        talk.close()
    if talk.state(other) in ("accepted", "rejected"):
        return Decision(talk.state(other) == "accepted", talk.last[other])
    error = talk.error(other)
    assert error is not None
    raise error


class ContractNet:
    """A contract net whose calls are answered: proposals, refusals, and agents that did not answer.

    >>> net = await self.contract_net("paint the fence", to=painters, deadline=2)
    >>> best = min(net.proposals, key=lambda proposal: proposal.content["price"])
    >>> result = await net.accept(best)
    """

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    async def call(self, task: Any, to: Iterable[Aid] | None, deadline: float | None) -> None:
        """Calls for proposals, and waits until all have answered, or the deadline."""
        talk = self._talk
        try:
            talk.say("cfp", task, to, deadline)
            if any(other.name.startswith(("group:", "topic:")) for other in talk.to):
                # The members are not known: all the time is theirs.
                await talk.until(lambda: False, deadline)
            else:
                await talk.until(lambda: not talk.among("called"), deadline)
        except BaseException:
            self.cancel()
            raise
        if talk.is_over:
            talk.close()

    # ---- Answers

    @property
    def proposals(self) -> list[Message]:
        """Proposals that are neither accepted nor rejected yet, in the order of their arrival."""
        talk = self._talk
        open_ones = [talk.last[other] for other in talk.among("proposed")]
        return sorted(open_ones, key=talk.heard.index)

    @property
    def refusals(self) -> list[Message]:
        """Answers `refuse`, `failure` and `not-understood`, in the order of their arrival."""
        return [message for message in self._talk.heard if message.is_negative]

    @property
    def silent(self) -> list[Aid]:
        """Agents that did not answer before the deadline."""
        return self._talk.among("silent")

    @property
    def broken(self) -> list[Aid]:
        """Agents that broke the protocol."""
        return self._talk.among("broken")

    # ---- Decisions

    async def accept(self, proposal: Message, content: Any = None, deadline: float | None = ANSWER_S) -> Message:
        """Accepts a proposal, rejects all others, and waits for the result.

        Raises FailureError if the work fails, DeadlineError if there is no result in time.
        """
        (result,) = (await self._award([proposal], content, deadline)).values()
        if isinstance(result, WhimbrelError):
            raise result
        return result

    async def accept_all(
        self, proposals: Iterable[Message], content: Any = None, deadline: float | None = ANSWER_S
    ) -> dict[Aid, Message | WhimbrelError]:
        """Accepts several proposals and rejects the others. Returns the result of each agent, or its error."""
        return await self._award(list(proposals), content, deadline)

    async def _award(
        self, proposals: list[Message], content: Any, deadline: float | None
    ) -> dict[Aid, Message | WhimbrelError]:
        talk = self._talk
        for proposal in proposals:
            if not isinstance(proposal, Message):
                raise ProtocolError(f"{proposal!r} is no proposal: accept messages of `net.proposals`")
        winners = [proposal.sender for proposal in proposals]
        for winner in winners:
            # The machine says what is wrong before anybody is rejected.
            machine = talk.machine(winner)
            if machine is None:
                raise ProtocolError(f"{winner} takes no part in this contract net")
            if machine.state != "proposed":
                raise ProtocolError(f"the proposal of {winner} cannot be accepted: the conversation is {machine.state}")
        self.reject([one for one in self.proposals if one.sender not in winners])
        try:
            for winner in winners:
                talk.say("accept-proposal", content, [winner], deadline)
            await talk.until(lambda: not talk.among("accepted"), deadline)
        except BaseException:
            self.cancel()
            raise
        finally:
            talk.close()
        return {winner: talk.error(winner) or talk.last[winner] for winner in winners}

    def reject(self, proposals: Iterable[Message] | None = None, content: Any = None) -> None:
        """Rejects proposals; all that are open, without any given."""
        given = self.proposals if proposals is None else proposals
        for proposal in list(given):
            self._talk.say("reject-proposal", content, [proposal.sender])
        if self._talk.is_over:
            self._talk.close()

    async def again(
        self, task: Any, proposals: Iterable[Message] | None = None, deadline: float | None = ANSWER_S
    ) -> ContractNet:
        """Calls those again who made these proposals, or all open ones; rejects the others. Only in an iterated
        contract net.
        """
        if self._talk.protocol.name != "fipa-iterated-contract-net":
            raise ProtocolError("a contract net has one round: use iterated_contract_net")
        chosen = self.proposals if proposals is None else list(proposals)
        called = [proposal.sender for proposal in chosen]
        self.reject([one for one in self.proposals if one.sender not in called])
        await self.call(task, called, deadline)
        return self

    def cancel(self) -> None:
        """Cancels the contract net with all agents with whom it goes on."""
        self._talk.cancel()
        self._talk.close()


class Feed:
    """A subscription to another agent's informs, as an asynchronous iterator. Leaving its block cancels it.

    ``async with self.subscribe("price of tea", to="shop") as prices: async for price in prices: ...``
    """

    def __init__(self, agent: Messaging, content: Any, to: AidLike, deadline: float | None, parameters: Any) -> None:
        self._given = (agent, content, to, deadline, parameters)
        self._talk: Talk | None = None
        self._taken = 0

    async def __aenter__(self) -> Feed:
        """Subscribes. Raises RefuseError if the other agent refuses."""
        agent, content, to, deadline, parameters = self._given
        talk = self._talk = Talk(agent, "fipa-subscribe", to, parameters)
        (other,) = talk.to
        try:
            talk.say("subscribe", content, deadline=deadline)
            await talk.until(lambda: talk.state(other) != "subscribed", deadline)
        except BaseException:
            self._leave()
            raise
        error = talk.error(other)
        # A subscription that was agreed to, and failed since, fails after its informs.
        if error is not None and not any(one.performative in ("agree", "inform") for one in talk.heard):
            talk.close()
            raise error
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._talk is not None:
            self._talk.cancel()
            self._talk.close()

    async def cancel(self, deadline: float | None = ANSWER_S) -> None:
        """Cancels the subscription, and waits for the confirmation.

        Raises FailureError if the other agent cannot cancel it.
        """
        talk = self._talk
        if talk is None or talk.is_over:
            return
        talk.cancel(deadline)
        await talk.until(lambda: talk.is_over, deadline)
        talk.close()
        (other,) = talk.to
        if talk.state(other) == "cancel-failed":
            error = error_of(talk.last[other])
            assert error is not None
            raise error

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        """Waits for the next inform. The loop ends when the subscription is cancelled.

        Raises FailureError if the other agent cannot inform any more, EndedError if this agent ends.
        """
        if self._talk is None:
            await self.__aenter__()
        talk = self._talk
        assert talk is not None
        (other,) = talk.to

        def has_more() -> bool:
            return len(talk.heard) > self._taken or talk.state(other) != "active"

        while True:
            while self._taken < len(talk.heard):
                message = talk.heard[self._taken]
                self._taken += 1
                if self._taken > 100:
                    # What was taken is not needed any more.
                    del talk.heard[: self._taken]
                    self._taken = 0
                # The last inform of a cancelled subscription confirms the cancel.
                is_farewell = talk.state(other) == "cancelled" and message is talk.last[other]
                if message.performative == "inform" and not is_farewell:
                    return message
            if talk.state(other) != "active":
                error = talk.error(other)
                if error is None or talk.state(other) in ("cancelled", "cancelling"):
                    raise StopAsyncIteration
                raise error
            await talk.until(has_more)
