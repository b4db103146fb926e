"""Fixtures: a society whose agents speak AgentSpeak."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from society import WHIMBREL, Society

#: Echoes requests.
ECHO = "+!kqml_received(S, request, C, Id) <- .send(S, inform, C, Id)."
#: Sends messages 1 to N on request.
STREAM = "+!stream(N)[source(S)] <- for ( .range(I, 1, N) ) { .send(S, tell, item(I)) }."
#: Bids for jobs as a contractor of the contract net.
CONTRACTOR = """
  bid(mow, 30). bid(paint, 50).
  +!kqml_received(I, cfp, Job, _) : bid(Job, P) <- .send(I, propose, offer(Job, P)).
  +!kqml_received(I, cfp, Job, _) <- .send(I, refuse, Job).
  +!kqml_received(I, accept_proposal, offer(Job, _), _) <- .send(I, inform, done(Job)).
"""

settings.register_profile("quick", max_examples=25, deadline=None)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Programs that a test starts find the same node.
os.environ.setdefault("WHIMBREL", WHIMBREL)


@pytest.fixture(scope="session")
def society() -> Iterator[Society]:
    """A society of an echo, a stream, two contractors, and an agent that answers nothing."""
    programs = {
        "echo": ECHO,
        "stream": STREAM,
        "cara": CONTRACTOR,
        "bruno": CONTRACTOR.replace("30", "20"),
        "fern": "// Answers nothing.",
    }
    running = Society(programs)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def harbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Society]:
    """A society whose policy lets agents of sessions move."""
    policy = tmp_path_factory.mktemp("policy") / "policy.toml"
    policy.write_text('[[allow]]\nwho = "session:*"\nmove = "*"\ncode = "*"\n')
    running = Society({"fern": "// Answers nothing."}, "--policy", str(policy))
    yield running
    running.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says aloud what was not tried."""
    if not os.environ.get("SPADE_SOURCE"):
        terminalreporter.write_line(
            "SPADE's own programs were not tried: set SPADE_SOURCE to a checkout or source distribution of SPADE 4"
        )
