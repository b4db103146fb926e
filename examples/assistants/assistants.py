"""A purchase by a team around language models. Without options it is replayed, and needs no model and no network."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from bodies import Desk, Model, Tools
from models import Endpoint
from replay import Replay
from shop import Shop
from toolbox import ToolServer

from whimbrel import Platform, Term, WhimbrelError
from whimbrel.acl import Variable

HERE = Path(__file__).parent
NEED = "twelve 27-inch monitors for the Leeds office, 4000 pounds at most"
ROLES = ("researcher", "writer", "reviewer")


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, default=HERE / ".whimbrel", help="folder of the society's memory")
    parser.add_argument("--base-url", default=os.environ.get("OPENAI_BASE_URL"), help="endpoint of a model, as .../v1")
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "replay"), help="name of the model")
    parser.add_argument("--tools", help="address of the tool server [default: a fake shop in this program]")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one try of a request")
    commands = parser.add_subparsers(dest="command")
    buy = commands.add_parser("buy", help="begin a purchase (the default)")
    buy.add_argument("need", nargs="?", default=NEED)
    for name, about in [
        ("approve", "approve the order"),
        ("refuse", "refuse it"),
        ("status", "show what is waited for"),
    ]:
        commands.add_parser(name, help=about)
    resume = commands.add_parser("continue", help="continue after a stop, with more to spend")
    resume.add_argument("--tokens", type=int, default=0, help="further tokens for each assistant")
    resume.add_argument("--cents", type=float, default=0, help="further cents for each assistant")
    return parser.parse_args()


def secret(state: Path) -> str:
    """Returns the token of this society's programs, which is made once."""
    file = state / "token"
    if not file.exists():
        state.mkdir(parents=True, exist_ok=True)
        file.touch(0o600)
        file.write_text(secrets.token_hex(32))
    return file.read_text()


class Team:
    """A node with the minds, and the agents of this program beside them."""

    def __init__(self, given: argparse.Namespace, endpoint: Endpoint, server: ToolServer) -> None:
        self.given = given
        self.heard: asyncio.Queue[str] = asyncio.Queue()
        self._endpoint = endpoint
        self._server = server

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Team]:
        """Starts the node. Agents that are there already continue where they were."""
        state: Path = self.given.state
        options = ["--store", str(state / "store")]
        async with Platform(project=HERE, options=options, token=secret(state)) as platform:
            self._platform = platform
            self.desk = await platform.start("desk", Desk(self.heard.put_nowait), keep=True)
            await platform.start("tools", Tools(self._server), keep=True)
            for role in ROLES:
                await platform.start(f"{role}_model", Model(self._endpoint), keep=True)
            yield self

    @property
    def job(self) -> str:
        """Name of the present purchase."""
        return self.desk.news.partition(":")[0]

    async def begin(self) -> None:
        """Does what the command says. It is on the disk when this returns."""
        command, desk = self.given.command or "buy", self.desk
        if desk.stage == "approval" and await self._is_decided() and desk.stage == "approval":
            desk.stage = "busy"
        if command in ("approve", "refuse") and desk.stage != "approval":
            raise WhimbrelError(f"nothing waits for approval: {desk.news or 'begin a purchase with buy'}")
        # What came since this program started is told before anything new begins.
        if command == "buy" and desk.stage in ("new", "finished") and self.heard.empty():
            # A key of a call begins with this name: it must be new wherever the tools are.
            desk.purchases += 1
            job = f"p-{secrets.token_hex(4)}" if self.given.tools else f"p{desk.purchases}"
            desk.stage, desk.news = "busy", f"{job}: under way"
            await desk.send("buyer", Term("buy", job, getattr(self.given, "need", NEED)), "achieve")
        elif command == "approve":
            desk.stage = "busy"
            await desk.send("buyer", Term("approved", self.job), "tell")
        elif command == "refuse":
            desk.stage = "busy"
            await desk.send("buyer", Term("refused", self.job), "tell")
        elif command == "continue":
            desk.stage = "busy" if desk.stage == "stopped" else desk.stage
            for role in ROLES:
                await desk.send(role, Term("resume", self.given.tokens, self.given.cents), "achieve")
        await desk.save()

    async def hear(self) -> None:
        """Waits for news of the buyer. Raises SessionError if the node ends first."""
        heard, closed = asyncio.ensure_future(self.heard.get()), asyncio.ensure_future(self._platform.wait_closed())
        await asyncio.wait((heard, closed), return_when=asyncio.FIRST_COMPLETED)
        heard.cancel()
        if closed.done():
            raise closed.result()
        closed.cancel()

    async def _is_decided(self) -> bool:
        """Asks whether somebody decided without this program, by `whimbrel tell`."""
        question = Term("decided", self.job, Variable("Answer", 0), Variable("Who", 1))
        answer = await self.desk.ask("buyer", question, "askOne")
        return answer.performative == "tell"


async def work(team: Team) -> int:
    """Runs the team until a person is needed. Returns the exit status."""
    async with team.opened():
        desk = team.desk
        if desk.stage == "busy" and (team.given.command or "buy") == "buy":
            print(f"[desk] continues with {desk.news}", flush=True)
        await team.begin()
        while desk.stage == "busy":
            await team.hear()
        print(f"[desk] {desk.news}", flush=True)
        if desk.stage == "approval":
            print("[desk] nothing runs while you think: assistants.py approve, or refuse", flush=True)
        if desk.stage == "stopped":
            print("[desk] nothing is lost: assistants.py continue, with --tokens or --cents for more", flush=True)
        return 3 if desk.stage == "stopped" else 0


def main() -> int:
    given = arguments()
    given.state.mkdir(parents=True, exist_ok=True)
    with ExitStack() as ending:
        base_url, tools = given.base_url, given.tools
        if base_url is None:
            replay = Replay()
            ending.callback(replay.close)
            base_url = replay.url
        if tools is None:
            shop = Shop(given.state / "orders.jsonl")
            ending.callback(shop.close)
            tools = shop.url
        endpoint = Endpoint(base_url, given.model, os.environ.get("OPENAI_API_KEY", ""), timeout=given.timeout)
        return asyncio.run(work(Team(given, endpoint, ToolServer(tools, given.timeout))))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except WhimbrelError as error:
        sys.exit(f"assistants.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
