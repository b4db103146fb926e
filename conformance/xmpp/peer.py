#!/usr/bin/env python3
"""Prosody, and agents of SPADE in this process, which talk to a component of that server.

    peer.py FOLDER PROSODY DOMAIN SECRET

Prosody's files are in FOLDER, its program is PROSODY. The agents belong to `localhost`. Commands are lines on the
input, with tabs between words; what is printed for the caller begins with `@ `:

    ready PORT                          the server runs; PORT is that of its components
    send NAME BODY KEY=VALUE ...        the agent `talker` writes to an agent of the component
    flood NAME COUNT                    it asks so many questions at once, with metadata, and counts the answers
    watch NAME                          it subscribes to an agent's presence

The agent `echo` answers each message with `make_reply`, as SPADE's documents show it.
"""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from spade.agent import Agent
from spade.behaviour import CyclicBehaviour
from spade.message import Message

HOST = "127.0.0.1"
CONFIG = """\
run_as_root = true
data_path = "{home}"
certificates = "{home}"
log = {{ warn = "*console" }}
interfaces = {{ "{host}" }}
c2s_ports = {{ {clients} }}
component_ports, component_interfaces = {{ {components} }}, {{ "{host}" }}
s2s_ports, http_ports, https_ports = {{}}, {{}}, {{}}
modules_enabled = {{ "disco", "ping", "presence", "register_ibr", "roster", "saslauth", "tls" }}
modules_disabled = {{ "offline", "s2s" }}
allow_registration, registration_notification = true, false
authentication, storage = "internal_hashed", "internal"
c2s_require_encryption = true
ssl = {{ certificate = "{home}/end.pem", key = "{home}/end.key", protocol = "tlsv1_2+" }}
VirtualHost "localhost"
Component "{domain}"
    component_secret = "{secret}"
"""
START_S = 30


def say(*words):
    print("@", *words, sep="\t", flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def start_server(folder, program, domain, secret):
    """Starts Prosody. Returns its process, and its ports for clients and for components."""
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
           "-keyout", f"{folder}/end.key", "-out", f"{folder}/end.pem"]
    subprocess.run(key, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    clients, components = free_port(), free_port()
    config = folder / "prosody.cfg.lua"
    config.write_text(CONFIG.format(home=folder, host=HOST, clients=clients, components=components, domain=domain,
                                    secret=secret))
    server = subprocess.Popen(["lua5.4", program, "-F", "--config", str(config)], stdin=subprocess.DEVNULL,
                              stdout=sys.stderr, stderr=sys.stderr)
    deadline = time.monotonic() + START_S
    for port in (clients, components):
        while True:
            with socket.socket() as probe:
                if probe.connect_ex((HOST, port)) == 0:
                    break
            if server.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("Prosody does not listen")
            time.sleep(0.05)
    return server, clients, components


class Echo(Agent):
    class Answer(CyclicBehaviour):
        async def run(self):
            message = await self.receive(timeout=60)
            if message is not None:
                answer = message.make_reply()
                answer.body = message.body
                answer.set_metadata("performative", "inform")
                await self.send(answer)

    async def setup(self):
        self.add_behaviour(self.Answer())


class Talker(Agent):
    answers = 0

    class Listen(CyclicBehaviour):
        async def run(self):
            message = await self.receive(timeout=60)
            if message is None:
                return
            if message.get_metadata("ontology") == "flood":
                self.agent.count(message)
                return
            say("came", message.body, message.sender.bare if hasattr(message.sender, "bare") else str(message.sender),
                *sorted(f"{name}={value}" for name, value in message._metadata.items()), f"thread={message.thread}")

    class Work(CyclicBehaviour):
        async def run(self):
            message = await self.agent.outgoing.get()
            await self.send(message)

    def count(self, message):
        """Counts an answer of a flood, if all of it is as the question was."""
        number = message.body.removeprefix("number ")
        expected = {"ontology": "flood", "in-reply-to": f"q{number}", "colour": f"é世 {number} <&>"}
        found = {name: message.get_metadata(name) for name in expected}
        if found != expected or message.thread != f"t{number}":
            say("wrong", message.body, found)
        self.answers += 1
        if self.answers == self.due:
            say("flood", self.answers, f"{time.monotonic() - self.begun:.2f}")

    async def setup(self):
        self.outgoing = asyncio.Queue()
        self.add_behaviour(self.Listen())
        self.add_behaviour(self.Work())
        self.presence.on_available = lambda jid, info, last: say("available", str(jid).split("/")[0])
        self.presence.on_unavailable = lambda jid, info, last: say("unavailable", str(jid).split("/")[0])
        self.presence.on_subscribed = lambda jid: say("subscribed", str(jid))
        self.presence.approve_all = True

    async def flood(self, to, count):
        self.due, self.begun = count, time.monotonic()
        for number in range(count):
            metadata = {"performative": "request", "ontology": "flood", "reply-with": f"q{number}",
                        "colour": f"é世 {number} <&>"}
            self.outgoing.put_nowait(Message(to=to, body=f"number {number}", thread=f"t{number}", metadata=metadata))


async def main(folder, program, domain, secret):
    server, clients, components = start_server(folder, program, domain, secret)
    try:
        agents = {name: kind(f"{name}@localhost", "secret", clients) for name, kind in (("echo", Echo), ("talker", Talker))}
        for agent in agents.values():
            await agent.start()
        say("ready", components)
        await obey(agents["talker"], domain)
        for agent in agents.values():
            await agent.stop()
    finally:
        server.terminate()
        server.wait()


async def obey(talker, domain):
    """Carries out the commands until the input ends."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command, name, *rest = line.rstrip("\n").split("\t")
        to = f"{name}@{domain}"
        if command == "send":
            body, *metadata = rest
            metadata = dict(one.split("=", 1) for one in metadata)
            thread = metadata.pop("thread", None)
            talker.outgoing.put_nowait(Message(to=to, body=body, thread=thread, metadata=metadata))
        elif command == "flood":
            await talker.flood(to, int(rest[0]))
        elif command == "watch":
            talker.presence.subscribe(to)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    asyncio.run(main(Path(sys.argv[1]).resolve(), *sys.argv[2:]))
    # SPADE leaves threads behind.
    os._exit(0)
