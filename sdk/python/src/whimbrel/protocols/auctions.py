"""Auctions: English ones, whose price rises, and Dutch ones, whose price falls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..acl.aid import Aid
from ..acl.message import Message
from ..acl.values import Record
from .talk import Talk

if TYPE_CHECKING:
    from ..agents.messaging import Messaging

__all__ = ["DUTCH", "ENGLISH", "Sale"]

ENGLISH, DUTCH = "fipa-auction-english", "fipa-auction-dutch"


class Sale(NamedTuple):
    """Outcome of an auction. It is true if the goods are sold."""

    goods: Any
    winner: Aid | None
    price: Any
    #: Prices that were called.
    calls: int

    def __bool__(self) -> bool:
        return self.winner is not None


def price_of(content: Any, default: Any) -> Any:
    """Returns the price of a bid: that of its content, or the called one."""
    price = content.get("price", default) if isinstance(content, (dict, Record)) else content
    return price if isinstance(price, (int, float)) and not isinstance(price, bool) else default


def _end(talk: Talk, sale: Sale) -> None:
    winner = None if sale.winner is None else str(sale.winner)
    over = {"goods": sale.goods, "price": sale.price, "winner": winner}
    talk.say("inform", over, [one for one in talk.open if talk.state(one) != "cancelling"])
    talk.close()


async def english_auction(
    agent: Messaging, goods: Any, to: Any, start: Any, step: Any, reserve: Any, deadline: float, parameters: Any
) -> Sale:
    """Sells goods to the highest bidder."""
    talk = Talk(agent, ENGLISH, to, parameters)
    price, leader, sold_at, calls = start, None, None, 0
    try:
        talk.say("inform", {"goods": goods, "start": start, "step": step})
        while True:
            called = talk.among("waiting")
            if not called:
                break
            calls += 1
            heard = len(talk.heard)
            talk.say("cfp", {"goods": goods, "price": price}, called, deadline)
            await talk.until(lambda: not talk.among("called"), deadline)
            bids = [one for one in talk.heard[heard:] if talk.state(one.sender) == "proposed"]
            if not bids:
                break
            best = _best(bids, price)
            for bid in bids:
                talk.say("accept-proposal" if bid is best else "reject-proposal", None, [bid.sender])
            if leader is not None and talk.state(leader) == "leading":
                talk.say("reject-proposal", {"goods": goods, "price": price}, [leader])
            leader, sold_at = best.sender, price_of(best.content, price)
            price = sold_at + step
        if leader is not None and reserve is not None and sold_at is not None and sold_at < reserve:
            talk.say("reject-proposal", {"goods": goods, "reserve": True}, [leader])
            leader = None
    except BaseException:
        talk.cancel()
        talk.close()
        raise
    sale = Sale(goods, leader, sold_at if leader is not None else None, calls)
    _end(talk, sale)
    return sale


def _best(bids: list[Message], price: Any) -> Message:
    """Returns the highest bid; the first of equal ones."""
    best = bids[0]
    for bid in bids[1:]:
        if price_of(bid.content, price) > price_of(best.content, price):
            best = bid
    return best


async def dutch_auction(
    agent: Messaging, goods: Any, to: Any, start: Any, step: Any, reserve: Any, deadline: float, parameters: Any
) -> Sale:
    """Sells goods to the first bidder."""
    talk = Talk(agent, DUTCH, to, parameters)
    price, calls = start, 0
    sale = Sale(goods, None, None, 0)
    try:
        talk.say("inform", {"goods": goods, "start": start, "step": -step})
        while price >= reserve and talk.open:
            calls += 1
            heard = len(talk.heard)
            talk.say("cfp", {"goods": goods, "price": price}, talk.among("waiting"), deadline)
            await talk.until(lambda: talk.among("proposed") or not talk.among("called"), deadline)
            bids = [one for one in talk.heard[heard:] if talk.state(one.sender) == "proposed"]
            if bids:
                talk.say("accept-proposal", {"goods": goods, "price": price}, [bids[0].sender])
                for bid in bids[1:]:
                    talk.say("reject-proposal", None, [bid.sender])
                sale = Sale(goods, bids[0].sender, price, calls)
                break
            price -= step
    except BaseException:
        talk.cancel()
        talk.close()
        raise
    sale = sale._replace(calls=calls)
    _end(talk, sale)
    return sale
