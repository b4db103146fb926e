"""Test of examples/energy: its output, its auction and operator, and that energy balances whatever the data."""

from __future__ import annotations

import csv
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from society import asynchronous, needs_node
from vectors import REPOSITORY

EXAMPLE = REPOSITORY / "examples/energy"
sys.path.insert(0, str(EXAMPLE))

import data  # noqa: E402
from auction import Order, clear, shares  # noqa: E402
from households import Household  # noqa: E402

from whimbrel import Atom, Platform, Term  # noqa: E402
from whimbrel.acl import Variable  # noqa: E402


@needs_node
def test_day_matches_expected_output(tmp_path: pathlib.Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "sdk/python/src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "error", str(EXAMPLE / "energy.py"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    *lines, last = done.stdout.splitlines()
    assert sorted(lines) == sorted((EXAMPLE / "expected.txt").read_text().splitlines()), done.stderr
    assert last == f"[market] tables and a picture are in {tmp_path}"
    with (tmp_path / "intervals.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == data.PER_DAY
    picture = xml.etree.ElementTree.parse(tmp_path / "energy.svg").getroot()
    assert len(picture.findall("{http://www.w3.org/2000/svg}polyline")) == 3


@needs_node
@asynchronous
async def test_operator_takes_the_cheapest_offers() -> None:
    async with Platform(project=EXAMPLE) as platform:
        market = await platform.start("market")

        async def allow(net: int, *offers: tuple[int, str, int]) -> Any:
            terms = [Term("offer", fee, Atom(house), wh) for fee, house, wh in offers]
            answer = await market.ask("operator", Term("allow", 0, net, terms, Variable("Order")), "askOne")
            return answer.content.args[3]

        assert await allow(10_000) == Atom("none")
        assert await allow(-7_000) == Term("curtail", 6000)
        cheapest = Term("defer", Atom("b"), 500, 20)
        assert await allow(10_800, (21, "a", 900), (20, "b", 500)) == Term(
            "relief", [cheapest, Term("defer", Atom("a"), 300, 21)], 0
        )
        assert await allow(10_800, (20, "b", 500)) == Term("relief", [cheapest], 300)
        await market.send("operator", Term("report"), "achieve")
        report = await market.receive(timeout=10)
        assert report.content == Term("report", 2, 1, 1, 500 * 20 + 300 * 21 + 500 * 20)


ORDERS = st.lists(st.tuples(st.integers(0, 50), st.integers(80, 320)), max_size=8).map(
    lambda orders: [Order(f"h{index}", wh, limit) for index, (wh, limit) in enumerate(orders)]
)


@given(ORDERS, ORDERS)
def test_auction_balances_and_leaves_no_gain(buys: list[Order], sells: list[Order]) -> None:
    price, bought, sold = clear(buys, sells)
    assert sum(bought.values()) == sum(sold.values())
    assert all(bought.get(one.house, 0) <= one.wh and (one.limit >= price or one.house not in bought) for one in buys)
    assert all(sold.get(one.house, 0) <= one.wh and (one.limit <= price or one.house not in sold) for one in sells)
    left_to_buy = [one.limit for one in buys if one.wh > bought.get(one.house, 0)]
    left_to_sell = [one.limit for one in sells if one.wh > sold.get(one.house, 0)]
    assert not left_to_buy or not left_to_sell or max(left_to_buy) < min(left_to_sell)


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 1000)), st.integers(0, 6000))
def test_shares_add_up(parts: dict[str, int], total: int) -> None:
    total = min(total, sum(parts.values()))
    found = shares(parts, total)
    assert sum(found.values()) == total
    assert all(0 <= found[house] <= parts[house] for house in found)


@pytest.mark.parametrize("first", [14, 171])
def test_household_balances_whatever_it_gets(first: int) -> None:
    for number in range(1, 11):
        house = Household(data.Profile(number), data.table(number, first, 2))
        for time in range(2 * data.PER_DAY):
            wish = house.wish(time)
            deferred = wish.flexible if time % 3 == 0 else 0
            shed = (wish.buy - deferred) // 7
            bought = (wish.buy - deferred - shed) // 2
            sold = wish.sell // 3
            exported = wish.sell // 2 if wish.is_surplus else 0
            imported = wish.buy - deferred - shed - bought
            house.book(200, bought, sold, imported, exported, deferred, shed)
            assert house.books.imbalance == 0
            assert 0 <= house.level <= house.profile.battery
        books = house.books
        assert books.charged - books.lost - books.discharged == house.level
        assert books.bill <= books.alone, "neighbours do not cost more than the grid"


def test_written_data_are_read_again(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "household-07.csv"
    data.write(file, 7, 3)
    assert data.read(file, 1, 2) == data.table(7, 1, 2)
    assert file.read_text().splitlines()[1].startswith("2025-01-01 00:00:00,")
    with pytest.raises(SystemExit, match=r"household-07.csv: only 96 quarter hours from day 3 on: 192 are needed"):
        data.read(file, 2, 2)
