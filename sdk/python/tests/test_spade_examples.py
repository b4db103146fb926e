"""SPADE's own programs over Whimbrel: its example scripts, and the programs of its documents.

SPADE_SOURCE is a checkout of SPADE 4, whose scripts are in `examples`, or its source distribution, whose documents are
in `docs`. Nothing of SPADE is in this repository.
"""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest
from society import WHIMBREL, needs_node

GIVEN = os.environ.get("SPADE_SOURCE", "")
SOURCE = pathlib.Path(__file__).parents[1] / "src"

pytestmark = [
    needs_node,
    pytest.mark.skipif(
        not GIVEN, reason="SPADE's own programs are not tried: SPADE_SOURCE names no checkout or source of SPADE 4"
    ),
]

#: Seconds for one program.
PROGRAM_S = 60
#: Programs that run beside each other.
AT_ONCE = 6

ONE = ("a1@localhost", "secret")
TWO = (*ONE, "a2@localhost", "secret")
TIME = r"\d\d:\d\d:\d\d\.\d+"
FSM = (
    "FSM starting at initial state STATE_ONE",
    r"I'm at state one \(initial state\)",
    "I'm at state two",
    r"I'm at state three \(final state\)",
    "State Three received message msg_from_state_one_to_state_three",
    "FSM finished at state STATE_THREE",
    "Agent finished",
)
KILLED = (
    "Agent starting . . .",
    "Starting behaviour . . .",
    *(f"Counter: {n}" for n in range(4)),
    r"Behaviour finished with exit code 10\.",
)
JOINED = (
    "Agent starting . . .",
    "Long Behaviour has finished",
    "Waiting Behaviour has finished",
    r"Stopping agent\.",
)
ENDLESS = ("Agent starting . . .", "Starting behaviour . . .", "Counter: 0", "Counter: 1", "Counter: 2")
SENT = ("SenderAgent started", "InformBehav running", "Message sent!", "Agents finished")
TIMED = (
    f"TimeoutSenderAgent started at {TIME}",
    rf"TimeoutSenderBehaviou?r running at {TIME}",
    "Message received with content: Hello World",
)
FRIENDS = (
    "Agent a2 running",
    "Agent a1 running",
    r"\[a2\] Agent a1 asked for subscription. Let's app?rove it\.?",
    r"\[a1\] Agent a2 has accepted the subscription\.?",
    r"\[a1\] Agent a2 asked for subscription. Let's app?rove it\.?",
    r"\[a2\] Agent a1 has accepted the subscription\.?",
)
CREATED = (r"a1@localhost created\.", r"agent2_example@localhost created\.")


def periodic(*last: str) -> tuple[str, ...]:
    """What a periodic sender and its receiver print in this order."""
    rounds = [
        line
        for n in range(6)
        for line in (
            rf"PeriodicSenderBehav(iour running)? at {TIME}: {n}",
            "Message received with content: Hello World",
        )
    ]
    return ("ReceiverAgent started", "RecvBehav running", f"PeriodicSenderAgent started at {TIME}", *rounds, *last)


class Program(NamedTuple):
    """A program: what is typed, and lines that it prints in this order, as patterns. Others may be between them.

    An endless one is interrupted when it has printed them all.
    """

    typed: tuple[str, ...]
    prints: tuple[str, ...]
    is_endless: bool = False


#: Scripts of the folder `examples`.
EXAMPLES = {
    "agent_inside_agent.py": Program(ONE, CREATED),
    "counter_behav.py": Program(
        ONE,
        (
            "Agent starting . . .",
            "Starting behaviour . . .",
            *(f"Counter: {n}" for n in range(6)),
            r"Behaviour finished with exit code 10\.",
            r"DummyAgent stopped\.",
        ),
    ),
    "dummyagent.py": Program(ONE, ("Hello World! I'm agent a1@localhost",)),
    "dummybehavior.py": Program(ONE, ENDLESS, True),
    "fsm_example.py": Program(ONE, FSM),
    "humanintheloop.py": Program(
        (*ONE, "human@localhost"), ("Agent starting . . .", "DummyAgent started.*", "Starting behaviour . . ."), True
    ),
    "join.py": Program(ONE, JOINED),
    "kill_behavior.py": Program(ONE, KILLED),
    # Its last three experiments take gigabytes.
    "performance.py": Program(
        TWO,
        tuple(
            line
            for count, size in ((1000, 50), (10000, 50), (1000, 1049))
            for line in ("Go", rf"{count} Messages of size {size} bytes received w/container: [\d.]+")
        ),
        True,
    ),
    "periodic_example.py": Program(TWO, periodic("Agents finished")),
    "presence_subscribe_friends.py": Program(
        TWO, (*FRIENDS[:2], r"\[a1\] Agent a1 is asking for subscription to a2@localhost", *FRIENDS[2:]), True
    ),
    "send_and_recv.py": Program(
        TWO,
        (
            "SenderAgent started",
            "InformBehav running",
            "Message sent!",
            "Message received with content: Hello World a2@localhost",
            "Agents finished",
        ),
    ),
    "sub_both.py": Program(
        TWO,
        ("Subscription request from a[12]@localhost", "a[12]@localhost Subscribed", "a[12]@localhost Available"),
        True,
    ),
    "timeout_example.py": Program(TWO, (*TIMED, "Agents finished")),
}

#: Scripts that cannot run, and why.
LEFT_OUT = {"web_interface.py": "it fills SPADE's own web page, by slixmpp's stanzas and pages of its own"}

#: Programs of the documents, by document and place in it.
DOCUMENTS = {
    # SPADE's document waits for an agent that it does not define.
    ("agents.rst", 1): Program((), SENT[:3]),
    ("agents.rst", 2): Program(
        (),
        (
            "ReceiverAgent started",
            "RecvBehav running",
            *SENT[:3],
            "Message received with content: Hello World",
            "Agents finished",
        ),
    ),
    # After the last message its receiver waits for ten seconds more.
    ("behaviours.rst", 1): Program(TWO, periodic("Did not received any message after 10 seconds", "Agents finished")),
    ("behaviours.rst", 2): Program(TWO, (*TIMED, "Did not received any message after 10 seconds", "Agents finished")),
    ("behaviours.rst", 3): Program((), FSM),
    ("behaviours.rst", 4): Program(ONE, JOINED),
    ("presence.rst", 1): Program(TWO, (*FRIENDS, r"\[a2\] Agent a1 is chat"), True),
    ("usage.rst", 1): Program((), ("Hello World! I'm agent dummy@localhost",)),
    ("usage.rst", 2): Program((), ENDLESS, True),
    ("usage.rst", 3): Program((), KILLED),
    ("usage.rst", 4): Program((), (r"agent1_example@.* created\.", r"agent2_example@.* created\.")),
}


def with_changed_imports(script: str) -> str:
    """Returns the script with its imports changed: two lines at most."""
    changed = re.sub(
        r"^import spade$", "import whimbrel.spade.alias; import spade", script, count=1, flags=re.MULTILINE
    )
    changed = re.sub(
        r"^from slixmpp import JID$", "from whimbrel.spade import JID", changed, count=1, flags=re.MULTILINE
    )
    pairs = zip(script.splitlines(), changed.splitlines(), strict=True)
    assert 1 <= sum(before != after for before, after in pairs) <= 2
    return changed


def programs_of_documents(folder: pathlib.Path) -> dict[tuple[str, int], str]:
    """Returns the whole programs in documents: blocks that call `spade.run`."""
    found = {}
    for path in sorted(folder.glob("*.rst")):
        blocks = re.findall(r"^[^\n]*::[^\n]*\n((?:[ \t]*\n|[ ]{4,}[^\n]*\n)+)", path.read_text(), re.MULTILINE)
        programs = [
            textwrap.dedent(block).strip("\n") + "\n" for block in blocks if re.search(r"^ *spade.run\(", block, re.M)
        ]
        # A block without imports is a part of a program.
        programs = [program for program in programs if program.startswith("import ")]
        found.update({(path.name, place): program for place, program in enumerate(programs, 1)})
    return found


def fits(lines: list[str], patterns: tuple[str, ...]) -> bool:
    """Returns true if all patterns are among the lines, in this order."""
    rest = iter(lines)
    return all(any(re.search(rf"(?:^|: |> ){pattern}$", line) for line in rest) for pattern in patterns)


def run(script: str, program: Program, folder: pathlib.Path) -> tuple[bool, str]:
    """Runs a script. Returns whether it printed what it should, and all that it printed."""
    path = folder / "program.py"
    path.write_text(with_changed_imports(script))
    started = subprocess.Popen(
        [sys.executable, "-u", path.name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "WHIMBREL": WHIMBREL, "PYTHONSAFEPATH": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Without a terminal, getpass reads the standard input.
        start_new_session=True,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    late = threading.Timer(PROGRAM_S, started.kill)
    late.start()
    lines: list[str] = []
    try:
        started.stdin.write("".join(f"{line}\n" for line in program.typed))
        started.stdin.close()
        has_printed = False
        for line in started.stdout:
            lines.append(line.rstrip("\n"))
            if program.is_endless and not has_printed and fits(lines, program.prints):
                has_printed = True
                started.send_signal(signal.SIGINT)
        code = started.wait()
    finally:
        late.cancel()
        started.stdout.close()
    return fits(lines, program.prints) and code == 0, "\n".join([*lines, f"exit {code}"])


def run_all(scripts: dict[str, tuple[str, Program]], folder: pathlib.Path) -> dict[str, str]:
    """Runs scripts beside each other. Returns what those printed that printed something else."""

    def one(name: str) -> tuple[bool, str]:
        (folder / name).mkdir(parents=True)
        return run(*scripts[name], folder / name)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = dict(zip(scripts, pool.map(one, scripts)))
    return {name: printed for name, (is_right, printed) in results.items() if not is_right}


def test_example_scripts_print_what_they_should(tmp_path: pathlib.Path) -> None:
    folder = pathlib.Path(GIVEN) / "examples"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}: a source distribution has only documents")
    assert {path.name for path in folder.glob("*.py")} <= EXAMPLES.keys() | LEFT_OUT.keys(), "a script without a word"
    scripts = {name: ((folder / name).read_text(), program) for name, program in EXAMPLES.items()}
    wrong = run_all(scripts, tmp_path)
    assert not wrong, "\n\n".join(f"---- {name}\n{printed}" for name, printed in wrong.items())


def test_programs_of_documents_print_what_they_should(tmp_path: pathlib.Path) -> None:
    found = programs_of_documents(pathlib.Path(GIVEN) / "docs")
    assert found.keys() == DOCUMENTS.keys(), "a program without a word"
    scripts = {f"{name}-{place}": (found[name, place], program) for (name, place), program in DOCUMENTS.items()}
    # The first program of agents.rst names an agent that it does not define.
    document, program = scripts["agents.rst-1"]
    scripts["agents.rst-1"] = (document.replace("(receiveragent)", "(senderagent)"), program)
    wrong = run_all(scripts, tmp_path)
    assert not wrong, "\n\n".join(f"---- {name}\n{printed}" for name, printed in wrong.items())
