"""Limits of interaction protocols."""

#: Open conversations of an agent. The oldest one is forgotten.
OPEN_MAX = 10_000
#: Ended conversations that an agent remembers, to tell late messages from unknown ones.
ENDED_MAX = 1000
#: Own messages with a `reply-with` that a conversation remembers, so that an answer to an older one is known as late.
#: The oldest is forgotten.
QUESTIONS_MAX = 64
