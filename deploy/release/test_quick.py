#!/usr/bin/env python3
"""Asks a quick build (`make quick`) for each part that it leaves out: it names the part, and the build that has it.

usage: test_quick.py BINARY
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BINARY = Path()
# A module without any content.
EMPTY_MODULE = b"\0asm\1\0\0\0"
NATS, WASM, BENCH = "this build has no NATS", "this build has no WebAssembly", "this build has no benchmarks"


class QuickTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="whimbrel-quick-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "idle.asl").write_text("!begin.\n+!begin <- .stopMAS.\n")
        (self.folder / "agent.wasm").write_bytes(EMPTY_MODULE)
        (self.folder / "mixed.mas2j").write_text("MAS mixed { agents: idle; agent agent.wasm; }")

    def said(self, *words: str) -> tuple[int, str]:
        done = subprocess.run(
            [BINARY, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
        )
        return done.returncode, done.stdout

    def test_absent_parts_are_named(self) -> None:
        store = "nats://127.0.0.1:1/garden"
        for part, line in [
            (NATS, f"up idle.asl --store {store}"),
            (NATS, "engine up"),
            (NATS, "chaos plan.toml"),
            (NATS, f"run idle.asl --store {store}"),
            (WASM, "agent build agent.c"),
            (WASM, "new school --wasm c"),
            (WASM, "run agent.wasm"),
            (WASM, "run mixed.mas2j --strict"),
            (WASM, "check agent.wasm"),
            (BENCH, "bench ring"),
        ]:
            with self.subTest(line):
                code, out = self.said(*line.split())
                self.assertNotEqual(code, 0, out)
                self.assertIn(part, out)
                self.assertIn("make build", out)

    def test_other_agents_run_without_the_absent_part(self) -> None:
        code, out = self.said("run", "mixed.mas2j")
        self.assertEqual(code, 1, out)
        self.assertIn(WASM, out)

    def test_help_names_absent_parts(self) -> None:
        self.assertIn("This build leaves out NATS, WebAssembly, benchmarks", self.said("--help")[1])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BINARY = Path(sys.argv.pop(1)).resolve()
    unittest.main()
