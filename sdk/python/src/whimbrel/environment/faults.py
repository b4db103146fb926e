"""Faults of a project's Python, with the file and line that they come from."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from types import CodeType, ModuleType

from ..acl.values import Term

__all__ = ["Fault", "fault_of", "load", "place_of"]


class Fault:
    """Fault: a text that ends with its place, and annotations for the failure event."""

    __slots__ = ("annots", "place", "text")

    def __init__(self, text: str, annots: tuple[Term, ...] = (), place: str = "") -> None:
        self.text = text + place
        self.annots = annots
        #: Place in Python, as texts end with it: ` (actions.py:7)`.
        self.place = place


def _name(file: str, folder: str) -> str:
    """Returns a file as a reader of the project knows it."""
    inside = os.path.abspath(file).startswith(os.path.join(os.path.abspath(folder), ""))
    return os.path.relpath(file, folder) if inside else file


def place_of(code: CodeType, folder: str) -> str:
    """Returns the place of a function: `actions.py:3`."""
    return f"{_name(code.co_filename, folder)}:{code.co_firstlineno}"


def _last_line(error: BaseException, folder: str) -> tuple[str, int] | None:
    """Returns the innermost line of the project that an error comes from, or else the innermost line outside of this
    package.
    """
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return error.filename, error.lineno
    lines = [(line.filename, line.lineno or 0) for line in traceback.extract_tb(error.__traceback__)]
    own = [line for line in lines if os.path.abspath(line[0]).startswith(os.path.join(os.path.abspath(folder), ""))]
    package = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
    found = own or [line for line in lines if not os.path.abspath(line[0]).startswith(package)]
    return found[-1] if found else None


def fault_of(error: BaseException, folder: str) -> Fault:
    """Returns an error as a fault: `KeyError: 'x' (actions.py:7)`."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    kind = type(error).__name__
    text = f"{kind}: {message}" if message else kind
    line = _last_line(error, folder)
    if line is None:
        return Fault(text, (Term("py_error", kind),))
    file = _name(line[0], folder)
    annots = (Term("py_error", kind), Term("py_file", file), Term("py_line", line[1]))
    return Fault(text, annots, f" ({file}:{line[1]})")


def load(file: str, name: str) -> ModuleType:
    """Loads a file of the project as the module `name`, unless another file has imported it already.

    Raises whatever the file raises.
    """
    known = sys.modules.get(name)
    if known is not None and os.path.abspath(getattr(known, "__file__", None) or "") == os.path.abspath(file):
        return known
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
