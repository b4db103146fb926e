#!/usr/bin/env python3
"""Makes the packages of a release out of a whimbrel binary, and lists them with their sizes.

usage: make.py BINARY FOLDER
       make.py --check-facts     fails if the owner has not filled in all facts
"""

import hashlib
import sys
from pathlib import Path

import packages
from project import Program, Project


def main(binary: str, folder: str) -> None:
    project, program, out = Project.read(), Program.read(Path(binary)), Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    made = [packages.program_archive(project, program), packages.wheel(project, program), packages.pure_wheel(project)]
    made += [packages.npm_sdk(project), packages.npm_command(project), packages.npm_binary(project, program)]
    if program.system == "linux":
        made.append(packages.debian(project, program))
    made += [packages.chart(project), packages.installer(project)]
    for name, content in made:
        (out / name).write_bytes(content)
    (out / "install.sh").chmod(0o755)
    sums = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(made)]
    (out / f"SHA256SUMS-{program.triple}").write_text("".join(sums))
    print(f"Whimbrel {project.version} for {program.triple}, binary of {program.file.stat().st_size:,} bytes. In {out}:")
    for name, content in made:
        print(f"  {len(content):>12,}  {name}")
    for place in project.missing():
        print(f"Before a publication, fill in: {place}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check-facts"]:
        sys.exit("\n".join(f"fill in: {place}" for place in Project.read().missing()) or 0)
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
