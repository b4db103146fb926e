"""Conversations with AgentSpeak agents that include FIPA's protocols from the library: contents suit both sides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from society import Society, asynchronous, needs_node

from whimbrel import Agent, on
from whimbrel.acl import Atom, Term
from whimbrel.protocols import Bidder, Broker, Recruiter

INCLUDES = "\n".join(
    f'{{ include("$whimbrel/{name}.asl") }}'
    for name in ("auction_english", "auction_dutch", "brokering", "recruiting", "request_when")
)
#: Bids up to 20, finds agents for a broker, and does work.
PARTICIPANT = f"""
  {INCLUDES}
  +!bid_for(_, Price) : Price <= 20.
  +!find_agents("shop", [anna, bert]).
  +!perform("tea", 3).
"""
#: Initiates what it is asked for, and tells the outcome.
INITIATOR = f"""
  {INCLUDES}
  +!begin(What)[source(Asker)] <- !outcome_of(What, Outcome); .send(Asker, tell, Outcome).
  +!outcome_of(english, Outcome) <- !english_auction("jug", [dora, emil], auction(10, 5, 5000), Outcome).
  +!outcome_of(dutch, Outcome) <- !dutch_auction("vase", [dora, emil], auction(40, 10, 10, 5000), Outcome).
  +!outcome_of(broker, Outcome) <- !broker(fred, "shop", "tea", 5000, Outcome).
  +!outcome_of(recruit, Outcome) <- !recruit(gina, "shop", "tea", 5000, Outcome).
"""


@pytest.fixture(scope="module")
def partners() -> Iterator[Society]:
    """A society of participants and an initiator in AgentSpeak."""
    running = Society({"anna": PARTICIPANT, "bert": PARTICIPANT, "carl": PARTICIPANT, "ivan": INITIATOR})
    yield running
    running.stop()


@needs_node
@asynchronous
async def test_agentspeak_agents_take_part(partners: Society) -> None:
    async with partners.platform() as platform:
        owner = await platform.start("owner")
        sale = await owner.english_auction("jug", to=["anna"], start=10, step=5, deadline=5)
        assert (str(sale.winner), sale.price) == ("anna", 10)
        sale = await owner.dutch_auction("vase", to=["anna"], start=40, step=10, deadline=5)
        assert (str(sale.winner), sale.price) == ("anna", 20)
        for limit, expected in ((1, {"anna": 3}), (2, {"anna": 3, "bert": 3})):
            answers = await owner.broker("tea", "shop", to="carl", max_results=limit)
            assert {str(answer.agent): answer.content for answer in answers} == expected
            answers = await owner.recruit("tea", "shop", to="carl", max_results=limit)
            assert {str(answer.agent): answer.content for answer in answers} == expected
        assert (await owner.request_when("tea", to="anna")).content == 3


class Collector(Bidder):
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.outcomes: list[str] = []

    def bid(self, goods: str, price: float) -> bool:
        return price <= self.limit

    def won(self, goods: str, price: float) -> None:
        self.outcomes.append(f"won {goods} for {price:g}")

    def lost(self, goods: str) -> None:
        self.outcomes.append(f"lost {goods}")


class Seller(Agent):
    async def setup(self) -> None:
        await self.df.register("shop")

    @on.request
    def sell(self, request: object) -> int:
        return 3


@needs_node
@asynchronous
async def test_agentspeak_agents_initiate(partners: Society) -> None:
    async with partners.platform() as platform:
        dora, emil = Collector(12), Collector(24)
        agents = {"dora": dora, "emil": emil, "fred": Broker(), "gina": Recruiter(), "hans": Seller()}
        await platform.start_all(agents)
        owner = await platform.start("owner")
        outcomes = []
        for what in ("english", "dutch", "broker", "recruit"):
            await owner.send("ivan", Term("begin", Atom(what)), "request")
            outcomes.append((await owner.receive(timeout=10)).content)
        answers = [Term("answer", Atom("hans"), 3)]
        assert outcomes == [Term("sold", Atom("emil"), 20), Term("sold", Atom("emil"), 20), answers, answers]
        assert dora.outcomes == ["lost jug", "lost vase"]
        assert emil.outcomes == ["won jug for 20", "won vase for 20"]
