import type { Aid, AidLike } from "../acl/aid.js";
import { field, isTerm, record, term, textOf, type RecordValue, type Value } from "../acl/value.js";
import { newId, type Agent } from "./agent.js";
import { cancel } from "./cancel.js";
import { actionOf, agentIdentifier, agentOf, elementsOf, ONTOLOGY, perform, resultOf, search, searchTerm, setOf, textsOf, type SearchOptions } from "./directory.js";
import { DeadlineError, errorOf } from "./errors.js";
import type { Waiting } from "./mailbox.js";

/** A service that an agent offers, or searches for (`service-description`). */
export interface Service {
  readonly name?: string;
  readonly type?: string;
  readonly protocols?: readonly string[];
  readonly ontologies?: readonly string[];
  readonly languages?: readonly string[];
  readonly ownership?: string;
  readonly properties?: Readonly<Record<string, Value>>;
}

/**
 * An agent's description for the DF, or a search template (`df-agent-description`). A search matches all given fields.
 */
export interface Description {
  /** The described agent; the registering agent by default. */
  readonly name?: AidLike;
  readonly services?: readonly Service[];
  readonly protocols?: readonly string[];
  readonly ontologies?: readonly string[];
  readonly languages?: readonly string[];
  /** Lifetime of the entry in milliseconds; that of the agent by default. */
  readonly leaseMs?: number;
}

/** An entry of the DF. */
export interface Entry extends Required<Omit<Description, "name" | "leaseMs">> {
  readonly name: Aid;
  /** Expiry in milliseconds since 1970; undefined if the entry lives as long as the agent. */
  readonly leaseUntilMs?: number;
}

/** A change that a subscriber is notified of. */
export interface Change {
  readonly agent: Aid;
  /** The new entry; undefined if it does not match any more. */
  readonly entry: Entry | undefined;
}

/** The directory facilitator: the directory of services. */
export class Df {
  readonly #agent: Agent;

  /** @internal */
  constructor(agent: Agent) {
    this.#agent = agent;
  }

  /**
   * Registers this agent's services.
   *
   * @throws {@link FailureError} if the agent is registered already. {@link Df.modify} changes the entry.
   */
  async register(description: Description, waiting?: Waiting): Promise<void> {
    await perform(this.#agent, "df", term("register", this.#own(description)), waiting);
  }

  /** Replaces the agent's entry. */
  async modify(description: Description, waiting?: Waiting): Promise<void> {
    await perform(this.#agent, "df", term("modify", this.#own(description)), waiting);
  }

  /** Removes the agent's entry. */
  async deregister(waiting?: Waiting): Promise<void> {
    await perform(this.#agent, "df", term("deregister", this.#own({})), waiting);
  }

  /** Returns the matching entries in the order of registration. */
  async search(template: Description, options: SearchOptions = {}): Promise<Entry[]> {
    const found = await search(this.#agent, "df", searchTerm(descriptionValue(template), options), options);
    return found.flatMap((value) => entryOf(value) ?? []);
  }

  /**
   * Calls back for each matching entry, present or future, and when one stops matching. The returned function ends the
   * subscription.
   *
   * @throws {@link RefuseError} if the DF refuses.
   */
  async subscribe(template: Description, tell: (change: Change) => unknown, waiting: Waiting = {}): Promise<() => void> {
    const agent = this.#agent;
    const what = { receivers: "df", protocol: "fipa-subscribe", ontology: ONTOLOGY };
    const conversationId = newId(agent.name);
    const inbox = agent.open({ ...what, performative: "subscribe", conversationId, content: actionOf("df", term("search", descriptionValue(template))) });
    try {
      const answer = await inbox.next(waiting);
      const error = errorOf(answer);
      if (error) throw error;
    } catch (error) {
      inbox.close();
      // Cancel, because the DF may still agree after the deadline.
      if (error instanceof DeadlineError || waiting.signal?.aborted) cancel(agent, conversationId, what);
      throw error;
    }
    void agent.run(async () => {
      for await (const message of inbox) {
        for (const value of elementsOf(resultOf(message.content))) {
          const change = changeOf(value);
          if (change) await agent.run(() => tell(change));
        }
      }
    });
    return () => {
      inbox.close();
      cancel(agent, conversationId, what);
    };
  }

  #own(description: Description): Value {
    return descriptionValue({ ...description, name: description.name ?? this.#agent.aid });
  }
}

const texts = (list: readonly string[] | undefined): Value | undefined => setOf(list);

function serviceValue({ name, type, protocols, ontologies, languages, ownership, properties }: Service): RecordValue {
  const pairs = Object.entries(properties ?? {}).map(([key, value]) => record("property", { name: key, value }));
  return record("service-description", {
    name,
    type,
    protocols: texts(protocols),
    ontologies: texts(ontologies),
    languages: texts(languages),
    ownership,
    properties: setOf(pairs),
  });
}

function descriptionValue({ name, services, protocols, ontologies, languages, leaseMs }: Description): RecordValue {
  return record("df-agent-description", {
    name: name === undefined ? undefined : agentIdentifier(name),
    services: setOf(services?.map(serviceValue)),
    protocols: texts(protocols),
    ontologies: texts(ontologies),
    languages: texts(languages),
    "lease-time": leaseMs === undefined ? undefined : term("duration", BigInt(Math.round(leaseMs))),
  });
}

function serviceOf(value: Value): Service {
  const [name, type, ownership] = ["name", "type", "ownership"].map((key) => textOf(field(value, key)));
  const properties = elementsOf(field(value, "properties")).flatMap((property) => {
    const key = textOf(field(property, "name"));
    const of = field(property, "value");
    return key === undefined || of === undefined ? [] : [[key, of] as const];
  });
  return {
    ...(name !== undefined && { name }),
    ...(type !== undefined && { type }),
    protocols: textsOf(field(value, "protocols")),
    ontologies: textsOf(field(value, "ontologies")),
    languages: textsOf(field(value, "languages")),
    ...(ownership !== undefined && { ownership }),
    properties: Object.fromEntries(properties),
  };
}

/** Decodes an entry; undefined if it names no agent. */
function entryOf(value: Value): Entry | undefined {
  const name = agentOf(field(value, "name"));
  if (name === undefined) return undefined;
  const lease = field(value, "lease-time");
  return {
    name,
    services: elementsOf(field(value, "services")).map(serviceOf),
    protocols: textsOf(field(value, "protocols")),
    ontologies: textsOf(field(value, "ontologies")),
    languages: textsOf(field(value, "languages")),
    ...(lease !== undefined && isTerm(lease, "datetime", 1) && { leaseUntilMs: Number(lease.args[0]) }),
  };
}

/** Decodes a change. An entry that stopped matching has only a name. */
function changeOf(value: Value): Change | undefined {
  const entry = entryOf(value);
  if (entry === undefined) return undefined;
  const isGone = ["services", "protocols", "ontologies", "languages"].every((name) => field(value, name) === undefined);
  return { agent: entry.name, entry: isGone ? undefined : entry };
}
