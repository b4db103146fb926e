import type { Agent } from "../agents/agent.js";
import type { Service } from "../agents/df.js";
import type { Platform } from "../agents/platform.js";
import { message as messageOf, type Message } from "../acl/message.js";
import type { Keep } from "../agents/keeper.js";
import { WhimbrelError } from "../acl/errors.js";
import { MindSeat } from "./mind-seat.js";
import type { Society } from "./society.js";

/** How the agents of a society come to a platform. */
export interface SeatOptions {
  /** Told of what goes wrong: an agent whose name is taken, a service that is refused. Prints it, if nobody is. */
  readonly onError?: (agent: string, error: unknown) => void;
  /** Told when an agent of the society is on the platform. */
  readonly onSeat?: (agent: string, seat: Agent) => void;
  /** What the place is called where the society is: `.node(N)` of its agents; none if not said. */
  readonly place?: string;
}

/** How many messages may be on their way to the node before minds wait for it, and how few before they go on. */
const [UNACKNOWLEDGED_MAX, UNACKNOWLEDGED_MIN] = [4096, 1024];
/** Between two looks at how many there are. */
const LOOK_MS = 10;

/** An agent of a society on a platform: what it is there, and what waits until it is. */
interface Seat {
  agent: Agent | undefined;
  waiting: Message[];
  readonly services: Service[];
  /** What is said to the DF, one thing after the other. */
  saying: Promise<void>;
}

/**
 * Makes a society part of a platform: each of its agents, those that come later too, is an agent there of the same name, over this session.
 * What it says to others goes out as its word, what comes for it is delivered, the services that it registers are in the platform's DF. An agent that
 * ends on one side ends on the other. Should the engine stop (`failed`) those that are kept do not end: close the platform, and another session goes on
 * with them. Resolves when all that are there have their seats; what is returned takes that back: they leave the platform, and go on here.
 */
export async function attachSociety(society: Society, platform: Platform, options: SeatOptions = {}): Promise<() => Promise<void>> {
  return (await seat(society, platform, options)).leave;
}

/** As {@link attachSociety}, with the seats. @internal */
export async function seat(society: Society, platform: Platform, options: SeatOptions = {}): Promise<{ readonly seats: Seats; leave(): Promise<void> }> {
  const seats = new Seats(society, platform, options);
  society.attach(platform.name, options.place);
  const stops = [
    society.on("created", ({ agent }) => void seats.take(agent)),
    society.on("ended", ({ agent }) => seats.leave(agent)),
    society.on("worked", ({ agent, waiting }) => seats.worked(agent, waiting)),
    society.on("leaving", ({ agent, to }) => seats.go(agent, to)),
    society.on("sent", ({ agent, message }) => seats.send(agent, message)),
    society.on("stopped", () => void seats.leaveAll()),
    society.on("failed", (error) => void seats.lose(error)),
    society.on("offered", ({ agent, service, kind, offered }) => seats.offer(agent, { name: service, type: kind }, offered)),
  ];
  const taken = society.agents.map(({ name }) => seats.take(name));
  // What they offered before is offered there, too.
  for (const { agent, service, kind } of society.offers) seats.offer(agent, { name: service, type: kind }, true);
  await Promise.all(taken);
  const leave = async (): Promise<void> => {
    for (const stop of stops) stop();
    if (!society.isOver) society.attach(undefined);
    await seats.leaveAll();
  };
  return { seats, leave };
}

/** An agent that the platform keeps, before it has its seat. */
interface Newcomer {
  readonly name: string;
  readonly path: string;
  readonly code: string;
  readonly options: Readonly<Record<string, string>>;
  /** It comes from elsewhere, perhaps with a program that was never here. */
  readonly isComing?: boolean;
}

/** @internal */
export class Seats {
  readonly #seats = new Map<string, Seat>();
  /** Programs that came with agents. */
  readonly #admitted = new Set<string>();
  /** Agents that leave the platform: until they have, nobody else can have their names. */
  readonly #leaving = new Map<string, Promise<unknown>>();
  #isOver = false;
  /** Has minds go on that wait for the node. */
  #goOn: (() => void) | undefined;

  constructor(
    readonly society: Society,
    readonly platform: Platform,
    readonly options: SeatOptions,
  ) {}

  onError(name: string, error: unknown): void {
    if (this.options.onError) this.options.onError(name, error);
    else console.error(`agent ${name}:`, error);
  }

  /**
   * Creates an agent that the platform keeps: there first, and then here, where it was or anew.
   *
   * @throws {@link WhimbrelError} if it was another program's.
   */
  spawnKept(name: string, path: string, options: Readonly<Record<string, string>>, keep: Keep): Promise<Agent> {
    return this.#settle({ name, path, options, code: this.society.code(path).name }, keep);
  }

  /**
   * Takes in an agent that comes from elsewhere: its program, if that was never here, comes after it.
   *
   * @throws {@link WhimbrelError} if that is not to be had, or its state is not of it.
   */
  accept(name: string, code: string, keep: Keep): Promise<Agent> {
    return this.#settle({ name, path: code, options: {}, code, isComing: true }, keep);
  }

  async #settle(newcomer: Newcomer, keep: Keep): Promise<Agent> {
    const { name, code, isComing = false } = newcomer;
    const agent = new MindSeat(this.society, name, async () => {
      if (isComing && !this.#admitted.has(code)) {
        this.society.admit(code, await agent.fetchCode(code));
        this.#admitted.add(code);
      }
      this.#begin(agent, newcomer);
    });
    agent.onError = (error) => this.onError(name, error);
    await this.platform.create(name, agent, { ...keep, code });
    // From now on it is at the node, with its code, if it is to go on there.
    await agent.save().catch((error: unknown) => agent.signal.aborted || this.onError(name, error));
    return agent;
  }

  /** Has its mind be, where it was or anew. */
  #begin(agent: MindSeat, { name, path, code, options, isComing }: Newcomer): void {
    const { restored } = agent;
    if (restored && restored.code !== code) throw new WhimbrelError(`${name} is kept, and is of ${restored.code}, not of ${code}`);
    if (!restored && isComing) throw new WhimbrelError(`${name} is to come here, and did not`);
    const seat: Seat = { agent, waiting: [], services: [], saying: Promise.resolve() };
    this.#seats.set(name, seat);
    try {
      if (restored) this.society.restore(name, path, restored.state, isComing ? (restored.from ?? "") : undefined);
      else this.society.spawn(name, path, options);
    } catch (error) {
      this.#seats.delete(name);
      throw error;
    }
    agent.begin(path);
    void agent.ended.then(() => this.#ended(name, seat));
  }

  /** A kept agent wants to be elsewhere. */
  go(name: string, to: string): void {
    const agent = this.#seats.get(name)?.agent;
    if (agent instanceof MindSeat) agent.go(to);
  }

  /** A kept agent had turns. */
  worked(name: string, waiting: number): void {
    const agent = this.#seats.get(name)?.agent;
    if (agent instanceof MindSeat) agent.worked(waiting);
  }

  /** The agent is on the platform from now on, if it is not. */
  async take(name: string): Promise<void> {
    if (this.#seats.has(name)) return;
    let seated = (): void => undefined;
    const seat: Seat = { agent: undefined, waiting: [], services: [], saying: new Promise((resolve) => (seated = resolve)) };
    this.#seats.set(name, seat);
    try {
      await this.#leaving.get(name);
      const agent = await this.platform.create(name, (one) => void one.onMessage((message) => this.#deliver(one, name, message)));
      seat.agent = agent;
      this.options.onSeat?.(name, agent);
      void agent.ended.then(() => this.#ended(name, seat));
      for (const message of seat.waiting.splice(0)) this.#say(agent, message);
      // It ended before it was there.
      if (this.#seats.get(name) !== seat) await agent.end();
    } catch (error) {
      if (this.#seats.get(name) === seat) this.#seats.delete(name);
      for (const message of seat.waiting) this.#giveBack(name, message);
      this.onError(name, error);
    } finally {
      seated();
    }
  }

  /** What came for it from the platform. */
  #deliver(seat: Agent, name: string, message: Message): void {
    const missing = this.society.isOver ? [name] : this.society.deliver({ ...message, receivers: [seat.aid] });
    if (missing.length > 0 && message.performative !== "failure") seat.reply(message, "failure", "the mailbox is full, or the agent ended");
  }

  /** What it said to somebody elsewhere. What the society's AMS says is said by whoever is there. */
  send(name: string, message: Message): void {
    const seat = this.#seats.get(name) ?? (name === "ams" ? [...this.#seats.values()].find(({ agent }) => agent) : undefined);
    if (seat?.agent) this.#say(seat.agent, message);
    else if (seat) seat.waiting.push(message);
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

  /** Minds say no more until the node has most of what they said. */
  #wait(): void {
    this.#goOn = this.society.hold();
    const look = (): void => {
      if (this.#goOn && this.platform.unacknowledged > UNACKNOWLEDGED_MIN && !this.#isOver) return void setTimeout(look, LOOK_MS);
      this.#goOn?.();
      this.#goOn = undefined;
    };
    look();
  }

  /** It hears that what it said went nowhere. */
  #giveBack(name: string, message: Message): void {
    if (this.society.isOver || message.performative === "failure" || name === "ams") return;
    const { conversationId, replyWith: inReplyTo, content } = message;
    this.society.deliver(messageOf({ performative: "failure", sender: "ams", receivers: name, content, conversationId, inReplyTo }));
  }

  /** The services that the DF has of it are those that it registered here. */
  offer(name: string, service: Service, offered: boolean): void {
    const seat = this.#seats.get(name);
    if (!seat) return;
    const at = seat.services.findIndex((other) => other.name === service.name && other.type === service.type);
    if (offered && at < 0) seat.services.push(service);
    else if (!offered && at >= 0) seat.services.splice(at, 1);
    else return;
    const [isFirst, isNone] = [seat.services.length === 1 && offered, seat.services.length === 0];
    const services = [...seat.services];
    seat.saying = seat.saying.then(async () => {
      const df = seat.agent?.df;
      if (!df) return;
      try {
        await (isNone ? df.deregister() : isFirst ? df.register({ services }) : df.modify({ services }));
      } catch (error) {
        if (!seat.agent?.signal.aborted) this.onError(name, error);
      }
    });
  }

  /** It ended here. */
  leave(name: string): void {
    const seat = this.#seats.get(name);
    this.#seats.delete(name);
    if (!seat?.agent || seat.agent.signal.aborted) return;
    // There is nothing to be written of it any more.
    seat.agent.keeper?.over();
    const left = seat.agent.end().catch((error: unknown) => this.onError(name, error));
    this.#leaving.set(name, left);
    void left.then(() => this.#leaving.get(name) === left && this.#leaving.delete(name));
  }

  /** It ended there: killed, or the session is over. */
  #ended(name: string, seat: Seat): void {
    // Another one may have its name by now.
    if (this.#seats.get(name) !== seat) return;
    this.#seats.delete(name);
    if (this.#isOver || this.society.isOver) return;
    if (this.society.agents.some((agent) => agent.name === name)) this.society.kill(name);
  }

  async leaveAll(): Promise<void> {
    this.#isOver = true;
    const agents = [...this.#seats.values()].flatMap(({ agent }) => agent ?? []);
    this.#seats.clear();
    for (const agent of agents) agent.keeper?.over();
    await Promise.all(agents.map((agent) => agent.end().catch((error: unknown) => this.onError(agent.name, error))));
  }

  /** The engine stopped. To end those that are kept would be to forget what the platform has of them. */
  async lose(error: unknown): Promise<void> {
    for (const [name, { agent }] of this.#seats) {
      if (!(agent instanceof MindSeat) || agent.keeper?.onLeave === "end") continue;
      this.#seats.delete(name);
      agent.lose();
      this.onError(name, new WhimbrelError(`it waits for another session, as it was last saved: ${String(error)}`));
    }
    await this.leaveAll();
  }
}
