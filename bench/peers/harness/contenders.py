"""Contenders of the benchmarks, by name."""

from . import cases, children, codecs, messaging
from .programs import AgentSpeak, Program, find_java, pom
from .toolchains import CACHE, PEERS

VERSION_TIMEOUT_S = 30


def peers():
    """All peers by name; those outside DEFAULT_PEERS are tuned variants, run only when asked for."""
    erlang = ["erl", "-noshell", "+P", "4000000", "-pa", str(CACHE / "erlang"), "-run", "bench", "main", "-extra"]
    tokio = [str(CACHE / "tokio" / "release" / "tokio-peer")]
    return {peer.name: peer for peer in [
        Program("erlang", "erlang", erlang),
        Program("go", "go", [str(CACHE / "go" / "peer")]),
        Program("pekko", "pekko", pekko([])),
        Program("pekko-throughput", "pekko", pekko(["-Dpekko.actor.default-dispatcher.throughput=100"])),
        Program("tokio", "tokio", tokio),
        Program("tokio-one-thread", "tokio", tokio, extra=["--threads", "1"]),
        jason(),
        *messaging.peers(),
        *codecs.peers(),
    ]}


DEFAULT_PEERS = ("erlang", "go", "pekko", "tokio", "jason", *cases.MESSAGING_PEERS, *cases.CODEC_PEERS)


def pekko(flags):
    classpath = f"{CACHE / 'pekko' / 'pekko-peer.jar'}:{CACHE / 'pekko' / 'lib'}/*"
    return [find_java(), *flags, "-cp", classpath, "whimbrel.peer.Bench"]


def jason():
    command = [find_java(), "-Djava.awt.headless=true", "-cp", f"{CACHE / 'jason' / 'lib'}/*",
               "jason.infra.local.RunLocalMAS", "{project}", "--no-net",
               "--log-conf", str(PEERS / "jason" / "logging.properties")]
    version = pom(PEERS / "jason" / "pom.xml", "jason-interpreter")
    return AgentSpeak("jason", "jason", command, f"Jason {version}")


def ours(binary):
    """Contenders that are Whimbrel: Rust agents, AgentSpeak benchmarks, Jason's projects, links, codecs."""
    version = children.run([binary, "--version"], VERSION_TIMEOUT_S)[-1]
    bench = [binary, "bench"]
    return {contender.name: contender for contender in [
        Program("native", "", bench, extra=["--kind", "native", "--json"]),
        Program("asl", "", bench, extra=["--kind", "asl", "--json"]),
        AgentSpeak("mas2j", "", [binary, "run", "{project}"], version),
        messaging.OurMessaging("whimbrel", bench),
        codecs.OurCodec("compact", bench, ""),
        codecs.OurCodec("compact-owned", bench, "_owned"),
    ]}
