"""The `whimbrel` program: where it is."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from .acl.errors import WhimbrelError

__all__ = ["find_binary"]

_NAME = "whimbrel.exe" if sys.platform == "win32" else "whimbrel"


def find_binary() -> str:
    """Returns the path of the program: that of the variable WHIMBREL, of this package's wheel, or on the PATH.

    A wheel puts the program among the commands of its environment, which need not be on the PATH.

    Raises WhimbrelError if there is none.
    """
    named = os.environ.get("WHIMBREL")
    if named:
        if not Path(named).is_file():
            raise WhimbrelError(f"WHIMBREL names no program: {named}")
        if not os.access(named, os.X_OK):
            raise WhimbrelError(f"WHIMBREL names a file that is not executable: {named}")
        return named
    found = next((path for path in _found() if not _is_script(path)), None)
    if found:
        return found
    raise WhimbrelError(
        "there is no whimbrel program: install a wheel for this system (pip install whimbrel), put the program on the "
        "PATH, or name it by the variable WHIMBREL"
    )


def _found() -> list[str]:
    """Returns the programs of this name: of this environment, of this user, and on the PATH."""
    own = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    folders = [*own, *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    found = (shutil.which(_NAME, path=folder) for folder in folders if folder)
    return [path for path in found if path]


def _is_script(path: str) -> bool:
    """Returns true for this package's own command, which would only look for the program again."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!" or Path(path).resolve() == Path(sys.argv[0]).resolve()
    except OSError:
        return True
