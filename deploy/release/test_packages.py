#!/usr/bin/env python3
"""Tries each package of a release in an empty folder: no compiler, no Node, no network, no source tree.

usage: test_packages.py FOLDER [unittest's options]

Programs under test get an empty environment, and a PATH with basic commands only. Where the system allows it, the tests
run in a network of their own that has only the loopback interface.
"""

import ctypes
import hashlib
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import urllib.request
import venv
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import packages
from project import Program, Project

# Commands that every system has. `whimbrel` itself needs none of them.
BASIC = ["sh", "cat", "cp", "mv", "rm", "mkdir", "mktemp", "uname", "grep", "tar", "gzip", "sha256sum", "chmod", "dirname"]

# Seconds after which a command counts as hung.
PATIENCE = 120

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1

WINDOWS = sys.platform == "win32"
PACKAGES = Path()
# The whole PATH, for the tools of tests.
MACHINE_PATH = os.environ.get("PATH", "")


def leave_the_network() -> bool:
    """Moves this process into a network with only the loopback interface; returns False where that is impossible."""
    if sys.platform != "linux":
        return False
    import fcntl

    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            return False
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
    return True


def package(pattern: str) -> Path:
    found = sorted(PACKAGES.glob(pattern))
    if len(found) != 1:
        raise AssertionError(f"{pattern} in {PACKAGES}: expected one file, found {[path.name for path in found]}")
    return found[0]


def society_script(library: str, engine: str) -> str:
    """Returns a script that runs an AgentSpeak agent in Node."""
    return (
        'import { readFileSync } from "node:fs";\n'
        f'import {{ Society }} from "{library}";\n'
        f'const society = await Society.load(readFileSync("{engine}"));\n'
        'society.on("printed", ({ agent, text }) => { console.log(`[${agent}] ${text}`); process.exit(0); });\n'
        'society.putFiles({ "amy.asl": `!a. +!a <- .my_name(Me); .send(Me, tell, hi). +hi[source(W)] <- .print("heard by ", W).` });\n'
        'society.spawn("amy", "amy.asl");\n'
    )


class Case(unittest.TestCase):
    """A test in an empty folder."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="whimbrel-package-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name in [] if WINDOWS else BASIC:
            if found := shutil.which(name, path=MACHINE_PATH):
                (self.bin / name).symlink_to(found)
        self.home = self.folder / "home"
        self.home.mkdir()
        self.environment = {"PATH": str(self.bin), "HOME": str(self.home), "TMPDIR": str(self.folder)}

    def run_command(self, *command: str | Path, code: int = 0, **environment: str) -> str:
        done = subprocess.run(
            [str(word) for word in command], cwd=self.home, env=self.environment | environment, timeout=PATIENCE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        self.assertEqual(done.returncode, code, f"{command}: {done.stdout}")
        return done.stdout

    def command_works(self, *command: str | Path, **environment: str) -> None:
        """Makes the first society of a newcomer, and runs it."""
        project = Project.read()
        self.assertIn(project.version, self.run_command(*command, "--version", **environment))
        self.run_command(*command, "new", "garden", **environment)
        out = self.run_command(*command, "run", "garden", **environment)
        self.assertEqual(out.count("ah, water"), 4, out)

    def archive(self) -> Path:
        """Unpacks the archive, and returns its binary."""
        shutil.unpack_archive(package("whimbrel-[0-9]*.zip" if WINDOWS else "whimbrel-[0-9]*.tar.gz"), self.folder / "archive")
        [binary] = (self.folder / "archive").glob(f"*/whimbrel{'.exe' if WINDOWS else ''}")
        return binary


class ArchiveTest(Case):
    def test_archive_runs_a_society(self) -> None:
        self.command_works(self.archive())

    def test_help_leaves_nothing_out(self) -> None:
        help_text = self.run_command(self.archive(), "--help-all")
        self.assertNotIn("This build leaves out", help_text)
        for command in ["engine", "agent", "up"]:
            self.assertRegex(help_text, rf"\n  {command} ")

    @contextmanager
    def serving(self, *arguments: str | Path):
        """Runs a society, and yields the address of its HTTP port."""
        command = [str(word) for word in arguments] + ["--http", "127.0.0.1:0", "--http-token", "open-sesame"]
        process = subprocess.Popen(
            [str(self.archive()), "run", *command], cwd=self.home, env=self.environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        try:
            said = ""
            for line in process.stderr:
                said += line
                if found := re.search(r"console is at (http://[^/]+)", line):
                    yield found[1]
                    break
            else:
                self.fail(f"it ended before it had a console: {said}")
        finally:
            watchdog.cancel()
            process.kill()
            process.wait()
            process.stderr.close()

    def get(self, address: str) -> bytes:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return answer.read()

    def test_console_is_built_in(self) -> None:
        (self.home / "idle.asl").write_text("!begin.\n+!begin.\n")
        with self.serving("idle.asl") as address:
            page = self.get(address + "/").decode()
            scripts = re.findall(r'src="(/assets/[^"]+\.js)"', page)
            self.assertTrue(scripts, page)
            for script in scripts:
                self.assertGreater(len(self.get(address + script)), 10_000)
            for script in ["whimbrel.js", "agentspeak.js", "device.js"]:
                self.assertIn(b"export", self.get(f"{address}/sdk/{script}"))
            self.assertEqual(self.get(address + "/sdk/agentspeak.wasm")[:4], b"\0asm")

    def test_classroom_needs_no_source_tree(self) -> None:
        self.run_command(self.archive(), "new", "class", "--example", "classroom")
        with self.serving("class", "--agent-token", "open-sesame", "--pages", "class/page") as address:
            self.assertIn(b"<html", self.get(address + "/pages/"))
            worker = self.get(address + "/pages/worker.js").decode()
            for script in re.findall(r'from "\./([^"]+)"', worker):
                self.assertTrue(self.get(f"{address}/pages/{script}"), script)
            self.assertEqual(self.get(address + "/pages/lib/agentspeak.wasm")[:4], b"\0asm")

    def test_roaming_needs_no_source_tree(self) -> None:
        self.run_command(self.archive(), "new", "walk", "--example", "roaming")
        options = ["--policy", "walk/policy.toml", "--agent-token", "open-sesame", "--pages", "walk/page"]
        with self.serving("walk", *options) as address:
            self.assertIn(b"/sdk/device.js", self.get(address + "/pages/device.js"))
            self.assertEqual(self.get(address + "/pages/lib/agentspeak.wasm")[:4], b"\0asm")

    def test_classroom_engine_runs_agents(self) -> None:
        node = shutil.which("node", path=MACHINE_PATH)
        if not node:
            self.skipTest("there is no Node to load the engine with")
        self.run_command(self.archive(), "new", "class", "--example", "classroom")
        (self.home / "try.mjs").write_text(society_script("./class/page/lib/agentspeak.js", "class/page/lib/agentspeak.wasm"))
        self.assertEqual(self.run_command(node, "try.mjs"), "[amy] heard by self\n")

    def test_guest_sdks_are_written_out(self) -> None:
        sdk = Path(self.run_command(self.archive(), "agent", "sdk").strip())
        self.assertTrue(sdk.is_relative_to(self.home), sdk)
        for file in ["c/whimbrel.h", "assemblyscript/whimbrel.ts", "rust/whimbrel-guest/src/lib.rs"]:
            self.assertTrue((sdk / file).is_file(), file)

    def test_missing_compiler_is_named(self) -> None:
        self.run_command(self.archive(), "new", "school", "--wasm", "c")
        out = self.run_command(self.archive(), "agent", "build", "school/calculator.c", code=1)
        self.assertIn("clang", out)

    def test_agents_are_built_and_run(self) -> None:
        tools = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whimbrel/wasm-tools"
        if not tools.is_dir() or not shutil.which("clang", path=MACHINE_PATH):
            self.skipTest("there are no compilers of WebAssembly agents: make wasm-tools")
        binary, compilers = self.archive(), {"PATH": MACHINE_PATH}
        cache = self.home / ".cache/whimbrel"
        cache.mkdir(parents=True)
        (cache / "wasm-tools").symlink_to(tools)
        for language, source in [("c", "calculator.c"), ("assemblyscript", "calculator.ts")]:
            school = f"school-{language}"
            self.run_command(binary, "new", school, "--wasm", language)
            self.run_command(binary, "agent", "build", f"{school}/{source}", "-o", f"{school}/calculator.wasm", **compilers)
            self.assertIn("calculator1 says 6", self.run_command(binary, "run", school))


class WheelTest(Case):
    def test_wheel_installs_the_command(self) -> None:
        venv.create(self.folder / "python", with_pip=True)
        commands = self.folder / "python" / ("Scripts" if WINDOWS else "bin")
        wheel = package("*-py3-none-[!a]*.whl")
        self.run_command(commands / "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)
        self.command_works(commands / "whimbrel")
        (self.home / "hello.py").write_text(
            "from whimbrel import Platform\nwith Platform() as platform:\n"
            "    platform.start('ada', lambda agent: agent.handle(None, lambda message: message.content))\n"
            "    print(platform.ask('ada', 'hello').content)\n"
        )
        self.assertEqual(self.run_command(commands / "python", self.home / "hello.py"), "hello\n")
        listed = self.run_command(commands / "pip", "show", "--files", "whimbrel", "--disable-pip-version-check")
        self.assertIn(f"Version: {Project.read().version}", listed)


class NpmTest(Case):
    def setUp(self) -> None:
        super().setUp()
        self.npm = shutil.which("npm", path=MACHINE_PATH)
        if not self.npm:
            self.skipTest("there is no npm")
        self.install_environment = {"PATH": MACHINE_PATH, "npm_config_update_notifier": "false"}

    def install(self, *files: Path) -> None:
        (self.home / "package.json").write_text('{"private": true, "type": "module"}')
        options = ["--offline", "--no-audit", "--no-fund", "--silent"]
        self.run_command(self.npm, "install", *options, *files, **self.install_environment)

    def test_sdk_runs_agentspeak(self) -> None:
        self.install(package("whimbrel-[0-9]*.tgz"))
        (self.home / "try.js").write_text(
            'import "whimbrel"; import "whimbrel/node"; import "whimbrel/compact"; import "whimbrel/guest"; import "whimbrel/sl";\n'
            + society_script("whimbrel/agentspeak", "node_modules/whimbrel/dist/agentspeak.wasm")
        )
        out = self.run_command("node", "try.js", **self.install_environment)
        self.assertEqual(out, "[amy] heard by self\n")

    def test_command_runs_a_society(self) -> None:
        self.install(package("whimbrel-cli-[0-9]*.tgz"), package("whimbrel-cli-[a-z]*.tgz"))
        self.command_works(self.home / "node_modules/.bin/whimbrel", **self.install_environment)

    def test_command_without_binary_says_so(self) -> None:
        with tarfile.open(package("whimbrel-cli-[0-9]*.tgz")) as archive:
            archive.extractall(self.home, filter="data")
        out = self.run_command("node", "package/whimbrel.js", "run", code=1, **self.install_environment)
        self.assertIn("is missing", out)


class DebianTest(Case):
    def setUp(self) -> None:
        super().setUp()
        self.dpkg = shutil.which("dpkg-deb", path=MACHINE_PATH)
        if not self.dpkg or not sys.platform == "linux":
            self.skipTest("there is no dpkg-deb")
        self.root = self.folder / "root"

    def unpack(self) -> None:
        self.run_command(self.dpkg, "--extract", package("*.deb"), self.root, PATH=MACHINE_PATH)

    def test_debian_package_runs_a_society(self) -> None:
        self.unpack()
        self.command_works(self.root / "usr/bin/whimbrel")

    def test_debian_package_says_what_it_needs(self) -> None:
        fields = self.run_command(self.dpkg, "--field", package("*.deb"), PATH=MACHINE_PATH)
        for wanted in ["Package: whimbrel", f"Version: {Project.read().version}", "Depends: libc6 (>= 2."]:
            self.assertIn(wanted, fields)

    def test_sums_are_those_of_the_files(self) -> None:
        self.unpack()
        self.run_command(self.dpkg, "--control", package("*.deb"), self.folder / "control", PATH=MACHINE_PATH)
        lines = (self.folder / "control/md5sums").read_text().splitlines()
        self.assertTrue(lines)
        for line in lines:
            digest, path = line.split("  ")
            self.assertEqual(hashlib.md5((self.root / path).read_bytes()).hexdigest(), digest, path)

    def test_service_is_valid(self) -> None:
        analyze = shutil.which("systemd-analyze", path=MACHINE_PATH)
        if not analyze:
            self.skipTest("there is no systemd-analyze")
        self.unpack()
        unit = (self.root / "usr/lib/systemd/system/whimbrel-node.service").read_text()
        self.assertIn("ExecStart=/usr/bin/whimbrel ", unit)
        checked = self.folder / "whimbrel-node.service"
        checked.write_text(unit.replace("/usr/bin/whimbrel", str(self.root / "usr/bin/whimbrel")))
        self.assertNotIn("whimbrel-node.service:", self.run_command(analyze, "verify", checked, PATH=MACHINE_PATH))


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass


@unittest.skipIf(WINDOWS, "the script is for Unix")
class InstallTest(Case):
    def test_script_installs_the_command(self) -> None:
        out = self.run_command("sh", package("install.sh"), "--from", PACKAGES, "--to", self.home / "tools")
        self.assertIn("Installed whimbrel", out)
        self.command_works(self.home / "tools/whimbrel")

    def test_script_downloads(self) -> None:
        curl = shutil.which("curl", path=MACHINE_PATH)
        if not curl:
            self.skipTest("there is no curl")
        (self.bin / "curl").symlink_to(curl)
        handler = partial(QuietHandler, directory=str(PACKAGES))
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}"
            self.run_command("sh", package("install.sh"), "--from", address, "--to", self.home / "tools")
            server.shutdown()
        self.assertTrue((self.home / "tools/whimbrel").exists())

    def test_changed_archive_is_refused(self) -> None:
        changed = self.folder / "changed"
        changed.mkdir()
        for pattern in ["SHA256SUMS-*", "whimbrel-[0-9]*.tar.gz"]:
            shutil.copy(package(pattern), changed)
        with open(changed / package("whimbrel-[0-9]*.tar.gz").name, "ab") as archive:
            archive.write(b"more")
        out = self.run_command(
            "sh", package("install.sh"), "--from", changed, "--to", self.home / "tools", code=1
        )
        self.assertIn("another checksum", out)
        self.assertFalse((self.home / "tools").exists())


class RepeatTest(Case):
    def test_packages_are_reproducible(self) -> None:
        project, program = Project.read(), Program.read(self.archive())
        for name, content in [
            packages.wheel(project, program),
            packages.pure_wheel(project),
            packages.npm_binary(project, program),
            packages.chart(project),
        ]:
            self.assertEqual((PACKAGES / name).read_bytes(), content, name)


class ChartTest(Case):
    def test_chart_is_valid(self) -> None:
        helm = shutil.which("helm", path=MACHINE_PATH)
        if not helm:
            self.skipTest("there is no helm")
        chart = package("whimbrel-chart-*.tgz")
        self.run_command(helm, "lint", "--strict", chart, PATH=MACHINE_PATH)
        rendered = self.run_command(helm, "template", "garden", chart, PATH=MACHINE_PATH)
        for kind in ["StatefulSet", "Service", "ConfigMap"]:
            self.assertIn(f"kind: {kind}", rendered)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PACKAGES = Path(sys.argv.pop(1)).resolve()
    if not leave_the_network():
        print("This system does not let the tests leave the network: they run with it.", file=sys.stderr)
    unittest.main()
