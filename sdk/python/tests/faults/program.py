"""Program of the fault run: `source` counts and sends each number, `sink` checks what comes. Both outlive anything.

Arguments: the agent's name, the node's address, the token, the lease in seconds, and the interval of messages.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

from whimbrel import Agent, Message, Platform, WhimbrelError, on, run


class Source(Agent):
    """Sends 1, 2, 3, ... until it is told to stop."""

    kept = ("last", "is_over")

    def __init__(self, interval: float) -> None:
        self.last = 0
        self.is_over = False
        self.interval = interval

    def setup(self) -> None:
        self.every(self.interval, self.send_next)

    def send_next(self) -> None:
        if not self.is_over:
            self.last += 1
            self.send("sink", self.last)

    @on.request
    def stop_sending(self, message: Message) -> int:
        self.is_over = self.is_over or message.content == "stop"
        return self.last


class Sink(Agent):
    """Notes each number that is not the next one."""

    kept = ("last", "faults")

    def __init__(self, interval: float) -> None:
        self.last = 0
        self.faults: list[Any] = []

    @on.inform(sender="source")
    def check(self, message: Message) -> None:
        number = message.content
        if number != self.last + 1:
            self.faults.append([self.last, number])
        self.last = max(self.last, number)

    @on.request
    def report(self, message: Message) -> dict[str, Any]:
        return {"last": self.last, "faults": self.faults[:20]}


async def main(name: str, address: str, token: str, lease: str, interval: str) -> None:
    """Lives on the node, and comes back when its session is over."""
    kinds = {"source": Source, "sink": Sink}
    while True:
        try:
            async with Platform(address, token=token, lease=float(lease), patience=60) as platform:
                await platform.start(name, kinds[name](float(interval)), keep=True)
                print("ready", flush=True)
                await platform.wait_closed()
        except WhimbrelError as error:
            logging.info("%s: %s", name, error)
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    run(main(*sys.argv[1:]))
