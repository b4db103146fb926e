/** Guests as agents of a platform. */
import { Agent } from "../agents/agent.js";
import { DeadlineError, NotUnderstoodError, RefuseError } from "../agents/errors.js";
import type { Service } from "../agents/df.js";
import { clock } from "../agentspeak/clock.js";
import type { Aid } from "../acl/aid.js";
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
  /**
   * Brings it, or a clone, elsewhere, with the state that {@link GuestAgent.snapshot} returns meanwhile. What became of that; nothing if
   * it is there now and not here. If not said, it stays.
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
  #isSetUp = false;
  /** Messages that it did not take yet: who is told when it did. */
  readonly #untaken = new Set<() => void>();
  #failure: Error | undefined;
  #stopTimer: (() => void) | undefined;
  #until = Infinity;
  #stopLifetime: (() => void) | undefined;
  /** What the DF has of it; known once it was asked. */
  #services: Service[] | undefined;

  constructor(
    /** Its code. */
    readonly module: GuestModule,
    options: GuestOptions = {},
  ) {
    super();
    this.#options = options;
  }

  /** Has its first call. */
  override async setup(): Promise<void> {
    const { state, options } = this.#options;
    this.#guest = new Guest(this.module, this.#surroundings(), state ?? options ?? {});
    this.onMessage((message) => this.#deliver(message));
    // An agent that never rests is there all the same.
    await this.#work(1);
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

  /** What it is made of, beside the agent of the platform. */
  get guest(): Guest | undefined {
    return this.#guest;
  }

  override resume(): void {
    super.resume();
    void this.#work();
  }

  /** Lets it say its last words, and ends it. */
  override async end(): Promise<void> {
    try {
      if (!this.signal.aborted && !this.#failure) await this.#guest?.stop();
    } catch (error) {
      this.tell(error);
    }
    await super.end();
  }

  /** @internal */
  override over(reason: string): void {
    for (const taken of this.#untaken) taken();
    super.over(this.#failure ? `failed: ${this.#failure.message}` : reason);
  }

  #deliver(message: Parameters<Guest["deliver"]>[0]): Promise<void> {
    return new Promise((resolve) => {
      const taken = (): void => {
        this.#untaken.delete(taken);
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
    if (!guest || this.#isWorking) return;
    this.#isWorking = true;
    try {
      for (let left = steps, until = clock.now() + SLICE_MS; left > 0 && !this.isSuspended && !this.signal.aborted; left--) {
        const isOver = await this.#follow(await guest.run(1), guest);
        if (isOver) return;
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

  /** Whether there is nothing to do for now. */
  async #follow(outcome: Outcome, guest: Guest): Promise<boolean> {
    switch (outcome.type) {
      case "more":
        return false;
      case "rest":
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
    const stays: News = { type: "stayed", to: hop.to, why: `there is no way to ${hop.to} from here` };
    return travel ? travel(hop, this) : Promise.resolve(stays);
  }

  #sleep(guest: Guest): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (guest.dueAt === Infinity || this.signal.aborted) return;
    const wait = Math.ceil((guest.dueAt - microseconds()) / 1000);
    this.#stopTimer = this.after(Math.max(0, wait), () => this.#work());
  }

  #fail(error: unknown): void {
    if (this.signal.aborted || this.#failure) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
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
    this.#stopLifetime = this.after(ms, () => this.end());
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
          return await this.ams.join(first).then(() => ({ code: 0 }));
        case "leave":
          return await this.ams.leave(first).then(() => ({ code: 0 }));
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
    const found = await this.df.search(name === "" && type === "" ? {} : { services: [service] });
    return found.map((entry) => this.#nameOf(entry.name));
  }

  async #exists(name: string): Promise<boolean> {
    const wanted = agentNamed(name);
    if (!wanted || (wanted.platform !== "" && wanted.platform !== this.aid.platform)) return false;
    // A name may have what stands for anything in a search.
    const found = await this.ams.search({ name: wanted.name });
    return found.some((one) => one.name.name === wanted.name);
  }

  async #offer(service: Service, isOffered: boolean): Promise<Answer> {
    const own = this.#services ?? (await this.df.search({ name: this.aid })).flatMap(({ services }) => services.map(({ name = "", type = "" }) => ({ name, type })));
    const others = own.filter(({ name, type }) => name !== service.name || type !== service.type);
    const isKnown = others.length < own.length;
    this.#services = own;
    if (!isOffered && !isKnown) return { code: UNKNOWN, reason: "it offers no such service" };
    if (isOffered && isKnown) return { code: 0 };
    const services = isOffered ? [...own, service] : others;
    if (services.length === 0) await this.df.deregister();
    else await (own.length === 0 ? this.df.register({ services }) : this.df.modify({ services }));
    this.#services = services;
    return { code: 0 };
  }
}

const microseconds = (): number => Math.floor(performance.now() * 1000);
