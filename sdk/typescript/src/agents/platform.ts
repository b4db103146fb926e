import { Aid } from "../acl/aid.js";
import { Fifo } from "../collections/fifo.js";
import { WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import { Driver, type Sign } from "../session/driver.js";
import { ON_LEAVE, type Code, type CodePart, type Welcome } from "../session/frames.js";
import { MISSES_MAX, PATIENCE_MS, SENDINGS_AT_ONCE, SENDINGS_MAX } from "../session/limits.js";
import type { SessionStart, SessionError, SessionEvent, SessionOptions } from "../session/session.js";
import type { Connect } from "../session/transport.js";
import { Agent, type SessionPort, type Setup } from "./agent.js";
import { RefusedError, StayedError } from "./errors.js";
import { Expectations } from "./expectations.js";
import { StateSaver, SAVES, type Keep } from "./saver.js";
import { CODE_BYTES_MAX, CREATE_AGAIN_MS, CREATE_NOT_YET_MS_MAX } from "./limits.js";

/** A sent message whose sender does not wait for an answer. */
interface SentMessage {
  readonly frame: number;
  readonly agent: Agent;
  readonly to: readonly Aid[];
}

interface PendingCertificate {
  readonly frame: number;
  readonly done: (certificates: string) => void;
  readonly failed: (error: unknown) => void;
}

interface SessionAgent {
  readonly name: string;
  agent: Agent;
  /** Number of the frame that creates it. */
  readonly frame: number;
  created: ((name: string) => void) | undefined;
  failed: ((error: Error) => void) | undefined;
  /** Requests for certificates, in order. */
  readonly certified: PendingCertificate[];
  saver: StateSaver | undefined;
  /** Messages that arrived before a restored agent was set up. */
  early: Extract<SessionEvent, { type: "message" }>[] | undefined;
  /** True if set-up failed. The agent waits for another attempt. */
  isLeft: boolean;
  /** Code that is being fetched. */
  coming: CodeFetch | undefined;
  /** Creates the agent again, if that is possible. */
  readonly again: (() => Promise<Agent>) | undefined;
}

interface CodeFetch {
  readonly code: string;
  /** Number of the frame that asks for it. */
  readonly frame: number;
  readonly parts: Uint8Array[];
  bytes: number;
  readonly done: (code: Uint8Array) => void;
  readonly failed: (error: unknown) => void;
}

/** An agent that wants to move here. */
export interface Offer {
  readonly name: string;
  /** Name of the agent's code: `asl:HASH/NAME`, `wasm:HASH/NAME`, `ts:NAME` or `py:NAME`. */
  readonly code: string;
}

/** Redirections of an agent in a row, and unreachable nodes among them. */
interface Redirections {
  sendings: number;
  misses: number;
}

/** Reasons of a node for an agent that moved, or that the node handed over. */
const MOVED = "it moved to ";
const HANDED_OVER = "it goes on at another node";

/** Listener to the connection. `why` is the reason of a loss. */
export type ConnectionListener = (isConnected: boolean, why: string | undefined) => unknown;

/** Sent messages whose senders are remembered for refusals. A node refuses soon, or not at all. */
const SENT_MAX = 4096;

/**
 * A platform on which agents of this program live, over one session with a node. A broken connection is restored
 * without loss. When the session is over, its agents end.
 */
export class Platform {
  #driver: Driver;
  /** Begins a session that replaces the previous one. */
  readonly #begin: (beginning: SessionStart) => Driver;
  /** Grant of the last session. A session that was redirected has none yet. */
  #granted: Welcome | undefined;
  #isLeaving = false;
  readonly #entries = new Map<number, SessionAgent>();
  readonly #expected = new Expectations();
  #sent = new Fifo<SentMessage>();
  readonly #listeners = new Set<ConnectionListener>();
  /** Name of the place of its agents, if they know it. @internal */
  place: string | undefined;
  #isConnected = false;
  #take: ((offer: Offer) => unknown) | undefined;
  #over: ((error: SessionError) => void) | undefined;

  /** Resolves with the reason when the session is over. The code is `bye` after {@link Platform.close}. */
  readonly closed: Promise<SessionError> = new Promise((resolve) => (this.#over = resolve));

  private constructor(options: SessionOptions, connect: Connect, sign: Sign | undefined, welcomed: () => void, failed: (error: Error) => void) {
    const told = (event: SessionEvent): void => {
      if (event.type === "welcome") {
        this.#granted = event.welcome;
        this.#connected(true);
        welcomed();
      } else if (event.type === "lost") this.#connected(false, event.why);
      else if (event.type === "over") {
        this.#connected(false, event.error.message);
        failed(event.error);
      }
      this.#happened(event);
    };
    this.#begin = (beginning) => {
      // A replacement may take as long as its predecessor would have lived without a connection.
      const patienceMs = Math.max(options.patienceMs ?? PATIENCE_MS, this.#granted?.lease_ms ?? 0);
      // Ignore events of a session that was replaced.
      const driver: Driver = new Driver({ moves: true, follows: true, ...options, patienceMs }, connect, sign, (event) => driver === this.#driver && told(event), beginning);
      driver.session.open = () => [...this.#entries.values()].flatMap(({ agent }) => [...agent.given]);
      return driver;
    };
    this.#driver = this.#begin({});
  }

  /** Begins a session. @internal */
  static begin(options: SessionOptions, connect: Connect, { signal, sign }: { readonly signal?: AbortSignal | undefined; readonly sign?: Sign | undefined } = {}): Promise<Platform> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const abort = (): void => {
        reject(signal?.reason as Error);
        platform.#driver.session.abandon("the client gave up connecting");
        platform.#driver.pump();
      };
      const settled = (): void => signal?.removeEventListener("abort", abort);
      const welcomed = (): void => (settled(), resolve(platform));
      const failed = (error: Error): void => (settled(), reject(error));
      const platform: Platform = new Platform(options, connect, sign, welcomed, failed);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Reason why the session is over, if it is; {@link Platform.closed} resolves with it. */
  get over(): SessionError | undefined {
    return this.#driver.session.over;
  }

  /** True while there is a connection. Without one, the platform reconnects and messages wait. */
  get isConnected(): boolean {
    return this.#isConnected && this.#driver.session.welcome !== undefined;
  }

  /** Calls back when the connection is lost or restored. The returned function ends that. */
  onConnection(tell: ConnectionListener): () => void {
    this.#listeners.add(tell);
    return () => void this.#listeners.delete(tell);
  }

  #connected(isConnected: boolean, why?: string): void {
    if (isConnected === this.#isConnected) return;
    this.#isConnected = isConnected;
    for (const tell of this.#listeners) {
      try {
        tell(isConnected, why);
      } catch (error) {
        console.error("whimbrel: a connection listener throws:", error);
      }
    }
  }

  /** Name of the platform, after `@` in its agents' identifiers. */
  get name(): string {
    return this.#granted?.platform ?? "";
  }

  /** Maximum number of agents in this session. */
  get agentsMax(): number {
    return this.#granted?.agents ?? 0;
  }

  /** Agents of this session. */
  get agents(): readonly Agent[] {
    return [...this.#entries.values()].filter(({ created, isLeft }) => created === undefined && !isLeft).map(({ agent }) => agent);
  }

  /** Number of messages that the node has not acknowledged. */
  get unacknowledged(): number {
    return this.#driver.session.unacknowledged;
  }

  /**
   * Creates an agent, from an object of a class or a set-up function. Returns it when it is registered with the AMS and
   * set up.
   *
   * A durable agent is restored if one of its name waits on this node for this client. If its last session is not over
   * yet, or the node is still recovering, this call waits. If the agent waits on another node, or belongs there, a
   * session without agents begins anew with that node. If set-up fails, the agent waits for another attempt, here or in
   * another session. If its node hands it over to another node, it ends and its {@link Agent.successor} continues.
   *
   * @throws {@link RefusedError} if the node refuses it: `name-taken`, `not-allowed`, `bad-name`, `too-many-agents`.
   * `elsewhere` if the agent waits on another node, and this session has other agents.
   */
  create(name: string, setup?: Setup, keep?: Keep): Promise<Agent>;
  create<A extends Agent>(name: string, agent: A, keep?: Keep): Promise<A>;
  async create(name: string, given: Setup | Agent = () => undefined, keep?: Keep): Promise<Agent> {
    check(name, keep);
    const agent = given instanceof Agent ? given : new Agent();
    const setup = given instanceof Agent ? () => given.setup() : () => given(agent);
    const make = given instanceof Agent ? keep?.again : () => given;
    const again = keep && make && (async () => this.create(name, (await make()) as Setup, keep));
    const begun = performance.now();
    const patience: Partial<Record<Code, number>> = { "name-taken": keep ? 2 * (this.#granted?.lease_ms ?? 0) : 0, "not-yet": CREATE_NOT_YET_MS_MAX };
    const redirections: Redirections = { sendings: 0, misses: 0 };
    for (;;) {
      const driver = this.#driver;
      try {
        return await this.#create(name, agent, setup, keep, again);
      } catch (error) {
        if (!(error instanceof RefusedError) || agent.signal.aborted) throw error;
        if (error.code === "elsewhere") await this.#follow(error, driver, redirections);
        else if (performance.now() < begun + (patience[error.code] ?? 0)) await pause(CREATE_AGAIN_MS);
        else throw error;
      }
    }
  }

  /**
   * Begins the session anew at the node that has, or should have, the agent. A session with other agents stays. After
   * too many redirections or unreachable nodes, the agent is created wherever the last one leads.
   */
  async #follow(error: RefusedError, driver: Driver, redirections: Redirections): Promise<void> {
    // Another agent's creation may have replaced the session meanwhile.
    if (this.#driver !== driver) return;
    const isSettled = (): boolean => this.#isLeaving || [...this.#entries.values()].some(({ created }) => created === undefined);
    if (driver.session.hasMissed) redirections.misses++;
    const stays = ++redirections.sendings > SENDINGS_MAX || redirections.misses >= MISSES_MAX;
    if (isSettled() || redirections.sendings > SENDINGS_MAX + 1) throw error;
    if (error.text === "" || redirections.sendings > SENDINGS_AT_ONCE || this.#entries.size > 0) await pause(CREATE_AGAIN_MS);
    if (this.#isLeaving) throw error;
    if (this.#driver !== driver || this.#entries.size > 0) return;
    this.#expected.clear();
    this.#sent = new Fifo();
    this.#driver = this.#begin({ stays, ...(error.text !== "" && !stays && { place: error.text }) });
    driver.session.bye();
    driver.pump();
  }

  async #create(name: string, agent: Agent, setup: () => unknown, keep: Keep | undefined, again: SessionAgent["again"]): Promise<Agent> {
    const { session } = this.#driver;
    if (session.over) throw session.over;
    for (const [number, entry] of this.#entries) if (keep && entry.isLeft && entry.name === name) return this.#takeOver(number, entry, agent, setup, keep);
    const number = this.#freeNumber();
    agent.claim();
    const frame = session.create(number, name);
    const saver = keep && this.#saverOf(number, keep);
    const entry: SessionAgent = { name, agent, frame, created: undefined, failed: undefined, certified: [], saver, early: undefined, isLeft: false, coming: undefined, again };
    const made = new Promise<string>((created, failed) => {
      entry.created = created;
      entry.failed = failed;
    });
    this.#entries.set(number, entry);
    this.#expected.add(frame, number, (error) => {
      this.#entries.delete(number);
      agent.release();
      entry.failed?.(error);
    });
    this.#driver.pump();
    await made;
    return this.#setUp(number, entry, setup);
  }

  /** Gives a restored agent, whose set-up failed, to another program, with all its messages. */
  #takeOver(number: number, entry: SessionAgent, agent: Agent, setup: () => unknown, keep: Keep): Promise<Agent> {
    agent.claim();
    const saver = this.#saverOf(number, keep);
    saver.restored = entry.saver?.restored;
    saver.upto = entry.saver?.upto ?? 0;
    Object.assign(entry, { agent, saver, isLeft: false });
    this.#driver.pump();
    agent.bind(this.#portOf(Aid.of(`${entry.name}@${this.name}`), number, entry));
    for (const { message, bytes, number: given } of entry.early ?? []) agent.deliver(message, bytes, given);
    return this.#setUp(number, entry, setup);
  }

  async #setUp(number: number, entry: SessionAgent, setup: () => unknown): Promise<Agent> {
    const { agent, saver } = entry;
    try {
      await setup();
      agent.settle();
      entry.early = undefined;
    } catch (error) {
      if (agent.signal.aborted) throw error;
      // A failed set-up must not delete a saved state.
      if (saver?.restored) {
        entry.isLeft = true;
        saver.over();
        agent.over(`failed: ${error instanceof Error ? error.message : String(error)}`);
        throw error;
      }
      this.#driver.session.end(number);
      this.#driver.pump();
      // Return only when the name is free again.
      await agent.ended;
      throw error;
    }
    return agent;
  }

  #saverOf(agent: number, keep: Keep): StateSaver {
    const { session } = this.#driver;
    const { message_bytes: bytes = Infinity } = this.#granted ?? {};
    const saver: StateSaver = new StateSaver(keep, {
      // Base64 makes a state a third longer.
      stateBytesMax: session.form === "json" ? Math.floor((bytes * 3) / 4) : bytes,
      ...(this.place !== undefined && { place: this.place }),
      tell: (error) => this.#entries.get(agent)?.agent.tell(error),
      say: ({ state, upto, also, to }) => {
        const code = saver.restored?.code ?? keep.code ?? "ts:";
        const number = session.save(agent, upto, code, state, also, to, to === null ? null : (this.place ?? null));
        const entry = this.#entries.get(agent);
        if (entry?.early) {
          saver.restored = { ...saver.restored, code, state };
          entry.early = entry.early.filter(({ number: given }) => given > upto && !also.includes(given));
        }
        this.#expected.add(number, agent, (error) => saver.refused(number, error), true);
        this.#driver.pump();
        return number;
      },
    });
    const kept = session.keep(agent, saver.onLeave, saver.holds);
    this.#expected.add(kept, agent, (error) => this.#entries.get(agent)?.agent.tell(error), true);
    return saver;
  }

  /** Sends the agent's code to a node that has to run the agent after this session. */
  #giveCode(agent: number, code: string): void {
    const entry = this.#entries.get(agent);
    if (!entry) return;
    // Empty code tells the node that the client has none. The node keeps the state.
    const bytes = entry.saver?.code?.() ?? new Uint8Array();
    const frame = this.#driver.session.code(agent, code, bytes);
    this.#expected.add(frame, agent, (error) => entry.agent.tell(error), true);
    this.#driver.pump();
  }

  /** The node has this state of an agent. */
  #saved(agent: number, of: number): void {
    this.#expected.saved(agent, of);
    this.#entries.get(agent)?.saver?.saved(of);
  }

  /**
   * Accepts agents that move here: `take` creates an agent of the offered name with durability, and that gets the
   * state. If `take` throws, or does not create the agent within 10 s, the agent stays, or returns, with that reason.
   * Without `take`, all offers are refused.
   */
  onOffer(take: ((offer: Offer) => unknown) | undefined): void {
    this.#take = take;
  }

  async #offered({ name, code }: Offer): Promise<void> {
    // A repeated offer: the agent is here already.
    for (const entry of this.#entries.values()) if (entry.name === name && !entry.isLeft) return;
    try {
      if (!this.#take) throw new WhimbrelError("its client accepts no agents");
      await this.#take({ name, code });
    } catch (error) {
      this.#stays(name, error);
    }
  }

  /** Moves an agent because another agent asked for it. */
  async #yield(agent: number, to: string): Promise<void> {
    const entry = this.#entries.get(agent);
    if (!entry) return;
    try {
      if (!entry.saver?.yields || entry.isLeft) throw new WhimbrelError("its client does not let it move");
      await entry.agent.yieldTo(to);
    } catch (error) {
      // A refusal by the node was reported already.
      if (!(error instanceof StayedError && error.isNodes)) this.#stays(entry.name, error);
    }
  }

  /** Returns an agent that arrived and cannot be set up. Other agents wait for another attempt. @internal */
  giveBack(name: string, why: unknown): void {
    for (const entry of this.#entries.values()) if (entry.isLeft && entry.name === name) this.#stays(name, why);
  }

  #stays(name: string, why: unknown): void {
    const { session } = this.#driver;
    if (session.over) return;
    session.stays(name, why instanceof Error ? why.message : String(why));
    this.#driver.pump();
  }

  /** Handles a part of an agent's code. */
  #codeCame({ agent, code, at, of, bytes }: CodePart): void {
    const entry = this.#entries.get(agent);
    const coming = entry?.coming;
    if (!entry || coming?.code !== code) return;
    const isNext = at === coming.bytes && of <= CODE_BYTES_MAX && at + bytes.length <= of && of > 0;
    coming.parts.push(bytes);
    coming.bytes += bytes.length;
    if (isNext && coming.bytes < of) return;
    entry.coming = undefined;
    this.#expected.take(coming.frame);
    if (!isNext) return coming.failed(new WhimbrelError(of === 0 ? `its node does not have the code ${code}` : `unexpected part of the code ${code}`));
    const whole = new Uint8Array(of);
    for (let place = 0, index = 0; index < coming.parts.length; place += coming.parts[index++]?.length ?? 0) whole.set(coming.parts[index] ?? [], place);
    coming.done(whole);
  }

  /** Ends all agents and the session, after the node has all messages. */
  async close(): Promise<void> {
    this.#isLeaving = true;
    this.#driver.session.bye();
    this.#driver.pump();
    await this.closed;
  }

  #freeNumber(): number {
    for (let number = 0; number < Math.max(1, this.agentsMax); number++) if (!this.#entries.has(number)) return number;
    throw new RefusedError("too-many-agents", `the session has its maximum of ${this.agentsMax} agents`);
  }

  #happened(event: SessionEvent): void {
    switch (event.type) {
      case "created":
        return this.#created(event.agent, event.name);
      case "ended":
        return this.#ended(event.agent, event.reason);
      case "message":
        return this.#deliver(event);
      case "saved":
        return this.#saved(event.agent, event.of);
      case "lacks":
        return this.#giveCode(event.agent, event.code);
      case "code":
        return this.#codeCame(event.part);
      case "yield":
        return void this.#yield(event.agent, event.to);
      case "offer":
        return void this.#offered(event);
      case "state": {
        const entry = this.#entries.get(event.agent);
        if (!entry?.saver) return;
        entry.saver.restored = { code: event.code, state: event.state, ...(event.from !== null && { from: event.from }) };
        entry.early = [];
        return;
      }
      case "unreadable":
        return this.#entries.get(event.agent)?.agent.tell(new WhimbrelError(`cannot decode a received message: ${event.why}`));
      case "certified":
        return this.#certified(event.agent, event.certificates);
      case "refused":
        return this.#refused(event.of, event.code, event.text);
      case "over":
        for (const [number] of this.#entries) this.#ended(number, event.error.message, event.error);
        return this.#over?.(event.error);
      default:
        return undefined;
    }
  }

  #deliver(event: Extract<SessionEvent, { type: "message" }>): void {
    const entry = this.#entries.get(event.agent);
    entry?.early?.push(event);
    if (entry && !entry.isLeft) entry.agent.deliver(event.message, event.bytes, event.number);
  }

  #certified(agent: number, certificates: string): void {
    const first = this.#entries.get(agent)?.certified.shift();
    if (!first) return;
    this.#expected.take(first.frame);
    first.done(certificates);
  }

  #refused(of: number, code: Code, text: string): void {
    const refused = this.#expected.take(of);
    if (refused) return refused(new RefusedError(code, text));
    const sent = [...this.#sent].find(({ frame }) => frame === of);
    if (sent) sent.agent.tell(new RefusedError(code, sent.to.length === 0 ? text : `message to ${sent.to.join(", ")}: ${text}`));
    // A message to an agent here could not be delivered. Its sender knows.
    else if (of === 0) for (const { agent } of this.#entries.values()) agent.tell(new RefusedError(code, text));
  }

  /** Remembers the sender of a message, in case the node refuses it. Keeps no content. */
  #remember(frame: number, agent: Agent, message: Message): void {
    const acknowledged = frame - this.unacknowledged;
    let done = 0;
    while (this.#sent.size - done >= SENT_MAX && (this.#sent.at(done)?.frame ?? Infinity) <= acknowledged) done++;
    this.#sent.drop(done);
    this.#sent.push({ frame, agent, to: message.receivers });
  }

  #created(number: number, name: string): void {
    const entry = this.#entries.get(number);
    if (entry === undefined) return;
    // From now on a refusal says what the agent cannot have. Its set-up may say who hears that.
    this.#expected.add(entry.frame, number, (error) => void pause(0).then(() => entry.agent.tell(error)));
    entry.agent.bind(this.#portOf(Aid.of(name), number, entry));
    const { created } = entry;
    entry.created = entry.failed = undefined;
    created?.(name);
  }

  #portOf(aid: Aid, number: number, entry: SessionAgent): SessionPort {
    const { agent, certified, saver } = entry;
    const { session } = this.#driver;
    const driver = this.#driver;
    const expected = this.#expected;
    /** Delays messages while the agent is moving. It must not send them twice. */
    const say = (what: () => void): void => (saver ? saver.stayAnd(what) : what());
    const sent = (message: Message): number => {
      const frame = session.send(number, message);
      saver?.said(session.lastBytes, message.receivers.length);
      driver.pump();
      return frame;
    };
    return {
      aid,
      saver,
      send: (message) => say(() => this.#remember(sent(message), agent, message)),
      ask: (message, refused) => {
        let forget: (() => void) | undefined;
        say(() => (forget = expected.ask(sent(message), number, refused)));
        return () => forget?.();
      },
      fetchCode: (code) =>
        new Promise((done, failed) => {
          const frame = session.lacks(number, code);
          entry.coming = { code, frame, parts: [], bytes: 0, done, failed };
          expected.add(frame, number, failed);
          driver.pump();
        }),
      handled: () => {
        session.isStale = true;
        driver.pump();
      },
      end: () => {
        session.end(number);
        driver.pump();
      },
      certify: (request) =>
        new Promise((done, failed) => {
          const frame = session.certify(number, request);
          const waiting = { frame, done, failed };
          certified.push(waiting);
          const refused = (error: RefusedError): void => {
            certified.splice(certified.indexOf(waiting), 1);
            failed(error);
          };
          expected.add(frame, number, refused);
          driver.pump();
        }),
    };
  }

  #ended(number: number, reason: string, error?: Error): void {
    const entry = this.#entries.get(number);
    this.#entries.delete(number);
    if (entry === undefined) return;
    this.#expected.forget(number);
    this.#sent.dropIf(({ agent }) => agent === entry.agent);
    const isHandedOver = reason === HANDED_OVER;
    entry.failed?.(error ?? (isHandedOver ? new RefusedError("not-yet", reason) : new WhimbrelError(reason)));
    entry.coming?.failed(new WhimbrelError(reason));
    entry.saver?.over(reason.startsWith(MOVED));
    // The predecessor ends first.
    const successor = isHandedOver && entry.created === undefined && !entry.isLeft ? entry.again && Promise.resolve().then(entry.again) : undefined;
    successor?.catch(() => undefined);
    entry.agent.over(reason, successor);
    for (const { failed } of entry.certified) failed(entry.agent.signal.reason);
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Checks a name and options. An invalid frame would end the session with all its agents. */
function check(name: string, { onLeave = "wait", save = "no" }: Keep = {}): void {
  if (typeof name !== "string" || /\p{Surrogate}/u.test(name)) throw new RefusedError("bad-name", `agent name ${JSON.stringify(name)}: not a text`);
  if (!ON_LEAVE.includes(onLeave)) throw new WhimbrelError(`invalid onLeave ${String(onLeave)}: use one of ${ON_LEAVE.join(", ")}`);
  if (!SAVES.includes(save)) throw new WhimbrelError(`invalid save ${String(save)}: use one of ${SAVES.join(", ")}`);
}
