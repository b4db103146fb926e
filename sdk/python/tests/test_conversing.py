"""Interaction protocols of agents on a node: initiators, participants, and partners that misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from society import Society, asynchronous, needs_node, until

from whimbrel import (
    Agent,
    DeadlineError,
    FailureError,
    Message,
    NotUnderstoodError,
    ProtocolError,
    Refusal,
    RefuseError,
    Template,
    on,
)
from whimbrel.protocols import Bidder, Broker, Recruiter

pytestmark = needs_node

#: Seconds after which a silent agent is late. Others answer within them on a busy machine, too.
LATE = 2


class Painter(Agent):
    """Bids for jobs, and does them."""

    def __init__(self, price: int) -> None:
        self.price = price
        self.jobs: list[Any] = []
        self.verdicts: list[str] = []

    async def setup(self) -> None:
        await self.df.register("painting", properties={"price": self.price})

    @on.cfp
    def offer(self, cfp: Message) -> Any:
        if self.price > 90:
            raise Refusal("too dear")
        return cfp.propose(price=self.price)

    @on.accept_proposal
    def work(self, accepted: Message) -> Any:
        self.jobs.append(accepted.conversation_id)
        if self.price == 13:
            raise ValueError("no paint left")
        return "painted"

    @on.reject_proposal
    def lose(self, rejected: Message) -> None:
        self.verdicts.append(rejected.performative)

    @on.request
    async def paint(self, message: Message) -> Any:
        if message.content == "the moon":
            return message.refuse("too far")
        return f"painted {message.content}"

    @on.query_ref
    def name_price(self, message: Message) -> Any:
        return self.price


class Puppet(Agent):
    """Says what a test says, whatever the protocol."""

    checks_protocols = False

    async def hear(self, performative: str) -> Message:
        return await self.receive(Template(performative=performative), timeout=5)


@asynchronous
async def test_request_returns_result(society: Society) -> None:
    async with society.platform() as platform:
        await platform.start("r-paula", Painter(20))
        bob = await platform.start("r-bob")
        assert (await bob.request("a door", to="r-paula")).content == "painted a door"
        assert (await bob.query_ref("price", to="r-paula")).content == 20
        with pytest.raises(RefuseError, match="too far"):
            await bob.request("the moon", to="r-paula")
        with pytest.raises(FailureError, match="nobody-there"):
            await bob.request("a door", to="nobody-there")
        assert not bob._talks


@asynchronous
async def test_silent_agent_is_late(society: Society) -> None:
    async with society.platform() as platform:
        bob, mute = await platform.start("l-bob"), await platform.start("l-mute", Puppet())
        with pytest.raises(DeadlineError, match=r"l-mute did not answer within 0.1 s"):
            await bob.request("a door", to="l-mute", deadline=0.1)
        asked = await mute.hear("request")
        # The late answer reaches nobody.
        await mute.send(asked.inform("painted"))
        await mute.send("l-bob", "a marker")
        assert (await bob.receive(timeout=5)).content == "a marker"


@asynchronous
async def test_agreed_request_is_cancelled_after_deadline(society: Society) -> None:
    class Slow(Agent):
        ended: str | None = None

        @on.request
        async def work(self, message: Message) -> AsyncIterator[Any]:
            yield message.agree()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.ended = "cancelled"
                raise
            yield "done"

    async with society.platform() as platform:
        slow = await platform.start("c-slow", Slow())
        bob = await platform.start("c-bob")
        with pytest.raises(DeadlineError, match="c-slow agreed, and did not deliver"):
            await bob.request("a door", to="c-slow", deadline=LATE)
        await until(lambda: slow.ended)
        # The confirmation ends the conversation, and reaches nobody.
        await until(lambda: not bob._talks)
        assert bob.waiting == 0


@asynchronous
async def test_wrong_answer_is_told_and_raised(society: Society) -> None:
    async with society.platform() as platform:
        bob, mallory = await platform.start("w-bob"), await platform.start("w-mallory", Puppet())
        asking = asyncio.ensure_future(bob.request("a door", to="w-mallory"))
        asked = await mallory.hear("request")
        await mallory.send(asked.propose(10))
        with pytest.raises(ProtocolError, match="w-mallory breaks the protocol"):
            await asking
        told = await mallory.hear("not-understood")
        assert told.content == (
            "fipa-request, requested: propose is not allowed; "
            "participant may say refuse, agree, failure, inform, not-understood"
        )


@asynchronous
async def test_question_with_protocol_is_checked(society: Society) -> None:
    async with society.platform() as platform:
        bob, mallory = await platform.start("q-bob"), await platform.start("q-mallory", Puppet())
        asking = asyncio.ensure_future(bob.ask("q-mallory", "a door", protocol="fipa-request"))
        asked = await mallory.hear("request")
        await mallory.send(asked.accept_proposal())
        with pytest.raises(ProtocolError, match="accept-proposal is not allowed"):
            await asking


@asynchronous
async def test_own_wrong_message_is_error(society: Society) -> None:
    async with society.platform() as platform:
        bob = await platform.start("o-bob")
        with pytest.raises(
            ProtocolError, match="fipa-request, start: inform is not allowed; initiator may say request"
        ):
            bob.send("o-nobody", "done", "inform", protocol="fipa-request", conversation_id="c")


@asynchronous
async def test_participant_never_sees_what_protocol_forbids(society: Society) -> None:
    async with society.platform() as platform:
        paula = await platform.start("p-paula", Painter(20))
        mallory = await platform.start("p-mallory", Puppet())
        head: dict[str, Any] = {"protocol": "fipa-contract-net", "conversation_id": "c"}
        # Nobody called.
        mallory.send("p-paula", None, "accept-proposal", **head)
        assert "opens none" in (await mallory.hear("not-understood")).content
        mallory.send("p-paula", "a fence", "cfp", reply_with="1", **head)
        proposal = await mallory.hear("propose")
        await mallory.send(proposal.reject_proposal())
        await mallory.send(proposal.accept_proposal())
        assert "rejected: accept-proposal is not allowed" in (await mallory.hear("not-understood")).content
        assert paula.jobs == []
        assert paula.verdicts == ["reject-proposal"]


@asynchronous
async def test_contract_net_awards_and_reports(society: Society) -> None:
    async with society.platform() as platform:
        painters = {f"n-{price}": Painter(price) for price in (20, 30, 95)}
        await platform.start_all(painters)
        await platform.start("n-mute", Puppet())
        bob = await platform.start("n-bob")
        net = await bob.contract_net("a fence", to=[*painters, "n-mute", "n-gone"], deadline=LATE)
        assert sorted(proposal.content["price"] for proposal in net.proposals) == [20, 30]
        assert {str(one.sender) for one in net.refusals} == {"n-95", "ams"}
        assert net.silent == ["n-mute"]
        with pytest.raises(ProtocolError, match="'n-20' is no proposal"):
            await net.accept("n-20")  # type: ignore[arg-type]
        best = min(net.proposals, key=lambda proposal: proposal.content["price"])
        assert (await net.accept(best)).content == "painted"
        await until(lambda: painters["n-30"].verdicts)
        assert painters["n-20"].jobs
        with pytest.raises(ProtocolError, match="the conversation is done"):
            await net.accept(best)
        assert not (await bob.contract_net("a fence", to="n-95")).proposals
        assert not bob._talks


@asynchronous
async def test_contract_net_reports_failures(society: Society) -> None:
    async with society.platform() as platform:
        painters = {f"f-{price}": Painter(price) for price in (13, 20)}
        for painter in painters.values():
            painter.on_error = lambda *_: None  # type: ignore[method-assign]
        await platform.start_all(painters)
        bob = await platform.start("f-bob")
        net = await bob.contract_net("a fence", to=painters)
        results = await net.accept_all(net.proposals)
        assert isinstance(results[net._talk.to[0]], FailureError)
        good = results[net._talk.to[1]]
        assert isinstance(good, Message)
        assert good.content == "painted"


@asynchronous
async def test_agentspeak_bids_in_contract_net(society: Society) -> None:
    async with society.platform() as platform:
        bob = await platform.start("a-bob")
        net = await bob.contract_net(_atom("mow"), to=["cara", "bruno"], deadline=LATE)
        best = min(net.proposals, key=lambda proposal: proposal.content.args[1])
        assert best.sender == "bruno"
        result = await net.accept(best, content=best.content)
        assert result.content.functor == "done"


def _atom(name: str) -> Any:
    from whimbrel import Atom

    return Atom(name)


@asynchronous
async def test_group_members_bid_until_deadline(society: Society) -> None:
    async with society.platform() as platform:
        painters = {f"g-{price}": Painter(price) for price in (20, 30)}
        await platform.start_all(painters)
        for painter in painters.values():
            await painter.join("group:g-painters")
        bob = await platform.start("g-bob")
        net = await bob.contract_net("a fence", to="group:g-painters", deadline=LATE)
        assert {str(one.sender) for one in net.proposals} == {"g-20", "g-30"}
        best = min(net.proposals, key=lambda proposal: proposal.content["price"])
        assert (await net.accept(best)).content == "painted"


@asynchronous
async def test_iterated_contract_net_has_rounds(society: Society) -> None:
    class Haggler(Agent):
        price, least = 40, 30

        @on.cfp
        def offer(self, cfp: Message) -> Any:
            limit = cfp.content["below"]
            if limit is not None:
                if limit <= self.least:
                    return cfp.refuse("not below that")
                self.price = limit - 1
            return cfp.propose(price=self.price)

        @on.accept_proposal
        def work(self, accepted: Message) -> Any:
            return self.price

    async with society.platform() as platform:
        hugo, hanna = Haggler(), Haggler()
        hanna.least = 36
        await platform.start_all({"i-hugo": hugo, "i-hanna": hanna})
        bob = await platform.start("i-bob")
        net = await bob.iterated_contract_net({"below": None}, to=["i-hugo", "i-hanna"])
        best = net.proposals[0]
        while len(net.proposals) > 1:
            best = min(net.proposals, key=lambda proposal: proposal.content["price"])
            await net.again({"below": best.content["price"] - 2})
        (best,) = net.proposals
        assert best.sender == "i-hugo"
        assert (await net.accept(best)).content == hugo.price < 37


@asynchronous
async def test_subscription_ends_with_its_block(society: Society) -> None:
    class Shop(Agent):
        @on.subscribe
        def subscribed(self, subscription: Message) -> Any:
            if subscription.content != "tea":
                raise Refusal("no such price")
            return subscription.agree()

    async with society.platform() as platform:
        shop, bob = await platform.start("s-shop", Shop()), await platform.start("s-bob")
        with pytest.raises(RefuseError, match="no such price"):
            await bob.subscribe("gold", to="s-shop").__aenter__()
        async with bob.subscribe("tea", to="s-shop") as prices:
            assert shop.inform_subscribers(3) == 1
            shop.inform_subscribers(4)
            seen = []
            async for price in prices:
                seen.append(price.content)
                if len(seen) == 2:
                    break
        assert seen == [3, 4]
        await until(lambda: shop.inform_subscribers(5) == 0)
        assert not shop._subscriptions

        async with bob.subscribe("tea", to="s-shop") as prices:
            shop.inform_subscribers(6)
            assert (await prices.__anext__()).content == 6
            await prices.cancel()
            assert [price async for price in prices] == []
        await until(lambda: not bob._talks)


@asynchronous
async def test_generator_feeds_subscriber_until_cancel(society: Society) -> None:
    class Clock(Agent):
        is_stopped = False

        @on.subscribe
        async def tick(self, subscription: Message) -> AsyncIterator[Any]:
            yield subscription.agree()
            try:
                for tick in range(1_000_000):
                    yield tick
                    await asyncio.sleep(0.01)
            finally:
                self.is_stopped = True

    class Broken(Agent):
        @on.subscribe
        async def tick(self, subscription: Message) -> AsyncIterator[Any]:
            yield 0
            raise ValueError("the spring broke")

        def on_error(self, error: BaseException, message: Message | None = None) -> None:
            """The subscriber hears of it."""

    async with society.platform() as platform:
        clock, bob = await platform.start("t-clock", Clock()), await platform.start("t-bob")
        async with bob.subscribe("time", to="t-clock") as ticks:
            async for tick in ticks:
                if tick.content == 3:
                    break
        await until(lambda: clock.is_stopped)
        await platform.start("t-broken", Broken())
        ticks = bob.subscribe("time", to="t-broken")
        assert (await ticks.__anext__()).content == 0
        with pytest.raises(FailureError, match="the spring broke"):
            await ticks.__anext__()


@asynchronous
async def test_request_when_waits_for_condition(society: Society) -> None:
    class Gardener(Agent):
        def __init__(self) -> None:
            self.dry = asyncio.Event()

        @on.request_when
        async def water(self, message: Message) -> AsyncIterator[Any]:
            yield message.agree()
            await self.dry.wait()
            yield "watered"

    async with society.platform() as platform:
        gardener, bob = await platform.start("w-gardener", Gardener()), await platform.start("w-boss")
        watering = asyncio.ensure_future(bob.request_when("water, when it is dry", to="w-gardener"))
        bob.after(0.05, gardener.dry.set)
        assert (await watering).content == "watered"


@asynchronous
async def test_request_when_result_follows_agreement(society: Society) -> None:
    async with society.platform() as platform:
        gardener, puppet = await platform.start("a-gardener"), await platform.start("a-boss", Puppet())

        @gardener.on.request_when
        def water(message: Message) -> Any:
            return "watered"

        puppet.send("a-gardener", "water", "request-when", protocol="fipa-request-when", conversation_id="c")
        assert [(await puppet.receive(timeout=5)).performative for _ in range(2)] == ["agree", "inform"]


@asynchronous
async def test_messages_without_reply_with_are_answered(society: Society) -> None:
    async with society.platform() as platform:
        owner, puppet = await platform.start("o-owner", Painter(20)), await platform.start("o-puppet", Puppet())

        @owner.on.propose
        def decide(proposal: Message) -> Any:
            return True

        puppet.send("o-owner", "I water", "propose", protocol="fipa-propose", conversation_id="p")
        await puppet.hear("accept-proposal")
        net: dict[str, Any] = {"protocol": "fipa-contract-net", "conversation_id": "n"}
        puppet.send("o-owner", "a door", "cfp", **net)
        await puppet.hear("propose")
        puppet.send("o-owner", None, "accept-proposal", **net)
        assert (await puppet.hear("inform")).content == "painted"


@asynchronous
async def test_proposal_is_decided(society: Society) -> None:
    class Owner(Agent):
        @on.propose
        def decide(self, proposal: Message) -> Any:
            if proposal.content == "nonsense":
                raise ValueError("what?")
            if proposal.content == "at night":
                raise Refusal("I sleep")
            return proposal.content == "I water"

        def on_error(self, error: BaseException, message: Message | None = None) -> None:
            """The proposer hears of it."""

    async with society.platform() as platform:
        await platform.start("d-owner", Owner())
        bob = await platform.start("d-bob")
        assert await bob.propose("I water", to="d-owner")
        assert not await bob.propose("I burn", to="d-owner")
        assert (await bob.propose("at night", to="d-owner")).message.content == "I sleep"
        with pytest.raises(NotUnderstoodError):
            await bob.propose("nonsense", to="d-owner")


@asynchronous
async def test_broker_and_recruiter_find_agents(society: Society) -> None:
    async with society.platform() as platform:
        await platform.start_all({"b-20": Painter(20), "b-broker": Broker(), "b-recruiter": Recruiter()})
        bob = await platform.start("b-bob")
        for ask, to in ((bob.broker, "b-broker"), (bob.recruit, "b-recruiter")):
            (answer,) = await ask("a door", "painting", to=to)
            assert answer.content == "painted a door"
            with pytest.raises(FailureError, match="no agent offers roofing"):
                await ask("a roof", "roofing", to=to)
        with pytest.raises(RefuseError, match="too far"):
            await bob.recruit("the moon", "painting", to="b-recruiter")
        with pytest.raises(FailureError, match="too far"):
            await bob.broker("the moon", "painting", to="b-broker")
        puppet = await platform.start("b-puppet", Puppet())
        proxy = {"service": "painting", "performative": "request", "content": "a door", "max": 1}
        puppet.send("b-broker", proxy, "proxy", protocol="fipa-brokering", conversation_id="c")
        agree, names, answers = [await puppet.receive(timeout=5) for _ in range(3)]
        assert (agree.performative, names.performative, answers.performative) == ("agree", "inform", "inform")
        assert names.content == ["b-20"]


class Collector(Bidder):
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.has: list[Any] = []
        self.missed: list[Any] = []

    def bid(self, goods: Any, price: Any) -> bool:
        return bool(price <= self.limit)

    def won(self, goods: Any, price: Any) -> None:
        self.has.append((goods, price))

    def lost(self, goods: Any) -> None:
        self.missed.append(goods)


@asynchronous
async def test_english_auction_sells_to_highest_bidder(society: Society) -> None:
    async with society.platform() as platform:
        collectors = {f"e-{limit}": Collector(limit) for limit in (12, 25, 33)}
        await platform.start_all(collectors)
        await platform.start("e-mute", Puppet())
        bob = await platform.start("e-bob")
        sale = await bob.english_auction("vase", to=[*collectors, "e-mute"], start=10, step=5, deadline=LATE)
        # Who leads at 20 is not called at 25, so the price depends on the order of the first bids.
        assert str(sale.winner) == "e-33"
        assert sale.price in (25, 30)
        await until(lambda: collectors["e-25"].missed and collectors["e-12"].missed)
        await until(lambda: collectors["e-33"].has)
        assert collectors["e-33"].has == [("vase", sale.price)]
        assert not await bob.english_auction("jug", to=collectors, start=10, step=5, reserve=100, deadline=LATE)
        await until(lambda: all("jug" in one.missed for one in collectors.values()))
        assert not bob._talks


@asynchronous
async def test_dutch_auction_sells_to_first_bidder(society: Society) -> None:
    async with society.platform() as platform:
        collectors = {f"d-{limit}": Collector(limit) for limit in (12, 25)}
        await platform.start_all(collectors)
        bob = await platform.start("d-seller")
        sale = await bob.dutch_auction("vase", to=collectors, start=40, step=10, reserve=5, deadline=LATE)
        assert (str(sale.winner), sale.price, sale.calls) == ("d-25", 20, 3)
        await until(lambda: collectors["d-12"].missed and collectors["d-25"].has)
        assert collectors["d-25"].has == [("vase", 20)]
        assert not await bob.dutch_auction("jug", to=collectors, start=40, step=5, reserve=30)


@asynchronous
async def test_kept_agent_answers_calls_of_its_earlier_life(society: Society) -> None:
    async with society.platform() as platform:
        mallory = await platform.start("k-mallory", Puppet())
        await platform.start("k-paula", Painter(20), keep=True)
        head: dict[str, Any] = {"protocol": "fipa-contract-net", "conversation_id": "from before"}
        mallory.send("k-paula", None, "accept-proposal", reply_with="1", **head)
        assert (await mallory.hear("inform")).content == "painted"


@asynchronous
async def test_agents_end_fails_conversation(society: Society) -> None:
    from whimbrel import EndedError

    async with society.platform() as platform:
        bob = await platform.start("x-bob")
        await platform.start("x-mute", Puppet())
        asking = asyncio.ensure_future(bob.request("a door", to="x-mute"))
        await until(lambda: bob._talks)
        await bob.stop()
        with pytest.raises(EndedError):
            await asking
