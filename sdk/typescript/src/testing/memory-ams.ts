/** Agent management system of a platform in memory (FIPA00023 4.2): the agents of its node, and their monitors. */
import { Aid } from "../acl/aid.js";
import { message as build, type Message } from "../acl/message.js";
import { atom, record, term, textOf, type Value } from "../acl/value.js";
import { Answers, ANSWERS, CASTS, fullIdentifier, fullSet, identifier, isJoinable, NegativeReason, onlyArgument, Parameters, readRequest, searchArguments, type ServiceRequest } from "./requests.js";

const STATES = ["initiated", "active", "suspended", "waiting", "transit"];
/** States that an agent can change to, by its state. */
const STEPS: readonly string[] = ["initiated active", "active suspended", "suspended active", "active waiting", "waiting active"];

/** An agent of the node, for its AMS. */
export interface AgentRecord {
  readonly name: string;
  readonly owner: string | undefined;
  readonly state: string;
}

/** Agents of the node. */
export interface Residents {
  /** All agents, in the order of their creation. */
  described(): readonly AgentRecord[];
  modify(name: string, owner: string | undefined, state: string | undefined): void;
  kill(name: string): void;
  /** Subscribes to a topic or joins a group. */
  join(agent: string, group: string): void;
  /** Leaves a topic or group. Returns false if the agent is not there. */
  leave(agent: string, group: string): boolean;
}

/** The agent `ams`. */
export class MemoryAms {
  readonly #platform: string;
  readonly #send: (message: Message) => void;
  readonly #agents: Residents;
  /** Watchers of agents, by the names of the watched. */
  readonly #watchers = new Map<string, Set<string>>();

  constructor(platform: string, send: (message: Message) => void, agents: Residents) {
    this.#platform = platform;
    this.#send = send;
    this.#agents = agents;
  }

  /** Answers a message. */
  handle(message: Message): void {
    if (ANSWERS.has(message.performative)) return;
    const answers = new Answers(message, "ams", this.#send);
    let asked: ServiceRequest | undefined;
    try {
      answers.checkOntology();
      const isQuestion = message.performative === "query-ref";
      if (!isQuestion && message.performative !== "request") throw new NegativeReason("not-understood", "unsupported-act", message.performative);
      asked = readRequest(message, fullIdentifier(Aid.of("ams"), this.#platform), isQuestion);
      if (isQuestion && !["search", "get-description"].includes(asked.function)) throw new NegativeReason("refuse", "unsupported-function", asked.function);
      const act = this.#read(asked, message.sender);
      if (!isQuestion) answers.agree(asked);
      answers.report(asked, act());
    } catch (reason) {
      answers.negative(asked, reason);
    }
  }

  /** An agent has ended: its watchers are told, and it watches no more. */
  handleEnded(name: string, reason: Value): void {
    for (const watchers of this.#watchers.values()) watchers.delete(name);
    const watchers = this.#watchers.get(name) ?? [];
    this.#watchers.delete(name);
    for (const receivers of watchers) this.#send(build({ performative: "inform", sender: "ams", receivers, content: term("ended", atom(name), reason) }));
  }

  /** Returns what a request does. */
  #read(asked: ServiceRequest, sender: Aid): () => Value | undefined {
    if (["join", "leave", "watch", "unwatch"].includes(asked.function)) return this.#tie(asked, sender.name);
    if (asked.function === "get-description") {
      if (asked.args.length > 0) throw new NegativeReason("refuse", "unexpected-argument-count");
      return () => record("ap-description", { name: atom(this.#platform) });
    }
    if (asked.function === "search") return this.#search(asked);
    if (!["register", "deregister", "modify"].includes(asked.function)) throw new NegativeReason("refuse", "unsupported-function", asked.function);
    const { agent, state, owner } = this.#description(onlyArgument(asked, "ams-agent-description"));
    if (agent === undefined) throw new NegativeReason("refuse", "missing-parameter", "ams-agent-description", "name");
    const known = agent.platform === "" ? this.#known(agent.name) : undefined;
    if (asked.function === "register") {
      if (!known) throw new NegativeReason("refuse", "unauthorised");
      return () => fail("already-registered");
    }
    if (!known) return () => fail("not-registered");
    if (!agent.equals(sender) && known.owner !== sender.name) throw new NegativeReason("refuse", "unauthorised");
    return () => {
      if (asked.function === "deregister") this.#agents.kill(agent.name);
      else this.#modify(known, owner, state);
      return undefined;
    };
  }

  #known(name: string): AgentRecord | undefined {
    return this.#agents.described().find((one) => one.name === name);
  }

  #description(value: Value): { readonly agent: Aid | undefined; readonly state: string | undefined; readonly owner: string | undefined } {
    const given = new Parameters(value, "ams-agent-description", ["name", "ownership", "state"]);
    const state = (one: Value): string | undefined => STATES.find((name) => name === textOf(one));
    return { agent: given.optional("name", (one) => identifier(one, this.#platform)), state: given.optional("state", state), owner: given.text("ownership") };
  }

  #modify({ name, state: before }: AgentRecord, owner: string | undefined, state: string | undefined): void {
    if (state !== undefined && state !== before && !STEPS.includes(`${before} ${state}`)) {
      throw new NegativeReason("failure", "internal-error", `cannot make agent ${name} ${state}: it is ${before}`);
    }
    this.#agents.modify(name, owner, state);
  }

  /** Memberships of topics and groups, and monitors. */
  #tie(asked: ServiceRequest, sender: string): () => undefined {
    const of = identifier(onlyArgument(asked, "agent-identifier"), this.#platform);
    if (of === undefined) throw new NegativeReason("refuse", "missing-argument", "agent-identifier");
    const { name } = of;
    const isMonitor = asked.function.endsWith("watch");
    const fits = of.platform === "" && (isMonitor ? !CASTS.test(name) : asked.function === "leave" || isJoinable(name));
    if (!fits) throw new NegativeReason("refuse", "unexpected-argument", "agent-identifier");
    return () => {
      if (asked.function === "join") this.#agents.join(sender, name);
      else if (asked.function === "leave") this.#agents.leave(sender, name) || fail("not-registered");
      else if (asked.function === "unwatch") this.#watchers.get(name)?.delete(sender) || fail("not-registered");
      else if (!this.#known(name)) fail("not-registered");
      else this.#watchers.set(name, (this.#watchers.get(name) ?? new Set()).add(sender));
      return undefined;
    };
  }

  #search(asked: ServiceRequest): () => Value {
    const { template, most } = searchArguments(asked, "ams-agent-description");
    const { agent, state, owner } = this.#description(template);
    if (agent !== undefined && agent.platform !== "") return () => fullSet([]);
    const pattern = agent && new RegExp(`^${agent.name.replace(/[\\^$.+()[\]{}|]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")}$`, "su");
    const fits = (one: AgentRecord): boolean => (pattern?.test(one.name) ?? true) && (state ?? one.state) === one.state && (owner ?? one.owner) === one.owner;
    return () => {
      const found = this.#agents.described().filter(fits).slice(0, most);
      return fullSet(
        found.map((one) =>
          record("ams-agent-description", {
            name: fullIdentifier(Aid.of(one.name), this.#platform),
            ownership: one.owner === undefined ? undefined : atom(one.owner),
            state: atom(one.state),
          }),
        ),
      );
    };
  }
}

function fail(word: string): never {
  throw new NegativeReason("failure", word);
}
