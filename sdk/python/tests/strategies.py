"""Strategies of hypothesis for values and messages."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from whimbrel.acl import PERFORMATIVES, Aid, Atom, Container, Map, Message, Record, Term, Variable
from whimbrel.acl.json import atom_named, term_of
from whimbrel.acl.values import mapping, open_list

texts = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", "7", "-12", "007", "item-1", "item-2", "content", "fipa-sl", "a longer text that is shared"]),
)
names = st.one_of(st.sampled_from(["f", "point", "agent-identifier", "true", "set", "source"]), texts)
integers = st.one_of(st.integers(-70, 70), st.integers(-(2**63), 2**63 - 1))
floats = st.one_of(
    st.floats(),
    st.floats(width=32),
    st.integers(-1000, 1000).map(float),
    st.integers(-9999, 9999).map(lambda n: n / 100),
)
variables = st.builds(Variable, names, st.integers(0, 2**32 - 1))
scalars = st.one_of(
    st.none(), st.booleans(), integers, floats, texts, st.binary(max_size=80), names.map(atom_named), variables
)


def compounds(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=5)
    pairs = st.lists(st.tuples(inner, inner), max_size=4)
    fields = st.dictionaries(st.sampled_from(["name", "addresses", "x", "y"]), inner, max_size=3)
    return st.one_of(
        lists,
        # Rows alike, for columns and tables.
        st.lists(integers, min_size=4, max_size=40),
        st.lists(floats, min_size=4, max_size=12),
        st.lists(st.one_of(st.none(), texts), min_size=4, max_size=12),
        st.lists(st.builds(lambda x, y: Record("point", x=x, y=y), inner, inner), min_size=3, max_size=5),
        st.lists(fields.map(lambda given: Record("agent-identifier", given)), min_size=3, max_size=5),
        st.lists(fields, min_size=3, max_size=5),
        st.lists(lists, min_size=3, max_size=4),
        st.builds(lambda name, args: term_of(name, args), names, lists),
        st.builds(
            lambda name, args, negated, annots: term_or_atom(name, args, negated, annots),
            names,
            lists,
            st.booleans(),
            lists,
        ),
        pairs.map(mapping),
        pairs.map(Map).map(lambda exact: mapping(exact.pairs)),
        st.builds(lambda name, given: Record(name, given), names, fields),
        st.builds(open_list, lists, variables),
        st.builds(Container, st.sampled_from(["set", "queue", "priority-queue"]), lists),
        st.builds(lambda given: Container("map", [part for pair in given for part in pair]), pairs),
    )


def term_or_atom(name: str, args: list[Any], negated: bool, annots: list[Any]) -> Any:
    made = Term(name, *args, negated=negated, annots=annots)
    return atom_named(name) if isinstance(made, Atom) else made


values = st.recursive(scalars, compounds, max_leaves=12)

aid_names = st.text(min_size=1, max_size=6).filter(lambda name: "@" not in name)
plain_aids = st.one_of(st.builds(Aid, aid_names), st.builds(Aid, aid_names, aid_names))
aids = st.one_of(
    plain_aids,
    st.builds(
        lambda aid, addresses, user: Aid(aid.name, aid.platform, addresses=addresses, user=user),
        plain_aids,
        st.lists(texts, max_size=2),
        st.lists(st.tuples(names, scalars), max_size=2),
    ),
)
maybe = st.one_of(st.none(), texts)
messages = st.builds(
    lambda performative, receivers, content, **rest: Message(performative, receivers, content, **rest),
    st.one_of(st.sampled_from(PERFORMATIVES), st.just("my-act")),
    st.lists(aids, max_size=3),
    values,
    sender=aids,
    reply_to=st.lists(plain_aids, max_size=2),
    ontology=maybe,
    protocol=st.one_of(maybe, st.just("fipa-request")),
    conversation_id=maybe,
    reply_with=maybe,
    in_reply_to=maybe,
    language=maybe,
    encoding=maybe,
    reply_by=st.one_of(st.none(), st.integers(0, 2**53 - 1)),
    user=st.lists(st.tuples(names, scalars), max_size=2),
)
