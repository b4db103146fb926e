"""SPADE's agents, behaviours and presence on a real node."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any

import pytest
from society import TOKEN, WHIMBREL, Society, asynchronous, needs_node, until

from whimbrel import Platform, connect, spade
from whimbrel.spade.agent import Agent, AuthenticationFailure, DisconnectedException
from whimbrel.spade.behaviour import (
    BehaviourNotFinishedException,
    CyclicBehaviour,
    FSMBehaviour,
    NotValidState,
    NotValidTransition,
    OneShotBehaviour,
    PeriodicBehaviour,
    State,
    TimeoutBehaviour,
)
from whimbrel.spade.container import Container
from whimbrel.spade.message import Message
from whimbrel.spade.presence import ContactNotFound, PresenceInfo, PresenceNotFound, PresenceShow, PresenceType
from whimbrel.spade.template import Template

pytestmark = needs_node

SOURCE = pathlib.Path(__file__).parents[1] / "src"


def on_society(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a coroutine function as a test whose agents live in the society."""

    @functools.wraps(test)
    @asynchronous
    async def run(*arguments: Any, **named: Any) -> None:
        container = Container()
        before, container._make = container._make, lambda: connect(named["society"].address, token=TOKEN)
        try:
            await test(*arguments, **named)
        finally:
            await spade.quit_spade()
            container.reset()
            container._make = before

    return run


async def started(name: str, *behaviours: CyclicBehaviour, template: Template | None = None) -> Agent:
    """Starts an agent with behaviours."""
    agent = Agent(f"{name}@localhost", "secret")
    for behaviour in behaviours:
        agent.add_behaviour(behaviour, template)
    await agent.start()
    return agent


class Once(OneShotBehaviour):
    """Runs a function once, and keeps its result as the exit code."""

    def __init__(self, work: Callable[[Once], Coroutine[Any, Any, Any]]) -> None:
        super().__init__()
        self.work = work
        self.lines: list[str] = []

    async def on_start(self) -> None:
        self.lines.append("start")

    async def run(self) -> None:
        self.exit_code = await self.work(self)

    async def on_end(self) -> None:
        self.lines.append("end")


async def idle(_: Once) -> None:
    """Does nothing."""


async def does(agent: Agent, work: Callable[[Once], Coroutine[Any, Any, Any]]) -> Any:
    """Runs a function as a behaviour. Returns its result."""
    behaviour = Once(work)
    agent.add_behaviour(behaviour)
    await behaviour.join(10)
    return behaviour.exit_code


class Collect(CyclicBehaviour):
    """Collects messages."""

    def __init__(self) -> None:
        super().__init__()
        self.came: list[Message] = []

    async def run(self) -> None:
        message = await self.receive(timeout=1)
        if message is not None:
            self.came.append(message)


# ---- Behaviours


@on_society
async def test_protocol_of_message_is_metadata_only(society: Society) -> None:
    collect = Collect()
    await started("bob", collect)
    ada = await started("ada")
    metadata = {"performative": "inform", "protocol": "fipa-request"}

    async def send(once: Once) -> None:
        await once.send(Message(to="bob@localhost", body="done", thread="t", metadata=metadata))

    assert await does(ada, send) is None
    await until(lambda: len(collect.came) == 1)
    assert collect.came[0].metadata == metadata


@on_society
async def test_one_shot_ends_with_exit_code(society: Society) -> None:
    async def work(_: Once) -> str:
        return "done"

    behaviour = Once(work)
    agent = Agent("ada@localhost", "secret")
    agent.add_behaviour(behaviour)
    with pytest.raises(BehaviourNotFinishedException):
        _ = behaviour.exit_code
    await agent.start()
    await behaviour.join()
    assert (behaviour.exit_code, behaviour.lines) == ("done", ["start", "end"])
    assert behaviour.is_done()
    assert behaviour.is_killed()
    assert not agent.has_behaviour(behaviour)
    with pytest.raises(ValueError, match="not registered"):
        agent.remove_behaviour(behaviour)


@on_society
async def test_cyclic_runs_until_killed(society: Society) -> None:
    class Count(CyclicBehaviour):
        count = 0

        async def run(self) -> None:
            self.count += 1
            if self.count == 3:
                self.kill(exit_code=10)

    behaviour = Count()
    await started("ada", behaviour)
    await behaviour.join()
    assert (behaviour.count, behaviour.exit_code) == (3, 10)
    assert str(behaviour) == "CyclicBehaviour/Count"


@on_society
async def test_error_ends_behaviour_with_on_end(society: Society) -> None:
    async def fails(_: Once) -> None:
        raise KeyError("tea")

    behaviour = Once(fails)
    await started("ada", behaviour)
    await behaviour.join()
    assert isinstance(behaviour.exit_code, KeyError)
    assert behaviour.lines == ["start", "end"]


@on_society
async def test_join_raises_when_time_is_over(society: Society) -> None:
    behaviour = Collect()
    await started("ada", behaviour)
    with pytest.raises(TimeoutError, match=r"did not end within 0\.01 s"):
        await behaviour.join(timeout=0.01)


@on_society
async def test_periodic_and_timeout_run_at_their_times(society: Society) -> None:
    class Tick(PeriodicBehaviour):
        ticks = 0

        async def run(self) -> None:
            self.ticks += 1
            if self.ticks == 3:
                self.kill()

    class Late(TimeoutBehaviour):
        at = datetime.min

        async def run(self) -> None:
            self.at = datetime.now()

    begun = datetime.now()
    start_at = begun + timedelta(seconds=0.05)
    tick, late, never = Tick(0.02, start_at), Late(start_at), Tick(3600, begun + timedelta(hours=1))
    agent = await started("ada", tick, late, never)
    await asyncio.gather(tick.join(), late.join())
    assert datetime.now() - begun >= timedelta(seconds=0.09)
    assert late.at >= start_at
    assert tick.period == timedelta(seconds=0.02)
    # A behaviour that sleeps need not wake first.
    await agent.stop()
    await never.join(5)
    assert never.ticks == 0


class Walk(State):
    """State that goes on to another one."""

    def __init__(self, following: str | None) -> None:
        super().__init__()
        self.following = following

    async def run(self) -> None:
        if self.following:
            self.set_next_state(self.following)
        else:
            message = await self.receive(timeout=5)
            self.exit_code = message and message.body


def machine(**following: str | None) -> FSMBehaviour:
    """Returns a state machine with some transitions; its states say which they want."""
    made = FSMBehaviour()
    for place, (name, state) in enumerate(following.items()):
        made.add_state(name, Walk(state), initial=place == 0)
    made.add_transition("one", "two")
    return made


@on_society
async def test_state_machine_ends_at_last_state(society: Society) -> None:
    fsm = machine(one="two", two=None)
    agent = await started("ada", fsm)

    async def greet(behaviour: Once) -> None:
        await behaviour.send(Message("ada@localhost", body="hi"))

    await does(agent, greet)
    await fsm.join(10)
    assert (fsm.current_state, fsm.exit_code, fsm.get_state("two").exit_code) == ("two", 0, "hi")
    assert fsm.to_graphviz() == "digraph finite_state_machine { rankdir=LR; node [fixedsize=true];one -> two;}"


@on_society
async def test_state_machine_refuses_other_transitions(society: Society) -> None:
    wrong = {NotValidTransition: machine(one="one", two=None), NotValidState: machine(one="three")}
    await started("ada", *wrong.values())
    for error, fsm in wrong.items():
        await fsm.join(10)
        assert isinstance(fsm.exit_code, error)
    with pytest.raises(AttributeError):
        FSMBehaviour().add_state("one", Collect())  # type: ignore[arg-type]


# ---- Messages


@on_society
async def test_message_reaches_all_matching_behaviours(society: Society) -> None:
    first, second, other = Collect(), Collect(), Collect()
    agent = await started("ada", first, second)
    agent.add_behaviour(other, ~Template(metadata={"performative": "request"}))
    message = Message("bob@localhost", body="tea", thread="t", metadata={"performative": "request", "priority": "high"})
    bob = await started("bob")

    async def send(behaviour: Once) -> None:
        message.to = agent.jid
        await behaviour.send(message)
        await behaviour.send(Message("ada@localhost", body="end"))

    await does(bob, send)
    await until(lambda: other.came and first.came[1:] and second.came[1:])
    assert first.came[0] is second.came[0]
    came = first.came[0]
    assert (str(came.to), str(came.sender), came.body, came.thread) == ("ada@localhost", "bob@localhost", "tea", "t")
    assert came.metadata == {"performative": "request", "priority": "high"}
    assert [message.body for message in other.came] == ["end"]
    assert message.sent
    assert [trace[1].body for trace in bob.traces.all()] == ["tea", "end"]
    assert agent.traces.received(1)[0][1].body == "end"
    assert len(agent.traces.filter(to="bob@localhost", category="CyclicBehaviour/Collect")) == 5


@on_society
async def test_receive_without_time_takes_what_is_there(society: Society, caplog: pytest.LogCaptureFixture) -> None:
    async def look(behaviour: Once) -> tuple[Any, Any, Any]:
        nothing = await behaviour.receive()
        await behaviour.send(Message("ada@localhost", body="hi"))
        late = await behaviour.receive(timeout=0.0001)
        return nothing, late, (await behaviour.receive(timeout=5)) if late is None else late

    agent = await started("ada")
    nothing, _, came = await does(agent, look)
    assert nothing is None
    assert came.body == "hi"

    async def send(behaviour: Once) -> None:
        await behaviour.send(Message("ada@localhost", body="to nobody"))

    agent.add_behaviour(Collect(), Template(body="another"))
    sender = await started("bob")
    await does(sender, send)
    await until(lambda: "no behaviour matched" in caplog.text)


@on_society
async def test_full_behaviour_answers_failure(society: Society, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.spade.behaviour.QUEUE_MESSAGES_MAX", 2)

    class Busy(CyclicBehaviour):
        async def run(self) -> None:
            await asyncio.sleep(60)

    busy = Busy()
    await started("ada", busy)

    async def send(behaviour: Once) -> Message | None:
        for _ in range(3):
            await behaviour.send(Message("ada@localhost", body="hi"))
        return await behaviour.receive(timeout=5)

    answer = await does(await started("bob"), send)
    assert (answer.body, answer.get_metadata("performative")) == ("mailbox full", "failure")
    assert busy.mailbox_size() == 2


@on_society
async def test_undelivered_message_reaches_who_asks(society: Society, caplog: pytest.LogCaptureFixture) -> None:
    every, failures = Collect(), Collect()
    agent = await started("ada", every)

    async def send(behaviour: Once) -> None:
        await behaviour.send(Message("nobody@localhost", body="hi"))

    await does(agent, send)
    await until(lambda: "a message was not delivered: ams answers failure: nobody cannot be reached" in caplog.text)
    agent.add_behaviour(failures, Template(metadata={"performative": "failure"}))
    await does(agent, send)
    await until(lambda: failures.came)
    assert str(failures.came[0].sender) == "ams@localhost"
    assert not every.came


@on_society
async def test_agents_of_other_kinds_understand_each_other(society: Society) -> None:
    class Answer(CyclicBehaviour):
        async def run(self) -> None:
            message = await self.receive(timeout=10)
            if message:
                reply = message.make_reply()
                reply.set_metadata("performative", "inform")
                reply.body = f"{message.body} from {message.sender}"
                await self.send(reply)

    ada = await started("ada", Answer())
    async with society.platform() as platform:
        bob = await platform.start("bob")
        assert (await bob.ask("ada", "tea")).content == "tea from bob@localhost"

    async def ask(behaviour: Once) -> Message | None:
        await behaviour.send(Message("echo@localhost", body="tea", metadata={"performative": "request"}))
        return await behaviour.receive(timeout=5)

    # An AgentSpeak agent answers.
    ada.behaviours[0].kill()
    answer = await does(await started("eve"), ask)
    assert (answer.body, str(answer.sender), answer.get_metadata("performative")) == ("tea", "echo@localhost", "inform")


# ---- Agents


@on_society
async def test_stop_ends_behaviours_after_their_run(society: Society) -> None:
    gate = asyncio.Event()

    async def work(_: Once) -> str:
        await gate.wait()
        return "finished"

    behaviour = Once(work)
    agent = await started("ada", behaviour)
    agent.set("item", 1)
    assert (behaviour.get("item"), agent.get("none")) == (1, None)
    waiting = asyncio.create_task(spade.wait_until_finished([agent]))
    await asyncio.sleep(0)
    await asyncio.gather(agent.stop(), agent.stop())
    await waiting
    assert not agent.is_alive()
    gate.set()
    await behaviour.join()
    assert (behaviour.exit_code, behaviour.lines) == ("finished", ["start", "end"])
    # The same object starts again.
    await agent.start()
    assert agent.is_alive()


@on_society
async def test_operator_kill_ends_agent(society: Society, caplog: pytest.LogCaptureFixture) -> None:
    collect = Collect()
    agent = await started("ada", collect)
    await agent.client.ams.kill("ada")
    await spade.wait_until_finished(agent)
    assert not agent.is_alive()
    assert collect.is_killed()
    assert "agent ada@localhost ended: killed" in caplog.text


@on_society
async def test_taken_name_is_failed_login(society: Society) -> None:
    await started("ada")
    for jid in ("Ada@elsewhere", "localhost"):
        with pytest.raises(AuthenticationFailure):
            await Agent(jid, "secret").start()


@on_society
async def test_failed_setup_frees_name(society: Society) -> None:
    class Broken(Agent):
        async def setup(self) -> None:
            raise KeyError("tea")

    with pytest.raises(KeyError):
        await Broken("ada@localhost", "secret").start()
    await started("ada")


@on_society
async def test_message_waits_for_setup(society: Society) -> None:
    class Slow(Agent):
        async def setup(self) -> None:
            await does(bob, send)
            self.add_behaviour(collect)

    async def send(behaviour: Once) -> None:
        await behaviour.send(Message("ada@localhost", body="early"))

    bob, collect = await started("bob"), Collect()
    await Slow("ada@localhost", "secret").start()
    await until(lambda: collect.came)


@asynchronous
async def test_missing_node_is_failed_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Container(), "_make", lambda: Platform("tcp://127.0.0.1:9", patience=0.05))
    with pytest.raises(DisconnectedException):
        await started("ada")
    Container().reset()


@on_society
async def test_full_session_gets_another(society: Society, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Platform, "agents_max", 2)
    await spade.start_agents([Agent(f"a{n}@localhost", "secret") for n in range(5)])
    assert [len(platform.entries) for platform in Container()._platforms] == [2, 2, 1]
    assert Container().has_agent("a4@localhost")
    assert Container().get_agent("a4@localhost").is_alive()


# ---- Presence


class Contacts(OneShotBehaviour):
    """Notes what an agent hears of its contacts, and approves all."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, ...]] = []

    async def run(self) -> None:
        presence = self.presence
        presence.approve_all = True
        presence.on_subscribe = lambda jid: self.heard.append(("subscribe", jid))
        presence.on_subscribed = lambda jid: self.heard.append(("subscribed", jid))
        presence.on_unsubscribe = lambda jid: self.heard.append(("unsubscribe", jid))
        presence.on_unsubscribed = lambda jid: self.heard.append(("unsubscribed", jid))
        presence.on_available = self.note
        presence.on_unavailable = self.note

    def note(self, jid: str, info: PresenceInfo, _: PresenceInfo | None) -> None:
        """Notes a presence."""
        self.heard.append((info.type.value, jid, info.show.value, info.status or ""))


async def friend(name: str) -> tuple[Agent, list[tuple[str, ...]]]:
    """Starts an agent that notes what it hears of its contacts."""
    contacts = Contacts()
    agent = await started(name, contacts)
    await contacts.join(10)
    return agent, contacts.heard


@on_society
async def test_contact_sees_presence_after_approval(society: Society) -> None:
    (ada, ada_heard), (bob, bob_heard) = await friend("ada"), await friend("bob")
    with pytest.raises(ContactNotFound):
        ada.presence.get_contact("bob@localhost")
    ada.presence.subscribe("bob@localhost")
    with pytest.raises(PresenceNotFound):
        ada.presence.get_contact_presence("bob@localhost")
    await until(lambda: len(ada_heard) == 2)
    assert bob_heard == [("subscribe", "ada@localhost")]
    assert ada_heard == [("subscribed", "bob@localhost"), ("available", "bob@localhost", "none", "")]
    contact = ada.presence.get_contact("bob@localhost/desk")
    assert (contact.subscription, bob.presence.contacts["ada@localhost"].subscription) == ("to", "from")
    assert contact.is_available()
    bob.presence.subscribe("ada@localhost")
    bob.presence.set_presence(PresenceType.AVAILABLE, PresenceShow.AWAY, "lunch", 5)
    await until(lambda: ada_heard[-1][0] == "available" and ada_heard[-1][2] == "away")
    assert str(ada.presence.get_contacts()["bob@localhost"]) == (
        "Contact(JID: bob@localhost, Name: bob@localhost, Presence: PresenceInfo(Type: PresenceType.AVAILABLE, "
        "Show: PresenceShow.AWAY, Status: lunch, Priority: 5))"
    )
    await until(lambda: contact.subscription == "both")
    await bob.stop()
    await until(lambda: ada_heard[-1][0] == "unavailable")
    assert not contact.is_available()


@on_society
async def test_subscription_waits_for_agent(society: Society) -> None:
    ada, heard = await friend("ada")
    ada.presence.subscribe("late@localhost")
    await until(lambda: ada.presence._delays)
    await friend("late")
    await until(lambda: heard[1:])
    assert heard == [("subscribed", "late@localhost"), ("available", "late@localhost", "none", "")]


@on_society
async def test_killed_contact_is_unavailable(society: Society) -> None:
    (ada, heard), (bob, _) = await friend("ada"), await friend("bob")
    ada.presence.subscribe("bob@localhost")
    await until(lambda: heard[1:])
    await bob.client.ams.kill("bob")
    await until(lambda: heard[-1][:2] == ("unavailable", "bob@localhost"))
    assert heard[-1][0] == "unavailable"
    assert len(heard) == 3


@on_society
async def test_subscription_ends_from_either_side(society: Society) -> None:
    (ada, ada_heard), (bob, bob_heard) = await friend("ada"), await friend("bob")
    ada.presence.subscribe("bob@localhost")
    await until(lambda: ada_heard[1:])
    ada.presence.unsubscribe("bob@localhost")
    await until(lambda: bob_heard[-1][0] == "unsubscribe")
    assert bob.presence.contacts["ada@localhost"].subscription == "none"
    ada.presence.subscribe("bob@localhost")
    await until(lambda: len(ada_heard) == 4)
    bob.presence.unsubscribed("ada@localhost")
    await until(lambda: ada_heard[-1][0] == "unsubscribed")
    assert ada.presence.get_contacts() == {}
    # What nobody asked for does not count.
    bob.presence.approve_subscription("ada@localhost")
    await until(lambda: ada_heard[-1][0] == "available")
    assert ("subscribed", "bob@localhost") not in ada_heard[5:]


# ---- Whole programs


def program(source: str, folder: pathlib.Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with a node of its own."""
    (folder / "program.py").write_text(source)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "WHIMBREL": WHIMBREL, "PYTHONSAFEPATH": "1", **variables}
    return subprocess.run(
        [sys.executable, "-W", "error", "program.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_program_changes_by_one_line(tmp_path: pathlib.Path) -> None:
    done = program(
        """
import whimbrel.spade.alias
import spade
import spade.presence
from spade.agent import Agent
from spade.behaviour import OneShotBehaviour
from spade.template import Template

class Ada(Agent):
    class Say(OneShotBehaviour):
        async def run(self):
            print(self.agent.jid, type(self.web).__module__)

    async def setup(self):
        self.web.add_get("/hello", None, "hello.html")
        self.web.start()
        print("http" if self.web.port else "no console")
        self.say = self.Say()
        self.add_behaviour(self.say)

async def main():
    ada = Ada("ada@localhost", "secret")
    await ada.start()
    await ada.say.join()
    raise KeyError("tea")

try:
    spade.run(main(), embedded_xmpp_server=True)
except KeyError as error:
    print("raised", error)
""",
        tmp_path,
    )
    assert done.stdout == "http\nada@localhost whimbrel.spade.web\nraised 'tea'\n", done.stderr
    warning, address = done.stderr.splitlines()
    assert "page /hello is not served" in warning
    assert "ada@localhost: the console is at http://127.0.0.1:" in address


def test_program_joins_node_of_variables(society: Society, tmp_path: pathlib.Path) -> None:
    source = """
import asyncio
from whimbrel import spade

class Ada(spade.agent.Agent):
    async def setup(self):
        await self.web.start()
        print(self.client.platform.name)

async def main(name, quits):
    await spade.start_agents(Ada(f"{name}@localhost", "secret"))
    if quits:
        await spade.quit_spade()

asyncio.run(main("left", False))
asyncio.run(main("quits", True))
"""
    done = program(source, tmp_path, WHIMBREL_URL=society.address, WHIMBREL_TOKEN=TOKEN)
    assert (done.returncode, done.stdout) == (0, "whimbrel\nwhimbrel\n"), done.stderr
    assert "the console is that of the node" in done.stderr


def test_alias_refuses_to_hide_spade(tmp_path: pathlib.Path) -> None:
    (tmp_path / "spade.py").touch()
    done = program("import sys; sys.path.insert(0, '.'); import spade; import whimbrel.spade.alias", tmp_path)
    assert "SPADE itself is imported already: `import whimbrel.spade.alias` before `import spade`" in done.stderr


def test_downloads_go_by_http_only() -> None:
    with pytest.raises(ValueError, match="expected http:// or https://"):
        asyncio.run(Collect().download_file("file:///etc/hostname", "/"))


@on_society
async def test_uploads_are_refused_as_by_server(society: Society, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    async def upload(behaviour: Once) -> str | None:
        return await behaviour.upload_and_send_file("bob@localhost", "picture.png", None)

    assert await does(await started("ada"), upload) is None
    assert "a node takes no files" in caplog.text
