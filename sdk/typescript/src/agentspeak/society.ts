import { WhimbrelError } from "../acl/errors.js";
import { messageFromJson, messageToJson } from "../acl/json.js";
import type { Message } from "../acl/message.js";
import { clock as realClock, type Clock } from "./clock.js";
import { compileEngine, diagnosticOf, Engine, EngineError, type Counters, type Diagnostic, type EngineSource, type EngineEvent, type Instruction, type Mind, type Reply } from "./engine.js";

/** Program text by path. */
export type ProgramFiles = Readonly<Record<string, string>>;

/** Options of a society. */
export interface SocietyOptions {
  /** Platform name in the identifiers of its agents, after `@`; `home` by default. */
  readonly platform?: string;
  /** Clock to use instead of the machine's. */
  readonly clock?: Clock;
  /** Source of 64 random bits. They need not be secret. */
  readonly random?: () => bigint;
  /** Length of a time slice for agents, before the thread serves other events; 8 ms by default. */
  readonly sliceMs?: number;
  /** Fetches the text of an included file that was not handed over; undefined if there is none. */
  readonly fetchFile?: (path: string) => Promise<string | undefined>;
  /** Called before agents get turns. @internal */
  readonly onTurns?: () => void;
}

/** Events of a society. */
export interface SocietyEvents {
  /** An agent printed text. `bare` text has no line end. */
  printed: { readonly agent: string; readonly text: string; readonly bare: boolean };
  /** A note in the society's log. */
  noted: { readonly agent: string; readonly level: "debug" | "info" | "warning" | "severe"; readonly text: string };
  created: { readonly agent: string };
  /** A durable agent had turns. `waiting` counts outside messages that it has not handled. */
  worked: { readonly agent: string; readonly waiting: number };
  ended: { readonly agent: string; readonly reason: string };
  /**
   * A durable agent asked to move (`.move_to`). It gets no turns until it has left ({@link Society.leave}, {@link
   * Society.depart}) or stays ({@link Society.stay}).
   */
  leaving: { readonly agent: string; readonly to: string };
  /** An agent sent a message to an agent elsewhere. Reported only while the society is attached to a platform. */
  sent: { readonly agent: string; readonly message: Message };
  /**
   * A message was sent to or by an agent of this society; `dead` says why it could not be delivered. Reported only
   * after {@link Society.listen}.
   */
  said: { readonly from: string; readonly to: string; readonly performative: string; readonly content: string; readonly dead: string | null };
  /** An agent registered or deregistered a service with the DF. */
  offered: { readonly agent: string; readonly service: string; readonly kind: string; readonly offered: boolean };
  /** An agent stopped the society, or {@link Society.close} did (code 0). */
  stopped: { readonly code: number };
  /** The engine failed. All agents in it are lost. */
  failed: EngineError;
}

/** Error of a program or project that does not compile. */
export class ProgramError extends WhimbrelError {
  override readonly name = "ProgramError";

  constructor(
    /** All diagnostics, warnings included. */
    readonly diagnostics: readonly Diagnostic[],
  ) {
    const [first] = diagnostics.filter(({ severity }) => severity === "error");
    super(first ? `${first.file}:${first.line}: ${first.message}` : "the program has errors");
  }
}

/** Result of checking or opening a program or project. */
export interface Checked {
  readonly diagnostics: readonly Diagnostic[];
  /** Files that the program refers to and that were not handed over. */
  readonly missing: readonly string[];
}

/** An agent's name and its AMS state. */
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

/** Rounds of fetching missing files: included files may include others. */
const FETCHES_MAX = 33;
/** Turns between two looks at the clock. */
const TURNS = 64;
/**
 * Turns between two looks at the clock with durable agents. It is lower because the messages of these turns wait for
 * the next save.
 */
const TURNS_KEPT = 4;

/**
 * A society of AgentSpeak agents in this thread: in a page, in a Worker, in Node. It runs the engine of nodes, so both
 * read each other's {@link Society.snapshot}.
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
  /** Owners of active pauses ({@link Society.hold}). */
  readonly #holders = new Set<symbol>();
  /** Registered services by agent. */
  readonly #offers = new Map<string, { readonly service: string; readonly kind: string }[]>();
  #turns = TURNS;

  private constructor(engine: Engine, clock: Clock, options: SocietyOptions) {
    this.#engine = engine;
    this.#clock = clock;
    this.#options = options;
  }

  /**
   * Loads the engine (`agentspeak.wasm` of this package) and starts an empty society.
   *
   * @throws {@link WhimbrelError} if the engine cannot be fetched.
   */
  static async load(source: EngineSource, options: SocietyOptions = {}): Promise<Society> {
    const clock = options.clock ?? realClock;
    const engine = new Engine(await compileEngine(source), options.platform ?? "home", clock, options.random ?? randomBits);
    return new Society(engine, clock, options);
  }

  /** Adds a listener. The returned function removes it. */
  on<Name extends keyof SocietyEvents>(name: Name, call: (event: SocietyEvents[Name]) => unknown): () => void {
    const calls = this.#listeners[name];
    calls.add(call);
    return () => void calls.delete(call);
  }

  /** True once the society was stopped, by an agent or by {@link Society.close}. */
  get isOver(): boolean {
    return this.#isOver;
  }

  // ---- Programs

  /**
   * Adds or replaces program files. Running agents keep their program.
   *
   * @throws {@link WhimbrelError} if a file is too long.
   */
  putFiles(files: ProgramFiles): void {
    this.#done({ files: Object.entries(files).map(([path, text]) => ({ path, text })) });
  }

  /** Removes a file. */
  removeFile(path: string): void {
    this.#done({ remove: { path } });
  }

  /** Checks a program (`.asl`) or project (`.mas2j`) with the programs that it names. Creates no agent. */
  async check(path: string): Promise<Checked> {
    const { diagnostics, missing } = await this.#checked({ check: { path } });
    return { diagnostics, missing };
  }

  /**
   * Creates the agents of a project, or one agent named after its program file. Creates all of them or none.
   *
   * @throws {@link ProgramError} if a program has errors.
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

  /** Fetches missing files. Returns true if any was found. */
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
   * @throws {@link WhimbrelError} if the name is taken or invalid, or the program has errors ({@link Society.check}).
   */
  spawn(name: string, path: string, options: Readonly<Record<string, string>> = {}): void {
    this.#done({ spawn: { name, path, options: Object.entries(options) } });
  }

  /**
   * Creates an agent from a snapshot that was taken here or on a node. `path` is its program. `from` is the place that
   * it moved from, if it did: its pending `.move_to` succeeds.
   *
   * @throws {@link WhimbrelError} if the snapshot belongs to another program or is damaged.
   */
  restore(name: string, path: string, snapshot: Uint8Array, from?: string): void {
    this.#done({ restore: { name, path, from: from ?? null } }, snapshot);
  }

  /** Returns an agent's whole state. */
  snapshot(agent: string): Uint8Array {
    return this.#done({ snapshot: { agent } }).bytes;
  }

  /** Begins a move: returns the state to continue with elsewhere. The agent gets no turns until it departs or stays. */
  leave(agent: string): Uint8Array {
    return this.#done({ leave: { agent } }).bytes;
  }

  /** Cancels a move. If the agent asked for it, its `.move_to` fails with the reason `why`. */
  stay(agent: string, why: string, text: string): void {
    this.#done({ stay: { agent, why, text } });
  }

  /** Completes a move: removes the agent, and returns its state and unhandled messages. */
  depart(agent: string): { readonly state: Uint8Array; readonly messages: readonly Message[] } {
    const { answer, bytes } = this.#order({ depart: { agent } });
    this.#offers.delete(agent);
    if (typeof answer === "string" || !("departed" in answer)) throw unexpected(answer);
    return { state: bytes, messages: answer.departed.messages.map((message) => messageFromJson(message)) };
  }

  /**
   * Makes an agent durable on the attached platform, or not any more. Its turns are then reported as `worked`, and its
   * messages to local agents travel through the platform.
   */
  keep(agent: string, kept = true): void {
    this.#turns = TURNS_KEPT;
    this.#done({ keep: { agent, kept } });
  }

  /** Returns a program's portable form and the name of its code: `asl:HASH/NAME`. */
  code(path: string): { readonly name: string; readonly bytes: Uint8Array } {
    const { answer, bytes } = this.#order({ code: { path } });
    if (typeof answer === "string" || !("code" in answer)) throw unexpected(answer);
    return { name: answer.code.name, bytes };
  }

  /**
   * Adds a portable program. Its code name becomes its path.
   *
   * @throws {@link WhimbrelError} if the bytes do not match the name.
   */
  admit(code: string, bytes: Uint8Array): void {
    this.#done({ admit: { code } }, bytes);
  }

  /** Ends an agent. */
  kill(agent: string): void {
    this.#done({ kill: { agent } });
  }

  /** Suspends an agent: it gets no turns, and messages wait. */
  suspend(agent: string): void {
    this.#done({ suspend: { agent, suspended: true } });
  }

  /** Resumes a suspended agent. */
  resume(agent: string): void {
    this.#done({ suspend: { agent, suspended: false } });
  }

  /**
   * Returns the state of an agent's mind. With `follow`, the agent records its cycles until nobody has asked for a
   * while.
   */
  mind(agent: string, { follow = false } = {}): Mind {
    const { answer } = this.#order({ mind: { agent, follow } });
    if (typeof answer === "string" || !("mind" in answer)) throw unexpected(answer);
    return answer.mind.mind;
  }

  /**
   * Sends an instruction to an agent: pause, step, continue, break at a plan, believe, or pursue a goal.
   *
   * @throws {@link WhimbrelError} if the plan does not exist, or the belief or goal cannot be parsed.
   */
  instruct(agent: string, wanted: Instruction): void {
    this.#done({ instruct: { agent, wanted } });
  }

  /** The agents, in the order of their creation. */
  get agents(): readonly Member[] {
    return this.#agentStats().agents.map(([name, state]) => ({ name, state }));
  }

  /** Message counts by outcome. */
  get counters(): Counters {
    return this.#agentStats().counters;
  }

  #agentStats(): { readonly agents: readonly (readonly [string, string])[]; readonly counters: Counters } {
    const { answer } = this.#order("agents");
    if (typeof answer === "string" || !("agents" in answer)) throw unexpected(answer);
    return answer.agents;
  }

  // ---- Messages

  /**
   * Delivers a message to its local receivers. Returns the names of the others.
   *
   * @throws {@link EncodeError} if the message cannot be encoded.
   */
  deliver(message: Message): readonly string[] {
    const { answer } = this.#order({ deliver: { messages: [JSON.parse(messageToJson(message))] } });
    if (typeof answer === "string" || !("delivered" in answer)) throw unexpected(answer);
    return answer.delivered.missing[0] ?? [];
  }

  /** Turns `said` events on or off. */
  listen(on: boolean): void {
    this.#done({ listen: { on } });
  }

  /**
   * Attaches the society to a platform. Messages to agents elsewhere are then reported as `sent`, and `.node` answers
   * `place`. Undefined detaches it.
   */
  attach(platform: string | undefined, place = ""): void {
    this.#done({ attach: { platform: platform ?? null, place } });
  }

  // ---- Turns

  /** Pauses all agents until {@link Society.goOn}. */
  pause(): void {
    this.#isPaused = true;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** Resumes all agents after {@link Society.pause}. */
  goOn(): void {
    this.#isPaused = false;
    this.#sleepUntil(0);
  }

  /** Pauses all agents until the returned function is called. @internal */
  hold(): () => void {
    const holder = Symbol();
    this.#holders.add(holder);
    this.#cancel?.();
    this.#cancel = undefined;
    return () => {
      if (this.#holders.delete(holder)) this.#sleepUntil(0);
    };
  }

  /** Registered services of all agents. @internal */
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

  /** Gives turns for one time slice. */
  #run(): void {
    const until = this.#clock.now() + (this.#options.sliceMs ?? 8);
    try {
      let reply: Reply;
      this.#options.onTurns?.();
      do reply = this.#engineOrder({ run: { turns: this.#turns } });
      while (reply.wait_ms === 0 && this.#clock.now() < until && !this.#isWaiting && !this.#isOver);
      this.#follow(reply);
    } catch (error) {
      // A listener of `failed` has it already.
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
    if (this.#isOver) throw new WhimbrelError("the society has ended: load another one");
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

  #happened(happening: EngineEvent): void {
    if ("sent" in happening) {
      const { agent, message } = happening.sent;
      this.#tell("sent", { agent, message: messageFromJson(message) });
    } else if ("stopped" in happening) this.#over(happening.stopped.code);
    else this.#note(happening);
  }

  /** Updates the registered services, and reports an event. */
  #note(happening: EngineEvent): void {
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
        console.error(`whimbrel: a listener of "${name}" throws:`, error);
      }
    }
  }
}

function unexpected(answer: Reply["answer"]): WhimbrelError {
  return new WhimbrelError(typeof answer === "object" && "refused" in answer ? answer.refused.reason : "unexpected answer of the AgentSpeak engine");
}
