"""The platform in memory against a real node: the same societies have the same conversations on both."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from society import Society, asynchronous, needs_node

from whimbrel import (
    Agent,
    Atom,
    Message,
    Platform,
    Record,
    Refusal,
    Service,
    Template,
    Term,
    WhimbrelError,
    on,
)
from whimbrel.recording import Recording, worded
from whimbrel.testing import MemoryPlatform, run

Story = Callable[[Platform], Awaitable[None]]


class Bidder(Agent):
    """A contractor of a contract net."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity

    async def setup(self) -> None:
        await self.df.register(Service("painting", "walls", languages=("fipa-sl",), properties={"size": self.capacity}))

    @on.cfp(ontology="jobs")
    def offer(self, cfp: Message) -> Message:
        if cfp.content["size"] > self.capacity:
            raise Refusal("too big")
        return cfp.propose(price=self.capacity * 2)

    @on.accept_proposal
    def work(self, accepted: Message) -> Message:
        return accepted.inform("painted")


async def contract_net(platform: Platform) -> None:
    """Offers, a choice, a result."""
    for name, capacity in (("ada", 3), ("rosa", 10)):
        await platform.start(name, Bidder(capacity))
    buyer = await platform.start("buyer")
    bidders = await buyer.df.search("painting")
    offers = {}
    for bidder in bidders:
        try:
            offers[bidder.agent.name] = await buyer.ask(bidder, {"size": 5}, "cfp", ontology="jobs")
        except WhimbrelError:
            continue
    await buyer.ask(offers["rosa"].accept_proposal())


async def directory(platform: Platform) -> None:
    """All functions of the DF, with their failures."""
    amy, bob = await platform.start("amy"), await platform.start("bob")
    async with amy.df.subscribe("weather") as changes:
        await bob.df.register("weather", name="rain", properties={"price": 5}, ontologies=("sky",))
        await changes.__anext__()
        await quietly(bob.df.register("weather"))
        await bob.df.modify(Service("weather"), Service("news", protocols=("fipa-request",)))
        await changes.__anext__()
        await bob.df.modify("news")
        await changes.__anext__()
    await amy.df.search()
    await amy.df.search("news", max_results=0)
    await amy.df.search(agent=bob, properties={"price": 5})
    await bob.df.deregister()
    await quietly(bob.df.deregister())
    await quietly(bob.df.modify("news"))
    await quietly(amy.df.subscribe(properties={"price": 5}).__aenter__())


async def malformed_requests(platform: Platform) -> None:
    """Requests to the directories that are refused or not understood, in values and in SL."""
    bob = await platform.start("bob")
    description = Record("df-agent-description", name=Record("agent-identifier", name="bob"))
    contents: list[Any] = [
        Atom("dance"),
        [Term("action", Atom("df"), Term("register"))],
        Term("register", description, description),
        Term("register", Record("df-agent-description")),
        Term("register", Record("df-agent-description", name="eve")),
        Term("register", Record("df-agent-description", colour="red")),
        Term("register", Record("df-agent-description", name="bob", services=Record("wrong"))),
        Term("register", Record("df-agent-description", {"name": "bob", "lease-time": "soon"})),
        Term("search", Record("df-agent-description"), Record("search-constraints", {"max-results": "many"})),
        [1, 2],
        7,
        "((action (agent-identifier :name df) (search (df-agent-description))))",
        "((nonsense",
    ]
    for content in contents:
        await quietly(bob.ask("df", content))
    await quietly(bob.ask("df", Atom("dance"), ontology="music"))
    await quietly(bob.ask("df", Atom("dance"), "propose"))
    await quietly(bob.ask("df", None, "cancel", conversation_id="nothing"))
    await quietly(bob.ask("df", "(x)", language="klingon"))
    described = Term(
        "iota", Atom("x"), Term("result", Term("action", Atom("df"), Term("search", description)), Atom("x"))
    )
    await quietly(bob.ask("df", [described], "query-ref"))
    for function in ("register", "deregister", "modify", "search", "join", "leave", "get-description", "fly"):
        await quietly(bob.ask("ams", [Term("action", Atom("ams"), Term(function))]))
        await quietly(bob.ask("ams", Term(function, Record("ams-agent-description", name="nobody"))))
        await quietly(bob.ask("ams", Term(function, Atom("group:crew"))))


async def agents_directory(platform: Platform) -> None:
    """Searches, owners, suspensions and ends."""
    amy, bob, eve = [await platform.start(name) for name in ("amy", "bob", "eve")]
    await bob.ams.search("bo*")
    await bob.ams.search("?m?", max_results=2)
    await bob.ams.search("d?")
    await bob.ams.search(state="suspended")
    await bob.ams.platform_name()
    await quietly(bob.ams.kill("amy"))
    await quietly(bob.ams.kill("nobody"))
    await quietly(bob.ams.kill("df"))
    owned = Record("ams-agent-description", name="amy", ownership="bob")
    await amy.ask("ams", Term("modify", owned))
    await bob.ams.suspend(amy)
    await quietly(bob.ams.set_state(amy, "waiting"))
    await bob.ams.search("amy", ownership="bob")
    await bob.ams.resume(amy)
    await bob.ams.kill(amy)
    await amy.wait_ended()
    await quietly(bob.ask("amy"))
    await eve.stop()
    await bob.ams.search("*v?")


async def topics(platform: Platform) -> None:
    """Topics, groups, and failures of both."""
    amy, bob = await platform.start("amy"), await platform.start("bob")
    await bob.join("topic:news")
    await bob.join("group:crew")
    for receiver in ("topic:news", "group:crew", "any:crew"):
        amy.send(receiver, receiver)
        await bob.receive(timeout=5)
    amy.send(["bob", "topic:news", "bob"], "twice")
    for _ in range(2):
        await bob.receive(timeout=5)
    await bob.leave("group:crew")
    await quietly(bob.leave("group:crew"))
    for bad in ("crew", "group:", "topic:" + 121 * "\u00e9"):
        await quietly(bob.join(bad))
    await quietly(amy.ask("any:crew"))
    await quietly(amy.ask("group:crew"))
    await quietly(amy.ask("nobody", {"x": [1, 2.5, b"\x00"]}, ontology="o", protocol="p", language="l"))
    await quietly(amy.ask("nobody@elsewhere"))


async def unhandled_messages(platform: Platform) -> None:
    """Messages of an agent that ends before it handles them return to their senders."""
    amy, bob = await platform.start("amy"), await platform.start("bob")
    question = asyncio.ensure_future(amy.ask("bob", "anybody there?", timeout=10))
    await amy.send("amy", "after it")
    await amy.receive(timeout=5)
    await bob.stop()
    await quietly(question)
    async with amy.listen(Template("inform")) as inbox:
        amy.send("amy", 1)
        amy.send("amy", 2)
        await inbox.next(5)
        await inbox.next(5)


async def monitors(platform: Platform) -> None:
    """Watching agents, with its failures, and news of their ends."""
    amy, bob, eve = [await platform.start(name) for name in ("amy", "bob", "eve")]
    for function in ("watch", "unwatch"):
        for agent in ("nobody", "topic:news", "eve@elsewhere"):
            await quietly(bob.ask("ams", Term(function, Record("agent-identifier", name=agent))))
        await quietly(bob.ask("ams", Term(function)))
    for function in ("unwatch", "watch", "watch", "unwatch", "watch"):
        await quietly(bob.ask("ams", Term(function, Record("agent-identifier", name="amy"))))
    await bob.ask("ams", Term("watch", Record("agent-identifier", name="eve")))
    await amy.ams.kill(amy)
    await bob.receive(timeout=5)
    await eve.stop()
    await bob.receive(timeout=5)


async def kept_agents(platform: Platform) -> None:
    """Each step of a kept agent: its messages leave with its state."""

    class Counter(Agent):
        kept = ("count",)
        count = 0

        @on.request
        def add(self, message: Message) -> int:
            self.count += message.content
            self.send("bob", self.count)
            return self.count

    bob = await platform.start("bob")
    await platform.start("counter", Counter(), keep=True)
    for number in range(3):
        await bob.ask("counter", number)
        await bob.receive(Template("inform", sender="counter"), timeout=5)


STORIES = [
    contract_net,
    directory,
    malformed_requests,
    agents_directory,
    topics,
    unhandled_messages,
    monitors,
    kept_agents,
]


async def quietly(work: Awaitable[Any]) -> None:
    """Awaits what fails on both platforms."""
    try:
        await work
    except WhimbrelError:
        return


def conversations(recording: Recording, home: str) -> dict[str, list[str]]:
    """Returns what each agent said to each other one. Names of conversations become their numbers in that order."""
    said: dict[str, list[str]] = {}
    for one in recording:
        message = one.message
        for receiver in message.receivers:
            lines = said.setdefault(f"{message.sender} -> {receiver}", [])
            texts = [
                f"{name}={getattr(message, name)}"
                for name in ("ontology", "protocol", "language", "conversation_id", "reply_with", "in_reply_to")
                if getattr(message, name) is not None
            ]
            content = f"{type(message.content).__name__} {worded(message.content)}"
            lines.append(f"{message.performative} {content} {' '.join(texts)}")
    return {pair: [normalized(line, home) for line in lines] for pair, lines in sorted(said.items())}


def normalized(line: str, home: str) -> str:
    """Returns a line without what differs from run to run: identifiers and moments."""
    line = re.sub(r"\b([a-z]+)-[0-9a-z]+-\d+", r"\1-ID", line).replace(f"@{home}", "@HOME")
    return re.sub(rf"\b{re.escape(home)}\b", "HOME", re.sub(r"datetime\(\d+\)", "datetime(T)", line))


@pytest.fixture(scope="module")
def empty() -> Iterator[Society]:
    """A node whose directories have nothing of other tests' agents."""
    running = Society({"idle": "// Answers nothing."})
    yield running
    running.stop()


@needs_node
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_memory_and_node_have_same_conversations(story: Story, empty: Society) -> None:
    async def in_memory() -> dict[str, list[str]]:
        async with MemoryPlatform() as platform:
            recording = Platform.record(platform)
            await story(platform)
            return conversations(recording, platform.name)

    @asynchronous
    async def on_node() -> None:
        async with empty.platform() as platform:
            recording = platform.record()
            await story(platform)
            found.update(conversations(recording, platform.name))

    found: dict[str, list[str]] = {}
    on_node()
    assert lines(run(in_memory())) == lines(found)


def lines(said: dict[str, list[str]]) -> list[str]:
    """Returns conversations as lines, whose differences pytest shows."""
    return [f"{pair}: {line}" for pair, all_lines in said.items() for line in all_lines]
