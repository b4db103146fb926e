"""Tests of who hears that the node refuses a frame."""

from __future__ import annotations

from whimbrel import RefusedError
from whimbrel.agents.expectations import Expectations


def test_refusal_reaches_one_frame() -> None:
    heard: list[str] = []
    expected = Expectations()

    def add(frame: int, agent: int, who: str, *, is_save: bool = False) -> None:
        expected.add(frame, agent, lambda error: heard.append(f"{who}: {error.code}"), is_save=is_save)

    def refuse(*frames: int) -> list[str]:
        heard.clear()
        for frame in frames:
            refused = expected.take(frame)
            if refused is not None:
                refused(RefusedError("busy", ""))
        return heard[:]

    add(1, 7, "creation")
    add(1, 7, "created")
    add(2, 7, "first save", is_save=True)
    add(3, 8, "save of another", is_save=True)
    add(4, 7, "second save", is_save=True)
    expected.saved(7, 3)
    assert refuse(1, 1, 2, 3) == ["created: busy", "save of another: busy"]
    add(5, 8, "other agent")
    expected.forget(7)
    assert refuse(4, 5) == ["other agent: busy"]
    add(6, 7, "late")
    expected.clear()
    assert refuse(6) == []
