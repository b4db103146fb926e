"""Sequence diagrams of conversations, as SVG: agents as lifelines, messages as arrows from the top to the bottom."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from .acl.performatives import ASKING, NEGATIVE
from .recording import RecordedMessage, shortened

__all__ = ["Diagram"]

#: Messages that a diagram shows: the last ones.
MESSAGES_MAX = 200
#: Characters of an agent's name, of a label, and of the text that a browser shows at the pointer.
_NAME_MAX, _LABEL_MAX, _TITLE_MAX = 24, 40, 500
#: Sizes in pixels. Text is measured by a usual width of its characters.
_CHARACTER, _ROW, _TOP, _LEFT, _RIGHT, _GAP_MIN = 6.6, 34, 54, 64, 24, 96
_LOOP_WIDTH = 34

#: Colours of the page, lines, heads, texts and notes, then of messages by their kind: on a light and a dark page.
_LIGHT = ("#fff", "#b6bec8", "#f0f3f6", "#1f2328", "#656d76", {"ask": "#0550ae", "tell": "#116329", "no": "#a40e26"})
_DARK = ("#161b22", "#484f58", "#21262d", "#e6edf3", "#9198a1", {"ask": "#79c0ff", "tell": "#7ee787", "no": "#ff9492"})


def _style() -> str:
    """Returns the style sheet. Each rule is for these diagrams only: a page may contain others."""

    def colours(page: str, line: str, head: str, text: str, note: str, kinds: dict[str, str]) -> str:
        rules = [
            f".w-page{{fill:{page};stroke:{line}}}.w-line{{stroke:{line}}}.w-head{{fill:{head};stroke:{line}}}",
            f".w-text{{fill:{text}}}.w-note{{fill:{note}}}",
            *(f".w-{kind}{{stroke:{colour}}}.w-{kind}-end{{fill:{colour}}}" for kind, colour in kinds.items()),
        ]
        return "".join(rules)

    fixed = (
        ".w-line{stroke-dasharray:3 4}.w-text{font:12px system-ui,sans-serif}.w-name{font-weight:600}"
        ".w-note{font:10px system-ui,sans-serif}.w-arrow{fill:none;stroke-width:1.4}"
    )
    return f"{fixed}{colours(*_LIGHT)}@media(prefers-color-scheme:dark){{{colours(*_DARK)}}}"


class _Row(NamedTuple):
    """A message of the diagram: the columns of its ends, and its texts."""

    time: float
    sender: int
    receivers: tuple[int, ...]
    label: str
    title: str
    kind: str

    @property
    def is_loop(self) -> bool:
        """True for a message to its own sender."""
        return self.receivers == (self.sender,)

    @property
    def span(self) -> tuple[int, int]:
        """First and last column."""
        ends = (self.sender, *self.receivers)
        return min(ends), max(ends)


class Diagram:
    """A sequence diagram. Notebooks show it; `str(diagram)` is the SVG, and `save` writes a file."""

    def __init__(self, messages: Sequence[RecordedMessage]) -> None:
        self._left_out = max(0, len(messages) - MESSAGES_MAX)
        shown = messages[self._left_out :]
        names: dict[str, int] = {}
        for one in shown:
            for agent in (one.message.sender, *one.message.receivers):
                names.setdefault(str(agent), len(names))
        self._names = list(names)
        self._rows = [_row(one, names) for one in shown]
        self._columns = self._laid_out()

    def _laid_out(self) -> list[float]:
        """Returns the places of the lifelines, so far apart that names and labels fit between them."""
        heads = [_width(shortened(name, _NAME_MAX)) + 24 for name in self._names]
        gaps = [max(_GAP_MIN, (one + other) / 2 + 12) for one, other in itertools.pairwise(heads)]
        gaps.append(_GAP_MIN if not heads else heads[-1] / 2)
        for row in self._rows:
            first, last = row.span
            if row.is_loop:
                gaps[first] = max(gaps[first], _LOOP_WIDTH + 12 + _width(row.label))
            elif sum(gaps[first:last]) < _width(row.label) + 28:
                gaps[last - 1] += _width(row.label) + 28 - sum(gaps[first:last])
        places: list[float] = []
        at = _LEFT + (heads[0] / 2 if heads else 0)
        for gap in gaps[: len(heads)]:
            places.append(at)
            at += gap
        self._width = round(at + _RIGHT)
        return places

    def __str__(self) -> str:
        height = _TOP + _ROW * len(self._rows) + 24
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self._width}" height="{height}" role="img" '
            f'viewBox="0 0 {self._width} {height}" aria-label="Sequence diagram of {len(self._rows)} messages">',
            f"<style>{_style()}</style><defs>",
            *(_arrow_head(kind) for kind in ("ask", "tell", "no")),
            f'</defs><rect class="w-page" x=".5" y=".5" width="{self._width - 1}" height="{height - 1}" rx="6"/>',
        ]
        parts += [self._lifeline(name, at, height) for name, at in zip(self._names, self._columns)]
        parts += [self._message(row, _TOP + _ROW * place + 22) for place, row in enumerate(self._rows)]
        if self._left_out or not self._rows:
            note = f"{self._left_out} earlier messages" if self._rows else "no messages"
            parts.append(f'<text class="w-note" x="8" y="{_TOP - 2}">{note}</text>')
        return "".join((*parts, "</svg>"))

    def _lifeline(self, name: str, at: float, height: int) -> str:
        shown = shortened(name, _NAME_MAX)
        width = _width(shown) + 20
        return (
            f'<line class="w-line" x1="{at:.0f}" y1="38" x2="{at:.0f}" y2="{height - 8}"/>'
            f'<rect class="w-head" x="{at - width / 2:.0f}" y="12" width="{width:.0f}" height="26" rx="4"/>'
            f'<text class="w-text w-name" x="{at:.0f}" y="29" text-anchor="middle">{escape(shown)}</text>'
        )

    def _message(self, row: _Row, y: int) -> str:
        start = self._columns[row.sender]
        label, kind = escape(row.label), row.kind
        parts = [f'<g><title>{escape(row.title)}</title><text class="w-note" x="8" y="{y + 3}">{row.time:.3f}</text>']
        if row.is_loop:
            path = f"M{start:.0f} {y - 6}h{_LOOP_WIDTH}v12h{-_LOOP_WIDTH + 2}"
            parts.append(f'<path class="w-arrow w-{kind}" marker-end="url(#w-{kind})" d="{path}"/>')
            parts.append(f'<text class="w-text" x="{start + _LOOP_WIDTH + 8:.0f}" y="{y + 4}">{label}</text>')
        else:
            for receiver in row.receivers:
                end = self._columns[receiver]
                near = end - 2 if end > start else end + 2
                parts.append(
                    f'<path class="w-arrow w-{kind}" marker-end="url(#w-{kind})" d="M{start:.0f} {y}L{near:.0f} {y}"/>'
                )
            first, last = row.span
            middle = (self._columns[first] + self._columns[last]) / 2
            parts.append(f'<text class="w-text" x="{middle:.0f}" y="{y - 5}" text-anchor="middle">{label}</text>')
        return "".join((*parts, "</g>"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SVG to a file."""
        Path(path).write_text(str(self), encoding="utf-8")

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<Diagram of {len(self._rows)} messages between {len(self._names)} agents>"


def _row(one: RecordedMessage, names: dict[str, int]) -> _Row:
    message = one.message
    performative = message.performative
    content = shortened(message.content, _LABEL_MAX - min(len(performative), _LABEL_MAX // 2) - 1)
    kind = "no" if performative in NEGATIVE else "ask" if performative in ASKING else "tell"
    return _Row(
        one.time,
        names[str(message.sender)],
        tuple(dict.fromkeys(names[str(receiver)] for receiver in message.receivers)),
        f"{shortened(performative, _LABEL_MAX // 2)} {content}".strip(),
        f"{performative} {shortened(message.content, _TITLE_MAX)}".strip(),
        kind,
    )


def _width(text: str) -> float:
    """Returns the usual width of a text. Characters of East Asia are twice as wide."""
    return sum(_CHARACTER if ord(character) < 0x2E80 else 2 * _CHARACTER for character in text)


def _arrow_head(kind: str) -> str:
    return (
        f'<marker id="w-{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path class="w-{kind}-end" d="M0 0L8 4L0 8z"/></marker>'
    )
