"""FIPA's interaction protocols: their state machines, their initiators, and ready-made participants.

Agents initiate them by methods: `await self.contract_net(task, to=bidders, deadline=2)`. Participants are handlers:
`@on.cfp`. Both are checked against the protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .machine import INITIATOR, PARTICIPANT, Judgement, Machine, Protocol, ProtocolError, protocol, protocols
from .machines import Machines, Outcome

if TYPE_CHECKING:
    from .agents import Bidder, Broker, Recruiter
    from .auctions import Sale
    from .brokers import Answer
    from .initiating import ContractNet, Decision, Feed

__all__ = [
    "INITIATOR",
    "PARTICIPANT",
    "Answer",
    "Bidder",
    "Broker",
    "ContractNet",
    "Decision",
    "Feed",
    "Judgement",
    "Machine",
    "Machines",
    "Outcome",
    "Protocol",
    "ProtocolError",
    "Recruiter",
    "Sale",
    "protocol",
    "protocols",
]

#: Names by their modules. Agents use the machines, so these are imported later.
_LATER = {
    "Answer": "brokers",
    "Bidder": "agents",
    "Broker": "agents",
    "ContractNet": "initiating",
    "Decision": "initiating",
    "Feed": "initiating",
    "Recruiter": "agents",
    "Sale": "auctions",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
