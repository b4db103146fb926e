"""Whimbrel's SPADE by the name `spade`, so that a program for SPADE changes by one line:

>>> import whimbrel.spade.alias
>>> import spade
>>> from spade.agent import Agent
"""

from __future__ import annotations

import importlib
import sys

from ..acl.errors import WhimbrelError

__all__: list[str] = []

_NAME = "spade"
_PACKAGE = __package__ or "whimbrel.spade"
_MODULES = ("agent", "behaviour", "container", "jid", "message", "presence", "template", "trace", "web")


def _install() -> None:
    package = importlib.import_module(_PACKAGE)
    if sys.modules.get(_NAME, package) is not package:
        raise WhimbrelError("SPADE itself is imported already: `import whimbrel.spade.alias` before `import spade`")
    sys.modules[_NAME] = package
    for module in _MODULES:
        sys.modules[f"{_NAME}.{module}"] = importlib.import_module(f"{_PACKAGE}.{module}")


_install()
