"""Agents on a real node, by TCP and WebSocket, in JSON and the compact form."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from society import Proxy, Society, asynchronous, needs_node, until

from whimbrel import (
    Agent,
    AgentGoneError,
    Atom,
    DeadlineError,
    EncodeError,
    EndedError,
    FailureError,
    Message,
    NotUnderstoodError,
    Platform,
    Record,
    Refusal,
    RefusedError,
    RefuseError,
    Service,
    SessionError,
    Template,
    Term,
    WhimbrelError,
    after,
    connect,
    every,
    on,
)

pytestmark = needs_node


@pytest.mark.parametrize("transport", ["tcp", "ws"])
@pytest.mark.parametrize("encoding", ["json", "compact"])
@asynchronous
async def test_agent_joins_asks_and_leaves(society: Society, transport: str, encoding: str) -> None:
    address = society.address if transport == "tcp" else society.gateway
    async with society.platform(address, encoding=encoding) as platform:
        bob = await platform.start("bob")
        assert (bob.name, bob.full_name) == ("bob", f"bob@{platform.name}")
        content = Term("f", 3, "é", Atom("b"), [1.5, True], {"k": b"\x01"}, Record("r", a=1))
        answer = await bob.ask("echo", content)
        assert answer.sender == "echo"
        assert answer.content == content
        assert platform.agents == [bob]
        await bob.stop()
        assert bob.end_reason == "finished"
        with pytest.raises(EndedError):
            await bob.send("echo")
        assert (await platform.start("bob")).name == "bob"
    assert platform.over is not None
    assert platform.over.code == "bye"


class Bidder(Agent):
    """The bidder of the issue."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.done: list[Any] = []

    @on.cfp(ontology="jobs")
    async def offer(self, cfp: Message) -> Message:
        if cfp.content["size"] > self.capacity:
            return cfp.refuse("too big")
        return cfp.propose(price=self.capacity * 2)

    @on.accept_proposal
    async def work(self, accepted: Message) -> AsyncIterator[Message]:
        yield accepted.agree()
        await asyncio.sleep(0)
        self.done.append(accepted.content)
        yield accepted.inform("done")


@asynchronous
async def test_agents_read_like_prose(society: Society) -> None:
    async with society.platform() as platform:
        small, large = Bidder(3), Bidder(10)
        await platform.start_all({"small": small, "large": large})
        buyer = await platform.start("buyer")
        proposals: list[Message] = []
        refusals: list[Message] = []
        talk = buyer.conversation(["small", "large"], {"size": 5}, "cfp", ontology="jobs", timeout=10)
        async for answer in talk:
            (proposals if answer.performative == "propose" else refusals).append(answer)
            if len(proposals) + len(refusals) == 2:
                break
        talk.close()
        assert [answer.content for answer in proposals] == [{"price": 20}]
        assert [(str(answer.sender), answer.content) for answer in refusals] == [("small", "too big")]
        final = await buyer.ask(proposals[0].accept_proposal("mow"))
        assert (final.performative, final.content, large.done) == ("inform", "done", ["mow"])


@asynchronous
async def test_agentspeak_agents_bid_too(society: Society) -> None:
    async with society.platform() as platform:
        buyer = await platform.start("buyer")
        talk = buyer.conversation(["cara", "bruno"], Atom("mow"), "cfp", timeout=10)
        prices = {}
        async for answer in talk:
            prices[str(answer.sender)] = answer.content[1]
            if len(prices) == 2:
                break
        talk.close()
        assert prices == {"cara": 30, "bruno": 20}


@asynchronous
async def test_handlers_answer_by_result_and_exception(society: Society) -> None:
    class Server(Agent):
        errors: list[BaseException]

        def setup(self) -> None:
            self.errors = []

        def on_error(self, error: BaseException, message: Message | None = None) -> None:
            self.errors.append(error)

        @on.request
        def serve(self, message: Message) -> Any:
            if message.content == "refuse":
                raise Refusal("not today")
            if message.content == "fail":
                raise ValueError("broken")
            return [message.content, "served"]

        @on.query_ref(where=lambda message: message.content == "x")
        async def value(self, message: Message) -> int:
            return 42

    async with society.platform() as platform:
        server = await platform.start("server", Server())
        bob = await platform.start("bob")
        assert (await bob.ask("server", "tea")).content == ["tea", "served"]
        assert (await bob.ask("server", "x", "query-ref")).content == 42
        with pytest.raises(RefuseError, match="server answers refuse: not today") as refused:
            await bob.ask("server", "refuse")
        assert refused.value.content == "not today"
        with pytest.raises(FailureError, match="broken"):
            await bob.ask("server", "fail")
        assert [str(error) for error in server.errors] == ["broken"]


@asynchronous
async def test_functions_set_agents_up(society: Society) -> None:
    told: list[Any] = []

    def setup(agent: Agent) -> None:
        @agent.on.request
        def greet(message: Message) -> str:
            return f"hello, {message.content}"

        agent.handle(Template("inform"), lambda message: told.append(message.content))

    async with society.platform() as platform:
        await platform.start("ada", setup)
        bob = await platform.start("bob")
        assert (await bob.ask("ada", "world")).content == "hello, world"
        bob.send("ada", 7)
        await until(lambda: told == [7])


@asynchronous
async def test_timers_run_and_end_with_agent(society: Society) -> None:
    class Counter(Agent):
        ticks = 0
        late: Any = None
        reason = ""

        @every(0.005)
        async def tick(self) -> None:
            self.ticks += 1

        @after(0.01)
        def once(self) -> None:
            self.late = self.ticks

        async def teardown(self, reason: str) -> None:
            self.reason = reason

    async with society.platform() as platform:
        counter = await platform.start("counter", Counter())
        more: list[str] = []
        ticker = counter.every(0.005, lambda: more.append("tick"))
        await until(lambda: counter.ticks > 3 and counter.late is not None and len(more) > 2)
        ticker.cancel()
        await counter.stop()
        ticks, count = counter.ticks, len(more)
        await asyncio.sleep(0.03)
        assert (counter.ticks, len(more)) == (ticks, count)
        await until(lambda: counter.reason == "finished")


@asynchronous
async def test_message_waits_for_receiver(society: Society) -> None:
    async with society.platform() as platform:
        bob, amy = await platform.start("bob"), await platform.start("amy")
        for n in (1, 2, 3):
            bob.send("amy", n, conversation_id=f"c{n}")
        assert (await amy.receive(Template(conversation_id="c2"), timeout=5)).content == 2
        rest: list[Any] = []
        await until(lambda: amy.waiting == 2)
        amy.handle(None, lambda message: rest.append(message.content))
        bob.send("amy", 4)
        await until(lambda: len(rest) == 3)
        assert rest == [1, 3, 4]
        with pytest.raises(DeadlineError, match=r"no message within 0.02 s"):
            await amy.receive(timeout=0.02)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(amy.receive(), 0.02)


@asynchronous
async def test_agent_asks_itself(society: Society) -> None:
    async with society.platform() as platform:
        bob = await platform.start("bob", lambda agent: agent.handle(Template("request"), lambda m: m.content))
        assert (await bob.ask("bob", 1)).content == 1
        assert (await bob.ask("bob", 2, conversation_id="c1")).content == 2


@asynchronous
async def test_failures_say_what_to_do(society: Society) -> None:
    async with society.platform() as platform:
        bob = await platform.start("bob")
        with pytest.raises(RefusedError, match="choose another name") as refused:
            await platform.start("bob")
        assert refused.value.code == "name-taken"
        with pytest.raises(RefusedError, match="bad-name"):
            await platform.start("b@d")
        with pytest.raises(FailureError, match="nobody cannot be reached: unknown agent"):
            await bob.ask("nobody")
        with pytest.raises(RefusedError, match="no-receiver"):
            await bob.ask([], "to whom?")
        with pytest.raises(RefusedError, match="forged-sender"):
            await bob.ask("echo", sender="amy")
        with pytest.raises(NotUnderstoodError, match="there is no plan for it"):
            await bob.ask("fern")
        with pytest.raises(DeadlineError, match=r"fern did not answer within 0.05 s"):
            await bob.ask("fern", None, "propose", timeout=0.05)
        with pytest.raises(TimeoutError if hasattr(asyncio, "timeout") else asyncio.TimeoutError):
            await asyncio.wait_for(bob.ask("fern", None, "propose"), 0.05)
        with pytest.raises(RefuseError):
            await bob.ask("df", Term("dance", 1))
        with pytest.raises(NotUnderstoodError):
            await bob.ask("df", "?", "propose")
        with pytest.raises(EncodeError):
            await bob.send("no@")
        with pytest.raises(EncodeError, match="session-message-bytes"):
            await bob.send("echo", "x" * (2 << 20))
        with pytest.raises(RefusedError):
            await bob.certify("no request")


@asynchronous
async def test_refused_client_learns_why(society: Society) -> None:
    with pytest.raises(SessionError, match=r"unauthorised.*give `token=`"):
        await connect(society.address, token="guessed")
    with pytest.raises(SessionError, match="unreachable"):
        await connect("tcp://127.0.0.1:1", patience=0.3)
    for wrong, why in (("ftp://host", "use tcp://"), ("tcp://host", "no port"), ("tcp://:1", "no host")):
        with pytest.raises(WhimbrelError, match=why):
            connect(wrong)


@asynchronous
async def test_errors_reach_on_error(society: Society, caplog: pytest.LogCaptureFixture) -> None:
    async with society.platform() as platform:
        bob = await platform.start("bob")

        def picky(message: Message) -> bool:
            return int(message.content) == 1

        remove = bob.handle(picky, lambda message: None)
        heard = asyncio.ensure_future(bob.receive(Template("not-understood"), timeout=5))
        await asyncio.sleep(0)
        bob.send("bob", "{")
        assert (await heard).content == "{"
        remove()
        bob.send([], "to nobody")

        def fail(message: Message) -> None:
            raise RuntimeError("I cannot")

        bob.handle(None, fail)
        with caplog.at_level(logging.ERROR, "whimbrel"):
            bob.send("bob", 3)
            await until(lambda: "I cannot" in caplog.text and "no receiver" in caplog.text)


@asynchronous
async def test_df_registers_searches_notifies(society: Society) -> None:
    async with society.platform() as platform:
        bob, amy = await platform.start("bob"), await platform.start("amy")
        changes: list[tuple[str, bool]] = []

        async def follow() -> None:
            async with amy.df.subscribe("weather") as subscription:
                ready.set()
                async for change in subscription:
                    changes.append((str(change.agent), change.entry is not None))

        ready = asyncio.Event()
        amy.spawn(follow())
        await ready.wait()
        await bob.df.register("weather", name="rain", properties={"price": 5}, languages=["fipa-sl0"], lease=60)
        with pytest.raises(FailureError):
            await bob.df.register("weather")
        (found,) = await amy.df.search("weather")
        assert found.agent == bob.aid
        assert found.services == (Service("weather", "rain", properties={"price": 5}),)
        assert found.languages == ("fipa-sl0",)
        assert found.lease_until_ms is not None
        assert await amy.df.search("weather", name="snow") == []
        await bob.df.modify(Service("weather"), Service("tides"))
        assert len((await amy.df.search(agent="bob"))[0].services) == 2
        await bob.df.deregister()
        await until(lambda: changes == [("bob", True), ("bob", True), ("bob", False)])
        assert await amy.df.search("weather", max_results=1) == []


@asynchronous
async def test_ams_knows_agents(society: Society) -> None:
    async with society.platform() as platform:
        bob = await platform.start("bob")
        await platform.start("bert")
        assert [str(entry.agent) for entry in await bob.ams.search("b*t")] == ["bert"]
        assert [entry.state for entry in await bob.ams.search("bob", state="active")] == ["active"]
        assert await bob.ams.platform_name() == platform.name
        with pytest.raises(RefuseError):
            await bob.ams.kill("echo")
        await bob.ams.kill(bob)
        assert (await bob.wait_ended()).startswith("killed")


@asynchronous
async def test_topics_reach_subscribers(society: Society) -> None:
    async with society.platform() as platform:
        amy, bob = await platform.start("amy"), await platform.start("bob")
        await bob.join("topic:rain")
        amy.send("topic:rain", "soon")
        message = await bob.receive(Template(receiver="topic:rain"), timeout=5)
        assert message.content == "soon"
        await bob.leave("topic:rain")
        with pytest.raises(FailureError):
            await bob.leave("topic:rain")


@asynchronous
async def test_watch_ends_block(society: Society) -> None:
    async with society.platform() as platform, society.platform() as other:
        amy = await platform.start("amy")
        near, far = await platform.start("near"), await other.start("far")
        for watched in (near, far):
            with pytest.raises(AgentGoneError, match=f"agent {watched.name} is not"):  # noqa: PT012
                async with amy.watch(watched, interval=0.02):
                    asyncio.get_running_loop().create_task(watched.stop())
                    await asyncio.sleep(20)
        with pytest.raises(AgentGoneError):
            await amy.watch("nobody").__aenter__()
        async with amy.watch("echo") as watch:
            assert not watch.is_gone
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(amy.watch("echo", interval=0.01).wait_gone(), 0.05)


@asynchronous
async def test_many_messages_arrive_in_order(society: Society) -> None:
    async with society.platform() as platform:
        seen: list[int] = []
        await platform.start("sink", lambda agent: agent.handle(None, lambda message: seen.append(message.content)))
        bob = await platform.start("bob")
        for n in range(3000):
            await bob.send("sink", n)
        assert platform.unacknowledged <= 1400
        await until(lambda: len(seen) == 3000)
        assert seen == list(range(3000))


@asynchronous
async def test_stream_of_agentspeak_arrives(society: Society) -> None:
    async with society.platform() as platform:
        bob = await platform.start("bob")
        seen = []
        async with bob.listen(Template("inform") | Template("tell")) as inbox:
            bob.send("stream", Term("stream", 500), "achieve")
            async for message in inbox:
                seen.append(message.content[0])
                if len(seen) == 500:
                    break
        assert seen == list(range(1, 501))


@pytest.mark.parametrize("encoding", ["json", "compact"])
@asynchronous
async def test_broken_network_loses_nothing(society: Society, encoding: str) -> None:
    async with Proxy(society.address) as proxy, society.platform(proxy.address, encoding=encoding) as platform:
        states: list[bool] = []
        platform.on_connection(lambda is_connected, why: states.append(is_connected))
        seen: list[int] = []
        await platform.start("sink", lambda agent: agent.handle(None, lambda message: seen.append(message.content)))
        bob = await platform.start("bob")
        for n in range(600):
            await bob.send("sink", n)
            if n % 200 == 100:
                proxy.cut()
            if n % 10 == 0:
                await asyncio.sleep(0)
        await until(lambda: len(seen) == 600)
        assert seen == list(range(600))
        assert states.count(False) >= 1
        assert proxy.connections > 1


@asynchronous
async def test_session_ends_after_lease(society: Society) -> None:
    async with Proxy(society.address) as proxy:
        platform = await connect(proxy.address, token="a token for tests", lease=1)
        bob = await platform.start("bob")
        asking = asyncio.ensure_future(bob.ask("fern"))
        proxy.is_down = True
        proxy.cut()
        error = await platform.wait_closed()
        assert error.code == "lease-over"
        with pytest.raises(EndedError):
            await asking
        with pytest.raises(SessionError):
            await platform.start("amy")
        await platform.close()


@asynchronous
async def test_unhandled_messages_return_to_senders(society: Society) -> None:
    async with society.platform() as platform, society.platform() as other:
        bob = await platform.start("bob")
        amy = await other.start("amy")
        asking = asyncio.ensure_future(bob.ask("amy", "still there?", timeout=20))
        await until(lambda: amy.waiting == 1)
        await amy.stop()
        with pytest.raises(FailureError, match="agent ended"):
            await asking


@asynchronous
async def test_suspended_agent_keeps_messages(society: Society) -> None:
    async with society.platform() as platform:
        seen: list[Any] = []
        amy = await platform.start(
            "amy", lambda agent: agent.handle(None, lambda message: seen.append(message.content))
        )
        amy.suspend()
        ran: list[int] = []
        amy.after(0, lambda: ran.append(1))
        bob = await platform.start("bob")
        bob.send("amy", 1)
        await until(lambda: amy.waiting == 1)
        assert (seen, ran, amy.is_suspended) == ([], [], True)
        amy.resume()
        await until(lambda: (seen, ran) == ([1], [1]))


@asynchronous
async def test_full_mailbox_answers_failure(society: Society, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.agents.mailbox.MAILBOX_MESSAGES_MAX", 2)
    async with society.platform() as platform:
        await platform.start("amy")
        bob = await platform.start("bob")
        bob.send("amy", 1)
        bob.send("amy", 2)
        with pytest.raises(FailureError, match="mailbox full"):
            await bob.ask("amy", 3)


@asynchronous
async def test_failed_setup_frees_name(society: Society) -> None:
    def fail(agent: Agent) -> None:
        raise RuntimeError("no")

    async with society.platform() as platform:
        with pytest.raises(RuntimeError):
            await platform.start("bob", fail)
        assert (await platform.start("bob")).is_alive
        with pytest.raises(WhimbrelError, match="start an object, not a class"):
            await platform.start("carl", Agent)  # type: ignore[arg-type]
        with pytest.raises(WhimbrelError, match="belongs to a platform"):
            await platform.start("dora", platform.agents[0])


@asynchronous
async def test_agent_stops_itself_in_handler(society: Society) -> None:
    class Mortal(Agent):
        after_stop = False

        @on.request
        async def die(self, message: Message) -> None:
            await message.agree()
            await message.inform("bye")
            await self.stop()
            self.after_stop = True

    async with society.platform() as platform:
        mortal = await platform.start("mortal", Mortal())
        bob = await platform.start("bob")
        assert (await bob.ask("mortal")).content == "bye"
        assert await mortal.wait_ended() == "finished"
        await until(lambda: mortal.after_stop)


@asynchronous
async def test_tasks_end_with_agent(society: Society) -> None:
    class Worker(Agent):
        works = was_cancelled = False

        @on.request
        async def work(self, message: Message) -> None:
            self.works = True
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                self.was_cancelled = True
                raise

    async with society.platform() as platform:
        worker = await platform.start("worker", Worker())
        bob = await platform.start("bob")
        asking = asyncio.ensure_future(bob.ask("worker"))
        await until(lambda: worker.works)
        await worker.stop()
        await until(lambda: worker.was_cancelled)
        with pytest.raises(FailureError):
            await asking


@dataclasses.dataclass
class Job:
    size: int
    urgent: bool = False


@asynchronous
async def test_dataclasses_are_contents(society: Society) -> None:
    async with society.platform() as platform:
        bob = await platform.start("bob")
        answer = await bob.ask("echo", Job(3, True))
        assert answer.content_as(Job) == Job(3, True)


@asynchronous
async def test_session_without_agents_is_closed(society: Society) -> None:
    platform = Platform(society.address, token="a token for tests")
    async with platform:
        assert platform.is_connected
        with pytest.raises(WhimbrelError, match="open already"):
            await platform.open()
    assert not platform.is_connected
    assert (await platform.wait_closed()).code == "bye"
