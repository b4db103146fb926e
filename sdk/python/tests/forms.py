"""Forms of frames."""

from __future__ import annotations

from whimbrel.acl.compact import CODEC
from whimbrel.session.frames import Form

FORMS: dict[str, Form] = {"json": None, "compact": CODEC}
