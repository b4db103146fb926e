"""Programs that measure one benchmark in one run, and how their answer is read."""

import importlib.util
import json
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import children, toolchains
from .toolchains import PEERS

ASL = PEERS.parent / "asl"
REPOSITORY = PEERS.parent.parent


@dataclass
class Measurement:
    version: str
    params: dict
    metrics: dict


@dataclass
class Program:
    """A program that takes `NAME --option value ...` and prints one JSON line."""

    name: str
    peer: str  # what toolchains.prepare makes ready; empty for ours
    command: list
    benches: tuple = ("ring", "chameneos", "fibonacci", "spawn")
    extra: list = field(default_factory=list)

    def measure(self, bench, params, timeout_s, threads):
        options = [text for key, value in params.items() for text in ("--" + key.replace("_", "-"), str(value))]
        lines = children.run([*self.command, bench, *options, *self.extra], timeout_s)
        answers = [line for line in lines if line.startswith("{")]
        if len(answers) != 1:
            raise children.ChildFailed(f"printed no JSON line: {children.last(lines)}")
        answer = json.loads(answers[0])
        return Measurement(str(answer["version"]), answer["params"], answer["metrics"])


@dataclass
class AgentSpeak:
    """An engine that runs the projects of bench/asl; what they print as RESULT lines are the metrics."""

    name: str
    peer: str
    command: list  # `{project}` stands for the .mas2j file
    version: str
    benches: tuple = ("ring", "chameneos", "fibonacci", "spawn", "micro")

    def measure(self, bench, params, timeout_s, threads):
        memory = {}

        def watch(process, line):
            if "MEASURE " in line:
                memory[line.rsplit(" ", 1)[1]] = self.resident_bytes(process.pid)

        folder = Path(tempfile.mkdtemp(prefix="whimbrel-bench-"))
        try:
            project = load_make().write_project(bench, folder, params, threads)
            argv = [part.format(project=project.name) for part in self.command]
            # Inside the folder, because Jason looks for sources where it was started.
            lines = children.run(argv, timeout_s, watch, cwd=folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        metrics = parse_results(lines)
        if {"before", "after"} <= set(memory):
            metrics["bytes_per_agent"] = (memory["after"] - memory["before"]) / params["agents"]
        return Measurement(self.version, params, metrics)

    def resident_bytes(self, pid):
        if self.peer == "jason":
            toolchains.collect_garbage(pid)
        return children.resident_bytes(pid)


def parse_results(lines):
    """Collects `key=value` pairs of all lines `[agent] RESULT bench=... key=value ...`."""
    pairs = [pair for line in lines if "] RESULT " in line for pair in re.findall(r"(\w+)=(\S+)", line)]
    if not pairs:
        raise children.ChildFailed(f"printed no RESULT line: {children.last(lines)}")
    return {key: None if value == "none" else float(value) for key, value in pairs if key != "bench"}


def load_make():
    spec = importlib.util.spec_from_file_location("make_asl", ASL / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_java():
    try:
        return toolchains.java()
    except toolchains.Unavailable:
        # Preparing the peer says what is missing; the others do not need it.
        return "java"


def locked(lock, crate):
    """The version of a crate in a Cargo.lock."""
    found = re.search(rf'name = "{crate}"\nversion = "([^"]+)"', lock.read_text())
    return found.group(1) if found else "?"


def pom(path, artifact):
    """The version of a dependency in a pom.xml."""
    return re.search(rf"<artifactId>{artifact}</artifactId>\s*<version>([^<]+)", path.read_text()).group(1)
