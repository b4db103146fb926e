"""Short fault run: the network is cut, the node and a program are killed, and no number is lost, doubled or reordered.

The whole one is `make python-faults`.
"""

from __future__ import annotations

import asyncio
import pathlib
import sys

from society import needs_node

sys.path.insert(0, str(pathlib.Path(__file__).parent / "faults"))

from faults import run_faults


@needs_node
def test_numbers_survive_faults() -> None:
    report = asyncio.run(run_faults(rounds=2, scale=0.05))
    assert report.faults == [], str(report)
    assert (sum(report.outages.values()), report.node_kills, report.program_kills) == (2, 2, 2)
    assert report.messages > 10
