import type { Agent } from "../agents/agent.js";
import type { Service } from "../agents/df.js";
import type { Platform } from "../agents/platform.js";
import { message as messageOf, type Message } from "../acl/message.js";
import type { Keep } from "../agents/saver.js";
import { WhimbrelError } from "../acl/errors.js";
import { MindAgent } from "./mind-agent.js";
import type { Society } from "./society.js";

/** Options for attaching a society to a platform. */
export interface AttachOptions {
  /** Receives errors of agents: a taken name, a refused service. Without it, errors are printed. */
  readonly onError?: (agent: string, error: unknown) => void;
  /** Called when an agent of the society has joined the platform. */
  readonly onAttached?: (name: string, agent: Agent) => void;
  /** Name of the society's place: the answer to `.node(N)` of its agents. No name by default. */
  readonly place?: string;
}

/** Messages in flight to the node at which minds pause, and at which they resume. */
const [UNACKNOWLEDGED_MAX, UNACKNOWLEDGED_MIN] = [4096, 1024];
/** Interval of checks while minds are paused. */
const LOOK_MS = 10;

/** An agent of a society with its counterpart on the platform, and the work that waits for that. */
interface Slot {
  agent: Agent | undefined;
  waiting: Message[];
  readonly services: Service[];
  /** Tail of the queue of requests to the DF. */
  requests: Promise<void>;
}

/**
 * Attaches a society to a platform. Each agent of the society, present or future, gets an agent of the same name on the
 * platform, over this session. Messages to outside agents leave through it, and messages for it are delivered to the
 * society. Services that it registers appear in the platform's DF. An agent that ends on one side ends on the other.
 *
 * If the engine stops (`failed`), durable agents do not end: close the platform, and another session can restore them.
 *
 * Resolves when all present agents have joined. The returned function detaches the society: its agents leave the
 * platform and continue locally.
 */
export async function attachSociety(society: Society, platform: Platform, options: AttachOptions = {}): Promise<() => Promise<void>> {
  return (await attachSlots(society, platform, options)).leave;
}

/** Attaches a society and also returns its slots. @internal */
export async function attachSlots(society: Society, platform: Platform, options: AttachOptions = {}): Promise<{ readonly slots: Slots; leave(): Promise<void> }> {
  const slots = new Slots(society, platform, options);
  society.attach(platform.name, options.place);
  const stops = [
    society.on("created", ({ agent }) => void slots.take(agent)),
    society.on("ended", ({ agent }) => slots.leave(agent)),
    society.on("worked", ({ agent, waiting }) => slots.worked(agent, waiting)),
    society.on("leaving", ({ agent, to }) => slots.go(agent, to)),
    society.on("sent", ({ agent, message }) => slots.send(agent, message)),
    society.on("stopped", () => void slots.leaveAll()),
    society.on("failed", (error) => void slots.lose(error)),
    society.on("offered", ({ agent, service, kind, offered }) => slots.offer(agent, { name: service, type: kind }, offered)),
  ];
  const taken = society.agents.map(({ name }) => slots.take(name));
  // Register services that were offered before.
  for (const { agent, service, kind } of society.offers) slots.offer(agent, { name: service, type: kind }, true);
  await Promise.all(taken);
  const leave = async (): Promise<void> => {
    for (const stop of stops) stop();
    if (!society.isOver) society.attach(undefined);
    await slots.leaveAll();
  };
  return { slots, leave };
}

/** A durable agent that has not joined yet. */
interface PendingAgent {
  readonly name: string;
  readonly path: string;
  readonly code: string;
  readonly options: Readonly<Record<string, string>>;
  /** True if the agent comes from another place, possibly with an unknown program. */
  readonly isComing?: boolean;
}

/** @internal */
export class Slots {
  readonly #slots = new Map<string, Slot>();
  /** Programs that arrived with agents. */
  readonly #admitted = new Set<string>();
  /** Agents that are leaving the platform. Their names stay reserved until they have left. */
  readonly #leaving = new Map<string, Promise<unknown>>();
  #isOver = false;
  /** Resumes minds that wait for the node. */
  #goOn: (() => void) | undefined;

  constructor(
    readonly society: Society,
    readonly platform: Platform,
    readonly options: AttachOptions,
  ) {}

  onError(name: string, error: unknown): void {
    if (this.options.onError) this.options.onError(name, error);
    else console.error(`agent ${name}:`, error);
  }

  /**
   * Creates a durable agent: first on the platform, then here, restored or new.
   *
   * @throws {@link WhimbrelError} if the saved state belongs to another program.
   */
  spawnKept(name: string, path: string, options: Readonly<Record<string, string>>, keep: Keep): Promise<Agent> {
    return this.#settle({ name, path, options, code: this.society.code(path).name }, keep);
  }

  /**
   * Accepts an agent from another place. Its program is fetched if it is unknown here.
   *
   * @throws {@link WhimbrelError} if the program cannot be fetched, or does not match the state.
   */
  accept(name: string, code: string, keep: Keep): Promise<Agent> {
    return this.#settle({ name, path: code, options: {}, code, isComing: true }, keep);
  }

  async #settle(pending: PendingAgent, keep: Keep): Promise<Agent> {
    const { name, code, isComing = false } = pending;
    const agent = new MindAgent(this.society, name, async () => {
      if (isComing && !this.#admitted.has(code)) {
        this.society.admit(code, await agent.fetchCode(code));
        this.#admitted.add(code);
      }
      this.#begin(agent, pending);
    });
    agent.onError = (error) => this.onError(name, error);
    await this.platform.create(name, agent, { ...keep, code });
    // Save at once, so that the node has state and code if it must run the agent.
    await agent.save().catch((error: unknown) => agent.signal.aborted || this.onError(name, error));
    return agent;
  }

  /** Creates the mind, restored or new. */
  #begin(agent: MindAgent, { name, path, code, options, isComing }: PendingAgent): void {
    const { restored } = agent;
    if (restored && restored.code !== code) throw new WhimbrelError(`cannot restore ${name}: its saved state belongs to ${restored.code}, not to ${code}`);
    if (!restored && isComing) throw new WhimbrelError(`cannot accept ${name}: its node sent no state`);
    const slot: Slot = { agent, waiting: [], services: [], requests: Promise.resolve() };
    this.#slots.set(name, slot);
    try {
      if (restored) this.society.restore(name, path, restored.state, isComing ? (restored.from ?? "") : undefined);
      else this.society.spawn(name, path, options);
    } catch (error) {
      this.#slots.delete(name);
      throw error;
    }
    agent.begin(path);
    void agent.ended.then(() => this.#ended(name, slot));
  }

  /** Forwards a durable agent's request to move. */
  go(name: string, to: string): void {
    const agent = this.#slots.get(name)?.agent;
    if (agent instanceof MindAgent) agent.go(to);
  }

  /** Forwards a durable agent's turn. */
  worked(name: string, waiting: number): void {
    const agent = this.#slots.get(name)?.agent;
    if (agent instanceof MindAgent) agent.worked(waiting);
  }

  /** Creates the platform agent of a society's agent, unless it exists. */
  async take(name: string): Promise<void> {
    if (this.#slots.has(name)) return;
    let joined = (): void => undefined;
    const slot: Slot = { agent: undefined, waiting: [], services: [], requests: new Promise((resolve) => (joined = resolve)) };
    this.#slots.set(name, slot);
    try {
      await this.#leaving.get(name);
      const agent = await this.platform.create(name, (one) => void one.onMessage((message) => this.#deliver(one, name, message)));
      slot.agent = agent;
      this.options.onAttached?.(name, agent);
      void agent.ended.then(() => this.#ended(name, slot));
      for (const message of slot.waiting.splice(0)) this.#say(agent, message);
      // The society's agent ended while its platform agent was created.
      if (this.#slots.get(name) !== slot) await agent.end();
    } catch (error) {
      if (this.#slots.get(name) === slot) this.#slots.delete(name);
      for (const message of slot.waiting) this.#giveBack(name, message);
      this.onError(name, error);
    } finally {
      joined();
    }
  }

  /** Delivers a message from the platform to the society. */
  #deliver(agent: Agent, name: string, message: Message): void {
    const missing = this.society.isOver ? [name] : this.society.deliver({ ...message, receivers: [agent.aid] });
    if (missing.length > 0 && message.performative !== "failure") agent.reply(message, "failure", "mailbox full, or agent ended");
  }

  /** Sends an agent's message to an agent outside. Messages of the society's AMS are sent by any agent with a slot. */
  send(name: string, message: Message): void {
    const slot = this.#slots.get(name) ?? (name === "ams" ? [...this.#slots.values()].find(({ agent }) => agent) : undefined);
    if (slot?.agent) this.#say(slot.agent, message);
    else if (slot) slot.waiting.push(message);
    else this.#giveBack(name, message);
  }

  #say(agent: Agent, message: Message): void {
    const { sender: _, ...rest } = message;
    try {
      agent.send(rest);
      if (!this.#goOn && this.platform.unacknowledged > UNACKNOWLEDGED_MAX) this.#wait();
    } catch (error) {
      this.onError(agent.name, error);
      this.#giveBack(message.sender.name, message);
    }
  }

  /** Pauses all minds until the node has acknowledged most messages. */
  #wait(): void {
    this.#goOn = this.society.hold();
    const look = (): void => {
      if (this.#goOn && this.platform.unacknowledged > UNACKNOWLEDGED_MIN && !this.#isOver) return void setTimeout(look, LOOK_MS);
      this.#goOn?.();
      this.#goOn = undefined;
    };
    look();
  }

  /** Reports a message that was not sent to its sender. */
  #giveBack(name: string, message: Message): void {
    if (this.society.isOver || message.performative === "failure" || name === "ams") return;
    const { conversationId, replyWith: inReplyTo, content } = message;
    this.society.deliver(messageOf({ performative: "failure", sender: "ams", receivers: name, content, conversationId, inReplyTo }));
  }

  /** Updates the services of an agent in the platform's DF. */
  offer(name: string, service: Service, offered: boolean): void {
    const slot = this.#slots.get(name);
    if (!slot) return;
    const at = slot.services.findIndex((other) => other.name === service.name && other.type === service.type);
    if (offered && at < 0) slot.services.push(service);
    else if (!offered && at >= 0) slot.services.splice(at, 1);
    else return;
    const [isFirst, isNone] = [slot.services.length === 1 && offered, slot.services.length === 0];
    const services = [...slot.services];
    slot.requests = slot.requests.then(async () => {
      const df = slot.agent?.df;
      if (!df) return;
      try {
        await (isNone ? df.deregister() : isFirst ? df.register({ services }) : df.modify({ services }));
      } catch (error) {
        if (!slot.agent?.signal.aborted) this.onError(name, error);
      }
    });
  }

  /** Ends the platform agent of an agent that ended in the society. */
  leave(name: string): void {
    const slot = this.#slots.get(name);
    this.#slots.delete(name);
    if (!slot?.agent || slot.agent.signal.aborted) return;
    // Cancel pending saves: the agent has no state any more.
    slot.agent.saver?.over();
    const left = slot.agent.end().catch((error: unknown) => this.onError(name, error));
    this.#leaving.set(name, left);
    void left.then(() => this.#leaving.get(name) === left && this.#leaving.delete(name));
  }

  /** Ends the society's agent when its platform agent ended: killed, or the session is over. */
  #ended(name: string, slot: Slot): void {
    // A new agent may have taken the name.
    if (this.#slots.get(name) !== slot) return;
    this.#slots.delete(name);
    if (this.#isOver || this.society.isOver) return;
    if (this.society.agents.some((agent) => agent.name === name)) this.society.kill(name);
  }

  async leaveAll(): Promise<void> {
    this.#isOver = true;
    const agents = [...this.#slots.values()].flatMap(({ agent }) => agent ?? []);
    this.#slots.clear();
    for (const agent of agents) agent.saver?.over();
    await Promise.all(agents.map((agent) => agent.end().catch((error: unknown) => this.onError(agent.name, error))));
  }

  /** Detaches all agents after the engine stopped. Ending durable agents would delete their saved states. */
  async lose(error: unknown): Promise<void> {
    for (const [name, { agent }] of this.#slots) {
      if (!(agent instanceof MindAgent) || agent.saver?.onLeave === "end") continue;
      this.#slots.delete(name);
      agent.lose();
      this.onError(name, new WhimbrelError(`the AgentSpeak engine failed; the agent waits for another session in its last saved state: ${String(error)}`));
    }
    await this.leaveAll();
  }
}
