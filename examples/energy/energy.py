"""Twenty households trade energy in quarter hours, and a grid operator keeps the street within its limits."""

from __future__ import annotations

import argparse
import asyncio
import csv
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from auction import FEED_IN, RETAIL
from data import PER_DAY, Profile, read, table
from households import Books, Household
from market import Market, Row
from plot import draw

from whimbrel import Platform, Term, WhimbrelError

HERE = Path(__file__).parent


class Outcome(NamedTuple):
    """Result of a run: the intervals, the households' books, and the operator's limits in Wh and its expenses."""

    rows: list[Row]
    books: dict[str, Books]
    import_wh: int
    export_wh: int
    paid: int


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=109, help="first day of the year, from 1 [default: %(default)s]")
    parser.add_argument("--days", type=int, default=1, help="number of days [default: %(default)s]")
    parser.add_argument("--households", type=int, default=20, help="their number [default: %(default)s]")
    parser.add_argument("--data", type=Path, help="folder of data.py's files [default: the same data, not written]")
    parser.add_argument("--out", type=Path, help="folder for intervals.csv, households.csv and energy.svg")
    given = parser.parse_args()
    if given.days < 1 or given.households < 1 or given.first < 1:
        parser.error("--first, --days and --households are 1 at least")
    return given


def households(given: argparse.Namespace) -> dict[str, Household]:
    """Makes the households with their data."""
    found = {}
    for number in range(1, given.households + 1):
        if given.data is None:
            intervals = table(number, given.first - 1, given.days)
        else:
            intervals = read(given.data / f"household-{number:02}.csv", given.first - 1, given.days)
        found[f"house{number:02}"] = Household(Profile(number), intervals)
    return found


async def simulate(given: argparse.Namespace) -> Outcome:
    """Runs the society."""
    houses = households(given)
    async with Platform(project=HERE) as platform:
        await platform.start_all(houses)
        market = await platform.start("market", Market(list(houses)))
        for time in range(given.days * PER_DAY):
            await market.trade(time)
        books = {}
        for house in houses:
            answer = await market.ask(house, performative="query-ref")
            books[house] = Books(**{name: int(value) for name, value in answer.content.items()})
        import_wh, export_wh = await market.limit("import"), await market.limit("export")
        await market.send("operator", Term("report"), "achieve")
        report = await market.receive(timeout=30)
    return Outcome(market.rows, books, import_wh, export_wh, int(report.content.args[3]))


def check(outcome: Outcome) -> None:
    """Checks that energy and money balance, and that the limits hold. Raises AssertionError with what does not."""
    rows, books, import_wh, export_wh, paid = outcome
    for house, one in books.items():
        expect(one.imbalance == 0, f"{house}: {one.imbalance} Wh came in and did not go out")
        expect(one.charged - one.lost - one.discharged == one.level, f"{house}: its battery has {one.level} Wh")
    for row in rows:
        flow = row.imported - row.exported
        expect(-export_wh <= flow <= import_wh, f"interval {row.time}: {flow} Wh through the transformer")
        expect(
            row.wished - row.deferred - row.shed + row.curtailed == flow, f"interval {row.time}: flows do not add up"
        )
    sums = {one.name: sum(getattr(book, one.name) for book in books.values()) for one in fields(Books)}
    expect(sums["bought"] == sums["sold"], f"neighbours buy {sums['bought']} Wh and sell {sums['sold']} Wh")
    for name in ("imported", "exported", "curtailed", "deferred", "shed"):
        total = sum(getattr(row, name) for row in rows)
        expect(sums[name] == total, f"{name}: the households book {sums[name]} Wh, the market {total} Wh")
    to_grid = sums["imported"] * RETAIL - sums["exported"] * FEED_IN
    expect(sums["bill"] == to_grid, f"the households pay {sums['bill']}, and the grid gets {to_grid}")
    expect(sums["fees"] == paid, f"the households get {sums['fees']} for deferring, the operator pays {paid}")


def expect(is_true: bool, otherwise: str) -> None:
    if not is_true:
        raise AssertionError(otherwise)


#: Columns of the table: title, and a sum of a household in kWh or money.
COLUMNS: list[tuple[str, Any]] = [
    ("load", lambda one: one.load / 1e3),
    ("car", lambda one: one.car / 1e3),
    ("solar", lambda one: one.solar / 1e3),
    ("bought", lambda one: one.bought / 1e3),
    ("sold", lambda one: one.sold / 1e3),
    ("import", lambda one: one.imported / 1e3),
    ("export", lambda one: one.exported / 1e3),
    ("bill", lambda one: (one.bill - one.fees) / 1e6),
    ("alone", lambda one: one.alone / 1e6),
]


def show(books: dict[str, Books], rows: list[Row]) -> None:
    """Prints the table: kWh, and the bill with and without neighbours."""
    print(f"[market] {'':8}" + "".join(f"{title:>9}" for title, _ in COLUMNS))
    for house, one in books.items():
        print(f"[market] {house:8}" + "".join(f"{of(one):9.2f}" for _, of in COLUMNS))
    totals = [sum(of(one) for one in books.values()) for _, of in COLUMNS]
    print(f"[market] {'all':8}" + "".join(f"{total:9.2f}" for total in totals))
    peak = 4 * max(row.imported - row.exported for row in rows) / 1e3
    wished = 4 * max(row.wished for row in rows) / 1e3
    print(f"[market] {len(rows)} quarter hours, peak {peak:.1f} kW instead of {wished:.1f} kW")
    print(f"[market] {sum(one.missed for one in books.values()) / 1e3:.1f} kWh missed by cars at 7 o'clock")


def save(folder: Path, outcome: Outcome, first: int) -> None:
    """Writes tables that pandas and spreadsheets read, and the picture."""
    rows, books, import_wh, export_wh, _ = outcome
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "intervals.csv").open("w", newline="") as file:
        csv.writer(file).writerows([Row._fields, *rows])
    with (folder / "households.csv").open("w", newline="") as file:
        names = [one.name for one in fields(Books)]
        lines = ([house, *(getattr(one, name) for name in names)] for house, one in books.items())
        csv.writer(file).writerows([["house", *names], *lines])
    draw(folder / "energy.svg", rows, first, (import_wh * 4 / 1e3, export_wh * 4 / 1e3))
    print(f"[market] tables and a picture are in {folder}")


def main() -> int:
    given = arguments()
    outcome = asyncio.run(simulate(given))
    check(outcome)
    show(outcome.books, outcome.rows)
    print("[market] energy and money balance, and the limits hold")
    if given.out is not None:
        save(given.out, outcome, given.first)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (WhimbrelError, AssertionError, TimeoutError) as error:
        sys.exit(f"energy.py: {error}")
