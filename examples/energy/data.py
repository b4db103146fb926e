"""Load, solar power and electric cars of twenty households: a year in quarter hours, the same on each run.

Usage: data.py FOLDER [--days N] writes household-01.csv, ... with a line for each quarter hour, in Wh.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

YEAR_BEGINS = datetime.datetime(2025, 1, 1)
#: Intervals of a day.
PER_DAY = 96
COLUMNS = ("start", "load_wh", "solar_wh", "car_wh")
#: Latitude of the street, in degrees.
LATITUDE = 53.8


class Interval(NamedTuple):
    """Quarter hour of a household, in Wh. `car` is what a car needs that is plugged in then."""

    load: int
    solar: int
    car: int


class Profile:
    """Equipment of a household."""

    def __init__(self, number: int) -> None:
        chance = random.Random(f"household {number}")
        self.number = number
        self.scale = chance.uniform(0.6, 1.6)
        self.late = chance.uniform(-1.0, 1.5)
        #: Peak power of the panels in W; seven in ten have some.
        self.panels = chance.randrange(3000, 8001, 500) if number % 10 < 7 else 0
        #: Size of the battery in Wh; two in five have one.
        self.battery = 10_000 if number % 5 < 2 else 0
        self.has_car = number % 5 != 4

    def day(self, day: int) -> Iterator[Interval]:
        """Returns the intervals of a day; day 0 is the first of January."""
        chance = random.Random(f"household {self.number} day {day}")
        clouds = list(_clouds(day))
        plugged = round(4 * chance.gauss(18 + self.late, 0.7))
        need = chance.randrange(4000, 14001, 500) if self.has_car and chance.random() < 0.8 else 0
        for quarter in range(PER_DAY):
            load = self._load(quarter / 4, day) * chance.uniform(0.7, 1.3)
            solar = self.panels / 4 * _sun(quarter / 4, day) * clouds[quarter]
            yield Interval(round(load), round(solar), need if quarter == plugged else 0)

    def _load(self, hour: float, day: int) -> float:
        winter = 1 + 0.35 * math.cos(2 * math.pi * (day - 15) / 365)
        morning = 130 * math.exp(-(((hour - 7.5 - self.late / 2) / 1.2) ** 2))
        evening = 260 * math.exp(-(((hour - 19 - self.late / 2) / 2.2) ** 2))
        return self.scale * winter * (35 + morning + evening)


def _sun(hour: float, day: int) -> float:
    """Returns the power of a clear sky, as a part of the panels' peak."""
    declination = math.radians(23.44) * math.sin(2 * math.pi * (day - 80) / 365)
    latitude = math.radians(LATITUDE)
    angle = math.radians(15 * (hour + 0.125 - 12.2))
    height = math.sin(latitude) * math.sin(declination) + math.cos(latitude) * math.cos(declination) * math.cos(angle)
    return float(max(0.0, height) ** 1.15)


def _clouds(day: int) -> Iterator[float]:
    """Returns what the clouds leave in each quarter hour. They are the same for the whole street."""
    chance = random.Random(f"weather {day}")
    clear = chance.betavariate(2.2, 1.3)
    now = clear
    for _ in range(PER_DAY):
        now = min(1.0, max(0.1, now + 0.25 * (clear - now) + chance.gauss(0, 0.08)))
        yield now


def table(number: int, first: int, days: int) -> list[Interval]:
    """Returns the intervals of a household for some days."""
    profile = Profile(number)
    return [interval for day in range(first, first + days) for interval in profile.day(day)]


def read(file: Path, first: int, days: int) -> list[Interval]:
    """Reads the intervals of some days from a file of this form."""
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))[first * PER_DAY : (first + days) * PER_DAY]
    if len(rows) < days * PER_DAY:
        raise SystemExit(f"{file}: only {len(rows)} quarter hours from day {first + 1} on: {days * PER_DAY} are needed")
    return [Interval(int(row["load_wh"]), int(row["solar_wh"]), int(row["car_wh"])) for row in rows]


def write(file: Path, number: int, days: int) -> None:
    """Writes the intervals of a household."""
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(COLUMNS)
        for index, interval in enumerate(table(number, 0, days)):
            writer.writerow((YEAR_BEGINS + index * datetime.timedelta(minutes=15), *interval))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--households", type=int, default=20)
    parser.add_argument("--days", type=int, default=365)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, given.households + 1):
        write(given.folder / f"household-{number:02}.csv", number, given.days)
    print(f"{given.households} files of {given.days * PER_DAY} quarter hours in {given.folder}")


if __name__ == "__main__":
    main()
