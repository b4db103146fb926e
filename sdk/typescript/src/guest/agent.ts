/** WebAssembly agents of a platform. */
import { Agent } from "../agents/agent.js";
import { Progress } from "../agents/saver.js";
import { DeadlineError, EndedError, NotUnderstoodError, RefuseError, StayedError } from "../agents/errors.js";
import type { Service } from "../agents/df.js";
import { clock } from "../agentspeak/clock.js";
import type { Aid } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import type { Value } from "../acl/value.js";
import { DENIED, FULL, TIMEOUT, UNKNOWN, type Answer, type Hop, type LogLevel, type Question, type Surroundings } from "./call-context.js";
import { agentNamed } from "./frame.js";
import { Guest, type HopResult, type Outcome } from "./guest.js";
import type { GuestModule } from "./module.js";
import type { GuestStorage } from "./storage.js";

/** Options of a WebAssembly agent. */
export interface GuestOptions {
  /** Argument of its first call. */
  readonly options?: Readonly<Record<string, Value>>;
  /** State to continue from, of an agent here or on a node. */
  readonly state?: Uint8Array;
  /** Name of the agent's place; empty by default. */
  readonly node?: string;
  /** Receives printed lines; the console by default. */
  readonly onPrint?: (text: string) => void;
  /** Receives log lines; the console by default. */
  readonly onLog?: (level: LogLevel, text: string) => void;
  /** Storage beside its memory. Without it, storage is denied. */
  readonly storage?: GuestStorage;
  /** True if it moved here; it is then notified. */
  readonly isArriving?: boolean;
  /**
   * Moves the agent, or a clone, to another place, with the state that {@link GuestAgent.snapshot} returns meanwhile.
   * Resolves with the result; undefined if the agent has left. By default, durable agents move through their node;
   * others, and clones, stay.
   */
  readonly travel?: (hop: Hop, agent: GuestAgent) => Promise<HopResult | undefined>;
}

/** Time slice for its turns, before the thread serves other events. */
const SLICE_MS = 8;

/**
 * An agent that is a WebAssembly module, with the same interface and state as on nodes.
 *
 * ```ts
 * const module = await GuestModule.compile(await (await fetch("/counter.wasm")).arrayBuffer());
 * const counter = await platform.create("counter", new GuestAgent(module));
 * ```
 */
export class GuestAgent extends Agent {
  readonly #options: GuestOptions;
  #guest: Guest | undefined;
  #isWorking = false;
  /** True if something arrived during its turn. */
  #hasMore = false;
  /** The pending end, once requested. */
  #end: Promise<void> | undefined;
  #isSetUp = false;
  /** Callbacks of messages that the guest has not taken. */
  readonly #untaken = new Set<() => void>();
  /** Progress with messages, and callbacks of those that were not delivered to the guest yet. */
  readonly #progress = new Progress();
  readonly #coming = new Map<Message, () => void>();
  #failure: Error | undefined;
  #stopTimer: (() => void) | undefined;
  #wakesAt = Infinity;
  #until = Infinity;
  /** Requested move, with its callbacks. */
  #wanted: { readonly place: string; done(): void; failed(error: unknown): void } | undefined;
  #module: GuestModule | undefined;
  readonly #fetch: ((agent: GuestAgent) => Promise<GuestModule>) | undefined;
  #stopLifetime: (() => void) | undefined;
  /** Services in the DF; undefined before the first query. */
  #services: Service[] | undefined;

  /** Takes the module, or a function that fetches it once the agent is on the platform. */
  constructor(module: GuestModule | ((agent: GuestAgent) => Promise<GuestModule>), options: GuestOptions = {}) {
    super();
    if (typeof module === "function") this.#fetch = module;
    else this.#module = module;
    this.#options = options;
  }

  /** The module. */
  get module(): GuestModule {
    if (!this.#module) throw new WhimbrelError("the agent's module is not loaded yet");
    return this.#module;
  }

  /** Makes the first call. */
  override async setup(): Promise<void> {
    const { options, isArriving = false } = this.#options;
    this.#module ??= await this.#fetch?.(this);
    const state = (await this.#restored()) ?? this.#options.state;
    const guest = new Guest(this.module, this.#surroundings(), state ?? options ?? {});
    if (isArriving) guest.hopped({ type: "arrived", from: this.restored?.from ?? "" });
    this.#guest = guest;
    if (this.saver) {
      this.saver.isStepwise = true;
      this.saver.code = () => this.module.bytes;
      this.saver.source = () => ({ state: guest.snapshot(), ...this.#progress.covered });
    }
    this.onMessage((message) => this.#deliver(message));
    // An agent that never rests counts as set up after one step. An arriving agent makes no step here, because it may
    // leave in its first.
    if (!isArriving) await this.#work(1);
    // The creator then ends the agent.
    if (this.#failure) throw this.#failure;
    this.#isSetUp = true;
    void this.#work();
  }

  /** Returns the state in the format of nodes. During a call, it is the state before the call. */
  snapshot(): Uint8Array<ArrayBuffer> {
    if (!this.#guest) throw new WhimbrelError("the agent has no platform yet: pass it to platform.create");
    return this.#guest.snapshot();
  }

  /** Returns the saved state, if there is one. */
  async #restored(): Promise<Uint8Array | undefined> {
    const { restored } = this;
    if (!restored) return undefined;
    const hash = await this.module.hash();
    if (!restored.code.startsWith(`wasm:${hash}/`)) throw new WhimbrelError(`cannot restore the agent: its saved state belongs to ${restored.code}, not to wasm:${hash}`);
    // An agent that was saved before its first call has no state.
    return new TextDecoder().decode(restored.state) === "null" ? undefined : restored.state;
  }

  /** The guest in this agent. */
  get guest(): Guest | undefined {
    return this.#guest;
  }

  override resume(): void {
    super.resume();
    // Finish messages that waited and are not for the guest.
    this.#settleRest();
    void this.#work();
  }

  /** @internal */
  override deliver(message: Message, bytes: number, number: number): void {
    this.#coming.set(message, this.#progress.take(number));
    super.deliver(message, bytes, number);
    // Messages before the set-up wait for it.
    if (this.#guest && !this.isSuspended) this.#settleRest();
  }

  /** Always true: a message stays open until the guest takes it. @internal */
  override staysOpen(): boolean {
    return true;
  }

  /** Finishes messages that do not reach the guest: answers to its agent's queries, and unwanted messages. */
  #settleRest(): void {
    for (const done of this.#coming.values()) done();
    this.#coming.clear();
  }

  /** Ends the agent. Sends its last words, and gives it no further turn. */
  override end(): Promise<void> {
    if (!this.#guest) return super.end();
    this.#end ??= this.#endNow();
    return this.#end;
  }

  async #endNow(): Promise<void> {
    try {
      if (!this.signal.aborted && !this.#failure) {
        // Reaching its lifetime is not a failure.
        if (clock.now() < this.#until) this.#guest?.sayLastWords("it was ended");
        await this.#guest?.stop();
      }
    } catch (error) {
      this.tell(error);
    }
    await super.end();
  }

  /** @internal */
  override over(reason: string): void {
    this.#wanted?.failed(new EndedError(`the agent ended: ${reason}`));
    for (const taken of this.#untaken) taken();
    super.over(this.#failure ? `failed: ${this.#failure.message}` : reason);
  }

  #deliver(message: Message): Promise<void> {
    const done = this.#coming.get(message);
    this.#coming.delete(message);
    return new Promise((resolve) => {
      const taken = (): void => {
        this.#untaken.delete(taken);
        done?.();
        resolve();
      };
      this.#untaken.add(taken);
      if (this.#guest?.deliver(message, taken)) return void this.#work();
      taken();
      if (message.performative !== "failure") this.reply(message, "failure", "mailbox full");
    });
  }

  /** Gives turns until there is nothing to do, or `steps` are done. */
  async #work(steps = Infinity): Promise<void> {
    const guest = this.#guest;
    this.#hasMore = true;
    if (!guest || this.#isWorking) return;
    this.#isWorking = true;
    try {
      for (let left = steps, until = clock.now() + SLICE_MS; left > 0 && !this.#isStill; left--) {
        this.#hasMore = false;
        const wanted = this.#wanted;
        this.#wanted = undefined;
        if (wanted) {
          if (await this.#goWhere(wanted, guest)) return;
          continue;
        }
        this.onTurn?.();
        const outcome = await guest.run(1);
        // Between two calls, the state contains all that it did and sent.
        if (outcome.type !== "rest") this.saver?.touched(this.#progress.open);
        // An ending agent does not move.
        if (this.#end) return;
        const isOver = await this.#follow(outcome, guest);
        // A message may have arrived during the turn.
        if (isOver && !(outcome.type === "rest" && this.#hasMore)) return;
        if (clock.now() < until) continue;
        await new Promise<void>((resolve) => void clock.after(0, resolve));
        until = clock.now() + SLICE_MS;
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isWorking = false;
    }
  }

  /** True if it gets no turns, now or ever. */
  get #isStill(): boolean {
    return this.isSuspended || this.#end !== undefined || this.signal.aborted;
  }

  /** Acts on the outcome of a turn. Returns true if there is nothing to do for now. */
  async #follow(outcome: Outcome, guest: Guest): Promise<boolean> {
    switch (outcome.type) {
      case "more":
        return false;
      case "rest":
        // A message arrived after the guest had looked.
        if (this.#hasMore) return false;
        this.#sleep(guest);
        return true;
      case "stopped":
        await super.end();
        return true;
      case "hop": {
        const result = await this.#travel(outcome.hop, guest);
        if (result) guest.hopped(result);
        return !result;
      }
    }
  }

  #travel(hop: Hop, guest: Guest): Promise<HopResult | undefined> {
    guest.lighten();
    const { travel } = this.#options;
    if (travel) return travel(hop, this);
    if (hop.clone === undefined && this.saver) return this.#depart(hop.to, guest).catch((error: unknown) => stayed(hop.to, error));
    return Promise.resolve({ type: "stayed", to: hop.to, why: `no way to ${hop.to} from here: the agent is not durable, or a clone` });
  }

  /** Leaves through its node. Afterwards there is nothing to report here. */
  async #depart(to: string, guest: Guest): Promise<undefined> {
    const { saver } = this;
    if (!saver) throw new StayedError("not_movable", "not durable");
    await saver.leave(to, { state: guest.departure(), ...this.#progress.covered });
    return undefined;
  }

  /** Carries out a requested move. Returns true if the agent has left. */
  async #goWhere({ place, done, failed }: { readonly place: string; done(): void; failed(error: unknown): void }, guest: Guest): Promise<boolean> {
    try {
      guest.prepare();
      guest.lighten();
      await this.#depart(place, guest);
      done();
      return true;
    } catch (error) {
      failed(error);
      if (error instanceof EndedError) return true;
      guest.hopped(stayed(place, error));
      return false;
    }
  }

  /** Moves between two calls, or in a call that waits. */
  override moveTo(place: string): Promise<void> {
    if (!this.saver || !this.#guest) return Promise.reject(new StayedError("not_movable", "not durable, or not set up yet"));
    if (this.isSuspended) return Promise.reject(new StayedError("not_movable", "suspended: resume it first"));
    if (this.#wanted || this.saver.isLeaving) return Promise.reject(new StayedError("not_movable", "already moving"));
    const moved = new Promise<void>((done, failed) => (this.#wanted = { place, done, failed }));
    void this.#work();
    return moved;
  }

  #sleep(guest: Guest): void {
    if (this.#stopTimer && this.#wakesAt === guest.dueAt) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#wakesAt = guest.dueAt;
    if (guest.dueAt === Infinity || this.signal.aborted) return;
    const wait = Math.ceil((guest.dueAt - microseconds()) / 1000);
    this.#stopTimer = this.after(Math.max(0, wait), () => {
      this.#stopTimer = undefined;
      return this.#work();
    });
  }

  #fail(error: unknown): void {
    if (this.signal.aborted || this.#failure) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
    this.#guest?.sayLastWords(this.#failure.message);
    if (!this.#isSetUp) return;
    this.tell(error);
    void super.end();
  }

  // ---- Surroundings

  #surroundings(): Surroundings {
    const { onPrint, onLog, storage, node = "" } = this.#options;
    const { name, platform } = this.aid;
    return {
      name,
      platform,
      node,
      storage,
      now: microseconds,
      wall: () => Date.now(),
      random: (room) => void crypto.getRandomValues(room as Uint8Array<ArrayBuffer>),
      send: ({ sender: _, ...message }) => {
        try {
          if (!this.signal.aborted) this.send(message);
        } catch (error) {
          this.tell(error);
        }
      },
      print: onPrint ?? ((text) => console.log(`[${name}] ${text}`)),
      log: onLog ?? ((level, text) => console.log(`[${name}] ${level}: ${text}`)),
      setLifetime: (ms) => this.#setLifetime(ms),
      ask: (question) => this.#ask(question),
    };
  }

  #setLifetime(ms: number): void {
    const until = clock.now() + ms;
    if (until >= this.#until) return;
    this.#until = until;
    this.#stopLifetime?.();
    this.#endInTime();
  }

  /** Ends the agent after its lifetime, which may exceed the longest timer. */
  #endInTime(): void {
    this.#stopLifetime = this.after(this.#until - clock.now(), () => (clock.now() < this.#until ? this.#endInTime() : this.end()));
  }

  /**
   * Saves before a request, because the request leaves the node with the next state. The state is that before the call.
   */
  #asked<Result>(answer: Promise<Result>): Promise<Result> {
    this.saver?.touched(this.#progress.open);
    return answer;
  }

  /** Answers a guest's query to the platform. */
  async #ask({ what, about: [first = "", second = ""] }: Question): Promise<Answer> {
    try {
      switch (what) {
        case "search":
          return { value: await this.#search(first, second) };
        case "exists":
          return { code: (await this.#exists(first)) ? 1 : 0 };
        case "join":
          return await this.#asked(this.ams.join(first)).then(() => ({ code: 0 }));
        case "leave":
          return await this.#asked(this.ams.leave(first)).then(() => ({ code: 0 }));
        default:
          return await this.#offer({ name: first, type: second }, what === "register");
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof DeadlineError) return { code: TIMEOUT, reason };
      if (error instanceof RefuseError || error instanceof NotUnderstoodError) return { code: DENIED, reason };
      return { code: what === "register" ? FULL : UNKNOWN, reason };
    }
  }

  #nameOf({ name, platform }: Aid): string {
    return platform === "" || platform === this.aid.platform ? name : `${name}@${platform}`;
  }

  async #search(name: string, type: string): Promise<string[]> {
    const service = { ...(name !== "" && { name }), ...(type !== "" && { type }) };
    const found = await this.#asked(this.df.search(name === "" && type === "" ? {} : { services: [service] }));
    return found.map((entry) => this.#nameOf(entry.name));
  }

  async #exists(name: string): Promise<boolean> {
    const wanted = agentNamed(name);
    if (!wanted || (wanted.platform !== "" && wanted.platform !== this.aid.platform)) return false;
    // The name may contain wildcards, so compare the results.
    const found = await this.#asked(this.ams.search({ name: wanted.name }));
    return found.some((one) => one.name.name === wanted.name);
  }

  async #offer(service: Service, isOffered: boolean): Promise<Answer> {
    const own = this.#services ?? (await this.#asked(this.df.search({ name: this.aid }))).flatMap(({ services }) => services.map(({ name = "", type = "" }) => ({ name, type })));
    const others = own.filter(({ name, type }) => name !== service.name || type !== service.type);
    const isKnown = others.length < own.length;
    this.#services = own;
    if (!isOffered && !isKnown) return { code: UNKNOWN, reason: "no such service registered" };
    if (isOffered && isKnown) return { code: 0 };
    const services = isOffered ? [...own, service] : others;
    await this.#asked(services.length === 0 ? this.df.deregister() : own.length === 0 ? this.df.register({ services }) : this.df.modify({ services }));
    this.#services = services;
    return { code: 0 };
  }
}

const stayed = (to: string, error: unknown): HopResult => ({ type: "stayed", to, why: error instanceof Error ? error.message : String(error) });

const microseconds = (): number => Math.floor(performance.now() * 1000);
