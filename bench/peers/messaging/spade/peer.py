"""SPADE's end of a run (../README.md says how peers are driven): agents in Python that talk over an XMPP server.

A body is text: the time at which it was made, in nanoseconds since 1970 as sixteen hexadecimal digits, and then dots.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import spade
from spade.agent import Agent
from spade.behaviour import CyclicBehaviour, OneShotBehaviour
from spade.message import Message

DOMAIN, PASSWORD = "localhost", "whimbrel"
STAMP_DIGITS = 16
# Number of unpaced messages of which one is timed.
TIMED_ONE_IN = 16
PACE_S = 0.001
# Number of agents that connect at a time, and time that a consumer waits for a message before it looks again.
AT_ONCE, PATIENCE_S = 10, 60


class Run:
    """The parameters, in the order in which the runner gives them."""

    def __init__(self, arguments):
        self.role, self.scenario, producers, consumers, size, self.mode, _, messages, folder, address = arguments
        self.producers, self.consumers, self.size, self.messages = int(producers), int(consumers), int(size), int(messages)
        self.folder, self.port = Path(folder), int(address.rpartition(":")[2])

    def receivers(self, producer):
        """Receivers of a producer: one, or all."""
        chosen = range(self.consumers) if self.scenario == "broadcast" else [producer % self.consumers]
        return [self.name("consume", number) for number in chosen]

    def due(self):
        each = self.consumers if self.scenario == "broadcast" else 1
        return self.messages * self.producers * each

    def name(self, role, number):
        """Accounts stay with the server, and what was not fetched with them: each shape of a run has its own."""
        return f"{role}-{self.scenario}-{self.producers}-{self.consumers}-{self.mode}-{number}@{DOMAIN}"


class Tally:
    """Messages of all consumers."""

    def __init__(self, run):
        self.due, self.step = run.due(), TIMED_ONE_IN if run.mode == "saturated" else 1
        self.count, self.first, self.last, self.latencies = 0, 0, 0, []
        self.full = asyncio.Event()

    def take(self, body):
        now = time.time_ns()
        self.first = self.first or now
        if self.count % self.step == 0:
            self.latencies.append(now - int(body[:STAMP_DIGITS], 16))
        self.count, self.last = self.count + 1, now
        if self.count == self.due:
            self.full.set()

    def report(self):
        ordered = sorted(self.latencies)
        at = lambda share: ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1000
        return {"deliveries": self.count, "seconds": (self.last - self.first) / 1e9, "p50_us": at(0.5), "p99_us": at(0.99)}


class Consume(CyclicBehaviour):
    def __init__(self, tally):
        super().__init__()
        self.tally = tally

    async def run(self):
        message = await self.receive(timeout=PATIENCE_S)
        if message:
            self.tally.take(message.body)


class Produce(OneShotBehaviour):
    def __init__(self, run, number, go):
        super().__init__()
        self.plan, self.number, self.go = run, number, go

    async def run(self):
        await self.go.wait()
        receivers = self.plan.receivers(self.number)
        begin = time.monotonic() + PACE_S * self.number / self.plan.producers
        for turn in range(self.plan.messages):
            if self.plan.mode == "paced":
                await asyncio.sleep(max(0, begin + turn * PACE_S - time.monotonic()))
            for receiver in receivers:
                await self.send(Message(to=receiver, body=f"{time.time_ns():0{STAMP_DIGITS}x}".ljust(self.plan.size, ".")))
            # To send is not to wait: without this nothing would be written until all is made.
            await asyncio.sleep(0)


async def started(run, behaviours):
    """An agent for each behaviour, connected, a few at a time."""
    agents = []
    for first in range(0, len(behaviours), AT_ONCE):
        few = []
        for number, behaviour in list(enumerate(behaviours))[first:first + AT_ONCE]:
            agent = Agent(run.name(run.role, number), PASSWORD, run.port, verify_security=True)
            agent.add_behaviour(behaviour)
            few.append(agent)
        await asyncio.gather(*(agent.start() for agent in few))
        agents += few
    return agents


async def consume(run):
    tally = Tally(run)
    agents = await started(run, [Consume(tally) for _ in range(run.consumers)])
    print("ready", flush=True)
    await tally.full.wait()
    print(json.dumps(tally.report()), flush=True)
    await end(agents)


async def produce(run):
    go = asyncio.Event()
    agents = await started(run, [Produce(run, number, go) for number in range(run.producers)])
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    go.set()
    # The runner ends this end when the other has everything.
    await asyncio.to_thread(sys.stdin.read)
    await end(agents)


async def end(agents):
    await asyncio.gather(*(agent.stop() for agent in agents))


def main():
    run = Run(sys.argv[1:])
    # SPADE has no option for whom to trust, but OpenSSL has.
    os.environ["SSL_CERT_FILE"] = str(run.folder / "authority.pem")
    spade.run({"consume": consume, "produce": produce}[run.role](run))


main()
