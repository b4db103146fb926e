"""Households: what they have, what they want, and their books."""

from __future__ import annotations

import dataclasses

from auction import FEED_IN, RETAIL
from data import PER_DAY, Interval, Profile

from whimbrel import Agent, Message, on

#: Most Wh in a quarter of an hour into or out of a battery (5 kW), and into a car (7.4 kW).
BATTERY_WH, CAR_WH = 1250, 1850
#: Percent of the charged energy that a battery keeps.
EFFICIENCY = 95
#: Quarter hour at which cars leave.
DEPARTURE = 7 * 4


@dataclasses.dataclass
class Books:
    """Sums of a household: energy in Wh, money in Wh times tenths of a cent."""

    load: int = 0
    car: int = 0
    solar: int = 0
    bought: int = 0
    sold: int = 0
    imported: int = 0
    exported: int = 0
    curtailed: int = 0
    charged: int = 0
    discharged: int = 0
    lost: int = 0
    deferred: int = 0
    shed: int = 0
    missed: int = 0
    level: int = 0
    bill: int = 0
    fees: int = 0
    #: Bill without neighbours: all from the grid, all surplus to the grid.
    alone: int = 0

    @property
    def imbalance(self) -> int:
        """Energy that came in and did not go out. It must be 0."""
        came = self.solar - self.curtailed + self.discharged + self.bought + self.imported
        return came - (self.load - self.shed + self.car + self.charged + self.sold + self.exported)


@dataclasses.dataclass
class Wish:
    """Answer to a call of the market."""

    buy: int = 0
    limit: int = 0
    sell: int = 0
    ask: int = 0
    #: True if what nobody buys goes into the grid: the sun's energy, not a battery's.
    is_surplus: bool = False
    #: Part of `buy` that can be deferred, and the fee for that.
    flexible: int = 0
    fee: int = 0


class Household(Agent):
    """Consumes, produces, stores. Its own battery comes first, then its neighbours, then the grid."""

    def __init__(self, profile: Profile, intervals: list[Interval]) -> None:
        self.profile = profile
        self.intervals = intervals
        self.books = Books()
        self.level = 0
        self.car_left = 0
        self._wish = Wish()
        self._car_now = self._charge = self._discharge = 0

    @on.cfp
    def offer(self, call: Message) -> Message:
        return call.propose(dataclasses.asdict(self.wish(int(call.content))))

    @on.accept_proposal
    def settle(self, accepted: Message) -> None:
        self.book(**{name: int(value) for name, value in accepted.content.items()})

    @on.query_ref
    def report(self, question: Message) -> dict[str, int]:
        return dataclasses.asdict(dataclasses.replace(self.books, level=self.level))

    def wish(self, time: int) -> Wish:
        """Returns the household's wish for an interval."""
        load, solar, car = self.intervals[time]
        quarter = time % PER_DAY
        if quarter == DEPARTURE:
            self.books.missed += self.car_left
            self.car_left = 0
        self.car_left += car
        self._now = self.intervals[time]
        self._car_now = min(CAR_WH, self.car_left)
        self._charge = self._discharge = 0
        need = load + self._car_now - solar
        if need < 0:
            room = (self.profile.battery - self.level) * 100 // EFFICIENCY
            self._charge = min(-need, BATTERY_WH, room)
            self._wish = Wish(sell=-need - self._charge, ask=FEED_IN + self.profile.number, is_surplus=True)
            return self._wish
        self._discharge = min(need, BATTERY_WH, self.level)
        buy = need - self._discharge
        self._wish = Wish(buy=buy, limit=RETAIL - self.profile.number, fee=20 + self.profile.number)
        if self.car_left <= CAR_WH * ((DEPARTURE - quarter) % PER_DAY - 1):
            self._wish.flexible = min(buy, self._car_now)
        if buy == 0 and 17 * 4 <= quarter < 22 * 4:
            spare = self.level - self._discharge - self.profile.battery // 4
            self._wish.sell = max(0, min(BATTERY_WH - self._discharge, spare))
            self._wish.ask = 240 + self.profile.number
        return self._wish

    def book(self, price: int, bought: int, sold: int, imported: int, exported: int, deferred: int, shed: int) -> None:
        """Books what became of the wish."""
        load, solar, _ = self._now
        books, wish = self.books, self._wish
        # Who defers takes less from the grid, and the car waits.
        car = self._car_now - deferred
        self.car_left -= car
        discharge = self._discharge + (0 if wish.is_surplus else sold)
        lost = self._charge - self._charge * EFFICIENCY // 100
        self.level += self._charge - lost - discharge
        curtailed = wish.sell - sold - exported if wish.is_surplus else 0
        for name, wh in {
            "load": load, "car": car, "solar": solar, "bought": bought, "sold": sold, "imported": imported,
            "exported": exported, "curtailed": curtailed, "charged": self._charge, "discharged": discharge,
            "lost": lost, "deferred": deferred, "shed": shed,
        }.items():  # fmt: skip
            setattr(books, name, getattr(books, name) + wh)
        books.fees += deferred * wish.fee
        books.bill += (bought - sold) * price + imported * RETAIL - exported * FEED_IN
        books.alone += (bought + imported) * RETAIL - (sold + exported) * FEED_IN
