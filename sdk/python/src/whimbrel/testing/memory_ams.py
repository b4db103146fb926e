"""Agent management system of a platform in memory (FIPA00023 4.2): the agents of its node, and their monitors."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import Any, Protocol

from ..acl.aid import Aid
from ..acl.message import Message
from ..acl.values import Atom, Record, Term
from ..agents.directory import record, text_of
from .memory_directory import MemoryDirectory
from .requests import (
    CASTS,
    FailureReason,
    Parameters,
    RequestRefusal,
    ServiceRequest,
    full_identifier,
    identifier,
    is_joinable,
)

__all__ = ["MemoryAms", "Residents"]

_DESCRIPTION = ("name", "ownership", "state")
_STATES = ("initiated", "active", "suspended", "waiting", "transit")
#: States that an agent can change to, by its state.
_STEPS = {
    ("initiated", "active"),
    ("active", "suspended"),
    ("suspended", "active"),
    ("active", "waiting"),
    ("waiting", "active"),
}


class Residents(Protocol):
    """Agents of the node, for its AMS."""

    def described(self) -> list[tuple[str, str | None, str]]:
        """Returns name, owner and state of all agents, in the order of their creation."""
        ...

    def describe(self, name: str) -> tuple[str | None, str] | None:
        """Returns owner and state of an agent."""
        ...

    def modify(self, name: str, owner: str | None, state: str | None) -> None:
        """Changes an agent."""
        ...

    def kill(self, name: str) -> None:
        """Ends an agent."""
        ...

    def join(self, agent: str, group: str) -> bool:
        """Subscribes to a topic or joins a group. Returns false if it is none."""
        ...

    def leave(self, agent: str, group: str) -> bool:
        """Leaves a topic or group. Returns false if the agent is not there."""
        ...


class MemoryAms(MemoryDirectory):
    """The agent `ams`."""

    name = "ams"
    questions = ("search", "get-description")

    def __init__(self, platform: str, send: Callable[[Message], None], agents: Residents) -> None:
        super().__init__(platform, send)
        self._agents = agents
        #: Watchers of agents, by the names of the watched, in order.
        self._watchers: dict[str, dict[Aid, None]] = {}

    # ---- Inputs

    def handle_ended(self, name: str, reason: Any) -> None:
        """An agent has ended: its watchers are told, and it watches no more."""
        for watchers in self._watchers.values():
            watchers.pop(Aid.of(name), None)
        for watcher in self._watchers.pop(name, {}):
            self._tell_ended(watcher, name, reason)

    def _tell_ended(self, watcher: Aid, name: str, reason: Any) -> None:
        self._send(Message("inform", watcher, Term("ended", Atom(name), reason), sender="ams"))

    # ---- Requests

    def _read(self, asked: ServiceRequest, sender: Aid) -> Callable[[], Any]:
        """Returns what a request does. Raises RequestRefusal."""
        function = asked.function
        if function in ("join", "leave", "watch", "unwatch"):
            return self._membership(asked, sender)
        if function == "get-description":
            if asked.arguments:
                raise RequestRefusal("unexpected-argument-count")
            return lambda: record("ap-description", name=Atom(self._platform))
        if function == "search":
            return self._search(asked)
        if function not in ("register", "deregister", "modify"):
            raise RequestRefusal("unsupported-function", function)
        given = Parameters(asked.only("ams-agent-description"), "ams-agent-description", _DESCRIPTION)
        agent = given.optional("name", lambda one: identifier(one, self._platform))
        state, owner = given.optional("state", _state), given.text("ownership")
        if agent is None:
            raise RequestRefusal("missing-parameter", "ams-agent-description", "name")
        known = self._agents.describe(agent.name) if not agent.platform else None
        if function == "register":
            if known is None:
                raise RequestRefusal("unauthorised")
            return lambda: _fail("already-registered")
        if known is not None and agent != sender and known[0] != sender.name:
            raise RequestRefusal("unauthorised")
        if known is None:
            return lambda: _fail("not-registered")
        if function == "deregister":
            return lambda: self._agents.kill(agent.name)
        return lambda: self._modify(agent.name, known[1], owner, state)

    def _modify(self, name: str, before: str, owner: str | None, state: str | None) -> None:
        if state is not None and state != before and (before, state) not in _STEPS:
            raise FailureReason("internal-error", f"cannot make agent {name} {state}: it is {before}")
        self._agents.modify(name, owner, state)

    def _membership(self, asked: ServiceRequest, sender: Aid) -> Callable[[], Any]:
        function = asked.function
        of = identifier(asked.only("agent-identifier"), self._platform)
        if of is None:
            raise RequestRefusal("missing-argument", "agent-identifier")
        is_agent = not of.platform and not of.name.startswith(CASTS)
        if function in ("watch", "unwatch") and not is_agent:
            raise RequestRefusal("unexpected-argument", "agent-identifier")
        if function == "unwatch":
            return lambda: self._unwatch(sender, of)
        if function == "watch":
            return lambda: self._watch(sender, of)
        if function == "leave":
            return lambda: None if self._agents.leave(sender.name, of.name) else _fail("not-registered")
        if of.platform or not is_joinable(of.name):
            raise RequestRefusal("unexpected-argument", "agent-identifier")
        return lambda: None if self._agents.join(sender.name, of.name) else _fail("not-registered")

    # ---- Monitors

    def _watch(self, watcher: Aid, of: Aid) -> None:
        if self._agents.describe(of.name) is None:
            _fail("not-registered")
        self._watchers.setdefault(of.name, {})[watcher] = None

    def _unwatch(self, watcher: Aid, of: Aid) -> None:
        if watcher not in self._watchers.get(of.name, {}):
            _fail("not-registered")
        del self._watchers[of.name][watcher]

    # ---- Search

    def _search(self, asked: ServiceRequest) -> Callable[[], Any]:
        template, most = asked.search("ams-agent-description")
        given = Parameters(template, "ams-agent-description", _DESCRIPTION)
        agent = given.optional("name", lambda one: identifier(one, self._platform))
        state, owner = given.optional("state", _state), given.text("ownership")
        if agent is not None and agent.platform:
            return lambda: Term("set")
        pattern = None if agent is None else _pattern(agent.name)

        def found() -> Term:
            matching = [
                self._described(name, has_owner, in_state)
                for name, has_owner, in_state in self._agents.described()
                if (pattern is None or pattern.match(name)) and state in (None, in_state) and owner in (None, has_owner)
            ]
            return Term("set", *matching[:most])

        return found

    def _described(self, name: str, owner: str | None, state: str) -> Record:
        return record(
            "ams-agent-description",
            name=full_identifier(Aid.of(name), self._platform),
            ownership=None if owner is None else Atom(owner),
            state=Atom(state),
        )


def _pattern(name: str) -> re.Pattern[str]:
    """Returns the pattern of a name with `*` and `?`."""
    return re.compile(fnmatch.translate(name.replace("[", "[[]")))


def _state(value: Any) -> str | None:
    text = text_of(value)
    return text if text in _STATES else None


def _fail(word: str) -> Any:
    raise FailureReason(word)
