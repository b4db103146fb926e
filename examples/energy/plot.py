"""Picture of the street: its flow through the transformer, and the price among neighbours, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from data import PER_DAY
from market import Row

WIDTH, LEFT, RIGHT = 960, 60, 20
#: Most points of a line; more intervals are drawn as the range of each group.
POINTS_MAX = 880
FLOW = (40, 260)
PRICE = (350, 120)


class Panel:
    """An area with a scale of its own."""

    def __init__(self, place: tuple[int, int], low: float, high: float, count: int) -> None:
        self.top, self.height = place
        self.low, self.high, self.count = low, high, count

    def x(self, index: float) -> float:
        return LEFT + index * (WIDTH - LEFT - RIGHT) / self.count

    def y(self, value: float) -> float:
        return self.top + self.height * (self.high - value) / (self.high - self.low)

    def line(self, values: Sequence[float], colour: str, width: float = 1.2) -> str:
        """Draws values; of each group of them, the greatest and the least."""
        size = -(-len(values) // POINTS_MAX)
        points: list[str] = []
        for start in range(0, len(values), size):
            group = values[start : start + size]
            ends = (group[0],) if size == 1 else (max(group), min(group))
            points += (f"{self.x(start + size / 2):.1f},{self.y(value):.1f}" for value in ends)
        return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="{width}"/>'

    def level(self, value: float, text: str, colour: str = "#ccc", dash: str = "") -> str:
        """Draws a horizontal line with a label."""
        y = self.y(value)
        return (
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
            f' stroke="{colour}" stroke-dasharray="{dash}"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        )

    def days(self, first: int) -> list[str]:
        """Draws the days, at most twelve labels."""
        every = -(-self.count // PER_DAY // 12) or 1
        found = []
        for day in range(0, self.count // PER_DAY, every):
            x = self.x(day * PER_DAY)
            bottom = self.top + self.height
            found.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.top}" y2="{bottom}" stroke="#eee"/>')
            found.append(f'<text x="{x + 3:.1f}" y="{bottom + 14}">day {first + day}</text>')
        return found


def draw(file: Path, rows: Sequence[Row], first: int, limits_kw: tuple[float, float]) -> None:
    """Writes the picture."""
    wished = [row.wished * 4 / 1000 for row in rows]
    flow = [(row.imported - row.exported) * 4 / 1000 for row in rows]
    high = max(*wished, limits_kw[0]) * 1.05
    low = min(*wished, -limits_kw[1]) * 1.05
    upper = Panel(FLOW, low, high, len(rows))
    lower = Panel(PRICE, 0, 34, len(rows))
    prices = [row.price / 10 for row in rows]
    body = [
        *upper.days(first),
        upper.level(0, "0"),
        upper.level(limits_kw[0], f"{limits_kw[0]:g}", "#c33", "6 3"),
        upper.level(-limits_kw[1], f"-{limits_kw[1]:g}", "#c33", "6 3"),
        upper.line(wished, "#e9a23b"),
        upper.line(flow, "#1f5fa8"),
        *lower.days(first),
        *(lower.level(cents, f"{cents}") for cents in (8, 20, 32)),
        lower.line(prices, "#2c8a4b"),
        _title(FLOW, "kW through the transformer: wished (orange), allowed (blue), limits (red)"),
        _title(PRICE, "cents for a kWh among neighbours (0: nobody sells)"),
    ]
    file.write_text(_page(body))


def _title(place: tuple[int, int], text: str) -> str:
    return f'<text x="{LEFT}" y="{place[0] - 10}" font-weight="bold">{text}</text>'


def _page(body: Sequence[str]) -> str:
    size = f'viewBox="0 0 {WIDTH} {PRICE[0] + PRICE[1] + 30}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    return "\n".join((head, '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>", ""))
