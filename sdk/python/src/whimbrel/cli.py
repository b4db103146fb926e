"""Command `whimbrel`: runs the program that a platform wheel carries, or another one that is found."""

from __future__ import annotations

import os
import subprocess
import sys

from .acl.errors import WhimbrelError
from .binary import find_binary


def main() -> int:
    """Runs the program with the arguments of this command."""
    try:
        program = find_binary()
    except WhimbrelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    command = [program, *sys.argv[1:]]
    if os.name == "posix":
        os.execv(program, command)
    try:
        return subprocess.call(command)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
