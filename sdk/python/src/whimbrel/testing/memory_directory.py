"""What the agents `ams` and `df` of a platform in memory have in common: they answer requests and questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..acl.aid import Aid
from ..acl.message import Message
from .requests import (
    ANSWERS,
    Answers,
    FailureReason,
    Misunderstanding,
    RequestRefusal,
    ServiceRequest,
    full_identifier,
)

__all__ = ["MemoryDirectory"]


class MemoryDirectory:
    """An agent of the platform that answers requests. Subclasses know the functions."""

    #: Name of the agent.
    name: ClassVar[str]
    #: Functions whose results may be asked for by a question.
    questions: ClassVar[tuple[str, ...]] = ("search",)

    def __init__(self, platform: str, send: Callable[[Message], None]) -> None:
        self._platform = platform
        self._send = send

    def handle(self, message: Message) -> None:
        """Answers a message."""
        if message.performative in ANSWERS:
            return
        answers = Answers(message, self.name, self._send)
        try:
            answers.check_ontology()
            self._answer(message, answers)
        except Misunderstanding as reason:
            answers.not_understood(reason)

    def _answer(self, message: Message, answers: Answers) -> None:
        """Answers a request or a question. Raises Misunderstanding."""
        if message.performative not in ("request", "query-ref"):
            raise Misunderstanding("unsupported-act", message.performative)
        is_question = message.performative == "query-ref"
        asked = self._asked(message, is_question=is_question)
        try:
            if is_question:
                self._check_question(asked)
            act = self._read(asked, message.sender)
        except RequestRefusal as reason:
            return answers.refuse(asked, reason)
        if not is_question:
            answers.agree(asked)
        try:
            result = act()
        except FailureReason as reason:
            return answers.fail(asked, reason)
        return answers.report(asked, result)

    def _asked(self, message: Message, *, is_question: bool) -> ServiceRequest:
        actor = full_identifier(Aid.of(self.name), self._platform)
        return ServiceRequest.read(message, actor, is_question=is_question)

    def _check_question(self, asked: ServiceRequest) -> None:
        if asked.function not in self.questions:
            raise RequestRefusal("unsupported-function", asked.function)

    def _read(self, asked: ServiceRequest, sender: Aid) -> Callable[[], Any]:
        """Returns what a request does. Raises RequestRefusal."""
        raise NotImplementedError
