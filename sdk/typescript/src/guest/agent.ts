/** Guests as agents of a platform. */
import { Agent } from "../agents/agent.js";
import { Progress } from "../agents/keeper.js";
import { DeadlineError, EndedError, NotUnderstoodError, RefuseError, StayedError } from "../agents/errors.js";
import type { Service } from "../agents/df.js";
import { clock } from "../agentspeak/clock.js";
import type { Aid } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import type { Value } from "../acl/value.js";
import { DENIED, FULL, TIMEOUT, UNKNOWN, type Answer, type Hop, type LogLevel, type Question, type Surroundings } from "./desk.js";
import { agentNamed } from "./frame.js";
import { Guest, type News, type Outcome } from "./guest.js";
import type { GuestModule } from "./module.js";
import type { Shelf } from "./shelf.js";

/** How a WebAssembly agent lives here. */
export interface GuestOptions {
  /** What its first call is told. */
  readonly options?: Readonly<Record<string, Value>>;
  /** It goes on from this state, of this agent or of one on a node, instead of beginning. */
  readonly state?: Uint8Array;
  /** The name of the place that it is on: empty if not said. */
  readonly node?: string;
  /** Told of lines that it prints; the console is, if nobody. */
  readonly onPrint?: (text: string) => void;
  /** Told of what it notes for whoever looks after it; the console is, if nobody. */
  readonly onLog?: (level: LogLevel, text: string) => void;
  /** What it keeps here beside its memory; if not said, it may keep nothing. */
  readonly shelf?: Shelf;
  /** It moved here: it is told so. */
  readonly isArriving?: boolean;
  /**
   * Brings it, or a clone, elsewhere, with the state that {@link GuestAgent.snapshot} returns meanwhile. What became of that; nothing if
   * it is there now and not here. If not said, one that the platform keeps goes by way of its node, and all others, and clones, stay.
   */
  readonly travel?: (hop: Hop, agent: GuestAgent) => Promise<News | undefined>;
}

/** How long it has its turns before everything else in this thread has its own. */
const SLICE_MS = 8;

/**
 * An agent that is a WebAssembly module, as nodes run them: the same interface, the same state.
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
  /** Something came while it had a turn. */
  #hasMore = false;
  /** Its end, once somebody wants that. */
  #end: Promise<void> | undefined;
  #isSetUp = false;
  /** Messages that it did not take yet: who is told when it did. */
  readonly #untaken = new Set<() => void>();
  /** Which messages it is done with, and who is told that of those that nobody has looked at yet. */
  readonly #progress = new Progress();
  readonly #coming = new Map<Message, () => void>();
  #failure: Error | undefined;
  #stopTimer: (() => void) | undefined;
  #wakesAt = Infinity;
  #until = Infinity;
  /** Where somebody else wants it to be, and who hears of that. */
  #wanted: { readonly place: string; done(): void; failed(error: unknown): void } | undefined;
  #module: GuestModule | undefined;
  readonly #fetch: ((agent: GuestAgent) => Promise<GuestModule>) | undefined;
  #stopLifetime: (() => void) | undefined;
  /** What the DF has of it; known once it was asked. */
  #services: Service[] | undefined;

  /** Its code, or what that comes from once it is on the platform. */
  constructor(module: GuestModule | ((agent: GuestAgent) => Promise<GuestModule>), options: GuestOptions = {}) {
    super();
    if (typeof module === "function") this.#fetch = module;
    else this.#module = module;
    this.#options = options;
  }

  /** Its code. */
  get module(): GuestModule {
    if (!this.#module) throw new WhimbrelError("its code is not there yet");
    return this.#module;
  }

  /** Has its first call. */
  override async setup(): Promise<void> {
    const { options, isArriving = false } = this.#options;
    this.#module ??= await this.#fetch?.(this);
    const state = (await this.#restored()) ?? this.#options.state;
    const guest = new Guest(this.module, this.#surroundings(), state ?? options ?? {});
    if (isArriving) guest.hopped({ type: "arrived", from: this.restored?.from ?? "" });
    this.#guest = guest;
    if (this.keeper) {
      this.keeper.isStepwise = true;
      this.keeper.code = () => this.module.bytes;
      this.keeper.source = () => ({ state: guest.snapshot(), ...this.#progress.written });
    }
    this.onMessage((message) => this.#deliver(message));
    // An agent that never rests is there all the same; and one that comes from elsewhere was before, and may leave in this very call.
    if (!isArriving) await this.#work(1);
    // Whoever creates it ends it then.
    if (this.#failure) throw this.#failure;
    this.#isSetUp = true;
    void this.#work();
  }

  /** Its state, as nodes write and read it: that before the call that it is in, if it is in one. */
  snapshot(): Uint8Array<ArrayBuffer> {
    if (!this.#guest) throw new Error("the agent is on no platform yet");
    return this.#guest.snapshot();
  }

  /** What it was, if the platform kept it. */
  async #restored(): Promise<Uint8Array | undefined> {
    const { restored } = this;
    if (!restored) return undefined;
    const hash = await this.module.hash();
    if (!restored.code.startsWith(`wasm:${hash}/`)) throw new WhimbrelError(`what was kept of it is of ${restored.code}, not of wasm:${hash}`);
    // Who was kept before the first call of its agent has nothing to say.
    return new TextDecoder().decode(restored.state) === "null" ? undefined : restored.state;
  }

  /** What it is made of, beside the agent of the platform. */
  get guest(): Guest | undefined {
    return this.#guest;
  }

  override resume(): void {
    super.resume();
    // What waited and was no message to the guest is done with.
    this.#settleRest();
    void this.#work();
  }

  /** @internal */
  override deliver(message: Message, bytes: number, number: number): void {
    this.#coming.set(message, this.#progress.take(number));
    super.deliver(message, bytes, number);
    // What came before it was set up waits for it.
    if (this.#guest && !this.isSuspended) this.#settleRest();
  }

  /** True: a message stays open until the guest itself takes it. @internal */
  override staysOpen(): boolean {
    return true;
  }

  /** Answers to what was asked for it, and what nobody wants, are no messages of the guest's. */
  #settleRest(): void {
    for (const done of this.#coming.values()) done();
    this.#coming.clear();
  }

  /** Lets it say its last words, and ends it. It has no turns behind them. */
  override end(): Promise<void> {
    if (!this.#guest) return super.end();
    this.#end ??= this.#endNow();
    return this.#end;
  }

  async #endNow(): Promise<void> {
    try {
      if (!this.signal.aborted && !this.#failure) {
        // Who had a time to live did not fail when that is over.
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
      if (message.performative !== "failure") this.reply(message, "failure", "the mailbox is full");
    });
  }

  /** Gives it turns until there is nothing to do, or so many. */
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
        // Between two calls its state is what it did and said.
        if (outcome.type !== "rest") this.keeper?.touched(this.#progress.open);
        // Who ends goes nowhere.
        if (this.#end) return;
        const isOver = await this.#follow(outcome, guest);
        // Something may have come just now, and found it at work.
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

  /** Whether it has no turns, for now or ever. */
  get #isStill(): boolean {
    return this.isSuspended || this.#end !== undefined || this.signal.aborted;
  }

  /** Whether there is nothing to do for now. */
  async #follow(outcome: Outcome, guest: Guest): Promise<boolean> {
    switch (outcome.type) {
      case "more":
        return false;
      case "rest":
        // It came when the guest had looked.
        if (this.#hasMore) return false;
        this.#sleep(guest);
        return true;
      case "stopped":
        await super.end();
        return true;
      case "hop": {
        const news = await this.#travel(outcome.hop, guest);
        if (news) guest.hopped(news);
        return !news;
      }
    }
  }

  #travel(hop: Hop, guest: Guest): Promise<News | undefined> {
    guest.lighten();
    const { travel } = this.#options;
    if (travel) return travel(hop, this);
    if (hop.clone === undefined && this.keeper) return this.#depart(hop.to, guest).catch((error: unknown) => stayed(hop.to, error));
    return Promise.resolve({ type: "stayed", to: hop.to, why: `there is no way to ${hop.to} from here` });
  }

  /** Leaves by way of its node: nothing is to be told here when it has. */
  async #depart(to: string, guest: Guest): Promise<undefined> {
    const { keeper } = this;
    if (!keeper) throw new StayedError("not_movable", "it is not kept");
    await keeper.leave(to, { state: guest.departure(), ...this.#progress.written });
    return undefined;
  }

  /** Has it go where somebody else wants it; whether it went. */
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

  /** It goes between two calls, or in the middle of one that waits. */
  override moveTo(place: string): Promise<void> {
    if (!this.keeper || !this.#guest) return Promise.reject(new StayedError("not_movable", "it is not kept, or not there yet"));
    if (this.isSuspended) return Promise.reject(new StayedError("not_movable", "it is suspended"));
    if (this.#wanted || this.keeper.isLeaving) return Promise.reject(new StayedError("not_movable", "it is on its way already"));
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

  // ---- What it lives in

  #surroundings(): Surroundings {
    const { onPrint, onLog, shelf, node = "" } = this.#options;
    const { name, platform } = this.aid;
    return {
      name,
      platform,
      node,
      shelf,
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

  /** Ends it when its time is over, which may be later than a timer can wait. */
  #endInTime(): void {
    this.#stopLifetime = this.after(this.#until - clock.now(), () => (clock.now() < this.#until ? this.#endInTime() : this.end()));
  }

  /** What is asked leaves the node with the state that is behind it: that before the call, which has done nothing so far. */
  #asked<Result>(answer: Promise<Result>): Promise<Result> {
    this.keeper?.touched(this.#progress.open);
    return answer;
  }

  /** Asks the platform what only it knows. */
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
    // A name may have what stands for anything in a search.
    const found = await this.#asked(this.ams.search({ name: wanted.name }));
    return found.some((one) => one.name.name === wanted.name);
  }

  async #offer(service: Service, isOffered: boolean): Promise<Answer> {
    const own = this.#services ?? (await this.#asked(this.df.search({ name: this.aid }))).flatMap(({ services }) => services.map(({ name = "", type = "" }) => ({ name, type })));
    const others = own.filter(({ name, type }) => name !== service.name || type !== service.type);
    const isKnown = others.length < own.length;
    this.#services = own;
    if (!isOffered && !isKnown) return { code: UNKNOWN, reason: "it offers no such service" };
    if (isOffered && isKnown) return { code: 0 };
    const services = isOffered ? [...own, service] : others;
    await this.#asked(services.length === 0 ? this.df.deregister() : own.length === 0 ? this.df.register({ services }) : this.df.modify({ services }));
    this.#services = services;
    return { code: 0 };
  }
}

const stayed = (to: string, error: unknown): News => ({ type: "stayed", to, why: error instanceof Error ? error.message : String(error) });

const microseconds = (): number => Math.floor(performance.now() * 1000);
