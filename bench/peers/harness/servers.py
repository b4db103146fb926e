"""Brokers that some peers need: on the loopback address, with data of their own, stopped in between so that nobody is
measured beside them, and ended with us."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from . import certificates, children
from .toolchains import CACHE

START_TIMEOUT_S = 60
RUNNING = {}
HOST = "127.0.0.1"


def free_port():
    with socket.socket() as found:
        found.bind((HOST, 0))
        return found.getsockname()[1]


class Folder:
    """A folder for one run of the runner, with certificates in it."""

    path = None

    @classmethod
    def make(cls):
        if cls.path is None:
            cls.path = Path(tempfile.mkdtemp(prefix="whimbrel-peers-"))
            certificates.make(cls.path)
        return cls.path


class Server:
    """Processes that were started once, and how they are reached."""

    def __init__(self, ports):
        self.ports, self.processes = ports, []

    def start(self, argv, ports, **options):
        log = open(Folder.make() / f"{Path(argv[0]).name}.log", "ab")
        with log:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                       **options)
        self.processes.append(process)
        until = time.monotonic() + START_TIMEOUT_S
        while not all(map(listens, ports)):
            if process.poll() is not None or time.monotonic() > until:
                lines = Path(log.name).read_text(errors="replace").splitlines()
                raise children.ChildFailed(f"{argv[0]} does not start: {children.last(lines)}")
            time.sleep(0.05)

    def address(self, security):
        return f"{HOST}:{self.ports[security != 'open']}"

    def groups(self):
        return {process.pid for process in self.processes}

    def signal(self, number):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, number)

    def __enter__(self):
        self.signal(signal.SIGCONT)
        return self

    def __exit__(self, *_):
        self.signal(signal.SIGSTOP)

    def end(self):
        for process in reversed(self.processes):
            children.end(process)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def running(name):
    """The server of a peer, started when first asked for."""
    if name not in RUNNING:
        RUNNING[name] = Server((free_port(), free_port()))
        {"nats": nats, "prosody": prosody, "rabbitmq": rabbitmq}[name](RUNNING[name])
    return RUNNING[name]


def end_all():
    for server in RUNNING.values():
        server.end()
    RUNNING.clear()
    if Folder.path:
        shutil.rmtree(Folder.path, ignore_errors=True)


def nats(server):
    folder, (plain, secure) = Folder.make(), server.ports
    # A server for each, since one port has TLS or has not. It waits for slow consumers rather than to cut them off.
    limits = 'max_pending: 1GB\nwrite_deadline: "60s"\n'
    tls = (f'tls {{ cert_file: "{folder}/end.pem", key_file: "{folder}/end.key", ca_file: "{folder}/authority.pem", '
           'verify: true }\n')
    for port, extra in ((plain, ""), (secure, tls)):
        config = folder / f"nats-{port}.conf"
        config.write_text(f"listen: {HOST}:{port}\n{limits}{extra}")
        server.start([str(CACHE / "nats" / "bin" / "nats-server"), "-c", str(config)], [port])


PROSODY_CONFIG = """\
run_as_root = true
data_path = "{home}"
certificates = "{home}"
log = {{ warn = "*console" }}
interfaces = {{ "{host}" }}
c2s_ports = {{ {secure} }}
s2s_ports, http_ports, https_ports = {{}}, {{}}, {{}}
modules_enabled = {{ "disco", "ping", "presence", "register_ibr", "roster", "saslauth", "tls" }}
modules_disabled = {{ "offline", "s2s" }}
allow_registration, registration_notification = true, false
authentication, storage = "internal_hashed", "internal"
c2s_require_encryption = true
ssl = {{ certificate = "{folder}/end.pem", key = "{folder}/end.key", protocol = "tlsv1_3" }}
VirtualHost "localhost"
"""


def prosody(server):
    """Of both ports the one with TLS: SPADE's agents do not log in without."""
    folder, (_, secure) = Folder.make(), server.ports
    home = folder / "prosody"
    home.mkdir()
    config = home / "prosody.cfg.lua"
    config.write_text(PROSODY_CONFIG.format(host=HOST, secure=secure, folder=folder, home=home))
    program = CACHE / "prosody" / "usr" / "bin" / "prosody"
    server.start(["lua5.4", str(program), "-F", "--config", str(config)], [secure])


RABBITMQ_CONFIG = """\
listeners.tcp.1 = {host}:{plain}
listeners.ssl.1 = {host}:{secure}
ssl_options.cacertfile = {folder}/authority.pem
ssl_options.certfile = {folder}/end.pem
ssl_options.keyfile = {folder}/end.key
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
ssl_options.versions.1 = tlsv1.3
log.console = true
"""


def rabbitmq(server):
    folder, (plain, secure) = Folder.make(), server.ports
    home = folder / "rabbitmq"
    home.mkdir()
    (home / "rabbitmq.conf").write_text(RABBITMQ_CONFIG.format(host=HOST, plain=plain, secure=secure, folder=folder))
    (home / "enabled_plugins").write_text("[].\n")
    names, distribution = free_port(), free_port()
    environment = {
        **os.environ, "HOME": str(home), "ERL_EPMD_PORT": str(names), "ERL_EPMD_ADDRESS": HOST,
        "RABBITMQ_NODENAME": "whimbrel-peer@localhost", "RABBITMQ_NODE_IP_ADDRESS": HOST,
        "RABBITMQ_DIST_PORT": str(distribution), "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null", "RABBITMQ_MNESIA_BASE": str(home / "data"),
        "RABBITMQ_LOG_BASE": str(home / "log"), "RABBITMQ_LOGS": "-",
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "enabled_plugins"), "RABBITMQ_PID_FILE": str(home / "pid"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }
    # Erlang would start its register of names by itself, and leave it behind.
    server.start(["epmd"], [names], env=environment)
    script = next((CACHE / "rabbitmq").glob("usr/lib/rabbitmq/lib/*/sbin/rabbitmq-server"))
    server.start([str(script)], [plain, secure], env=environment, cwd=home)
