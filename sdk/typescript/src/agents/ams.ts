import type { Aid, AidLike } from "../acl/aid.js";
import { atom, field, record, term, textOf, type Value } from "../acl/value.js";
import type { Agent } from "./agent.js";
import { agentIdentifier, agentOf, perform, search, searchTerm, type SearchOptions } from "./directory.js";
import type { Waiting } from "./mailbox.js";

/** Where an agent is in its life (FIPA00023 5.1). */
export type AgentState = "initiated" | "active" | "suspended" | "waiting" | "transit";

/** Which agents to look for; all if nothing is said. */
export interface AgentQuery {
  /** The name, in which `*` and `?` stand for anything. */
  readonly name?: string;
  readonly ownership?: string;
  readonly state?: AgentState;
}

/** An agent as the AMS knows it. */
export interface AgentDescription {
  readonly name: Aid;
  readonly ownership?: string;
  readonly state?: AgentState;
}

/** The agent management system: which agents there are. */
export class Ams {
  readonly #agent: Agent;

  /** @internal */
  constructor(agent: Agent) {
    this.#agent = agent;
  }

  /**
   * The agents that match: those of the node in the order of their creation, then those of other nodes by name. Their nodes alone know the state and
   * the owner of these: they are without, and who asks for one of both does not find them.
   */
  async search(query: AgentQuery = {}, options: SearchOptions = {}): Promise<AgentDescription[]> {
    const { name, ownership, state } = query;
    const template = record("ams-agent-description", {
      name: name === undefined ? undefined : record("agent-identifier", { name }),
      ownership,
      state: state === undefined ? undefined : atom(state),
    });
    const found = await search(this.#agent, "ams", searchTerm(template, options), options);
    return found.flatMap((value) => descriptionOf(value) ?? []);
  }

  /** The platform's name. */
  async platformName(waiting?: Waiting): Promise<string | undefined> {
    const description = await perform(this.#agent, "ams", atom("get-description"), waiting);
    return description === undefined ? undefined : textOf(field(description, "name"));
  }

  /** Suspends an agent, or lets it go on: itself, or one that it owns. */
  async setState(agent: AidLike, state: AgentState, waiting?: Waiting): Promise<void> {
    const described = record("ams-agent-description", { name: agentIdentifier(agent), state: atom(state) });
    await perform(this.#agent, "ams", term("modify", described), waiting);
  }

  /** Ends an agent: itself, or one that it owns. */
  async kill(agent: AidLike, waiting?: Waiting): Promise<void> {
    await perform(this.#agent, "ams", term("deregister", record("ams-agent-description", { name: agentIdentifier(agent) })), waiting);
  }

  /** Subscribes to a topic, `topic:weather`, or becomes a member of a group, `group:crew`. */
  async join(name: string, waiting?: Waiting): Promise<void> {
    await perform(this.#agent, "ams", term("join", agentIdentifier(name)), waiting);
  }

  /** Takes that back. */
  async leave(name: string, waiting?: Waiting): Promise<void> {
    await perform(this.#agent, "ams", term("leave", agentIdentifier(name)), waiting);
  }
}

function descriptionOf(value: Value): AgentDescription | undefined {
  const name = agentOf(field(value, "name"));
  if (name === undefined) return undefined;
  const [ownership, state] = ["ownership", "state"].map((key) => textOf(field(value, key)));
  return { name, ...(ownership !== undefined && { ownership }), ...(state !== undefined && { state: state as AgentState }) };
}
