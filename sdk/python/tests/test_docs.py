"""Programs of the documents: they run, and print what the documents say."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

import pytest
from society import TOKEN, WHIMBREL, Society, needs_node
from vectors import REPOSITORY

pytestmark = needs_node

SOURCE = pathlib.Path(__file__).parents[1] / "src"
#: Documents of which every block of Python is a program.
WHOLE = ("docs/guide/python.md", "docs/guide/protocols.md", "sdk/python/README.md")
DOCUMENTS = (*WHOLE, "docs/guide/from-spade.md", "docs/guide/language-models.md")

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


class Program(NamedTuple):
    """A program of a document, with what it prints, and files beside it."""

    document: str
    file: str
    source: str
    needs_node: bool
    is_test: bool
    output: str
    files: dict[str, str]


def programs() -> list[Program]:
    """Reads the programs of all documents."""
    found: list[Program] = []
    for document in DOCUMENTS:
        files: dict[str, str] = {}
        blocks = _BLOCK.findall((REPOSITORY / document).read_text(encoding="utf-8"))
        for (language, options, text), following in zip(blocks, [*blocks[1:], ("", "", "")], strict=True):
            name = re.search(r"file=(\S+)", options)
            is_cell = "await " in text and "def " not in text and not name
            if language == "python" and (name or (document in WHOLE and not is_cell)):
                assert name, f"{document}: a block of Python without a file"
                assert following[0] == "text", f"{document}: no output of {name[1]}"
                found.append(
                    Program(
                        document, name[1], text, "needs=node" in options, "pytest" in options, following[2], dict(files)
                    )
                )
            elif name:
                files[name[1]] = text
    return found


@pytest.mark.parametrize("program", programs(), ids=lambda program: f"{program.document}-{program.file}")
def test_program_prints_what_document_says(program: Program, society: Society, tmp_path: pathlib.Path) -> None:
    for name, text in {**program.files, program.file: program.source}.items():
        (tmp_path / name).write_text(text)
    arguments = [society.address, TOKEN] if program.needs_node else []
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "WHIMBREL": WHIMBREL, "PYTHONSAFEPATH": "1"}
    start = ["-m", "pytest", "--quiet", "-p", "whimbrel.testing.plugin"] if program.is_test else []
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", *start, program.file, *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # Of tests, how many passed; not how long they took.
    printed = done.stdout if not program.is_test else re.sub(r"(?s).*\n(\d+ passed) in .*", r"\1\n", done.stdout)
    assert (done.returncode, printed) == (0, program.output), done.stderr


def test_documents_have_programs() -> None:
    assert len(programs()) >= 10
