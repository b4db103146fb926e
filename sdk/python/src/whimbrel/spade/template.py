"""Templates: selection of messages, combined by `&`, `|`, `^` and `~`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .message import MessageBase

__all__ = ["ANDTemplate", "BaseTemplate", "NOTTemplate", "ORTemplate", "Template", "XORTemplate"]


class BaseTemplate(ABC):
    """Operators of templates."""

    __slots__ = ()

    @abstractmethod
    def match(self, message: MessageBase) -> bool:
        """Returns true if the message matches."""

    def __and__(self, other: BaseTemplate) -> ANDTemplate:
        return ANDTemplate(self, _checked(other))

    def __or__(self, other: BaseTemplate) -> ORTemplate:
        return ORTemplate(self, _checked(other))

    def __xor__(self, other: BaseTemplate) -> XORTemplate:
        return XORTemplate(self, _checked(other))

    def __invert__(self) -> NOTTemplate:
        return NOTTemplate(self)


def _checked(other: object) -> BaseTemplate:
    if not isinstance(other, BaseTemplate):
        raise TypeError("Expressions must be of class Template")
    return other


class NOTTemplate(BaseTemplate):
    """Template of the messages that another one leaves out."""

    __slots__ = ("expr",)

    def __init__(self, expr: BaseTemplate) -> None:
        self.expr = expr

    def match(self, message: MessageBase) -> bool:
        return not self.expr.match(message)


class _Pair(BaseTemplate):
    """Template of two others."""

    __slots__ = ("expr1", "expr2")

    def __init__(self, expr1: BaseTemplate, expr2: BaseTemplate) -> None:
        self.expr1 = expr1
        self.expr2 = expr2


class ORTemplate(_Pair):
    """Template of the messages that either of two takes."""

    __slots__ = ()

    def match(self, message: MessageBase) -> bool:
        return self.expr1.match(message) or self.expr2.match(message)


class ANDTemplate(_Pair):
    """Template of the messages that both of two take."""

    __slots__ = ()

    def match(self, message: MessageBase) -> bool:
        return self.expr1.match(message) and self.expr2.match(message)


class XORTemplate(_Pair):
    """Template of the messages that exactly one of two takes."""

    __slots__ = ()

    def match(self, message: MessageBase) -> bool:
        return self.expr1.match(message) != self.expr2.match(message)


class Template(MessageBase, BaseTemplate):
    """Template of the messages that have the same receiver, sender, body, thread and metadata, as far as it names them.

    >>> from whimbrel.spade.message import Message
    >>> fits = Template(metadata={"performative": "request"}) & ~Template(sender="eve@localhost")
    >>> fits.match(Message(sender="amy@localhost", metadata={"performative": "request"}))
    True
    """

    def __str__(self) -> str:
        return self._shown("template")
