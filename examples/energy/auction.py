"""Double auction of an interval: neighbours buy and sell at one price. Energy is in Wh, prices in tenths of a cent."""

from __future__ import annotations

from typing import NamedTuple

#: Price of the grid's energy, and of energy that is fed into the grid.
RETAIL, FEED_IN = 320, 80


class Order(NamedTuple):
    """Wish of a household: so much at this price or a better one."""

    house: str
    wh: int
    limit: int


class Clearing(NamedTuple):
    """Result: the price, and what each household buys and sells."""

    price: int
    bought: dict[str, int]
    sold: dict[str, int]


def clear(buys: list[Order], sells: list[Order]) -> Clearing:
    """Matches the keenest buyers with the cheapest sellers, as long as both gain.

    The price is in the middle between the last buyer's limit and the last seller's. Equal limits are served in the
    order of the names.
    """
    buyers = sorted((order for order in buys if order.wh > 0), key=lambda order: (-order.limit, order.house))
    sellers = sorted((order for order in sells if order.wh > 0), key=lambda order: (order.limit, order.house))
    bought: dict[str, int] = {}
    sold: dict[str, int] = {}
    price = buyer = seller = 0
    wanted = buyers[0].wh if buyers else 0
    offered = sellers[0].wh if sellers else 0
    while buyer < len(buyers) and seller < len(sellers) and buyers[buyer].limit >= sellers[seller].limit:
        wh = min(wanted, offered)
        price = (buyers[buyer].limit + sellers[seller].limit) // 2
        bought[buyers[buyer].house] = bought.get(buyers[buyer].house, 0) + wh
        sold[sellers[seller].house] = sold.get(sellers[seller].house, 0) + wh
        wanted -= wh
        offered -= wh
        if wanted == 0:
            buyer += 1
            wanted = buyers[buyer].wh if buyer < len(buyers) else 0
        if offered == 0:
            seller += 1
            offered = sellers[seller].wh if seller < len(sellers) else 0
    return Clearing(price, bought, sold)


def shares(parts: dict[str, int], total: int) -> dict[str, int]:
    """Shares a total out in proportion to parts, in whole Wh. The sum is exact."""
    whole = sum(parts.values())
    found = {house: part * total // whole for house, part in parts.items()} if whole else {}
    rest = total - sum(found.values())
    for house, part in parts.items():
        more = min(rest, part - found.get(house, 0))
        if more > 0:
            found[house] += more
            rest -= more
    return found
