"""Notebooks: runs their cells as a kernel does, in one event loop. `python notebooks.py FILE` writes the outputs."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import pathlib
import sys
import tempfile
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "src"))


async def run_cells(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Runs the code cells. Returns the outputs of each: streams, and results by their types."""
    # Nothing is written to the user's folder.
    folder = tempfile.TemporaryDirectory()
    os.environ["IPYTHONDIR"] = folder.name
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell: Any = InteractiveShell.instance()
    shell.history_manager.enabled = False
    outputs: list[list[dict[str, Any]]] = []
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            with capture_output() as captured:
                source = "".join(cell["source"])
                result = await shell.run_cell_async(source, transformed_cell=shell.transform_cell(source))
            result.raise_error()
            found: list[dict[str, Any]] = []
            printed = captured.stdout if result.result is None else _before_result(captured.stdout)
            if printed.strip():
                found.append({"output_type": "stream", "name": "stdout", "text": printed})
            if result.result is not None:
                data, _ = shell.display_formatter.format(result.result)
                found.append({"output_type": "execute_result", "data": data, "metadata": {}})
            outputs.append(found)
    finally:
        shell.atexit_operations()
        atexit.unregister(shell.atexit_operations)
        InteractiveShell.clear_instance()
        folder.cleanup()
    return outputs


def _before_result(text: str) -> str:
    """Returns what a cell printed itself: the shell prints the result behind it."""
    return text.rpartition("Out[")[0].rstrip("\n") + "\n" if "Out[" in text else text


def texts(outputs: list[dict[str, Any]]) -> list[str]:
    """Returns the texts of outputs."""
    return ["".join(one["text"] if one["output_type"] == "stream" else one["data"]["text/plain"]) for one in outputs]


def _write(path: pathlib.Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    all_outputs = iter(asyncio.run(run_cells(notebook)))
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        cell["execution_count"] = count
        cell["outputs"] = [
            {**one, "execution_count": count} if one["output_type"] == "execute_result" else one
            for one in next(all_outputs)
        ]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write(pathlib.Path(sys.argv[1]))
