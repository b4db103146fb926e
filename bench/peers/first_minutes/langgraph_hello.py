"""Two nodes of a LangGraph: alice greets, bob answers. No language model."""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class Talk(TypedDict):
    said: str


def alice(talk: Talk) -> Talk:
    return {"said": "hello from alice"}


def bob(talk: Talk) -> Talk:
    print(f"[bob] {talk['said']}", flush=True)
    return {"said": "thanks"}


graph = StateGraph(Talk)
graph.add_node("alice", alice)
graph.add_node("bob", bob)
graph.add_edge(START, "alice")
graph.add_edge("alice", "bob")
graph.add_edge("bob", END)
print(f"[alice] bob says {graph.compile().invoke({'said': ''})['said']}")
