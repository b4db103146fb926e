#!/usr/bin/env python3
"""Writes one of the AgentSpeak benchmark projects with other numbers.

    make.py ring --out DIR --workers 500 --tokens 250 --passes 10000 --threads 2

The result in DIR is plain AgentSpeak, and runs unchanged on Jason and on Whimbrel. The options of a project are the
numeric beliefs in its .mas2j file, so a new parameter needs no change here.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The parameter that also says how many instances of an agent (`#n`) there are.
INSTANCES = {"ring": "workers", "chameneos": "creatures", "fibonacci": "clients"}


def parameters(name):
    """The parameters of a project with the values that its committed .mas2j file has."""
    lists = re.findall(r'beliefs="([^"]*)"', (HERE / f"{name}.mas2j").read_text())
    return {key: int(value) for beliefs in lists for key, value in re.findall(r"(\w+)\((\d+)\)", beliefs)}


def write_project(name, out, values, threads=None):
    """Writes the project into the folder `out` and returns the path of its .mas2j file."""
    unknown = set(values) - set(parameters(name))
    if unknown:
        raise ValueError(f"{name} has no parameter {', '.join(sorted(unknown))}")
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for source in HERE.glob(f"{name}*.asl"):
        shutil.copy(source, out)
    project = out / f"{name}.mas2j"
    project.write_text(substitute(name, (HERE / f"{name}.mas2j").read_text(), values, threads))
    return project


def substitute(name, text, values, threads):
    for key, value in values.items():
        text = re.sub(rf"\b{key}\(\d+\)", f"{key}({value})", text)
    instances = values.get(INSTANCES.get(name))
    if instances is not None:
        if instances < 2:
            raise ValueError(f"{INSTANCES[name]} must be at least 2: a single instance would have no number in its name")
        text = re.sub(r"#\d+", f"#{instances}", text)
    if threads:
        text = re.sub(r"Local\(pool,\d+\)", f"Local(pool,{threads})", text)
    return text


def main():
    names = sorted(path.stem for path in HERE.glob("*.mas2j"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="name", required=True)
    for name in names:
        command = commands.add_parser(name, help=f"parameters: {', '.join(parameters(name))}")
        command.add_argument("--out", required=True, help="folder to write into")
        command.add_argument("--threads", type=int, help="size of Jason's thread pool")
        for key, value in parameters(name).items():
            command.add_argument("--" + key.replace("_", "-"), type=int, default=value, help=f"default {value}")
    options = vars(parser.parse_args())
    name, out, threads = (options.pop(key) for key in ("name", "out", "threads"))
    try:
        print(write_project(name, out, options, threads))
    except ValueError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
