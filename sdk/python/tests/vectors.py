"""Vectors and transcripts of `conformance`."""

from __future__ import annotations

import json
import pathlib
from typing import Any

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def vectors(name: str) -> Any:
    """Reads a file of `conformance`, such as `acl/values`."""
    return json.loads((REPOSITORY / "conformance" / f"{name}.json").read_text(encoding="utf-8"))


def vector_files(folder: str) -> list[str]:
    """Returns the names of the files in a folder of `conformance`, without extension."""
    return sorted(path.stem for path in (REPOSITORY / "conformance" / folder).glob("*.json"))


def compact_json(value: Any) -> str:
    """Writes JSON as it stands in a vector, without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
