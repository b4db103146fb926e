#!/usr/bin/env python3
"""Tests of how packages are written, with a small program in place of whimbrel's binary."""

import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

import packages
from archives import ar, compressed, tar
from project import Program, Project


class ArchivesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="whimbrel-archives-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.project = Project.read()
        self.program = Program.read(Path(shutil.which("true")))

    def test_order_of_files_is_fixed(self) -> None:
        files = {"b": (b"2", False), "a/c": (b"1", True)}
        self.assertEqual(tar(files), tar(dict(reversed(files.items()))))
        with tarfile.open(fileobj=io.BytesIO(compressed(tar(files, folders=True)))) as archive:
            entries = [(entry.name, oct(entry.mode), entry.isdir()) for entry in archive]
        self.assertEqual(entries, [("a", "0o755", True), ("a/c", "0o755", False), ("b", "0o644", False)])

    def test_members_of_ar_are_even(self) -> None:
        archive = ar({"odd": b"123", "even": b"4567"})
        self.assertEqual(archive[:8], b"!<arch>\n")
        self.assertEqual(archive[8 + 60 : 8 + 60 + 4], b"123\n")
        self.assertTrue(archive.endswith(b"4567"))

    def test_system_is_read_from_the_binary(self) -> None:
        if sys.platform != "linux":
            self.skipTest("the small program is one of Linux")
        self.assertEqual(self.program.system, "linux")
        self.assertGreater(self.program.glibc, 0)
        text = self.folder / "text"
        text.write_text("no program")
        with self.assertRaises(ValueError):
            Program.read(text)

    def test_wheel_records_its_files(self) -> None:
        for name, content in [packages.wheel(self.project, self.program), packages.pure_wheel(self.project)]:
            self.assertRegex(name, rf"^whimbrel-{self.project.version}-py3-none-\w+\.whl$")
            self.check_record(content)

    def check_record(self, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            [record] = [path for path in archive.namelist() if path.endswith("RECORD")]
            lines = [line.split(",") for line in archive.read(record).decode().splitlines()]
            self.assertEqual(sorted(path for path, _, _ in lines), sorted(archive.namelist()))
            for path, digest, _ in lines:
                if digest:
                    actual = base64.urlsafe_b64encode(hashlib.sha256(archive.read(path)).digest()).decode().rstrip("=")
                    self.assertEqual(digest, f"sha256={actual}", path)

    def test_wheels_have_the_sdk_and_one_command(self) -> None:
        for (name, content), command in [
            (packages.wheel(self.project, self.program), ["whimbrel-{}.data/scripts/whimbrel"]),
            (packages.pure_wheel(self.project), []),
        ]:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                files = archive.namelist()
                [points] = [archive.read(path).decode() for path in files if path.endswith("entry_points.txt")]
            self.assertIn("[pytest11]\nwhimbrel = whimbrel.testing.plugin\n", points, name)
            self.assertEqual("[console_scripts]\nwhimbrel = whimbrel.cli:main\n" in points, not command, name)
            data = "whimbrel/protocols/data/contract-net.json"
            for wanted in ["whimbrel/__init__.py", "whimbrel/py.typed", "whimbrel/acl/compact/head.py", data]:
                self.assertIn(wanted, files, name)
            commands = [path for path in files if "scripts/" in path]
            self.assertEqual(commands, [path.format(self.project.version) for path in command], name)

    def test_wheels_name_the_accelerator(self) -> None:
        """The wheels are not built from pyproject.toml, which names it, too."""
        _, content = packages.pure_wheel(self.project)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            [metadata] = [archive.read(path).decode() for path in archive.namelist() if path.endswith("/METADATA")]
        self.assertIn(f"\nRequires-Dist: whimbrel-fast=={self.project.version}; extra == 'fast'\n", metadata)
        project = (packages.ROOT / "sdk/python/pyproject.toml").read_text()
        self.assertIn(f'"whimbrel-fast=={self.project.version}"', project)
        self.assertIn(f'version = "{self.project.version}"', (packages.ROOT / "sdk/python/fast/pyproject.toml").read_text())

    def test_pure_command_looks_for_the_program(self) -> None:
        _, content = packages.pure_wheel(self.project)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(self.folder)
        command = [sys.executable, "-m", "whimbrel.cli"]
        environment = {"PATH": str(self.folder), "PYTHONPATH": str(self.folder)}
        done = subprocess.run(command, env=environment | {"WHIMBREL": shutil.which("true")}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = subprocess.run(command, env=environment | {"WHIMBREL": "/none"}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "error: WHIMBREL names no program: /none\n"))

    def test_debian_package_is_readable(self) -> None:
        if self.program.system != "linux" or not shutil.which("dpkg-deb"):
            self.skipTest("there is no dpkg-deb")
        name, content = packages.debian(self.project, self.program)
        (self.folder / name).write_bytes(content)
        listed = subprocess.run(["dpkg-deb", "--contents", self.folder / name], capture_output=True, text=True, check=True)
        self.assertRegex(listed.stdout, r"-rwxr-xr-x root/root .* \./usr/bin/whimbrel\n")

    def test_chart_has_the_version(self) -> None:
        _, content = packages.chart(self.project)
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            chart = archive.extractfile("whimbrel/Chart.yaml").read().decode()
        self.assertIn(f"version: {self.project.version}\n", chart)
        self.assertNotIn("0.0.0", chart)

    def install(self, archive: bytes, digest: str) -> subprocess.CompletedProcess:
        name, _ = packages.program_archive(self.project, self.program)
        (self.folder / name).write_bytes(archive)
        (self.folder / f"SHA256SUMS-{self.program.triple}").write_text(f"{digest}  {name}\n")
        _, script = packages.installer(self.project)
        command = ["sh", "-s", "--", "--from", self.folder, "--to", self.folder / "bin"]
        return subprocess.run(command, input=script, capture_output=True)

    def test_installer_verifies_the_archive(self) -> None:
        _, archive = packages.program_archive(self.project, self.program)
        refused = self.install(archive, hashlib.sha256(archive + b"x").hexdigest())
        self.assertEqual(refused.returncode, 1)
        self.assertIn(b"another checksum", refused.stderr)
        self.assertFalse((self.folder / "bin/whimbrel").exists())
        installed = self.install(archive, hashlib.sha256(archive).hexdigest())
        self.assertEqual(installed.returncode, 0, installed.stderr)
        self.assertEqual((self.folder / "bin/whimbrel").read_bytes(), self.program.file.read_bytes())


if __name__ == "__main__":
    unittest.main()
