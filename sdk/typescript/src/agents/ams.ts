import { Aid, type AidLike } from "../acl/aid.js";
import { atom, field, isTerm, record, term, textOf, type Structure, type Value } from "../acl/value.js";
import type { Agent } from "./agent.js";
import { agentIdentifier, agentOf, perform, search, searchTerm, type SearchOptions } from "./directory.js";
import type { Waiting } from "./mailbox.js";

/** State of an agent's life (FIPA00023 5.1). */
export type AgentState = "initiated" | "active" | "suspended" | "waiting" | "transit";

/** Search criteria for agents. An empty query matches all. */
export interface AgentQuery {
  /** Name pattern with the wildcards `*` and `?`. */
  readonly name?: string;
  readonly ownership?: string;
  readonly state?: AgentState;
}

/** An agent's entry in the AMS. */
export interface AgentDescription {
  readonly name: Aid;
  readonly ownership?: string;
  readonly state?: AgentState;
}

/** The agent management system: the directory of all agents. */
export class Ams {
  readonly #agent: Agent;
  /** Ends that the agent waits for, by the names of the others: the AMS tells it of each once. */
  readonly #ends = new Map<string, Promise<string>>();

  /** @internal */
  constructor(agent: Agent) {
    this.#agent = agent;
  }

  /**
   * Searches for agents: those of the node in the order of creation, then those of other nodes by name. Agents of other
   * nodes have no state and owner here, so a query for one of both does not find them.
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

  /** Returns the platform's name. */
  async platformName(waiting?: Waiting): Promise<string | undefined> {
    const description = await perform(this.#agent, "ams", atom("get-description"), waiting);
    return description === undefined ? undefined : textOf(field(description, "name"));
  }

  /** Suspends or resumes an agent: itself, or one that it owns. */
  async setState(agent: AidLike, state: AgentState, waiting?: Waiting): Promise<void> {
    const described = record("ams-agent-description", { name: agentIdentifier(agent), state: atom(state) });
    await perform(this.#agent, "ams", term("modify", described), waiting);
  }

  /** Ends an agent: itself, or one that it owns. */
  async kill(agent: AidLike, waiting?: Waiting): Promise<void> {
    await perform(this.#agent, "ams", term("deregister", record("ams-agent-description", { name: agentIdentifier(agent) })), waiting);
  }

  /**
   * Waits for the end of an agent, and returns the reason: `finished`, `killed`, `failed: ...`. The AMS tells of it at
   * once.
   *
   * @throws {@link FailureError} if there is no such agent.
   */
  whenEnded(agent: AidLike): Promise<string> {
    const { name } = Aid.of(agent);
    const end = this.#ends.get(name) ?? this.#watch(name).finally(() => this.#ends.delete(name));
    this.#ends.set(name, end);
    return end;
  }

  async #watch(name: string): Promise<string> {
    const inbox = this.#agent.listen(({ sender, content }) => sender.equals("ams") && isTerm(content, "ended", 2) && textOf(content.args[0]) === name);
    try {
      await perform(this.#agent, "ams", term("watch", agentIdentifier(name)));
      const [, reason] = ((await inbox.next()).content as Structure).args;
      return textOf(reason) ?? `failed: ${textOf((reason as Structure).args[0])}`;
    } finally {
      inbox.close();
    }
  }

  /** Subscribes to a topic, `topic:weather`, or joins a group, `group:crew`. */
  async join(name: string, waiting?: Waiting): Promise<void> {
    await perform(this.#agent, "ams", term("join", agentIdentifier(name)), waiting);
  }

  /** Leaves a topic or group. */
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
