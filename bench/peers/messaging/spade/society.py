"""One process of a society in a ring: SPADE's program, over SPADE itself or over Whimbrel (README.md, measure.py).

    society.py spade|whimbrel SHARE SHARES AGENTS MESSAGES BYTES PORT

Agent i lives in process i modulo SHARES, and sends its part of the messages to agent i + 1. It prints `ready` with the
seconds that its agents took to start, begins at a line on its input, and prints one line of JSON when all its agents
have what they are due.
"""

import asyncio
import json
import resource
import sys
import time

OVER = sys.argv[1]
if OVER == "whimbrel":
    import whimbrel.spade.alias  # noqa: F401

import spade
from spade.agent import Agent
from spade.behaviour import CyclicBehaviour, OneShotBehaviour
from spade.message import Message
from spade.trace import TraceStore

SHARE, SHARES, AGENTS, MESSAGES, BYTES, PORT = map(int, sys.argv[2:])
EACH = MESSAGES // AGENTS
# Agents that start at a time: an XMPP server refuses many at once.
AT_ONCE = 500 if OVER == "whimbrel" else 10
PATIENCE_S = 600


class Count:
    """Messages of all agents here."""

    def __init__(self, due):
        self.due, self.seen, self.full = due, 0, asyncio.Event()

    def take(self):
        self.seen += 1
        if self.seen == self.due:
            self.full.set()


class Receive(CyclicBehaviour):
    async def run(self):
        if await self.receive(timeout=PATIENCE_S):
            self.agent.count.take()


class Send(OneShotBehaviour):
    async def run(self):
        await self.agent.go.wait()
        for _ in range(EACH):
            await self.send(Message(to=self.agent.neighbour, body="." * BYTES))
            # To send is not to wait: without this nothing would be read until all is made.
            await asyncio.sleep(0)


def agent(number, count, go):
    made = Agent(f"a{number}@localhost", "whimbrel", PORT)
    made.neighbour, made.count, made.go = f"a{(number + 1) % AGENTS}@localhost", count, go
    # The last thousand messages of each agent would take gigabytes.
    made.traces = TraceStore(size=0)
    made.add_behaviour(Receive())
    made.add_behaviour(Send())
    return made


async def main():
    numbers = range(SHARE, AGENTS, SHARES)
    count, go = Count(EACH * len(numbers)), asyncio.Event()
    agents = [agent(number, count, go) for number in numbers]
    begun = time.monotonic()
    for first in range(0, len(agents), AT_ONCE):
        await asyncio.gather(*(one.start() for one in agents[first:first + AT_ONCE]))
    print(f"ready {time.monotonic() - begun:.2f}", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    begun, used = time.monotonic(), time.process_time()
    go.set()
    await count.full.wait()
    seconds = time.monotonic() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"deliveries": count.seen, "seconds": seconds, "cpu_s": time.process_time() - used,
                      "memory_mb": memory}), flush=True)
    # Messages of the other process may still be under way.
    await asyncio.to_thread(sys.stdin.read)


spade.run(main())
