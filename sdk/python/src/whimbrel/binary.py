"""The `whimbrel` program: where it is."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from .acl.errors import WhimbrelError

__all__ = ["find_binary"]

_NAME = "whimbrel.exe" if sys.platform == "win32" else "whimbrel"


def bundled() -> Path:
    """Returns the path of the program inside a platform wheel."""
    return Path(__file__).parent / "bin" / _NAME


def find_binary() -> str:
    """Returns the path of the program: that of the variable WHIMBREL, of this package's wheel, or on the PATH.

    Raises WhimbrelError if there is none.
    """
    named = os.environ.get("WHIMBREL")
    if named:
        if Path(named).is_file():
            return named
        raise WhimbrelError(f"WHIMBREL names no program: {named}")
    if bundled().is_file():
        return str(bundled())
    found = next((path for path in map(str, _on_path()) if not _is_script(path)), None)
    if found:
        return found
    raise WhimbrelError(
        "there is no whimbrel program: install a wheel for this system (pip install whimbrel), put the program on the "
        "PATH, or name it by the variable WHIMBREL"
    )


def _on_path() -> list[str]:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = (shutil.which(_NAME, path=folder) for folder in folders if folder)
    return [path for path in found if path]


def _is_script(path: str) -> bool:
    """Returns true for this package's own command, which would only look for the program again."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!" or Path(path).resolve() == Path(sys.argv[0]).resolve()
    except OSError:
        return True
