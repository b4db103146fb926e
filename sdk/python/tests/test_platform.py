"""Nodes of one's own: started, ended, and gone with either side's death. Programs without asyncio."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import stat
import subprocess
import sys
import textwrap
import time

import pytest
from society import WHIMBREL, asynchronous, needs_node, until

import whimbrel
from whimbrel import Agent, EndedError, Message, Platform, SessionError, WhimbrelError, on
from whimbrel.binary import find_binary

SOURCE = pathlib.Path(__file__).parents[1] / "src"


class Greeter(Agent):
    @on.request
    def greet(self, message: Message) -> str:
        return f"hello, {message.content}"


def is_running(pid: int) -> bool:
    """True while a process runs."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@needs_node
@asynchronous
async def test_platform_starts_and_ends_its_node() -> None:
    async with Platform() as platform:
        assert platform.node is not None
        pid = platform.node.pid
        assert pid is not None
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_text()
        environment = pathlib.Path(f"/proc/{pid}/environ").read_text()
        assert platform.node.token not in command + environment
        await platform.start("ada", Greeter())
        bob = await platform.start("bob")
        assert (await bob.ask("ada", "world")).content == "hello, world"
        assert platform.agents_max == 10_000
    assert not is_running(pid)
    assert platform.node is None


@needs_node
@asynchronous
async def test_project_runs_beside_agents(tmp_path: pathlib.Path) -> None:
    project = tmp_path / "echo.asl"
    project.write_text("+!kqml_received(S, request, C, Id) <- .send(S, inform, C, Id).")
    async with Platform(project=project) as platform:
        bob = await platform.start("bob")
        assert (await bob.ask("echo", 7)).content == 7


@needs_node
@asynchronous
async def test_killed_node_ends_session() -> None:
    platform = await Platform()
    bob = await platform.start("bob")
    asking = asyncio.ensure_future(bob.ask("node", timeout=30))
    await asyncio.sleep(0)
    assert platform.node is not None
    assert platform.node.pid is not None
    os.kill(platform.node.pid, signal.SIGKILL)
    error = await platform.wait_closed()
    assert error.code == "stopping"
    assert "the node's process ended" in str(error)
    with pytest.raises(EndedError):
        await asking
    await platform.close()


@needs_node
@asynchronous
async def test_killed_program_ends_node() -> None:
    program = """
        import asyncio
        from whimbrel import Platform, run

        async def main():
            async with Platform() as platform:
                print(platform.node.pid, flush=True)
                await platform.wait_closed()

        run(main())
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "WHIMBREL": WHIMBREL},
    )
    assert process.stdout is not None
    pid = int(await asyncio.to_thread(process.stdout.readline))
    assert is_running(pid)
    process.kill()
    process.wait()
    process.stdout.close()
    await until(lambda: not is_running(pid))


@needs_node
def test_program_needs_no_asyncio() -> None:
    with Platform() as platform:
        platform.start("ada", Greeter())
        assert platform.ask("ada", "world").content == "hello, world"
        late = platform.start("late")
        platform.send("late", "stop")
        platform.run(late.receive(timeout=5))
        platform.run(late.stop())
        platform.wait(late)
        with pytest.raises(whimbrel.DeadlineError):
            platform.ask("node", None, "propose", timeout=0.05)


@needs_node
def test_interrupt_cleans_up() -> None:
    program = """
        import signal
        from whimbrel import Platform, run

        # Shells let the background ignore Ctrl-C, and children inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)

        async def main():
            async with Platform() as platform:
                print(platform.node.pid, flush=True)
                await (await platform.start("bob")).receive()

        try:
            run(main())
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "WHIMBREL": WHIMBREL},
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert process.wait(20) == 0
    process.stdout.close()
    assert not is_running(pid)


@needs_node
@asynchronous
async def test_broken_project_says_why(tmp_path: pathlib.Path) -> None:
    project = tmp_path / "wrong.mas2j"
    project.write_text("MAS home { agents: }")
    with pytest.raises(WhimbrelError, match="expected an agent"):
        await Platform(project=project)
    with pytest.raises(WhimbrelError, match="not both"):
        Platform("tcp://127.0.0.1:1", project=project)


@asynchronous
async def test_missing_program_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("WHIMBREL", str(tmp_path / "nothing"))
    with pytest.raises(WhimbrelError, match="WHIMBREL names no program"):
        await Platform()
    monkeypatch.delenv("WHIMBREL")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WhimbrelError, match="install a wheel for this system"):
        await Platform()


def test_program_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    script, program = tmp_path / "a" / "whimbrel", tmp_path / "b" / "whimbrel"
    for path, content in ((script, b"#!/usr/bin/python3\n"), (program, b"\x7fELF")):
        path.parent.mkdir()
        path.write_bytes(content)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("WHIMBREL", raising=False)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{program.parent}")
    # The script of this package would only look for the program again.
    assert find_binary() == str(program)
    monkeypatch.setenv("WHIMBREL", str(script))
    assert find_binary() == str(script)


@needs_node
def test_command_runs_the_program() -> None:
    command = [sys.executable, "-m", "whimbrel.cli", "--version"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "WHIMBREL": WHIMBREL}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout.startswith("whimbrel")) == (0, True)
    done = subprocess.run(
        command, capture_output=True, text=True, env={**environment, "WHIMBREL": "/none"}, check=False
    )
    assert (done.returncode, done.stderr) == (1, "error: WHIMBREL names no program: /none\n")


def test_import_is_quick() -> None:
    # Import times vary with the machine's load, so asyncio's own is the measure.
    program = "import sys, time; import asyncio; begun = time.perf_counter(); import whimbrel; print(len(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program], capture_output=True, text=True, env=environment, check=True
    )
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    for heavy in (
        "uvloop",
        "cryptography",
        "tempfile",
        "whimbrel.node",
        "whimbrel.acl.compact",
        "whimbrel.session.websocket",
    ):
        assert heavy not in modules


@asynchronous
async def test_address_comes_from_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHIMBREL_URL", "tcp://127.0.0.1:1")
    monkeypatch.setenv("WHIMBREL_TOKEN", "hush")
    platform = Platform(patience=0.2)
    assert "127.0.0.1:1" in repr(platform)
    begun = time.monotonic()
    with pytest.raises(SessionError, match="unreachable"):
        await platform
    assert time.monotonic() - begun < 5
    with pytest.raises(WhimbrelError, match="unknown encoding"):
        Platform(encoding="xml")  # type: ignore[arg-type]
