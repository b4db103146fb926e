"""Answers of questions: the task that waits goes on at once."""

from __future__ import annotations

import asyncio
import contextvars

import pytest

from whimbrel import DeadlineError, Message
from whimbrel.agents.answer import AnswerFuture

ANSWER = Message("inform", content=1)


async def turn() -> None:
    """Lets the event loop turn once."""
    await asyncio.sleep(0)


async def waited_for() -> tuple[AnswerFuture, asyncio.Task[Message]]:
    """Returns an answer that is not there yet, and a task that waits for it."""
    answer = AnswerFuture(asyncio.get_running_loop())

    async def ask() -> Message:
        return await answer

    task = asyncio.create_task(ask())
    await turn()
    return answer, task


def test_task_goes_on_at_once() -> None:
    said: list[object] = []
    name = contextvars.ContextVar("name", default="other")

    async def ask(answer: AnswerFuture) -> None:
        name.set("own")
        said.append((await answer).content)
        said.append(name.get())

    async def main() -> None:
        loop = asyncio.get_running_loop()
        answer = AnswerFuture(loop)
        task = loop.create_task(ask(answer))
        await turn()

        def read() -> None:
            answer.set_result(ANSWER)
            said.append("read")

        # Not in a task: as frames are read.
        loop.call_soon(read)
        await task
        assert said == [1, "own", "read"]

    asyncio.run(main())


def test_running_task_is_not_interrupted() -> None:
    said: list[object] = []

    async def ask(answer: AnswerFuture) -> None:
        said.append((await answer).content)

    async def main() -> None:
        answer = AnswerFuture(asyncio.get_running_loop())
        task = asyncio.create_task(ask(answer))
        await turn()
        answer.set_result(ANSWER)
        said.append("set")
        await task
        assert said == ["set", 1]

    asyncio.run(main())


def test_early_answer_is_kept() -> None:
    async def main() -> None:
        answer = AnswerFuture(asyncio.get_running_loop())
        answer.set_result(ANSWER)
        assert await answer is ANSWER

    asyncio.run(main())


def test_cancelled_task_leaves_its_answer() -> None:
    async def main() -> None:
        answer, task = await waited_for()
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert answer.done()
        assert answer.cancelled()
        assert not answer.cancel()

    asyncio.run(main())


def test_error_is_raised_in_the_task() -> None:
    async def main() -> None:
        answer, task = await waited_for()
        answer.set_exception(DeadlineError("late"))
        with pytest.raises(DeadlineError, match="late"):
            await task

    asyncio.run(main())
