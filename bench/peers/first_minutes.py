#!/usr/bin/env python3
"""Takes the time from an empty folder to the first words of two agents: Whimbrel, SPADE, LangGraph and Jason.

    make dist && bench/peers/first_minutes.py             all that can be had here
    bench/peers/first_minutes.py --rounds 3 --only whimbrel,spade

Every round begins with an empty folder, an empty home and no caches, and types what the documents of each system say.
The rounds take turns. Whimbrel's wheel is taken from target/dist, as no registry has it yet; packages of the others
come over the network. The first words are the first line that an agent prints.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from harness import programs

PEERS = Path(__file__).resolve().parent
REPOSITORY = PEERS.parent.parent
SOURCES = PEERS / "first_minutes"
STEP_S_MAX = 600
SPEAK_S_MAX = 60
FIRST_WORDS = "[bob]"
JASON = "io.github.jason-lang:jason-interpreter:3.3.0"

PIP = ".venv/bin/pip install --quiet --no-cache-dir --disable-pip-version-check"
# Per system: files, what is typed to install, what runs beside it (a command, and the line that says that it is
# ready), what is typed to run it, and the command that prints the version.
SYSTEMS = {
    "whimbrel": (["hello.mas2j", "alice.asl", "bob.asl"],
                 ["{python} -m venv .venv", PIP + " {wheel}"], None,
                 ".venv/bin/whimbrel run --for 2s hello.mas2j", ".venv/bin/whimbrel --version"),
    "spade": (["spade_hello.py"],
              # Without greenlet, `pip install spade` installs a SPADE that does not start: its newest SQLAlchemy needs it.
              ["{python} -m venv .venv", PIP + " spade greenlet"], (".venv/bin/spade run", 5222),
              ".venv/bin/python spade_hello.py", ".venv/bin/pip show spade"),
    "langgraph": (["langgraph_hello.py"],
                  ["{python} -m venv .venv", PIP + " langgraph"], None,
                  ".venv/bin/python langgraph_hello.py", ".venv/bin/pip show langgraph"),
    "jason": (["hello.mas2j", "alice.asl", "bob.asl", "../jason/logging.properties"],
              ["mvn -q -Dmaven.repo.local=repository dependency:get -Dartifact=" + JASON], None,
              "{java} -Djava.awt.headless=true -cp {jars} jason.infra.local.RunLocalMAS hello.mas2j --no-net "
              # Without a display, Jason needs to be told where to print.
              "--log-conf logging.properties", "echo " + JASON),
}


class Failed(Exception):
    """A step that did not succeed; the message has its last words."""


def typed(command, folder, **values):
    """Runs a command to its end."""
    ran = subprocess.run(command.format(**values), shell=True, cwd=folder, env=environment(folder), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=STEP_S_MAX)
    if ran.returncode != 0:
        raise Failed(f"{command}: {ran.stdout[-300:]}")
    return ran.stdout


def environment(folder):
    """Returns the environment with an empty home."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WHIMBREL")}
    return kept | {"HOME": str(home), "PIP_NO_CACHE_DIR": "1"}


def first_words(command, folder, **values):
    """Starts a command and returns the seconds until an agent's first line, and that line."""
    began = time.monotonic()
    child = subprocess.Popen(command.format(**values), shell=True, cwd=folder, env=environment(folder), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    # A program that says nothing would run for ever.
    silence = threading.Timer(SPEAK_S_MAX, end, [child])
    silence.start()
    try:
        for line in child.stdout:
            if line.startswith(FIRST_WORDS):
                return time.monotonic() - began, line.strip()
        raise Failed(f"{command}: no agent said anything")
    finally:
        silence.cancel()
        end(child)


def end(child):
    """Ends a command and its children."""
    try:
        os.killpg(child.pid, 15)
        child.wait(10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        child.kill()
        child.wait()


def listening(port):
    """Waits until a server beside the agents accepts connections."""
    import socket

    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise Failed(f"nothing listens at port {port}")


def jars(folder):
    """Returns the class path of what Maven brought."""
    return ":".join(str(jar) for jar in (folder / "repository").rglob("*.jar")) or "none"


def once(system, wheel):
    """Returns the seconds to install, to the first words after that, the size on disk in MB, version and words."""
    files, install, beside, run, version = SYSTEMS[system]
    with tempfile.TemporaryDirectory(prefix="first-minutes-") as name:
        folder = Path(name)
        for file in files:
            shutil.copy(SOURCES / file, folder)
        began = time.monotonic()
        for command in install:
            typed(command, folder, python=sys.executable, wheel=wheel)
        installed = time.monotonic() - began
        megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
        server = None
        try:
            began = time.monotonic()
            if beside:
                command, port = beside
                server = subprocess.Popen(command, shell=True, cwd=folder, env=environment(folder), text=True,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
                listening(port)
            waited = time.monotonic() - began
            java = programs.find_java() if "{java}" in run else ""
            spoken, words = first_words(run, folder, jars=jars(folder), java=java)
        finally:
            if server:
                end(server)
        shown = [line for line in typed(version, folder).splitlines() if "ersion" in line or "whimbrel" in line or ":" in line]
        count = len(install) + bool(beside) + 1
        return {"install": installed, "speak": waited + spoken, "mb": megabytes, "commands": count,
                "version": shown[1] if system in ("spade", "langgraph") else shown[0], "words": words}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(SYSTEMS), help="systems, separated by commas")
    parser.add_argument("--wheel", help="Whimbrel's wheel; otherwise the one in target/dist")
    options = parser.parse_args()
    wheels = [options.wheel] if options.wheel else sorted((REPOSITORY / "target" / "dist").glob("whimbrel-*.whl"))
    if not wheels and "whimbrel" in options.only:
        sys.exit("there is no wheel in target/dist: make dist")
    results = {}
    for number in range(options.rounds):
        for system in options.only.split(","):
            try:
                figures = once(system, wheels[-1] if wheels else None)
                results.setdefault(system, []).append(figures)
                print(f"round {number + 1}: {system} {figures}", file=sys.stderr)
            except (Failed, subprocess.TimeoutExpired) as failure:
                print(f"round {number + 1}: {system} left out: {failure}", file=sys.stderr)
    print("| system | commands | installed after, s | first words after that, s | on disk, MB | first words |")
    print("|---|---:|---:|---:|---:|---|")
    for system, rounds in results.items():
        middle = {key: statistics.median(one[key] for one in rounds) for key in ("install", "speak", "mb", "commands")}
        print(f"| {system} ({rounds[0]['version']}) | {middle['commands']:.0f} | {middle['install']:.1f} "
              f"| {middle['speak']:.2f} | {middle['mb']:.0f} | `{rounds[0]['words']}` |")


if __name__ == "__main__":
    main()
