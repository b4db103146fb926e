"""The same purchase as a graph of LangGraph, with its SQLite checkpointer: for comparison.

Usage: purchase.py --state FOLDER --base-url URL --tools URL [buy|approve|refuse|version]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any, TypedDict

sys.path.insert(0, str(Path(__file__).parents[1]))

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from models import Endpoint, NoAnswer
from toolbox import ToolServer, schemas

NEED = "twelve 27-inch monitors for the Leeds office, 4000 pounds at most"
BRIEFS = {
    "researcher": "You are the researcher of a purchasing team. Find at least two products, and check their stock.",
    "writer": "You are the writer of a purchasing team. Propose one order, with its total in pounds.",
    "reviewer": "You are the reviewer of a purchasing team. Read the policy, then judge the proposal: good, or again.",
}
MAY = {"researcher": ["search_catalogue", "check_stock"], "writer": [], "reviewer": ["read_policy"]}
HANDS_OVER = {"researcher": "report", "writer": "propose", "reviewer": "judge"}


class State(TypedDict, total=False):
    turns: dict[str, list[dict[str, Any]]]
    tokens: int
    drafts: int
    results: dict[str, Any]
    approved: bool
    number: str
    told: str


class Purchase:
    """The nodes of the graph. A node that was interrupted is run again from its beginning."""

    def __init__(self, endpoint: Endpoint, tools: ToolServer, thread: str) -> None:
        self.endpoint, self.tools, self.thread = endpoint, tools, thread

    def think(self, role: str, state: State) -> dict[str, Any]:
        """One call of the model."""
        turns = state["turns"].get(role) or [{"role": "user", "content": self.question(role, state)}]
        messages = [{"role": "system", "content": BRIEFS[role]}, *turns]
        act = self.endpoint.complete(messages, schemas([*MAY[role], HANDS_OVER[role]]), 8000 - state["tokens"])
        function = {"name": act.tool, "arguments": json.dumps(act.arguments)}
        call = {"id": act.call, "type": "function", "function": function}
        turns = [*turns, {"role": "assistant", "content": None, "tool_calls": [call]}]
        results = dict(state["results"])
        if act.tool == HANDS_OVER[role]:
            results[role] = act.arguments
            turns.append({"role": "tool", "tool_call_id": act.call, "content": "handed over"})
            print(f"{role}: {act.tool} {act.arguments}", flush=True)
        return {"turns": {**state["turns"], role: turns}, "results": results, "tokens": state["tokens"] + act.tokens}

    def question(self, role: str, state: State) -> str:
        return f"{NEED}\n{json.dumps(state['results'])}" if role != "researcher" else NEED

    def use(self, role: str, state: State) -> dict[str, Any]:
        """Carries out the call that the model asked for, if the role may."""
        call = state["turns"][role][-1]["tool_calls"][0]
        name = call["function"]["name"]
        if name in MAY[role]:
            result = self.tools.call(name, json.loads(call["function"]["arguments"]), f"{self.thread}-{call['id']}")
        else:
            print(f"{role}: may not call {name}", flush=True)
            result = "refused: you may not call this tool"
        turns = [*state["turns"][role], {"role": "tool", "tool_call_id": call["id"], "content": result}]
        return {"turns": {**state["turns"], role: turns}}

    def revise(self, state: State) -> dict[str, Any]:
        turns = dict(state["turns"])
        objection = state["results"]["reviewer"]["reason"]
        turns["writer"] = [*turns["writer"], {"role": "user", "content": f"The reviewer objects: {objection}"}]
        return {"turns": turns, "drafts": state["drafts"] + 1}

    def resubmit(self, state: State) -> dict[str, Any]:
        """A later draft continues the reviewer's chat."""
        turns = dict(state["turns"])
        if "reviewer" in turns:
            proposal = json.dumps(state["results"]["writer"])
            turns["reviewer"] = [*turns["reviewer"], {"role": "user", "content": f"Proposal: {proposal}"}]
        return {"turns": turns}

    def approve(self, state: State) -> dict[str, Any]:
        return {"approved": interrupt(state["results"]["writer"])}

    def order(self, state: State) -> dict[str, Any]:
        order = state["results"]["writer"]
        arguments = {"sku": order["sku"], "quantity": order["quantity"], "max_total": order["total"]}
        # The key is the same when the node is run again, so a server that knows keys orders once.
        return {"number": self.tools.call("place_order", arguments, f"{self.thread}-order")}

    def announce(self, state: State) -> dict[str, Any]:
        return {"told": self.tools.call("announce", {"text": f"Ordered: {state['number']}"}, "")}

    def graph(self) -> Any:
        builder = StateGraph(State)
        for role in BRIEFS:
            builder.add_node(role, lambda state, role=role: self.think(role, state))
            builder.add_node(f"{role}_tools", lambda state, role=role: self.use(role, state))
            builder.add_edge(f"{role}_tools", role)
        for name in ("revise", "resubmit", "approve", "order", "announce"):
            builder.add_node(name, getattr(self, name))

        def after(role: str, following: Any) -> None:
            def route(state: State) -> str:
                is_over = state["turns"][role][-1]["role"] == "tool"
                return following(state) if is_over else f"{role}_tools"

            builder.add_conditional_edges(role, route)

        after("researcher", lambda state: "writer")
        after("writer", lambda state: "resubmit")
        after("reviewer", lambda state: "approve" if state["results"]["reviewer"]["verdict"] == "good" else "revise")
        builder.add_edge(START, "researcher")
        builder.add_edge("resubmit", "reviewer")
        builder.add_edge("revise", "writer")
        builder.add_conditional_edges("approve", lambda state: "order" if state["approved"] else END)
        builder.add_edge("order", "announce")
        builder.add_edge("announce", END)
        return builder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--tools", required=True)
    parser.add_argument("command", nargs="?", default="buy", choices=["buy", "approve", "refuse"])
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(given.state / "checkpoints.sqlite", check_same_thread=False)
    builder = Purchase(Endpoint(given.base_url), ToolServer(given.tools), "p1").graph()
    graph = builder.compile(checkpointer=SqliteSaver(connection))
    thread = {"configurable": {"thread_id": "p1"}}
    begun = graph.get_state(thread)
    if given.command != "buy" and begun.next == ("approve",):
        work: Any = Command(resume=given.command == "approve")
    elif begun.values:
        work = None  # Continue behind the last checkpoint.
    else:
        work = {"turns": {}, "results": {}, "tokens": 0, "drafts": 1, "approved": False}
    # `sync` writes each checkpoint before the next node begins.
    try:
        graph.invoke(work, thread, durability="sync")
    except NoAnswer as error:
        print(f"stopped: {error}", flush=True)
        return 3
    state = graph.get_state(thread)
    print(f"waits for {state.next}" if state.next else f"finished: {state.values.get('number')}", flush=True)
    connection.close()
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["version"]:
        print(*(f"{name} {importlib.metadata.version(name)}" for name in ("langgraph", "langgraph-checkpoint-sqlite")))
        sys.exit(0)
    sys.exit(main())
