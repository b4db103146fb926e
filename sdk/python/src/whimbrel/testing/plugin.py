"""Plugin of pytest: the fixtures `platform`, `agent` and `assert_says`. It needs no other plugin, and suffers any.

A test that takes one of them may be a coroutine function. It runs in the event loop of its platform, in virtual time.
Fixtures of a test suite that take `platform` may be coroutine functions or asynchronous generators, too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from ..loops import close_loop
from .clock import VirtualLoop
from .platform import MemoryPlatform

__all__: list[str] = []

#: Fixture that has the event loop of a test. All others of this plugin need it.
_LOOP = "_whimbrel_loop"


@pytest.fixture
def _whimbrel_loop() -> Iterator[VirtualLoop]:
    """Event loop of a test, in virtual time."""
    loop = VirtualLoop()
    yield loop
    close_loop(loop)


@pytest.fixture
def platform(_whimbrel_loop: VirtualLoop) -> Iterator[MemoryPlatform]:
    """A platform in memory, in virtual time, with no agents. It ends with the test."""
    loop = _whimbrel_loop
    opened = MemoryPlatform()
    loop.run_until_complete(opened.open())
    yield opened
    if opened.over is None:
        loop.run_until_complete(opened.close())


@pytest.fixture
def agent(platform: MemoryPlatform) -> Callable[..., Any]:
    """Starts agents: `ada = await agent("ada", Ada())`. Without a class, they talk for the test."""
    return platform.start


@pytest.fixture
def assert_says(platform: MemoryPlatform) -> Callable[..., Any]:
    """Asserts that an agent said a message: `assert_says("ada", "inform", "hello", to="bob")`. `times=0` asserts that
    it did not.
    """
    return platform.assert_says


# ---- Coroutine functions


def _is_ours(item: Any) -> bool:
    """True for a test, or a fixture request, that needs the loop of this plugin."""
    info = getattr(item, "_fixtureinfo", None)
    return info is not None and _LOOP in info.names_closure


def _in_loop(item: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that runs a coroutine function in the loop of its test."""

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> None:
        __tracebackhide__ = True
        item._request.getfixturevalue(_LOOP).run_until_complete(function(*arguments, **named))

    return run


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, None]:
    """Makes functions of coroutine functions before another plugin takes these for its own event loop."""
    outcome = yield
    found = outcome.get_result()
    for item in found if isinstance(found, list) else [found]:
        if isinstance(item, pytest.Function) and _is_ours(item) and inspect.iscoroutinefunction(item.obj):
            item.obj = _in_loop(item, item.obj)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a coroutine function whose item was made anew, as plugins do that repeat tests."""
    if not _is_ours(pyfuncitem) or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    _in_loop(pyfuncitem, pyfuncitem.obj)(**{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, Any, None]:
    """Makes functions of asynchronous fixtures that need the platform, before another plugin takes these for its own
    event loop.
    """
    function = fixturedef.func
    is_generator = inspect.isasyncgenfunction(function)
    needs = {"platform", "agent", "assert_says", _LOOP} & set(fixturedef.argnames)
    if not needs or not (is_generator or inspect.iscoroutinefunction(function)):
        yield
        return
    if request.instance is not None and hasattr(function, "__self__"):
        bound = function.__func__.__get__(request.instance)
    else:
        bound = function
    loop = request.getfixturevalue(_LOOP)

    def make(**given: Any) -> Any:
        return loop.run_until_complete(bound(**given))

    def generate(**given: Any) -> Generator[Any, None, None]:
        work = bound(**given)
        yield loop.run_until_complete(anext(work))
        try:
            loop.run_until_complete(anext(work))
        except StopAsyncIteration:
            return
        pytest.fail(f"fixture {fixturedef.argname} yields more than once")

    fixturedef.func = generate if is_generator else make
    try:
        yield
    finally:
        fixturedef.func = function
