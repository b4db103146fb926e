"""Facts about the project and the program, from the manifests and from the binary itself."""

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Names of one machine in Rust, Python, npm and Debian, by what the binary's header says.
ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
MACH_MACHINES = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
PE_MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64"}


def release_time() -> int:
    """Returns the time stamp of all packed files: SOURCE_DATE_EPOCH, or 1 January 2020."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", "1577836800"))


@dataclass(frozen=True)
class Project:
    version: str
    summary: str
    licence: str
    # Public address of the repository. Empty until the owner fills it in: Cargo.toml, [workspace.package].
    repository: str
    # NAME <ADDRESS> for the Debian package. Empty until the owner fills it in: Cargo.toml, [workspace.metadata.release].
    maintainer: str
    keywords: list[str]

    @staticmethod
    def read(root: Path = ROOT) -> "Project":
        manifest = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]
        package = manifest["package"]
        return Project(
            version=package["version"],
            summary="Runs societies of agents: AgentSpeak, Rust, TypeScript, WebAssembly",
            licence=package["license"],
            repository=package.get("repository", ""),
            maintainer=manifest.get("metadata", {}).get("release", {}).get("maintainer", ""),
            keywords=package["keywords"],
        )

    def missing(self) -> list[str]:
        """Returns what the owner has to fill in before a publication."""
        wanted = {
            "repository in [workspace.package] of Cargo.toml": self.repository,
            "maintainer in [workspace.metadata.release] of Cargo.toml": self.maintainer,
        }
        return [place for place, value in wanted.items() if not value]


@dataclass(frozen=True)
class Program:
    """A whimbrel binary: its file, and the system and the machine that it is for."""

    file: Path
    system: str
    machine: str
    # Minor version of the oldest glibc 2 that has all symbols; 0 where there is no glibc.
    glibc: int

    @staticmethod
    def read(file: Path) -> "Program":
        content = file.read_bytes()
        word = lambda at, length: int.from_bytes(content[at : at + length], "little")
        if content[:4] == b"\x7fELF":
            versions = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", content)]
            return Program(file, "linux", ELF_MACHINES[word(18, 2)], max(versions, default=0))
        if word(0, 4) == 0xFEEDFACF:
            return Program(file, "macos", MACH_MACHINES[word(4, 4)], 0)
        if content[:2] == b"MZ":
            return Program(file, "windows", PE_MACHINES[word(word(60, 4) + 4, 2)], 0)
        raise ValueError(f"{file} is no program of Linux, macOS or Windows")

    @property
    def command(self) -> str:
        return "whimbrel.exe" if self.system == "windows" else "whimbrel"

    @property
    def triple(self) -> str:
        """Returns the target in Rust's words, with which archives are named."""
        tail = {"linux": "unknown-linux-gnu", "macos": "apple-darwin", "windows": "pc-windows-msvc"}[self.system]
        return f"{self.machine}-{tail}"

    @property
    def wheel_tag(self) -> str:
        machine = {"macos": {"aarch64": "arm64"}, "windows": {"x86_64": "amd64", "aarch64": "arm64"}}
        machine = machine.get(self.system, {}).get(self.machine, self.machine)
        head = {"linux": f"manylinux_2_{self.glibc}", "macos": "macosx_11_0", "windows": "win"}[self.system]
        return f"{head}_{machine}"

    @property
    def npm_names(self) -> tuple[str, str]:
        """Returns npm's names of the system and of the machine."""
        system = {"linux": "linux", "macos": "darwin", "windows": "win32"}[self.system]
        return system, {"x86_64": "x64", "aarch64": "arm64"}[self.machine]

    @property
    def debian_machine(self) -> str:
        return {"x86_64": "amd64", "aarch64": "arm64"}[self.machine]
