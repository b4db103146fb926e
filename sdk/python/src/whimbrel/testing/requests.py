"""Requests to the agents `df` and `ams` of a platform in memory, and their answers (FIPA00023 6.3).

Their forms are those of a node's: docs/reference/fipa-agent-management.md. A differential test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..acl.aid import Aid
from ..acl.errors import WhimbrelError
from ..acl.message import Message
from ..acl.sl import PROFILES, sl_to_value, value_to_sl
from ..acl.values import Atom, Record, Term
from ..agents.directory import ONTOLOGY, elements_of, record, text_of

__all__ = [
    "CASTS",
    "Answers",
    "FailureReason",
    "Misunderstanding",
    "Parameters",
    "RequestRefusal",
    "ServiceRequest",
    "agent_atom",
    "full_identifier",
    "identifier",
    "is_joinable",
    "reply_to",
    "sending",
]

#: Beginnings of the names of topics and groups, and of one member of a group.
CASTS = ("topic:", "group:", "any:")
#: Longest name of a topic or group, behind that.
TOPIC_NAME_BYTES_MAX = 240
#: Performatives of answers. They are not answered: two agents could answer each other for ever.
ANSWERS = frozenset(("agree", "failure", "inform", "not-understood", "refuse"))
_IDENTIFYING = ("iota", "any", "all")
_OLDER_NAMES = {"protocol": "protocols", "ontology": "ontologies", "language": "languages"}


class _Reason(WhimbrelError):
    """Reason of a negative answer: a word, and its arguments."""

    def __init__(self, word: str, *arguments: str) -> None:
        super().__init__(word)
        self.value: Any = Term(word, *arguments)


class Misunderstanding(_Reason):
    """Reason of `not-understood`."""


class RequestRefusal(_Reason):
    """Reason of `refuse`."""


class FailureReason(_Reason):
    """Reason of `failure`."""


def agent_atom(agent: Aid) -> Atom:
    """Returns an agent as an atom."""
    return Atom(str(agent))


def is_joinable(name: str) -> bool:
    """Returns true for the name of a topic or group."""
    kind, _, own = name.partition(":")
    return kind in ("topic", "group") and 1 <= len(own.encode()) <= TOPIC_NAME_BYTES_MAX


def sending(message: Message, to: Aid) -> Term:
    """Returns the action of sending a message to this agent."""
    return Term("send", agent_atom(to), Atom(message.performative), message.content)


def _is_named(expression: Any, *names: str) -> bool:
    return isinstance(expression, Term) and expression.functor.lower() in names


def _only_expression(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    if len(content) != 1:
        raise Misunderstanding("unrecognised-value", "content")
    return content[0]


def _is_text(message: Message) -> bool:
    if not isinstance(message.content, str):
        return False
    if message.language is not None and message.language.lower() not in PROFILES:
        raise Misunderstanding("unsupported-value", "language")
    return True


class ServiceRequest(NamedTuple):
    """A request: its action, the function in that with its arguments, and the question if it was one."""

    action: Any
    function: str
    arguments: tuple[Any, ...]
    question: Any = None

    @classmethod
    def read(cls, message: Message, actor: Record, *, is_question: bool = False) -> ServiceRequest:
        """Reads a request, or a question for the result of one. Raises Misunderstanding."""
        content = message.content
        if _is_text(message):
            try:
                content = sl_to_value(content, "fipa-sl")
            except WhimbrelError:
                raise Misunderstanding("unrecognised-value", "content") from None
        expression = _only_expression(content)
        question = None
        if is_question:
            if _is_named(expression, *_IDENTIFYING) and len(expression.args) == 2:
                question, expression = expression, expression.args[1]
            if _is_named(expression, "result") and len(expression.args) == 2:
                expression = expression.args[0]
        return cls._of(expression, actor)._replace(question=question)

    @classmethod
    def _of(cls, expression: Any, actor: Record) -> ServiceRequest:
        if _is_named(expression, "action") and len(expression.args) == 2:
            action, function = expression, expression.args[1]
        else:
            action, function = Term("action", actor, expression), expression
        if isinstance(function, Record):
            return cls(action, function.type_name.lower(), tuple(function.values()))
        if isinstance(function, Term):
            return cls(action, function.functor.lower(), function.args)
        raise Misunderstanding("unrecognised-value", "content")

    def search(self, type_name: str) -> tuple[Any, int | None]:
        """Returns the template of a search, and the number of results that are wanted. Raises RequestRefusal."""
        match self.arguments:
            case ():
                raise RequestRefusal("missing-argument", type_name)
            case (template,):
                return template, None
            case (template, constraints):
                return template, results_max(constraints)
            case _:
                raise RequestRefusal("unexpected-argument-count")

    def only(self, type_name: str) -> Any:
        """Returns the only argument. Raises RequestRefusal."""
        match self.arguments:
            case ():
                raise RequestRefusal("missing-argument", type_name)
            case (argument,):
                return argument
            case _:
                raise RequestRefusal("unexpected-argument-count")


class Parameters:
    """Parameters of an object, by name."""

    def __init__(self, value: Any, type_name: str, allowed: Sequence[str]) -> None:
        """Reads an object of this type with these parameters only. Raises RequestRefusal."""
        self.type_name = type_name
        if isinstance(value, Record) and value.type_name.lower() != type_name:
            raise RequestRefusal("unexpected-argument", value.type_name)
        if isinstance(value, Mapping):
            named = {_present_name(str(text_of(key) or key)): item for key, item in value.items()}
        elif isinstance(value, Atom) and value.name.lower() == type_name:
            named = {}
        else:
            raise RequestRefusal("missing-argument", type_name)
        for name in named:
            if name not in allowed and not name.lower().startswith("x-"):
                raise RequestRefusal("unexpected-parameter", type_name, name)
        self._named = {name: item for name, item in named.items() if item is not None}

    def optional(self, name: str, read: Callable[[Any], Any]) -> Any:
        """Reads a parameter; None if it is missing. Raises RequestRefusal if it cannot be read."""
        if name not in self._named:
            return None
        value = read(self._named[name])
        if value is None:
            raise RequestRefusal("unrecognised-parameter-value", self.type_name, name)
        return value

    def text(self, name: str) -> str | None:
        """Reads a text or an atom."""
        value: str | None = self.optional(name, text_of)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Reads a set of texts."""

        def read(value: Any) -> tuple[str, ...] | None:
            found = tuple(text_of(one) for one in elements_of(value))
            return None if None in found else found  # type: ignore[return-value]

        return self.optional(name, read) or ()

    def all(self, name: str) -> list[Any]:
        """Returns the elements of a set."""
        return elements_of(self._named.get(name))


def _present_name(name: str) -> str:
    name = name.lower() if not name.startswith("X-") else name
    return _OLDER_NAMES.get(name, name)


def identifier(value: Any, home: str) -> Aid | None:
    """Reads an agent identifier, or a name alone. Agents of this platform are named locally."""
    text = text_of(value)
    if text is None:
        try:
            text = Parameters(value, "agent-identifier", ("name", "addresses", "resolvers")).text("name")
        except RequestRefusal:
            return None
    aid = Aid.parse(text) if text else None
    return Aid.of(aid.name) if aid is not None and aid.platform == home else aid


def full_identifier(agent: Aid, platform: str) -> Record:
    """Encodes an agent identifier, with its platform."""
    name = str(agent) if agent.platform else f"{agent}@{platform}"
    return record("agent-identifier", name=name)


def results_max(constraints: Any) -> int | None:
    """Reads the number of results that search constraints allow; None for all."""
    given = Parameters(constraints, "search-constraints", ("max-depth", "max-results", "search-id", "timeout"))
    wanted = given.optional("max-results", lambda one: one if isinstance(one, (int, float)) else None)
    return int(wanted) if wanted is not None and wanted >= 0 else None


class Answers:
    """Answers to one message, sent as they are made."""

    def __init__(self, message: Message, me: str, send: Callable[[Message], None]) -> None:
        self.message = message
        self._me = Aid.of(me)
        self._send = send

    def check_ontology(self) -> None:
        """Raises Misunderstanding if the message names another ontology."""
        ontology = self.message.ontology
        if ontology is not None and ontology.lower() != ONTOLOGY:
            raise Misunderstanding("unsupported-value", "ontology")

    def agree(self, asked: ServiceRequest) -> None:
        """Agrees to do it."""
        self._say("agree", [asked.action, True])

    def refuse(self, asked: ServiceRequest, reason: RequestRefusal) -> None:
        """Refuses to do it."""
        self._say("refuse", [asked.action, reason.value])

    def fail(self, asked: ServiceRequest, reason: FailureReason) -> None:
        """Reports that it failed."""
        self._say("failure", [asked.action, reason.value])

    def report(self, asked: ServiceRequest, result: Any = None) -> None:
        """Reports a result; None if it is only done."""
        self._say("inform", [Term("done", asked.action) if result is None else finding(asked, result)])

    def not_understood(self, reason: Misunderstanding) -> None:
        """Answers a message that cannot be read."""
        action = Term("action", agent_atom(self.message.sender), sending(self.message, self._me))
        self._say("not-understood", [action, reason.value])

    def cancelled(self) -> ServiceRequest:
        """Returns the request of a `cancel`, for its answer."""
        action = Term("action", agent_atom(self.message.sender), sending(self.message, self._me))
        return ServiceRequest(action, "cancel", ())

    def _say(self, performative: str, content: list[Any]) -> None:
        self._send(self.reply(performative, content))

    def reply(self, performative: str, content: list[Any]) -> Message:
        """Builds an answer. Text is answered with text."""
        message = self.message
        reply = reply_to(message, self._me, performative, content)
        try:
            if _is_text(message):
                profile = (message.language or "fipa-sl0").lower()
                reply.content = _in_sl(content, profile)
                reply.language = message.language or "fipa-sl"
        except Misunderstanding:
            pass
        return reply


def _in_sl(content: list[Any], profile: str) -> Any:
    for one in (profile, "fipa-sl"):
        try:
            return value_to_sl(content, one)
        except WhimbrelError:
            continue
    return content


def finding(asked: ServiceRequest, value: Any) -> Term:
    """Returns the proposition that answers a request or question."""
    if asked.question is not None:
        return Term("=", asked.question, value)
    return Term("result", asked.action, value)


def reply_to(message: Message, sender: Aid, performative: str, content: Any) -> Message:
    """Builds a reply of an agent to a message that came to it."""
    return Message(
        performative,
        message.reply_to or (message.sender,),
        content,
        sender=sender,
        language=message.language,
        encoding=message.encoding,
        ontology=message.ontology,
        protocol=message.protocol,
        conversation_id=message.conversation_id,
        in_reply_to=message.reply_with,
    )
