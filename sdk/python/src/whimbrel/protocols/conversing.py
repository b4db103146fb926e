"""Part of an agent that initiates conversations by FIPA's interaction protocols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..acl.aid import AidLike
from ..acl.message import Message
from ..agents.limits import ANSWER_S
from ..agents.serving import Serving
from . import auctions, brokers, initiating
from .auctions import Sale
from .brokers import Answer
from .initiating import ContractNet, Decision, Feed
from .talk import Talk

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..agents.messaging import Parameters

__all__ = ["Conversing"]


class Conversing(Serving):
    """Part of an agent that initiates conversations. `deadline` is in seconds: others read it as `reply-by`."""

    async def request(
        self, action: Any, to: AidLike, *, deadline: float | None = ANSWER_S, **parameters: Unpack[Parameters]
    ) -> Message:
        """Requests an action (FIPA-Request), and waits until it is done. After the deadline it is cancelled.

        Raises RefuseError, FailureError or NotUnderstoodError for such answers, ProtocolError if the other agent breaks
        the protocol, DeadlineError if there is no result in time.
        """
        return await initiating.ask_one(self, "fipa-request", "request", action, to, deadline, parameters)

    async def query_ref(
        self, what: Any, to: AidLike, *, deadline: float | None = ANSWER_S, **parameters: Unpack[Parameters]
    ) -> Message:
        """Asks for a value (FIPA-Query). Errors are as in `request`."""
        return await initiating.ask_one(self, "fipa-query", "query-ref", what, to, deadline, parameters)

    async def query_if(
        self, proposition: Any, to: AidLike, *, deadline: float | None = ANSWER_S, **parameters: Unpack[Parameters]
    ) -> Message:
        """Asks whether something is so (FIPA-Query). Errors are as in `request`."""
        return await initiating.ask_one(self, "fipa-query", "query-if", proposition, to, deadline, parameters)

    async def request_when(
        self, action: Any, to: AidLike, *, deadline: float | None = None, **parameters: Unpack[Parameters]
    ) -> Message:
        """Requests an action for when its condition holds (FIPA-Request-When), and waits until it is done. Errors are
        as in `request`.
        """
        return await initiating.ask_one(self, "fipa-request-when", "request-when", action, to, deadline, parameters)

    async def propose(
        self, what: Any, to: AidLike, *, deadline: float | None = ANSWER_S, **parameters: Unpack[Parameters]
    ) -> Decision:
        """Proposes to do something (FIPA-Propose). The decision is true if the other agent accepts.

        ``if await self.propose("I water the garden", to="owner"): ...``
        """
        return await initiating.propose(self, what, to, deadline, parameters)

    async def contract_net(
        self,
        task: Any,
        to: AidLike | Iterable[AidLike],
        *,
        deadline: float | None = ANSWER_S,
        **parameters: Unpack[Parameters],
    ) -> ContractNet:
        """Calls for proposals (FIPA-Contract-Net), and waits until all have answered, or until the deadline. Accept the
        best by `await net.accept(proposal)`: that rejects all others.
        """
        net = ContractNet(Talk(self, "fipa-contract-net", to, parameters))
        await net.call(task, None, deadline)
        return net

    async def iterated_contract_net(
        self,
        task: Any,
        to: AidLike | Iterable[AidLike],
        *,
        deadline: float | None = ANSWER_S,
        **parameters: Unpack[Parameters],
    ) -> ContractNet:
        """Calls for proposals (FIPA-Iterated-Contract-Net), as `contract_net` does. `await net.again(...)` is the next
        round.
        """
        net = ContractNet(Talk(self, "fipa-iterated-contract-net", to, parameters))
        await net.call(task, None, deadline)
        return net

    def subscribe(
        self, what: Any, to: AidLike, *, deadline: float | None = ANSWER_S, **parameters: Unpack[Parameters]
    ) -> Feed:
        """Subscribes to another agent's informs (FIPA-Subscribe), until the block is left.

        ``async with self.subscribe("price of tea", to="shop") as prices: async for price in prices: ...``
        """
        return Feed(self, what, to, deadline, parameters)

    async def broker(
        self,
        content: Any,
        service: str,
        to: AidLike,
        *,
        performative: str = "request",
        max_results: int | None = 1,
        deadline: float | None = ANSWER_S,
        **parameters: Unpack[Parameters],
    ) -> list[Answer]:
        """Has a broker ask agents that offer a service (FIPA-Brokering), and return their answers. Errors are as in
        `request`.
        """
        given = brokers.proxied(service, performative, content, max_results)
        return await brokers.broker(self, given, to, deadline, parameters)

    async def recruit(
        self,
        content: Any,
        service: str,
        to: AidLike,
        *,
        performative: str = "request",
        max_results: int | None = 1,
        deadline: float | None = ANSWER_S,
        **parameters: Unpack[Parameters],
    ) -> list[Answer]:
        """Has a recruiter pass a message to agents that offer a service (FIPA-Recruiting). They answer this agent
        directly. Errors are as in `request`.
        """
        given = brokers.proxied(service, performative, content, max_results)
        return await brokers.recruit(self, given, to, deadline, parameters)

    async def english_auction(
        self,
        goods: Any,
        to: AidLike | Iterable[AidLike],
        *,
        start: float,
        step: float,
        reserve: float | None = None,
        deadline: float = 1.0,
        **parameters: Unpack[Parameters],
    ) -> Sale:
        """Auctions goods (FIPA-English-Auction): the price rises by `step` as long as somebody bids. `deadline` is the
        time for the bids on one price. Below the `reserve` the goods are not sold.
        """
        return await auctions.english_auction(self, goods, to, start, step, reserve, deadline, parameters)

    async def dutch_auction(
        self,
        goods: Any,
        to: AidLike | Iterable[AidLike],
        *,
        start: float,
        step: float,
        reserve: float = 0,
        deadline: float = 1.0,
        **parameters: Unpack[Parameters],
    ) -> Sale:
        """Auctions goods (FIPA-Dutch-Auction): the price falls by `step` until somebody takes it. `deadline` is the
        time for one price. Below the `reserve` the goods are not sold.
        """
        return await auctions.dutch_auction(self, goods, to, start, step, reserve, deadline, parameters)
