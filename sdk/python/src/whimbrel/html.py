"""Tables of HTML, by which notebooks show agents, messages and directory entries. All texts are escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["listing", "table"]

#: Characters of a cell.
CELL_MAX = 200
_HEAD = "text-align:left;vertical-align:top;white-space:nowrap"
_CELL = "text-align:left;vertical-align:top"


def table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """Returns a table of names and values. Values that are None or empty are left out."""
    body = "".join(
        f'<tr><th style="{_HEAD}">{escape(name)}</th>{_data(value)}</tr>'
        for name, value in rows
        if value is not None and value != () and value != ""
    )
    return f'<table><thead><tr><th colspan="2" style="{_HEAD}">{escape(title)}</th></tr></thead>{body}</table>'


def listing(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Returns a table with a row for each item."""
    head = "".join(f'<th style="{_HEAD}">{escape(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_data, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead>{body}</table>"


def _data(value: object) -> str:
    return f'<td style="{_CELL}">{_cell(value)}</td>'


def _cell(value: object) -> str:
    from .recording import shortened

    if isinstance(value, tuple):
        return ", ".join(_cell(one) for one in value)
    return escape(shortened(value, CELL_MAX))
