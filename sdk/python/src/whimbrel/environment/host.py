"""Python process beside a node: it runs the project's environment and its actions.

Some threads take turns: the one that reads a call carries it out while another one reads on, so that the answer needs
no switch of threads. The environment has a thread with an event loop, which also runs calls of `async def`.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, BinaryIO

from ..acl.errors import DecodeError, EncodeError
from ..acl.values import Term
from ..actions import ActionError, caller_variable
from ..agents.errors import in_words
from .base import Environment, act_variable
from .calls import CallError, Signature, functions_of, similar, solutions
from .faults import Fault, fault_of, load, place_of
from .frames import VERSION, FrameWriter, read_frame
from .output import AgentOutput, begin_call

__all__ = ["Host", "main"]

#: Threads that carry out calls: as many can block at a time.
CALL_THREADS = 16
#: Seconds that an environment has to end.
END_PATIENCE = 1.5


class _Call:
    """Call whose function has more results."""

    __slots__ = ("agent", "found", "lock")

    def __init__(self, agent: str, found: Iterator[list[Any]]) -> None:
        self.agent = agent
        self.found = found
        self.lock = threading.Lock()


class Host:
    """Process beside a node; see the module."""

    def __init__(self, source: BinaryIO, writer: FrameWriter, output: AgentOutput | None = None) -> None:
        self._source = source
        self._writer = writer
        self._output = output
        self._reading = threading.Lock()
        self._ended = threading.Event()
        self._folder = ""
        self._actions_file: str | None = None
        self._functions: dict[str, tuple[Callable[..., Any], Signature]] | None = None
        self._broken: Fault | None = None
        self._loading = threading.Lock()
        #: Calls with further solutions, by number.
        self._open: dict[int, _Call] = {}
        #: Calls that are being carried out, and those of them whose further solutions nobody wants.
        self._running: set[int] = set()
        self._dropped: set[int] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._environment: Environment | None = None
        self._environment_fault: str | None = None
        self._agents: list[str] = []
        #: Set once the environment has begun, or cannot begin.
        self._begun = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- Frames

    def serve(self, threads: int = CALL_THREADS) -> None:
        """Serves the node until it ends or says so."""
        for _ in range(threads):
            threading.Thread(target=self._work, daemon=True).start()
        # This thread carries out no calls: the process must end whatever they do.
        self._ended.wait()
        self._end()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
        with self._reading:
            self._source.close()

    def _work(self) -> None:
        while True:
            with self._reading:
                frame = None if self._ended.is_set() else self._read()
                if frame is None or frame[0] == "stop":
                    self._ended.set()
                    return
                if frame[0] not in ("call", "more"):
                    self._take(*frame)
                    continue
                number = frame[1]
                self._running.add(number)
            if frame[0] == "call":
                self._call(*frame[1:])
            else:
                self._more(*frame[1:])
            self._running.discard(number)
            self._dropped.discard(number)

    def _read(self) -> list[Any] | None:
        try:
            return read_frame(self._source)
        except DecodeError as error:
            self._writer.warn(f"the node sent a malformed frame: {error}")
            return None

    def _take(self, kind: str, *parts: Any) -> None:
        if kind == "hello":
            self._hello(*parts)
        elif kind == "environment":
            self._on_loop(self._load_environment(*parts))
        elif kind == "agents":
            self._on_loop(self._came(*parts))
        elif kind == "gone":
            self._on_loop(self._gone(*parts))
        elif kind == "act":
            self._on_loop(self._act(*parts), parts[1])
        elif kind == "drop":
            self._drop(*parts)

    def _hello(self, version: int, folder: str, actions: str | None) -> None:
        from .. import __version__

        self._writer.ready(".".join(map(str, sys.version_info[:3])), __version__)
        if version != VERSION:
            self._ended.set()
        self._folder = folder
        self._actions_file = actions
        if folder not in sys.path:
            sys.path.insert(0, folder)

    def _end(self) -> None:
        environment, loop = self._environment, self._loop
        if environment is None or loop is None:
            return
        ending = asyncio.run_coroutine_threadsafe(environment._end(), loop)
        try:
            ending.result(END_PATIENCE)
        except Exception as error:
            self._writer.warn(f"the environment did not end well: {fault_of(error, self._folder).text}")

    # ---- Calls

    def _known(self) -> dict[str, tuple[Callable[..., Any], Signature]]:
        """Returns the functions of the actions' file, which is loaded at the first call.

        Raises CallError if it cannot be loaded.
        """
        with self._loading:
            if self._functions is None and self._broken is None:
                self._load_actions()
        if self._functions is None:
            text = self._broken.text if self._broken else "there are no actions"
            raise CallError("action_failed", text)
        return self._functions

    def _load_actions(self) -> None:
        file = self._actions_file or ""
        try:
            module = load(file, "actions")
            found = functions_of(module)
            self._functions = {name: (function, Signature(function)) for name, function in found.items()}
        except (Exception, SystemExit) as error:
            fault = fault_of(error, self._folder)
            self._broken = Fault(f"{os.path.basename(file)} cannot be loaded: {fault.text}", fault.annots)
            self._writer.warn(self._broken.text)

    def _call(self, number: int, agent: str, name: str, args: list[Any], most: int) -> None:
        self._run_for(agent, number, lambda: self._begin_call(number, agent, name, args, most))

    def _run_for(self, agent: str, number: int, work: Callable[[], None]) -> None:
        """Does the work of an agent's call. An error is the answer."""
        contextvars.copy_context().run(self._run_guarded, agent, number, work)

    def _run_guarded(self, agent: str, number: int, work: Callable[[], None]) -> None:
        begin_call(agent, number)
        try:
            work()
        except BaseException as error:
            self._refuse(number, error)
        finally:
            if self._output is not None:
                self._output.end_line()

    def _begin_call(self, number: int, agent: str, name: str, args: list[Any], most: int) -> None:
        functions = self._known()
        if name not in functions:
            file = os.path.basename(self._actions_file or "")
            raise CallError("action_failed", f"{file} has no function {name}{similar(name, list(functions))}")
        function, signature = functions[name]
        inputs, results = signature.split(name, args)
        returned = function(*inputs)
        if inspect.iscoroutine(returned):
            self._on_loop(self._finish_call(number, name, signature, results, returned), agent)
            return
        found = solutions(name, signature, results, returned)
        if most == 0 or not inspect.isgenerator(returned):
            self._first(number, name, found)
        else:
            self._some(number, _Call(agent, found), most)

    async def _finish_call(self, number: int, name: str, signature: Signature, results: int, returned: Any) -> None:
        try:
            self._first(number, name, solutions(name, signature, results, await returned))
        except (Exception, asyncio.CancelledError, SystemExit) as error:
            self._refuse(number, error)

    def _first(self, number: int, name: str, found: Iterator[list[Any]]) -> None:
        solution = next(found, None)
        if solution is None:
            raise CallError("ia_failed", f"py.{name} yielded nothing")
        self._writer.solved(number, [solution], False)

    def _some(self, number: int, call: _Call, most: int) -> None:
        with call.lock:
            ready: list[list[Any]] = []
            for solution in call.found:
                ready.append(solution)
                if len(ready) >= most:
                    break
            more = len(ready) >= most
            if more:
                self._open[number] = call
            # A call that is dropped from now on is open already.
            if number in self._dropped:
                self._open.pop(number, None)
                more = False
            self._writer.solved(number, ready, more)

    def _drop(self, number: int) -> None:
        if number in self._running:
            self._dropped.add(number)
        self._open.pop(number, None)

    def _more(self, number: int, most: int) -> None:
        call = self._open.pop(number, None)
        if call is None:
            self._writer.solved(number, [], False)
            return
        self._run_for(call.agent, number, lambda: self._some(number, call, most))

    def _refuse(self, number: int, error: BaseException) -> None:
        """Answers a call that failed, with the place in Python."""
        try:
            self._refuse_with_reason(number, error)
        except EncodeError as fault:
            # What it says is no value, and a call is answered in any case.
            self._writer.refused(number, "unknown", f"{type(error).__name__}: {fault}")

    def _refuse_with_reason(self, number: int, error: BaseException) -> None:
        if isinstance(error, CallError):
            text, annots = self._placed(error)
            self._writer.refused(number, error.error, text, annots)
        elif isinstance(error, ActionError):
            fault = fault_of(error, self._folder)
            reason = error.reason if isinstance(error.reason, Term) else str(error.reason)
            annots = [Term("failure_reason", reason), *fault.annots[1:], *error.annots]
            self._writer.refused(number, error.error, in_words(reason) + fault.place, annots)
        else:
            fault = fault_of(error, self._folder)
            self._writer.refused(number, "unknown", fault.text, fault.annots)

    def _placed(self, error: CallError) -> tuple[str, list[Term]]:
        if error.code is None:
            return str(error), []
        place = place_of(error.code, self._folder)
        file, _, line = place.rpartition(":")
        return f"{error} ({place})", [Term("py_file", file), Term("py_line", int(line))]

    # ---- The environment

    def _on_loop(self, coroutine: Any, agent: str | None = None) -> None:
        """Runs a coroutine on the event loop, in the order of the calls."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.new_event_loop()
            loop.set_exception_handler(self._report)
            threading.Thread(target=_run, args=(loop,), daemon=True).start()
        loop.call_soon_threadsafe(self._start, coroutine, agent)

    def _start(self, coroutine: Any, agent: str | None) -> None:
        context = contextvars.copy_context()
        context.run(caller_variable.set, agent)
        task: asyncio.Task[None] = context.run(asyncio.get_running_loop().create_task, coroutine)
        # The loop keeps no task alive.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _report(self, _loop: asyncio.AbstractEventLoop, problem: dict[str, Any]) -> None:
        error = problem.get("exception")
        text = fault_of(error, self._folder).text if error is not None else str(problem.get("message"))
        self._writer.warn(f"in the background: {text}")

    async def _load_environment(self, file: str, args: list[Any]) -> None:
        try:
            name = os.path.splitext(os.path.basename(file))[0]
            made = environment_class(load(file, name))(*args)
            made._came(self._agents)
            await made._begin(self._writer)
            self._environment = made
        except (Exception, SystemExit) as error:
            fault = fault_of(error, self._folder)
            self._environment_fault = f"{os.path.basename(file)} cannot be loaded: {fault.text}"
            self._writer.broken(self._environment_fault)
        self._begun.set()

    async def _came(self, agents: list[str]) -> None:
        self._agents.extend(agent for agent in agents if agent not in self._agents)
        if self._environment is not None:
            self._environment._came(agents)

    async def _gone(self, agent: str) -> None:
        if agent in self._agents:
            self._agents.remove(agent)
        if self._environment is not None:
            self._environment._gone(agent)

    async def _act(self, number: int, agent: str, action: Any) -> None:
        await self._begun.wait()
        environment = self._environment
        if environment is None:
            self._writer.failed(number, self._environment_fault)
            return
        act_variable.set(number)
        try:
            if not isinstance(action, Term):
                raise ActionError(f"{action!r} is no action")
            await environment._perform(agent, action)
            environment.update()
            self._writer.done(number)
        except (Exception, asyncio.CancelledError, SystemExit) as error:
            self._failed(number, error)
        finally:
            if self._output is not None:
                self._output.end_line()

    def _failed(self, number: int, error: BaseException) -> None:
        if self._environment is not None:
            try:
                self._environment.update()
            except Exception as worse:
                self._writer.warn(f"percepts cannot be shown: {fault_of(worse, self._folder).text}")
        reason: Any
        if isinstance(error, ActionError):
            reason = error.reason
        elif isinstance(error, CallError):
            reason = self._placed(error)[0]
        else:
            reason = fault_of(error, self._folder).text
        try:
            self._writer.failed(number, reason)
        except EncodeError:
            self._writer.failed(number, str(reason))


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Runs a loop until it is stopped."""
    try:
        loop.run_forever()
    finally:
        loop.close()


def environment_class(module: ModuleType) -> type[Environment]:
    """Returns the environment of a file: its only one, or the one that it calls `environment`.

    Raises TypeError if that is not clear.
    """
    named = getattr(module, "environment", None)
    if isinstance(named, type) and issubclass(named, Environment):
        return named
    own = [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Environment) and thing.__module__ == module.__name__
    ]
    if len(own) == 1:
        return own[0]
    if not own:
        raise TypeError("it has no subclass of whimbrel.environment.Environment")
    names = ", ".join(cls.__name__ for cls in own)
    raise TypeError(f"it has several environments, {names}: let it end with `environment = {own[-1].__name__}`")


def main() -> None:
    """Serves the node that started this process, over its standard input and output."""
    pipes = os.dup(0), os.dup(1)
    source, writer = os.fdopen(pipes[0], "rb"), FrameWriter(pipes[1])
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    # What other programs and libraries write to standard output is no frame.
    os.dup2(2, 1)
    # Ctrl-C reaches all processes of a terminal: this one ends with its node.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output = AgentOutput(writer)
    sys.stdout = output

    def leave() -> None:
        for pipe in pipes:
            os.dup2(null, pipe, inheritable=False)
        sys.stdout = sys.__stdout__

    if sys.platform != "win32":
        # A forked child writes no frames, and the pipes end with this process, so that the node notices it.
        os.register_at_fork(after_in_child=leave)
    Host(source, writer, output).serve()
    # Threads that still run must not keep the process.
    os._exit(0)
