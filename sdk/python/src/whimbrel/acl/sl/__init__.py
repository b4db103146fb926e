"""FIPA SL: reader and writer. Programs import `whimbrel.sl`."""

from __future__ import annotations

from .lexis import PROFILES
from .printer import value_to_sl
from .reader import sl_to_value

__all__ = ["PROFILES", "sl_to_value", "value_to_sl"]
