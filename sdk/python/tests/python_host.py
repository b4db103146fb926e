"""Host of a project's Python, without a node: frames over pipes."""

from __future__ import annotations

import json
import os
import pathlib
import struct
import sys
import threading
from typing import Any

from whimbrel.environment.frames import FrameWriter
from whimbrel.environment.host import Host
from whimbrel.environment.output import AgentOutput


def line_of(text: str, source: str) -> int:
    """Returns the number of the first line of a source that has a text."""
    return next(number for number, line in enumerate(source.splitlines(), 1) if text in line)


class HostProcess:
    """Host whose frames a test writes and reads."""

    def __init__(self, folder: pathlib.Path, threads: int = 4) -> None:
        self.folder = folder
        there, self._to = os.pipe()
        self._from, back = os.pipe()
        self.writer = FrameWriter(back)
        self.output = AgentOutput(self.writer)
        self.host = Host(os.fdopen(there, "rb"), self.writer, self.output)
        self._source = os.fdopen(self._from, "rb")
        self._thread = threading.Thread(target=self.host.serve, args=(threads,), daemon=True)
        self._thread.start()
        self._path = list(sys.path)
        self._stdout = sys.stdout

    def send(self, *frame: Any) -> None:
        """Sends a frame of the node."""
        # pytest has its own output in each test.
        sys.stdout = self.output
        data = json.dumps(frame).encode()
        os.write(self._to, struct.pack(">I", len(data)) + data)

    def hello(self, actions: str | None = None) -> None:
        """Says hello, and takes the answer."""
        self.send("hello", 1, str(self.folder), None if actions is None else str(self.folder / actions))
        assert self.receive()[0] == "ready"

    def receive(self) -> Any:
        """Reads a frame of the host."""
        (length,) = struct.unpack(">I", self._source.read(4))
        return json.loads(self._source.read(length))

    def end(self) -> None:
        """Ends the host, and forgets the modules of its project."""
        sys.stdout = self._stdout
        os.close(self._to)
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._source.close()
        sys.path[:] = self._path
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and file.startswith(str(self.folder)):
                del sys.modules[name]
