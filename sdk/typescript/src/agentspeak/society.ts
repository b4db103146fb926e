import { WhimbrelError } from "../acl/errors.js";
import { messageFromJson, messageToJson } from "../acl/json.js";
import type { Message } from "../acl/message.js";
import { clock as realClock, type Clock } from "./clock.js";
import { compileEngine, diagnosticOf, Engine, EngineError, type Counters, type Diagnostic, type EngineSource, type Happening, type Instruction, type Mind, type Reply } from "./engine.js";

/** Files by their paths. */
export type ProgramFiles = Readonly<Record<string, string>>;

/** How a society is. */
export interface SocietyOptions {
  /** What stands after `@` in the names of its agents: `home` if not said. */
  readonly platform?: string;
  /** Another clock than that of this machine. */
  readonly clock?: Clock;
  /** Where chance comes from: 64 random bits, no secrets. */
  readonly random?: () => bigint;
  /** How long agents have their turns before everything else in this thread has its own: 8 ms if not said. */
  readonly sliceMs?: number;
  /** Fetches the text of a file that a program includes and that was not handed over; undefined if there is none. */
  readonly fetchFile?: (path: string) => Promise<string | undefined>;
  /** Told before agents are given turns. @internal */
  readonly onTurns?: () => void;
}

/** What a society tells of. */
export interface SocietyEvents {
  /** An agent printed a line; one that is `bare` goes on. */
  printed: { readonly agent: string; readonly text: string; readonly bare: boolean };
  /** Something was noted for whoever looks after the society. */
  noted: { readonly agent: string; readonly level: "debug" | "info" | "warning" | "severe"; readonly text: string };
  created: { readonly agent: string };
  /** An agent that is kept had turns: so many messages that came from outside it has not handled. */
  worked: { readonly agent: string; readonly waiting: number };
  ended: { readonly agent: string; readonly reason: string };
  /** An agent that is kept wants to go on at another place (`.move_to`): it has no turns until it has left ({@link Society.leave}, {@link Society.depart}), or hears that it stays ({@link Society.stay}). */
  leaving: { readonly agent: string; readonly to: string };
  /** An agent said something to one that is not here. Told only while the society is attached to a platform. */
  sent: { readonly agent: string; readonly message: Message };
  /** An agent said something, to one that is here or elsewhere, or was told something; `dead` says why nobody got it. Told only while it is listened to ({@link Society.listen}). */
  said: { readonly from: string; readonly to: string; readonly performative: string; readonly content: string; readonly dead: string | null };
  /** An agent registered a service with the DF, or took that back. */
  offered: { readonly agent: string; readonly service: string; readonly kind: string; readonly offered: boolean };
  /** An agent stopped the society; or it was closed, with code 0. */
  stopped: { readonly code: number };
  /** The engine failed: all that ran in it is lost. */
  failed: EngineError;
}

/** A program or project with errors. */
export class ProgramError extends WhimbrelError {
  override readonly name = "ProgramError";

  constructor(
    /** All that there is to say, warnings too. */
    readonly diagnostics: readonly Diagnostic[],
  ) {
    const [first] = diagnostics.filter(({ severity }) => severity === "error");
    super(first ? `${first.file}:${first.line}: ${first.message}` : "the program has errors");
  }
}

/** What came of checking or opening a program or project. */
export interface Checked {
  readonly diagnostics: readonly Diagnostic[];
  /** Files that were looked for and that nobody handed over. */
  readonly missing: readonly string[];
}

/** An agent, and the state of its life that it is in. */
export interface Member {
  readonly name: string;
  readonly state: string;
}

type Listeners = { readonly [Name in keyof SocietyEvents]: Set<(event: SocietyEvents[Name]) => unknown> };

const nobody = (): Listeners => ({
  printed: new Set(),
  noted: new Set(),
  created: new Set(),
  worked: new Set(),
  ended: new Set(),
  leaving: new Set(),
  sent: new Set(),
  said: new Set(),
  offered: new Set(),
  stopped: new Set(),
  failed: new Set(),
});

const randomBits = (): bigint => crypto.getRandomValues(new BigInt64Array(1))[0] ?? 0n;

/** How often files that are missing are fetched, and the program tried again: includes may include. */
const FETCHES_MAX = 33;
/** Turns between two looks at the clock. */
const TURNS = 64;
/** The same, if somebody is kept: what is said in them is held for the next save, and not too much of it. */
const TURNS_KEPT = 4;

/**
 * A society of AgentSpeak agents in this thread: in a page, in a Worker, in Node. They are the agents of nodes, by the same engine; what
 * {@link Society.snapshot} returns nodes read, and the other way round.
 *
 * ```ts
 * const society = await Society.load("/agentspeak.wasm");
 * society.on("printed", ({ agent, text }) => console.log(`[${agent}] ${text}`));
 * await society.putFiles({ "bob.asl": "!hello. +!hello <- .print(hello)." });
 * society.spawn("bob", "bob.asl");
 * ```
 */
export class Society {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #options: SocietyOptions;
  readonly #listeners = nobody();
  #cancel: (() => void) | undefined;
  #dueAt = Infinity;
  #isPaused = false;
  #isOver = false;
  /** Those who have it wait. */
  readonly #holders = new Set<symbol>();
  /** The services that agents offer. */
  readonly #offers = new Map<string, { readonly service: string; readonly kind: string }[]>();
  #turns = TURNS;

  private constructor(engine: Engine, clock: Clock, options: SocietyOptions) {
    this.#engine = engine;
    this.#clock = clock;
    this.#options = options;
  }

  /**
   * A society of nobody, by the engine that is there (`agentspeak.wasm` of this package).
   *
   * @throws {@link WhimbrelError} if it is not to be had.
   */
  static async load(source: EngineSource, options: SocietyOptions = {}): Promise<Society> {
    const clock = options.clock ?? realClock;
    const engine = new Engine(await compileEngine(source), options.platform ?? "home", clock, options.random ?? randomBits);
    return new Society(engine, clock, options);
  }

  /** Calls back when something happens; what is returned ends that. */
  on<Name extends keyof SocietyEvents>(name: Name, call: (event: SocietyEvents[Name]) => unknown): () => void {
    const calls = this.#listeners[name];
    calls.add(call);
    return () => void calls.delete(call);
  }

  /** Whether it was stopped, by an agent or by {@link Society.close}. */
  get isOver(): boolean {
    return this.#isOver;
  }

  // ---- Programs

  /**
   * Hands over program text. Agents that run keep the program that they have.
   *
   * @throws {@link WhimbrelError} if it is too long.
   */
  putFiles(files: ProgramFiles): void {
    this.#done({ files: Object.entries(files).map(([path, text]) => ({ path, text })) });
  }

  /** Removes a file. */
  removeFile(path: string): void {
    this.#done({ remove: { path } });
  }

  /** What there is to say about a program (`.asl`) or project (`.mas2j`), and about the programs that it names. Nobody is created. */
  async check(path: string): Promise<Checked> {
    const { diagnostics, missing } = await this.#checked({ check: { path } });
    return { diagnostics, missing };
  }

  /**
   * Creates the agents of a project, or one of a program that is called as its file; all of them, or none.
   *
   * @throws {@link ProgramError} if there are errors.
   */
  async open(path: string): Promise<{ readonly agents: readonly string[]; readonly diagnostics: readonly Diagnostic[] }> {
    const { agents, diagnostics } = await this.#checked({ open: { path } });
    if (diagnostics.some(({ severity }) => severity === "error")) throw new ProgramError(diagnostics);
    return { agents, diagnostics };
  }

  async #checked(order: unknown): Promise<Checked & { readonly agents: readonly string[] }> {
    for (let attempt = 1; ; attempt++) {
      const { answer } = this.#order(order);
      if (typeof answer === "string" || !("checked" in answer)) throw unexpected(answer);
      const { diagnostics, missing, agents } = answer.checked;
      const fetched = attempt < FETCHES_MAX ? await this.#fetch(missing) : false;
      if (!fetched) return { diagnostics: diagnostics.map(diagnosticOf), missing, agents };
    }
  }

  /** Fetches what is missing; whether there was any of it. */
  async #fetch(missing: readonly string[]): Promise<boolean> {
    const { fetchFile } = this.#options;
    if (!fetchFile || missing.length === 0) return false;
    const found = await Promise.all(missing.map(async (path) => [path, await fetchFile(path)] as const));
    const files = found.filter((file): file is [string, string] => file[1] !== undefined);
    if (files.length > 0) this.putFiles(Object.fromEntries(files));
    return files.length > 0;
  }

  // ---- Agents

  /**
   * Creates an agent, with options by the keys of `.mas2j`: `{ beliefs: "price(10)", goals: "sell" }`.
   *
   * @throws {@link WhimbrelError} if the name is taken or no name, or the program has errors, which {@link Society.check} tells.
   */
  spawn(name: string, path: string, options: Readonly<Record<string, string>> = {}): void {
    this.#done({ spawn: { name, path, options: Object.entries(options) } });
  }

  /**
   * Creates an agent that goes on where one was, here or on a node, whose snapshot this is. `path` is its program; `from` is where it came from, if it moved
   * here: what it did to come here is done.
   *
   * @throws {@link WhimbrelError} if it is no snapshot of an agent of this program.
   */
  restore(name: string, path: string, snapshot: Uint8Array, from?: string): void {
    this.#done({ restore: { name, path, from: from ?? null } }, snapshot);
  }

  /** An agent's whole state. */
  snapshot(agent: string): Uint8Array {
    return this.#done({ snapshot: { agent } }).bytes;
  }

  /** An agent's state as it goes on with elsewhere: what it does to go there is done. It has no turns until it departs or stays. */
  leave(agent: string): Uint8Array {
    return this.#done({ leave: { agent } }).bytes;
  }

  /** An agent that was to leave stays: its `.move_to` fails with this word, if it was that which had it leave. */
  stay(agent: string, why: string, text: string): void {
    this.#done({ stay: { agent, why, text } });
  }

  /** Takes an agent out that goes on elsewhere: its state, and the messages that it did not handle yet. */
  depart(agent: string): { readonly state: Uint8Array; readonly messages: readonly Message[] } {
    const { answer, bytes } = this.#order({ depart: { agent } });
    this.#offers.delete(agent);
    if (typeof answer === "string" || !("departed" in answer)) throw unexpected(answer);
    return { state: bytes, messages: answer.departed.messages.map((message) => messageFromJson(message)) };
  }

  /**
   * Has an agent kept by the platform that this society is attached to, or no more: its turns are told as `worked`, and what it says to others here goes by
   * way of the platform.
   */
  keep(agent: string, kept = true): void {
    this.#turns = TURNS_KEPT;
    this.#done({ keep: { agent, kept } });
  }

  /** A program as it travels, and what its code is called: `asl:HASH/NAME`. */
  code(path: string): { readonly name: string; readonly bytes: Uint8Array } {
    const { answer, bytes } = this.#order({ code: { path } });
    if (typeof answer === "string" || !("code" in answer)) throw unexpected(answer);
    return { name: answer.code.name, bytes };
  }

  /**
   * Takes in a program that travelled. From now on the name of its code is its path.
   *
   * @throws {@link WhimbrelError} if these are not its bytes.
   */
  admit(code: string, bytes: Uint8Array): void {
    this.#done({ admit: { code } }, bytes);
  }

  /** Ends an agent. */
  kill(agent: string): void {
    this.#done({ kill: { agent } });
  }

  /** Gives an agent no turns; messages wait for it. */
  suspend(agent: string): void {
    this.#done({ suspend: { agent, suspended: true } });
  }

  /** Lets a suspended agent go on. */
  resume(agent: string): void {
    this.#done({ suspend: { agent, suspended: false } });
  }

  /** What is in an agent's mind. One who is followed remembers what its cycles did, until nobody looked for a while. */
  mind(agent: string, { follow = false } = {}): Mind {
    const { answer } = this.#order({ mind: { agent, follow } });
    if (typeof answer === "string" || !("mind" in answer)) throw unexpected(answer);
    return answer.mind.mind;
  }

  /**
   * Has an agent pause, take a step, go on, stop at a plan, believe something, or pursue a goal.
   *
   * @throws {@link WhimbrelError} if it cannot be done: there is no such plan, that is no belief.
   */
  instruct(agent: string, wanted: Instruction): void {
    this.#done({ instruct: { agent, wanted } });
  }

  /** Who is here, in the order of creation. */
  get agents(): readonly Member[] {
    return this.#census().agents.map(([name, state]) => ({ name, state }));
  }

  /** Messages by what became of them. */
  get counters(): Counters {
    return this.#census().counters;
  }

  #census(): { readonly agents: readonly (readonly [string, string])[]; readonly counters: Counters } {
    const { answer } = this.#order("agents");
    if (typeof answer === "string" || !("agents" in answer)) throw unexpected(answer);
    return answer.agents;
  }

  // ---- Messages

  /**
   * Gives a message to those of its receivers that are here; the others are returned.
   *
   * @throws {@link EncodeError} if it cannot be written.
   */
  deliver(message: Message): readonly string[] {
    const { answer } = this.#order({ deliver: { messages: [JSON.parse(messageToJson(message))] } });
    if (typeof answer === "string" || !("delivered" in answer)) throw unexpected(answer);
    return answer.delivered.missing[0] ?? [];
  }

  /** Has what agents here say and are told reported as `said`, or not any more. */
  listen(on: boolean): void {
    this.#done({ listen: { on } });
  }

  /**
   * It is part of this platform, at the place of this name: messages to others than those here are told as `sent`, and `.node` is that name. Undefined: it is
   * by itself.
   */
  attach(platform: string | undefined, place = ""): void {
    this.#done({ attach: { platform: platform ?? null, place } });
  }

  // ---- Turns

  /** Gives nobody a turn until {@link Society.goOn}. */
  pause(): void {
    this.#isPaused = true;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** Gives turns again. */
  goOn(): void {
    this.#isPaused = false;
    this.#sleepUntil(0);
  }

  /** Gives nobody a turn until what is returned is called. @internal */
  hold(): () => void {
    const holder = Symbol();
    this.#holders.add(holder);
    this.#cancel?.();
    this.#cancel = undefined;
    return () => {
      if (this.#holders.delete(holder)) this.#sleepUntil(0);
    };
  }

  /** The services that agents offer now. @internal */
  get offers(): readonly { readonly agent: string; readonly service: string; readonly kind: string }[] {
    return [...this.#offers].flatMap(([agent, services]) => services.map((one) => ({ agent, ...one })));
  }

  /** Ends the society. */
  close(): void {
    if (!this.#isOver) this.#over(0);
  }

  #over(code: number): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#tell("stopped", { code });
  }

  /** Gives turns for a slice of time. */
  #run(): void {
    const until = this.#clock.now() + (this.#options.sliceMs ?? 8);
    try {
      let reply: Reply;
      this.#options.onTurns?.();
      do reply = this.#engineOrder({ run: { turns: this.#turns } });
      while (reply.wait_ms === 0 && this.#clock.now() < until && !this.#isWaiting && !this.#isOver);
      this.#follow(reply);
    } catch (error) {
      // Told of as `failed` already.
      if (!(error instanceof EngineError)) throw error;
    }
  }

  #follow({ wait_ms: waitMs, over }: Reply): void {
    if (over || this.#isOver) return;
    if (waitMs !== null) this.#sleepUntil(waitMs === 0 ? 0 : this.#clock.now() + waitMs);
  }

  get #isWaiting(): boolean {
    return this.#isPaused || this.#holders.size > 0;
  }

  #sleepUntil(due: number): void {
    if (this.#isWaiting || this.#isOver || (this.#cancel && this.#dueAt <= due)) return;
    this.#cancel?.();
    this.#dueAt = due;
    const wait = due === 0 ? 0 : Math.max(0, due - this.#clock.now());
    this.#cancel = this.#clock.after(wait, () => {
      this.#cancel = undefined;
      this.#run();
    });
  }

  #order(order: unknown, bytes?: Uint8Array): Reply {
    if (this.#isOver) throw new WhimbrelError("the society was stopped");
    const reply = this.#engineOrder(order, bytes);
    this.#follow(reply);
    return reply;
  }

  #engineOrder(order: unknown, bytes?: Uint8Array): Reply {
    const wasFine = this.#engine.fault === undefined;
    let reply: Reply;
    try {
      reply = this.#engine.order(order, bytes);
    } catch (error) {
      if (wasFine && this.#engine.fault) {
        this.#isOver = true;
        this.#tell("failed", this.#engine.fault);
      }
      throw error;
    }
    for (const happening of reply.happened) this.#happened(happening);
    return reply;
  }

  #done(order: unknown, bytes?: Uint8Array): Reply {
    const reply = this.#order(order, bytes);
    if (reply.answer !== "done") throw unexpected(reply.answer);
    return reply;
  }

  #happened(happening: Happening): void {
    if ("sent" in happening) {
      const { agent, message } = happening.sent;
      this.#tell("sent", { agent, message: messageFromJson(message) });
    } else if ("stopped" in happening) this.#over(happening.stopped.code);
    else this.#note(happening);
  }

  /** Remembers who offers what, and tells of what happened. */
  #note(happening: Happening): void {
    if ("ended" in happening) this.#offers.delete(happening.ended.agent);
    if ("offered" in happening) {
      const { agent, service, kind, offered } = happening.offered;
      const others = (this.#offers.get(agent) ?? []).filter((one) => one.service !== service || one.kind !== kind);
      this.#offers.set(agent, offered ? [...others, { service, kind }] : others);
    }
    for (const [name, event] of Object.entries(happening)) this.#tell(name as keyof SocietyEvents, event as never);
  }

  #tell<Name extends keyof SocietyEvents>(name: Name, event: SocietyEvents[Name]): void {
    for (const call of this.#listeners[name]) {
      try {
        call(event);
      } catch (error) {
        console.error(`whimbrel: told of "${name}":`, error);
      }
    }
  }
}

function unexpected(answer: Reply["answer"]): WhimbrelError {
  return new WhimbrelError(typeof answer === "object" && "refused" in answer ? answer.refused.reason : "the engine answers something else than it was asked");
}
