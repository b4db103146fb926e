"""Market: calls for proposals each quarter of an hour, matches neighbours, and asks the operator about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from auction import Order, clear, shares

from whimbrel import Agent, Atom, Term
from whimbrel.acl import Variable


class Row(NamedTuple):
    """An interval in figures: Wh, and tenths of a cent. `wished` is the import before the operator's decision."""

    time: int
    traded: int
    price: int
    wished: int
    imported: int
    exported: int
    curtailed: int
    deferred: int
    shed: int


class Market(Agent):
    """The auctioneer. It has no energy and no money of its own."""

    def __init__(self, houses: list[str], patience: float = 60.0) -> None:
        self.houses = houses
        self.patience = patience
        self.rows: list[Row] = []

    async def limit(self, way: str) -> int:
        """Asks the operator for a limit in Wh: `import` or `export`."""
        answer = await self.ask("operator", Term("limit", Atom(way), Variable("Wh")), "askOne")
        return int(answer.content.args[1])

    async def trade(self, time: int) -> Row:
        """Trades one interval: one contract net with all households."""
        proposals: dict[str, Any] = {}
        async with self.conversation(self.houses, time, "cfp", timeout=self.patience) as answers:
            async for answer in answers:
                proposals[str(answer.sender)] = answer
                if len(proposals) == len(self.houses):
                    break
        missing = [house for house in self.houses if house not in proposals]
        if missing:
            raise TimeoutError(f"interval {time}: no proposal of {', '.join(missing)} within {self.patience:g} s")
        wishes = {house: proposals[house].content for house in self.houses}
        row, results = await self._decide(time, wishes)
        for house, result in results.items():
            self.send(proposals[house].accept_proposal(result))
        self.rows.append(row)
        return row

    async def _decide(self, time: int, wishes: Mapping[str, Any]) -> tuple[Row, dict[str, dict[str, int]]]:
        buys = [Order(house, int(wish["buy"]), int(wish["limit"])) for house, wish in wishes.items()]
        sells = [Order(house, int(wish["sell"]), int(wish["ask"])) for house, wish in wishes.items()]
        price, bought, sold = clear(buys, sells)
        needed = {one.house: one.wh - bought.get(one.house, 0) for one in buys if one.wh > bought.get(one.house, 0)}
        surplus = {
            one.house: one.wh - sold.get(one.house, 0)
            for one in sells
            if wishes[one.house]["is_surplus"] and one.wh > sold.get(one.house, 0)
        }
        imported, exported = needed, surplus
        deferred: dict[str, int] = {}
        shed: dict[str, int] = {}
        wished = sum(needed.values()) - sum(surplus.values())
        match await self._ask_operator(time, wished, wishes, needed):
            case Term("relief", (accepted, missing)):
                deferred = {str(house): int(wh) for house, wh, _ in (one.args for one in accepted)}
                left = {house: wh - deferred.get(house, 0) for house, wh in needed.items()}
                shed = shares(left, int(missing))
                imported = {house: wh - shed.get(house, 0) for house, wh in left.items()}
            case Term("curtail", (most,)):
                exported = shares(surplus, int(most) + sum(needed.values()))
        results = {
            house: {
                "price": price,
                "bought": bought.get(house, 0),
                "sold": sold.get(house, 0),
                "imported": imported.get(house, 0),
                "exported": exported.get(house, 0),
                "deferred": deferred.get(house, 0),
                "shed": shed.get(house, 0),
            }
            for house in wishes
        }
        sums = [sum(one.values()) for one in (imported, exported, deferred, shed)]
        curtailed = sum(surplus.values()) - sums[1]
        return Row(time, sum(bought.values()), price, wished, sums[0], sums[1], curtailed, sums[2], sums[3]), results

    async def _ask_operator(
        self, time: int, wished: int, wishes: Mapping[str, Any], needed: Mapping[str, int]
    ) -> Term | None:
        offers = [
            Term("offer", int(wish["fee"]), Atom(house), min(int(wish["flexible"]), needed[house]))
            for house, wish in wishes.items()
            if house in needed and wish["flexible"]
        ]
        question = Term("allow", time, wished, offers, Variable("Order"))
        answer = await self.ask("operator", question, "askOne")
        if not isinstance(answer.content, Term) or answer.content.functor != "allow":
            raise RuntimeError(f"interval {time}: the operator answers {answer.content!r}")
        order = answer.content.args[3]
        return order if isinstance(order, Term) else None
