"""Static dictionary: words of FIPA's specifications, and shapes that AMS and DF exchange."""

from __future__ import annotations

from collections.abc import Sequence

#: Languages, protocols, ontologies and roles. The position is the number.
KNOWN_TEXTS = [
    "fipa-request",
    "fipa-contract-net",
    "fipa-query",
    "fipa-subscribe",
    "fipa-propose",
    "fipa-request-when",
    "fipa-iterated-contract-net",
    "fipa-brokering",
    "fipa-recruiting",
    "fipa-auction-english",
    "fipa-auction-dutch",
    "fipa-sl",
    "fipa-sl0",
    "fipa-sl1",
    "fipa-sl2",
    "FIPA-Agent-Management",
    "fipa-agent-management",
    "source",
    "self",
    "percept",
    "json",
    "agentspeak",
    "whimbrel",
    "utf-8",
    "action",
    "done",
    "result",
    "set",
    "sequence",
    "register",
    "deregister",
    "modify",
    "search",
    "datetime",
    "duration",
    "active",
    "suspended",
    "waiting",
    "ams",
    "df",
    "name",
    "type",
    "value",
    "content",
]

#: Frames of FIPA00023 6.1, parameters of an ACL message (FIPA00061) and of an envelope (FIPA00067).
KNOWN_SHAPES = [
    (name, fields.split(" "))
    for name, fields in (
        ("agent-identifier", "name addresses resolvers"),
        ("df-agent-description", "name services protocols ontologies languages lease-time scope"),
        ("service-description", "name type protocols ontologies languages ownership properties"),
        ("property", "name value"),
        ("search-constraints", "max-depth max-results search-id"),
        ("ams-agent-description", "name ownership state"),
        ("ap-description", "name ap-services"),
        ("ap-service", "name type addresses"),
        (
            "acl-message",
            "performative sender receiver reply-to content language encoding ontology protocol conversation-id "
            "reply-with in-reply-to reply-by",
        ),
        (
            "envelope",
            "to from comments acl-representation payload-length payload-encoding date intended-receiver received "
            "transport-behaviour",
        ),
        ("received-object", "by from date id via"),
    )
]

KNOWN_NUMBERS = {text: number for number, text in enumerate(KNOWN_TEXTS)}
_SHAPE_NUMBERS = {name: number for number, (name, _) in enumerate(KNOWN_SHAPES)}


def known_shape(name: str, fields: Sequence[str]) -> tuple[int, int] | None:
    """Returns the number of an object's known shape, with a bit mask of its fields. None if the fields are others, or
    in another order.
    """
    number = _SHAPE_NUMBERS.get(name)
    if number is None:
        return None
    known = KNOWN_SHAPES[number][1]
    mask = start = 0
    for field in fields:
        try:
            place = known.index(field, start)
        except ValueError:
            return None
        mask |= 1 << place
        start = place + 1
    return number, mask
