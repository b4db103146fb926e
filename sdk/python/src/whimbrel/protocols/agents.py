"""Ready-made participants: bidders, brokers and recruiters."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ..acl.aid import aids
from ..acl.errors import WhimbrelError
from ..acl.message import Message
from ..agents.agent import Agent
from ..agents.core import settled
from ..agents.errors import Refusal
from ..agents.handlers import on
from .auctions import DUTCH, ENGLISH, price_of
from .brokers import PROTOCOLS
from .initiating import ask_one

__all__ = ["Bidder", "Broker", "Recruiter"]


def _is_auction(message: Message) -> bool:
    return message.protocol in (ENGLISH, DUTCH)


class Bidder(Agent):
    """Bidder in English and Dutch auctions. Subclass it, and override `bid`.

    >>> class Collector(Bidder):
    ...     def bid(self, goods, price):
    ...         return price <= 50
    """

    def bid(self, goods: Any, price: Any) -> Any:
        """Returns true to bid the price, false to pass: a function or a coroutine. A number is a higher bid."""
        return False

    def won(self, goods: Any, price: Any) -> Any:
        """Called when this agent gets the goods: a function or a coroutine."""

    def lost(self, goods: Any) -> Any:
        """Called when an auction ends without success: a function or a coroutine."""

    @on.cfp(where=_is_auction)
    async def _called(self, cfp: Message) -> Any:
        goods, price = cfp.content["goods"], cfp.content["price"]
        bid = await settled(self.bid(goods, price))
        if bid is False or bid is None:
            return cfp.refuse()
        return cfp.propose(price=price if bid is True else price_of(bid, price))

    @on.accept_proposal(where=_is_auction)
    async def _accepted(self, accepted: Message) -> None:
        if accepted.protocol == DUTCH:
            await settled(self.won(accepted.content["goods"], accepted.content["price"]))

    @on.reject_proposal(where=_is_auction)
    def _rejected(self, _: Message) -> None:
        """The next price, or the end, tells what follows."""

    @on.inform(where=_is_auction)
    async def _informed(self, told: Message) -> None:
        machine = self.machine_of(told)
        if machine is None or not machine.is_over:
            # The beginning.
            return
        if machine.is_good:
            await settled(self.won(told.content["goods"], told.content["price"]))
        else:
            await settled(self.lost(told.content["goods"]))


def _names(found: list[Any]) -> list[str]:
    """Returns the names of agents, as `inform-done-proxy` carries them."""
    return [str(one) for one in aids(found)]


class _Mediator(Agent):
    """Agent that finds others in the DF for somebody else."""

    async def find(self, service: str, max_results: int | None) -> list[Any]:
        """Returns the agents that offer a service. Override it to know more than the DF."""
        return list(await self.df.search(service, max_results=max_results))

    async def _found(self, proxy: Message) -> list[Any]:
        """Agrees to a proxy, and returns the agents that it is for."""
        given = proxy.content
        if not isinstance(given, Mapping) or given.get("performative") not in PROTOCOLS:
            raise Refusal(f"proxy: expected a service and one of {', '.join(PROTOCOLS)}")
        await proxy.agree()
        found = await self.find(given["service"], given.get("max"))
        if not found:
            raise WhimbrelError(f"no agent offers {given['service']}")
        return found


class Broker(_Mediator):
    """Broker (FIPA-Brokering): asks agents that offer a service, and returns their answers."""

    #: Time for the answers of the agents, in seconds.
    deadline: float = 10.0

    @on.proxy(protocol="fipa-brokering")
    async def _broker(self, proxy: Message) -> Any:
        found = await self._found(proxy)
        self._send_by_itself(proxy.reply("inform", _names(found)))
        say, content = proxy.content["performative"], proxy.content["content"]
        asked = (ask_one(self, PROTOCOLS[say], say, content, entry, self.deadline, {}) for entry in found)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        good = [one for one in answers if isinstance(one, Message)]
        if not good:
            raise next(one for one in answers if isinstance(one, BaseException))
        return proxy.inform([{"agent": str(one.sender), "content": one.content} for one in good])


class Recruiter(_Mediator):
    """Recruiter (FIPA-Recruiting): passes a message on to agents that offer a service. They answer the initiator."""

    @on.proxy(protocol="fipa-recruiting")
    async def _recruit(self, proxy: Message) -> Any:
        found = await self._found(proxy)
        given = proxy.content
        message = Message(
            given["performative"],
            found,
            given["content"],
            protocol=PROTOCOLS[given["performative"]],
            conversation_id=given["conversation"],
            reply_with=given["reply_with"],
            reply_to=proxy.reply_to or proxy.sender,
        )
        await self.send(message)
        return proxy.inform(_names(found))
