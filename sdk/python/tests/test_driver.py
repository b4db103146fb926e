"""Driver of a session: it survives nodes that drop its connections, whatever they were doing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from society import asynchronous, until
from test_session import WELCOME

from whimbrel import EndedError, Platform, SessionError, Template, WhimbrelError
from whimbrel.session.address import Address
from whimbrel.session.transport import Receiver
from whimbrel.session.websocket import encode, masked


class SmallNode:
    """A node in memory, controlled by the test: it creates and ends agents, and accepts all messages."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.connections = 0
        self.is_there = True
        self._receiver: Receiver | None = None
        self._said = self._took = 0

    async def connect(self, receiver: Receiver, place: str | None) -> SmallNode:
        """Accepts a connection."""
        self.connections += 1
        if not self.is_there:
            raise OSError("no network")
        self._receiver = receiver
        return self

    def platform(self, **options: Any) -> Platform:
        """Returns a platform at this node."""
        return Platform("tcp://127.0.0.1:1", transport=self.connect, **options)

    def close(self) -> None:
        """The client closed the connection."""

    def send(self, frames: list[bytes]) -> None:
        """Hears frames of the client."""
        for data in frames:
            frame = json.loads(data)
            self.heard.append(frame)
            asyncio.get_running_loop().call_soon(self._answer, frame)

    def say(self, *frames: dict[str, Any]) -> None:
        """Sends frames, read together."""
        receiver = self._receiver
        assert receiver is not None
        for frame in frames:
            if "number" in frame:
                self._said += 1
                frame["number"] = self._said
            receiver.on_frame(json.dumps(frame).encode())
        receiver.on_read()

    def cut(self) -> None:
        """Breaks the connection."""
        assert self._receiver is not None
        self._receiver.on_close("cut")

    def kinds(self) -> list[str]:
        """Kinds of the frames that were heard."""
        return [frame["type"] for frame in self.heard]

    def _answer(self, frame: dict[str, Any]) -> None:
        kind, agent = frame["type"], frame.get("agent")
        self._took = frame.get("number", self._took)
        if kind == "hello":
            self.say({**WELCOME, "lease_ms": 10_000, "window": 256, "received": self._took, "credit": self._took + 256})
        elif kind == "create":
            self.say({"type": "created", "number": 0, "agent": agent, "name": f"{frame['name']}@home"})
        elif kind == "end":
            self.say({"type": "ended", "number": 0, "agent": agent, "reason": "finished"})
        elif kind == "bye":
            self.say({"type": "bye"})
        if "number" in frame and kind != "end":
            self.say({"type": "ack", "received": self._took})


@asynchronous
async def test_error_frame_leads_to_another_connection() -> None:
    node = SmallNode()
    async with node.platform() as platform:
        bob = await platform.start("bob")
        node.say({"type": "error", "code": "busy", "text": "later"})
        bob.send("amy", 1)
        await until(lambda: "message" in node.kinds())
        assert node.connections == 2
        assert platform.is_connected


@asynchronous
async def test_broken_connection_is_told_and_restored() -> None:
    node = SmallNode()
    async with node.platform() as platform:
        told: list[Any] = []
        forget = platform.on_connection(lambda is_connected, why: told.append((is_connected, why)))
        node.cut()
        await until(lambda: len(told) == 2)
        assert told == [(False, "cut"), (True, None)]
        forget()
        node.cut()
        await until(lambda: node.connections == 3)
        assert len(told) == 2


@asynchronous
async def test_first_message_of_a_burst_is_not_delayed() -> None:
    node = SmallNode()
    async with node.platform() as platform:
        bob = await platform.start("bob")
        await asyncio.sleep(0)
        before = node.kinds().count("message")
        for n in range(3):
            bob.send("amy", n)
        assert node.kinds().count("message") == before + 1
        await until(lambda: node.kinds().count("message") == before + 3)


@asynchronous
async def test_senders_wait_while_node_takes_no_more() -> None:
    node = SmallNode()
    async with node.platform() as platform:
        bob = await platform.start("bob")
        node.is_there = False
        node.cut()
        for n in range(1023):
            await bob.send("amy", n)
        waiting = asyncio.ensure_future(asyncio.wait_for(bob.send("amy", 1023), 20))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        node.is_there = True
        await waiting


@asynchronous
async def test_messages_wait_until_agent_is_set_up() -> None:
    node = SmallNode()
    seen: list[Any] = []
    ready = asyncio.Event()

    async with node.platform() as platform:

        async def setup(agent: Any) -> None:
            agent.handle(Template("inform"), lambda message: seen.append(message.content))
            await ready.wait()
            assert (await agent.receive(Template("request"))).content == "first"

        starting = asyncio.ensure_future(platform.start("bob", setup))
        await until(lambda: "create" in node.kinds())
        await asyncio.sleep(0)
        for performative, content in (("inform", 1), ("request", "first"), ("inform", 2)):
            message = {"performative": performative, "sender": "amy", "content": content}
            node.say({"type": "message", "number": 0, "agent": 0, "message": message})
        await asyncio.sleep(0)
        assert seen == []
        ready.set()
        await starting
        assert seen == [1, 2]


@asynchronous
async def test_open_messages_are_reported() -> None:
    node = SmallNode()
    async with node.platform() as platform:
        bob = await platform.start("bob")
        node.say({"type": "message", "number": 0, "agent": 0, "message": {"performative": "request", "sender": "amy"}})
        await until(lambda: {"type": "open", "messages": [2, 1]} in node.heard)
        await (await bob.receive()).inform("done")
        await until(lambda: node.heard[-2:] and {"type": "open", "messages": []} in node.heard[-3:])
        assert platform.open_messages == {}


@asynchronous
async def test_first_connection_may_fail() -> None:
    node = SmallNode()
    node.is_there = False
    with pytest.raises(SessionError, match="no network"):
        await node.platform(patience=0.2)


@asynchronous
async def test_closed_inbox_gives_messages_back() -> None:
    node = SmallNode()
    async with node.platform() as platform:
        bob = await platform.start("bob")
        inbox = bob.listen(Template("inform"))
        node.say({"type": "message", "number": 0, "agent": 0, "message": {"performative": "inform", "content": 1}})
        assert len(inbox) == 1
        inbox.close()
        with pytest.raises(EndedError):
            await inbox.next()
        assert (await bob.receive(timeout=1)).content == 1


def test_addresses_are_parsed() -> None:
    address = Address.parse("https://Node.Example/")
    assert (str(address), address.place) == ("wss://node.example/session", "node.example")
    assert str(address.at(":8420")) == "wss://node.example:8420/session"
    assert str(Address.parse("tls://[::1]:7002").at("[::2]:7003")) == "tls://[::2]:7003"
    with pytest.raises(WhimbrelError, match="invalid place"):
        address.at("nowhere")


def test_websocket_frames_are_masked() -> None:
    for length, head in ((5, 2), (300, 4), (70_000, 10)):
        payload = bytes(range(256)) * (length // 256) + b"x" * (length % 256)
        frame = encode(1, payload)
        assert len(frame) == head + 4 + length
        assert masked(frame[head + 4 :], frame[head : head + 4]) == payload
