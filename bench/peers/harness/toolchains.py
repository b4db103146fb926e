"""Installs and builds what a peer needs on first use; build outputs go to .cache, which git ignores."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from . import children

PEERS = Path(__file__).resolve().parent.parent
CACHE = PEERS / ".cache"
BUILD_TIMEOUT_S = 900
JASON_JAVA_MIN = 21


class Unavailable(Exception):
    """A peer that cannot be run here; the message says what is missing."""


def prepare(peer, say):
    """Makes a peer ready to run, or raises Unavailable."""
    CACHE.mkdir(exist_ok=True)
    {"erlang": erlang, "go": go, "tokio": tokio, "pekko": pekko, "jason": jason}[peer](say)


def erlang(say):
    if not shutil.which("erlc"):
        install_package("erlang-base", say)
    out = CACHE / "erlang"
    sources = sorted((PEERS / "erlang").glob("*.erl"))
    if is_stale(out / "bench.beam", sources):
        out.mkdir(exist_ok=True)
        step(say, "erlang", "compiling", ["erlc", "+inline", "-o", str(out), *map(str, sources)])


def go(say):
    require("go", "install Go 1.22 or newer")
    sources = [*(PEERS / "go").glob("*.go"), PEERS / "go" / "go.mod"]
    if is_stale(CACHE / "go" / "peer", sources):
        step(say, "go", "compiling", ["go", "build", "-o", str(CACHE / "go" / "peer"), "."], cwd=PEERS / "go")


def tokio(say):
    require("cargo", "install Rust")
    sources = [*(PEERS / "tokio" / "src").glob("*.rs"), *(PEERS / "tokio").glob("Cargo.*")]
    if is_stale(CACHE / "tokio" / "release" / "tokio-peer", sources):
        step(say, "tokio", "compiling",
             ["cargo", "build", "--release", "--locked", "--target-dir", str(CACHE / "tokio")], cwd=PEERS / "tokio")


def pekko(say):
    sources = [*(PEERS / "pekko" / "src").rglob("*.*"), PEERS / "pekko" / "pom.xml"]
    maven("pekko", "compiling with Maven", CACHE / "pekko" / "pekko-peer.jar", sources, say)


def jason(say):
    if java_version(newest_jdk()) < JASON_JAVA_MIN:
        raise Unavailable(f"Jason 3.3.0 needs a JDK {JASON_JAVA_MIN} or newer; set JAVA_HOME to one")
    maven("jason", "fetching its jars with Maven", CACHE / "jason" / "lib", [PEERS / "jason" / "pom.xml"], say)


def maven(peer, what, product, sources, say):
    if not is_stale(product, sources):
        return
    require("mvn", "install Maven")
    command = ["mvn", "-B", "-q", "package"]
    step(say, peer, what, command, cwd=PEERS / peer, env={**os.environ, "JAVA_HOME": str(newest_jdk())})
    # Maven leaves a folder's time alone when it only adds what was there already.
    product.touch()


def is_stale(product, sources):
    return not product.exists() or product.stat().st_mtime < max(path.stat().st_mtime for path in sources)


def require(program, advice):
    if not shutil.which(program):
        raise Unavailable(f"{program} is not installed ({advice})")


def install_package(package, say):
    if not shutil.which("apt-get") or os.geteuid() != 0:
        raise Unavailable(f"{package} is not installed; install it with your package manager, or run this as root")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    step(say, package, "reading the package lists", ["apt-get", "-q", "update"], env=environment)
    step(say, package, "installing the package",
         ["apt-get", "-q", "install", "-y", "--no-install-recommends", package], env=environment)


def step(say, peer, what, argv, **options):
    say(f"  {peer}: {what} ...")
    try:
        children.run(argv, BUILD_TIMEOUT_S, **options)
    except children.ChildFailed as problem:
        raise Unavailable(f"{what} failed ({' '.join(argv[:3])} ...): {problem}") from problem


def newest_jdk():
    """The newest JDK among JAVA_HOME and those that the system has installed."""
    homes = [Path(home) for home in [os.environ.get("JAVA_HOME")] if home]
    homes += Path("/usr/lib/jvm").glob("*")
    homes = [home for home in homes if (home / "bin" / "javac").exists()]
    if not homes:
        raise Unavailable("no JDK found; install one or set JAVA_HOME")
    return max(homes, key=java_version)


def java_version(home):
    try:
        found = re.search(r'JAVA_VERSION="(\d+)', (home / "release").read_text())
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def java():
    return str(newest_jdk() / "bin" / "java")


def collect_garbage(pid):
    """Asks a Java process for a full collection, so that its resident memory is not garbage."""
    subprocess.run([str(newest_jdk() / "bin" / "jcmd"), str(pid), "GC.run"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
