"""Contenders of messaging between two processes and of round trips, and their drivers (messaging/README.md)."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import certificates, children, programs, servers
from .toolchains import CACHE, MESSAGING

VERSION_TIMEOUT_S = 30


@dataclass
class Pair:
    """Two programs, one with the producers and one with the consumers; messaging/README.md has how they are driven."""

    name: str
    peer: str
    command: object  # the program and its options, from the role, the parameters and the port
    version: object
    server: str = ""
    benches: tuple = ("messaging",)

    def measure(self, bench, params, timeout_s, threads):
        if not self.server:
            return self.talk(params, timeout_s, f"{servers.HOST}:{servers.free_port()}", set())
        server = servers.running(self.server)
        with server:
            return self.talk(params, timeout_s, server.address(params["security"]), server.groups())

    def talk(self, params, timeout_s, address, others):
        folder = servers.Folder.make()
        names = ("scenario", "producers", "consumers", "bytes", "mode", "security", "messages")
        arguments = [*(str(params[name]) for name in names), str(folder), address]
        start = [[*self.command(role, params, address), role, *arguments] for role in ("consume", "produce")]
        with children.Conversation(start[0], cwd=folder) as consumers:
            consumers.hear("ready", timeout_s)
            with children.Conversation(start[1], cwd=folder) as producers:
                producers.hear("ready", timeout_s)
                groups = {consumers.process.pid, producers.process.pid} | others
                before = children.cpu_seconds(groups)
                producers.say("go")
                try:
                    answer = json.loads(consumers.hear("{", timeout_s))
                except children.ChildFailed as problem:
                    raise children.ChildFailed(f"{problem}; the producers: {producers.said()}") from problem
                used = children.cpu_seconds(groups) - before
        return programs.Measurement(self.version(), params, metrics_of(answer, params, used))


def metrics_of(answer, params, cpu_seconds):
    """Metrics of a run, after a check that the consumers counted all messages."""
    each = params["messages"] * (params["consumers"] if params["scenario"] == "broadcast" else 1)
    if answer["deliveries"] != each * params["producers"]:
        raise children.ChildFailed(f"{answer['deliveries']} of {each * params['producers']} messages came")
    return {
        "messages_per_s": answer["deliveries"] / answer["seconds"], "p50_us": answer["p50_us"], "p99_us": answer["p99_us"],
        "cpu_s_per_million": cpu_seconds / answer["deliveries"] * 1e6, "seconds": answer["seconds"],
    }


@dataclass
class Jade(Pair):
    """Two containers for messaging; one for round trips."""

    benches: tuple = ("messaging", "rtt")

    def measure(self, bench, params, timeout_s, threads):
        if bench == "messaging":
            return super().measure(bench, params, timeout_s, threads)
        program = programs.Program(self.name, self.peer, jade_program("RttPeer"), self.benches)
        measured = program.measure(bench, params, timeout_s, threads)
        return programs.Measurement(self.version(), measured.params, measured.metrics)


@dataclass
class OurMessaging:
    """`whimbrel bench messaging` and `rtt`, which start their other processes themselves."""

    name: str
    command: list
    benches: tuple = ("messaging", "rtt")

    def measure(self, bench, params, timeout_s, threads):
        if bench == "messaging":
            wanted = params["scenario"] == "broadcast"
            params = {key: value for key, value in params.items() if key != "consumers" or wanted}
        program = programs.Program(self.name, "", self.command, self.benches, ["--json"])
        return program.measure(bench, params, timeout_s, threads)


def peers():
    rust = CACHE / "messaging-rust" / "release"
    lock = MESSAGING / "rust" / "Cargo.lock"
    gomod = MESSAGING / "go" / "go.mod"
    go = str(CACHE / "messaging-go" / "peer")
    return [
        Pair("bare", "bare", lambda *_: [str(rust / "bare")], lambda: f"rustls {programs.locked(lock, 'rustls')}"),
        Pair("zenoh", "zenoh", lambda *_: [str(rust / "zenoh")], lambda: f"Zenoh {programs.locked(lock, 'zenoh')}"),
        Pair("nats", "nats", lambda *_: [go, "nats"], lambda: f"{nats_version()}, {required(gomod, 'nats.go')}", "nats"),
        Pair("zeromq", "zeromq", lambda *_: [str(CACHE / "zeromq" / "peer")], zeromq_version),
        Pair("erlang-distribution", "erlang-distribution", erlang_node, erlang_version),
        Pair("rabbitmq", "rabbitmq", lambda *_: [go, "rabbitmq"],
             lambda: f"{rabbitmq_version()}, {required(gomod, 'amqp091-go')}", "rabbitmq"),
        Pair("spade", "spade", lambda *_: [str(CACHE / "spade" / "bin" / "python"), str(MESSAGING / "spade" / "peer.py")],
             lambda: f"SPADE {spade_version()}, {prosody_version()}", "prosody"),
        Jade("jade", "jade", jade, lambda: f"JADE {programs.pom(MESSAGING / 'jade' / 'pom.xml', 'jade')}"),
    ]


def erlang_node(role, params, address):
    """A node without a register of names: one end listens at the port, the other knows it."""
    command = ["erl", "-noshell", "-sname", f"{role}@localhost", "-setcookie", "whimbrel", "-start_epmd", "false",
               "-erl_epmd_port", address.rpartition(":")[2], "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
               "+zdbbl", "65536", "-pa", str(CACHE / "messaging-erlang")]
    if role == "produce":
        command += ["-dist_listen", "false"]
    if params["security"] != "open":
        command += ["-proto_dist", "inet_tls", "-ssl_dist_optfile", str(erlang_tls())]
    return [*command, "-run", "messaging", "main"]


def erlang_tls():
    """TLS 1.3 with certificates on both ends."""
    folder = servers.Folder.make()
    files = (f'{{certfile, "{folder}/end.pem"}}, {{keyfile, "{folder}/end.key"}}, {{cacertfile, "{folder}/authority.pem"}}, '
             "{versions, ['tlsv1.3']}, {verify, verify_peer}")
    path = folder / "erlang-tls.conf"
    path.write_text(f"[{{server, [{files}, {{fail_if_no_peer_cert, true}}]}},\n {{client, [{files}]}}].\n")
    return path


def jade(role, params, address):
    if params["security"] != "open" and not (servers.Folder.make() / "authority.p12").exists():
        certificates.make_java_trust(servers.Folder.make())
    return jade_program("JadePeer")


def jade_program(main):
    classpath = f"{CACHE / 'jade' / 'jade-peer.jar'}:{CACHE / 'jade' / 'lib'}/*"
    return [programs.find_java(), "-cp", classpath, main]


def required(gomod, module):
    """A module and its version in a go.mod."""
    found = re.search(rf"{re.escape(module)} (v\S+)", gomod.read_text())
    return f"{module} {found.group(1)}" if found else module


def first_line(argv):
    return children.run(argv, VERSION_TIMEOUT_S)[0]


@cache
def nats_version():
    return first_line([str(CACHE / "nats" / "bin" / "nats-server"), "--version"]).replace(": v", " ")


@cache
def zeromq_version():
    text = Path("/usr/include/zmq.h").read_text()
    parts = (re.search(rf"ZMQ_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    return f"libzmq {'.'.join(parts)}"


@cache
def erlang_version():
    ask = 'io:format("Erlang/OTP ~s~n", [erlang:system_info(otp_release)]), halt().'
    return first_line(["erl", "-noshell", "-eval", ask])


def spade_version():
    return re.search(r"spade==(\S+)", (MESSAGING / "spade" / "requirements.txt").read_text()).group(1)


@cache
def prosody_version():
    package = next((CACHE / "prosody").glob("prosody_*.deb"))
    return f"Prosody {package.name.split('_')[1]}"


@cache
def rabbitmq_version():
    folder = next((CACHE / "rabbitmq").glob("usr/lib/rabbitmq/lib/rabbitmq_server-*"))
    return folder.name.replace("rabbitmq_server-", "RabbitMQ ")
