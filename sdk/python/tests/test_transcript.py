"""The transcript of `conformance/python`, which the node's side replays, too."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from python_host import HostProcess
from vectors import REPOSITORY

from whimbrel.acl.errors import DecodeError
from whimbrel.environment.frames import decode


def fits(frame: Any, expected: Any) -> bool:
    """Returns true if a frame is the expected one; `"*"` stands for anything."""
    return len(frame) == len(expected) and all(want in ("*", part) for part, want in zip(frame, expected, strict=True))


def test_process_answers_transcript(tmp_path: pathlib.Path) -> None:
    text = (REPOSITORY / "conformance/python/transcript.json").read_text(encoding="utf-8")
    transcript = json.loads(text.replace("FOLDER", str(tmp_path)))
    for name, source in transcript["files"].items():
        (tmp_path / name).write_text(source)
    host = HostProcess(tmp_path)
    for step in transcript["steps"]:
        if "node" in step:
            host.send(*step["node"])
        else:
            frame = host.receive()
            assert fits(frame, step["process"]), frame
    host.end()


def test_malformed_frames_are_refused() -> None:
    frames = [
        "",
        "[]",
        "{}",
        "[7]",
        '["gone"]',
        '["gone",7]',
        '["more",1,true]',
        '["more",-1,2]',
        '["fly"]',
        "[" * 9999,
    ]
    for frame in [*frames, '["act",1,"a",{"term":7}]']:
        try:
            decode(frame.encode())
        except DecodeError:
            continue
        raise AssertionError(frame)
