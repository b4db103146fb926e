"""Performatives: the purposes of messages."""

from __future__ import annotations

#: The 22 performatives of FIPA00037, in its order.
PERFORMATIVES = (
    "accept-proposal",
    "agree",
    "cancel",
    "cfp",
    "confirm",
    "disconfirm",
    "failure",
    "inform",
    "inform-if",
    "inform-ref",
    "not-understood",
    "propagate",
    "propose",
    "proxy",
    "query-if",
    "query-ref",
    "refuse",
    "reject-proposal",
    "request",
    "request-when",
    "request-whenever",
    "subscribe",
)

#: KQML's performatives, as AgentSpeak uses them.
KQML_PERFORMATIVES = (
    "tell",
    "untell",
    "achieve",
    "unachieve",
    "askOne",
    "askAll",
    "askHow",
    "tellHow",
    "untellHow",
    "signal",
)

#: Performatives whose senders expect an answer, with or without `reply-with`.
ASKING = frozenset(("request", "request-when", "query-if", "query-ref", "cfp", "subscribe", "proxy"))
#: Performatives of negative answers.
NEGATIVE = frozenset(("refuse", "failure", "not-understood"))
