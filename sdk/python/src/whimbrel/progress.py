"""Progress of long calls: a line in a terminal, a bar in a notebook."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from collections.abc import Awaitable, Iterable
from types import TracebackType
from typing import Any, TextIO, TypeVar

__all__ = ["Progress", "gather", "in_notebook"]

T = TypeVar("T")

#: Seconds between two views, and characters of a bar.
_VIEW_S = 0.1
_WIDTH = 30


def in_notebook() -> bool:
    """True in IPython: a notebook, or its shell."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return shell is not None and shell() is not None


class Progress:
    """A bar that grows with `step`: ``with Progress(len(items), "asking") as progress: ...; progress.step()``.

    In a notebook it is HTML, in a terminal one line of text; otherwise, nothing is shown.
    """

    def __init__(self, total: int, label: str = "", *, file: TextIO | None = None) -> None:
        self.total = total
        self.label = label
        self.done = 0
        self._file = file or sys.stderr
        self._begun = self._viewed = 0.0
        self._display: Any = None

    def __enter__(self) -> Progress:
        self._begun = time.monotonic()
        if in_notebook():
            display = importlib.import_module("IPython.display")
            self._display = display.display(self, display_id=True)
        self._view()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view()
        if self._display is None and self._is_terminal:
            self._file.write("\n")

    def step(self, count: int = 1) -> None:
        """Notes that so much more is done."""
        self.done += count
        if time.monotonic() >= self._viewed + _VIEW_S:
            self._view()

    @property
    def _is_terminal(self) -> bool:
        return self._file.isatty()

    def _view(self) -> None:
        self._viewed = time.monotonic()
        if self._display is not None:
            self._display.update(self)
        elif self._is_terminal:
            self._file.write(f"\r{self}")
            self._file.flush()

    def __str__(self) -> str:
        filled = _WIDTH * self.done // self.total if self.total else _WIDTH
        seconds = time.monotonic() - self._begun
        bar = "#" * filled + "." * (_WIDTH - filled)
        return f"{self.label} [{bar}] {self.done} of {self.total}, {seconds:.1f} s".lstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        total = max(self.total, 1)
        text = f"{self.label} {self.done} of {self.total}".strip()
        return f'<progress max="{total}" value="{self.done}"></progress> {escape(text)}'


async def gather(work: Iterable[Awaitable[T]], label: str = "") -> list[T]:
    """Awaits all of these together, and shows the progress: `answers = await gather(bob.ask(name) for name in names)`.

    Returns the results in the order of the work. The first error cancels the rest.
    """
    tasks = [asyncio.ensure_future(one) for one in work]
    with Progress(len(tasks), label) as progress:
        for task in tasks:
            task.add_done_callback(lambda _: progress.step())
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
