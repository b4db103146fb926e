"""A node of one's own, as a child of this program."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from .acl.errors import WhimbrelError
from .binary import find_binary

__all__ = ["Node"]

#: Agent of a society that has no other one.
_OWN_AGENT = "node"
#: Agents of one session: the most that a node permits.
_AGENTS_MAX = 10_000
#: Messages per second of this program: more than it can send. The node need not protect itself from its own program.
_MESSAGES_PER_S = 10_000_000
#: Seconds for a node to end, before its process is killed.
_END_S = 10.0

_ADDRESS = re.compile(r"agents can connect at (\S+)")
_END = re.compile(r"the society ended after")
_HTTP = re.compile(r"--http(=|$)")
_CONSOLE = re.compile(r"console is at (\S+)")


class Node:
    """A process that runs a society, for this program alone.

    It ends with this program, whatever becomes of it: then its standard input is at its end. The token is known to this
    program only: the node gets its hash.
    """

    def __init__(
        self,
        project: str | os.PathLike[str] | None = None,
        options: Sequence[str] = (),
        token: str | None = None,
    ) -> None:
        self._project = project
        self._options = list(options)
        self._process: subprocess.Popen[str] | None = None
        self._folder: str | None = None
        self._reader: threading.Thread | None = None
        self._said: list[str] = []
        self._is_ready = threading.Event()
        #: Token that admits to the node. It says whose an agent is that a stored society kept.
        self.token = token or secrets.token_hex(32)
        #: Address of the agent port: `tcp://127.0.0.1:PORT`.
        self.address = ""
        #: Address of the console, with a token; None without one.
        self.console: str | None = None
        self._has_console = False
        #: Called in another thread when the process has ended.
        self.on_exit: Callable[[str], None] | None = None

    @property
    def pid(self) -> int | None:
        """Number of the process, while there is one."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Starts the process. Returns when agents can connect.

        Raises WhimbrelError if there is no program, or if it ends at once.
        """
        program = find_binary()
        self._folder = tempfile.mkdtemp(prefix="whimbrel-")
        try:
            self._spawn(program)
            self._is_ready.wait()
            if not self.address:
                raise WhimbrelError(f"the node ended at once: {''.join(self._said).strip() or 'no reason given'}")
        except BaseException:
            self.stop()
            raise

    def _spawn(self, program: str) -> None:
        folder = Path(self._folder or "")
        tokens = folder / "agents.tokens"
        tokens.write_text(f"{hashlib.sha256(self.token.encode()).hexdigest()} *\n")
        project = self._project
        if project is None:
            project = folder / f"{_OWN_AGENT}.asl"
            project.write_text("// A society whose agents are in another program.\n")
        options = ["--end-with-input", "--agent-port", "0", "--agent-tokens", str(tokens)]
        given = [more.partition("=")[2] or value for more, value in pairwise([*self._options, ""]) if _HTTP.match(more)]
        self._has_console = bool(given) and given != ["off"]
        if not given:
            options += ["--http", "off"]
        if not any(option.startswith("--session-agents") for option in self._options):
            options += ["--session-agents", str(_AGENTS_MAX)]
        if not any(option.startswith("--session-messages-per-s") for option in self._options):
            options += ["--session-messages-per-s", str(_MESSAGES_PER_S)]
        self._process = subprocess.Popen(
            [program, "run", str(project), *options, *self._options],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C is for this program, which then ends the node.
            **({"start_new_session": True} if os.name == "posix" else {}),  # type: ignore[call-overload]
        )
        self._reader = threading.Thread(target=self._read, name="whimbrel node", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Reads what the node says, until its end."""
        process = self._process
        assert process is not None
        assert process.stderr is not None
        for line in process.stderr:
            address, console = _ADDRESS.search(line), _CONSOLE.search(line)
            if console:
                self.console = console[1]
            if address:
                self.address = f"tcp://{address[1]}"
            if address or console:
                # The console's address comes last.
                if self.address and (self.console or not self._has_console):
                    self._is_ready.set()
            elif self._process is None and _END.search(line):
                # This program ends the node, and knows.
                continue
            elif self._is_ready.is_set():
                sys.stderr.write(line)
            else:
                self._said.append(line)
        code = process.wait()
        self._is_ready.set()
        if self.on_exit is not None:
            self.on_exit(f"the node's process ended ({code})")

    def stop(self) -> None:
        """Ends the process, and waits for its end."""
        self.on_exit = None
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if self._reader is not None:
                self._reader.join()
            if process.stderr is not None:
                process.stderr.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
