import { WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import { isTerm, map, textOf } from "../acl/value.js";
import type { Agent, Setup } from "../agents/agent.js";
import { connect } from "../agents/connect.js";
import { RefusedError } from "../agents/errors.js";
import type { Keep } from "../agents/saver.js";
import { WORKERS_MAX } from "../agents/limits.js";
import type { Offer, Platform } from "../agents/platform.js";
import type { Code } from "../session/frames.js";
import { SessionError } from "../session/session.js";
import type { DeviceAgent } from "./agent.js";
import { WorkerPool, isFinal, DEVICE_LEFT } from "./worker-pool.js";
import { DurationTrend } from "./duration-trend.js";
import { credentials } from "./protocol.js";
import { retryDelay, battery, isHidden, waitAtMost, type BatteryManager } from "./page.js";
import type { WorkerLike } from "./worker-channel.js";

/** Options of a device. */
export interface DeviceOptions {
  /** Token that admits its agents. */
  readonly token?: string;
  /**
   * Certificate of the platform's authority, as PEM. It replaces a token for the agents that it names. The device's own
   * name must be one of them.
   */
  readonly certificate?: string;
  /**
   * Private key of `certificate`, for Ed25519 or for ECDSA with P-256 ({@link importKey}). It may be non-exportable.
   * The Workers get it, too, and cannot export it either.
   */
  readonly key?: CryptoKey;
  /** Name of the agent that represents the device; `device-` and a random number by default. */
  readonly name?: string;
  /** Number of Workers, at least 1, that its user allows. By default one less than the processors, and at most 4. */
  readonly workers?: number;
  /** Time that its agents outlive the connection: 1 s to 5 min; 20 s by default. */
  readonly leaseMs?: number;
  /** True for frames in the compact form instead of JSON. */
  readonly compact?: boolean;
  /** Creates a Worker that runs `whimbrel/device/worker`, for bundled pages. */
  readonly createWorker?: () => WorkerLike;
  /** Address of the AgentSpeak engine; `agentspeak.wasm` of this package by default. */
  readonly engine?: string | URL;
  /** True to grant WebAssembly agents storage beside their memory, for the lifetime of their Worker. */
  readonly storage?: boolean;
  /** Kinds of work that the device does for others, each with its module ({@link WorkModule}). */
  readonly work?: Readonly<Record<string, string | URL>>;
  /**
   * Agents from elsewhere that the device accepts, by name and name of code (`asl:HASH/NAME`, `wasm:HASH/NAME`,
   * `ts:NAME`): all, none, or a condition. All by default. Code travels with the agents, except TypeScript: its agents
   * are accepted only if `modules` has the code.
   */
  readonly accepts?: boolean | ((name: string, code: string) => boolean);
  /**
   * TypeScript code that arriving agents may use. The name of code is the file name of the module that they were
   * created with.
   */
  readonly modules?: Readonly<Record<string, string | URL>>;
  /**
   * Names of agents that may inspect minds here, without changing them; none by default. `cli` is the console of the
   * platform's nodes. They send `mind(Name)` to the device's agent (`query-ref`, ontology `whimbrel-mind`), and get
   * JSON. Beware of platforms where anybody can create an agent with such a name.
   */
  readonly lookers?: readonly string[];
  /** True if its durable agents move away when others ask for that; true by default. */
  readonly yields?: boolean;
  /** Silence after which a Worker counts as stuck and is terminated with its agents; 20 s by default. */
  readonly stuckMs?: number;
  /** Receives errors of agents, lost connections, and ends of Workers. Prints them by default. */
  readonly onTrouble?: (trouble: Trouble) => void;
  /**
   * Called when the device loses its platform, with the reason, and when it returns. If its session is over, it tries
   * to begin another one until it leaves.
   */
  readonly onConnection?: (isConnected: boolean, why: string | undefined) => void;
  /** Called with agents that arrive from elsewhere. {@link DeviceAgent.ended} reports their departure. */
  readonly onArrival?: (agent: DeviceAgent) => void;
  /** Called after work for others, with its kind and success. */
  readonly onWork?: (kind: string, isDone: boolean) => void;
  /** Receives text that AgentSpeak and WebAssembly agents print. */
  readonly onPrint?: (agent: string, text: string) => void;
  /** Shortest time between two measurements of compute units; 30 s by default. @internal */
  readonly weighAgainMs?: number;
}

/** An error on a device that did not end it. */
export interface Trouble {
  /** Name of the agent concerned; empty for the device itself. */
  readonly agent: string;
  readonly error: Error;
}

const STUCK_MS = 20_000;
/** Default limit of the number of Workers. */
const WORKERS_UNASKED_MAX = 4;
/** Interval of measurements, and the shortest time between two. */
const WEIGH_EVERY_MS = 600_000;
const WEIGH_AGAIN_MS = 30_000;
/** Interval after a measurement on a busy machine. */
const WEIGH_BUSY_MS = 7000;
/** Longest time between a stopping node's reports about a session's agents and about the session. */
const OVER_MS = 5000;
/** Delay of status reports, to combine changes. */
const TELL_MS = 300;
/** Interval of checks whether the device is connected again. */
const ASK_AGAIN_MS = 200;
/** Agents that a status report names. */
const AGENTS_REPORTED_MAX = 256;
/** Codes with which a node refuses an agent for good. */
const REFUSED_FOR_GOOD: readonly Code[] = ["not-allowed", "bad-name"];

/**
 * A page as a device of a platform. Agents run in its Web Workers, each with a session of its own. An agent can delay
 * only its own Worker, and no failure reaches another.
 *
 * The device takes part until it leaves. Its session may end because the network was down for longer than the lease, or
 * because the machine slept. The device then joins again under the same name.
 *
 * ```ts
 * const device = await Device.join("wss://node.example/session", { token, workers: 2 });
 * const bob = await device.spawn("bob", new URL("./bob.js", import.meta.url));
 * ```
 */
export class Device {
  readonly #options: DeviceOptions;
  readonly #url: string;
  readonly #pool: WorkerPool;
  readonly #ending = new AbortController();
  readonly #durations = new DurationTrend();
  /** Set-up functions of the agents in the page itself, by name. */
  readonly #setups = new Map<string, Setup>();
  #platform: Platform | undefined;
  #steward: Agent | undefined;
  #isConnected = false;
  #battery: BatteryManager | undefined;
  #tells: ReturnType<typeof setTimeout> | undefined;
  #closed: ((why: Error) => void) | undefined;

  /** Name of the agent that represents the device. */
  readonly name: string;
  /**
   * Resolves with the reason when the device has left for good: it left, the node refuses it, or its agent was ended.
   */
  readonly closed: Promise<Error> = new Promise((resolve) => (this.#closed = resolve));

  private constructor(url: string, options: DeviceOptions) {
    const { token, certificate, key, leaseMs, compact = false, engine, storage = false, yields = true, createWorker = defaultWorker, stuckMs = STUCK_MS } = options;
    this.#url = url;
    this.#options = options;
    this.name = options.name ?? `device-${randomName()}`;
    this.#pool = new WorkerPool({
      order: { type: "join", url, token, certificate, key, leaseMs, compact, engine: engine === undefined ? undefined : absolute(engine), place: this.name, storage, yields },
      stuckMs,
      weighEveryMs: WEIGH_EVERY_MS,
      weighAgainMs: options.weighAgainMs ?? WEIGH_AGAIN_MS,
      weighBusyMs: WEIGH_BUSY_MS,
      create: createWorker,
      changed: () => this.#tellSoon(),
      trouble: (agent, error) => this.#trouble(agent, error),
      printed: (agent, text) => this.#options.onPrint?.(agent, text),
      exists: (agent) => this.#exists(agent),
    });
  }

  /**
   * Joins a platform: begins sessions for the device and its Workers, measures them, and reports to the agent
   * `devices`, if it exists.
   *
   * @throws {@link SessionError} if the node refuses the device, or cannot be reached. {@link RefusedError} if the name
   * is taken. {@link WhimbrelError} if `workers` is not a valid number.
   */
  static async join(url: string | URL, options: DeviceOptions = {}): Promise<Device> {
    const { workers = 1 } = options;
    if (!Number.isInteger(workers) || workers < 1 || workers > WORKERS_MAX) throw new WhimbrelError(`invalid number of Workers ${workers}: expected an integer from 1 to ${WORKERS_MAX}`);
    const device = new Device(new URL(url).href, options);
    try {
      await device.#begin();
    } catch (error) {
      await device.leave();
      throw error;
    }
    return device;
  }

  async #begin(): Promise<void> {
    this.#platform = await this.#connect();
    this.#isConnected = true;
    await this.#pool.begin(this.#options.workers ?? defaultWorkers());
    await this.#pool.weigh();
    await this.#serve(this.#platform);
    // Do not wait: some browsers never answer.
    void battery().then((found) => this.#watchBattery(found));
    globalThis.document?.addEventListener("visibilitychange", this.#seen);
  }

  #connect(): Promise<Platform> {
    return connect(this.#url, { signal: this.#ending.signal, ...credentials(this.#options) });
  }

  #watchBattery(found: BatteryManager | undefined): void {
    if (!found || this.#isOver) return;
    this.#battery = found;
    for (const type of ["levelchange", "chargingchange"]) found.addEventListener(type, this.#tellHow);
    this.#tellHow();
  }

  // ---- State

  /** Name of the platform. */
  get platform(): string {
    return this.#platform?.name ?? "";
  }

  /** True while there is a connection with its node. Without one, the device reconnects. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Compute units of all Workers. */
  get units(): number {
    return this.#pool.units;
  }

  /** Number of Workers. */
  get workers(): number {
    return this.#pool.size;
  }

  /** Agents in its Workers. */
  get agents(): readonly DeviceAgent[] {
    return this.#pool.agents;
  }

  get #isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  // ---- Agents

  /**
   * Creates an agent in the Worker with the fewest agents. `module` exports a set-up function or a class. It may also
   * be an AgentSpeak program (`.asl`) with `data` as its options, by the keys of `.mas2j`. For a WebAssembly module
   * (`.wasm`), `data` is the argument of the first call, an object of values.
   *
   * With `keep`, the node keeps the agent's state. When the page is closed and opened again, the agent continues.
   *
   * @throws {@link RefusedError} if the node refuses the agent. {@link WhimbrelError} if the module cannot be loaded.
   */
  async spawn(name: string, module: string | URL, data?: unknown, keep?: Keep): Promise<DeviceAgent> {
    return this.#pool.assign({ type: "spawn", name, module: absolute(module), data, keep });
  }

  /**
   * Creates an agent in the page itself, in the device's own session, for user interfaces. If that session is over, the
   * same function sets up a new agent of this name in the next one, unless the agent ended before.
   *
   * @throws {@link RefusedError} if the node refuses the agent. {@link SessionError} if the device has no session now.
   * Errors of `setup`.
   */
  async create(name: string, setup: Setup): Promise<Agent> {
    if (!this.#platform) throw new WhimbrelError("the device has not joined a platform");
    return this.#settle(this.#platform, name, setup);
  }

  async #settle(platform: Platform, name: string, setup: Setup): Promise<Agent> {
    const agent = await platform.create(name, setup);
    this.#setups.set(name, setup);
    void endedAlone(agent, platform).then((isAlone) => isAlone && this.#setups.get(name) === setup && this.#setups.delete(name));
    return agent;
  }

  /** Accepts an agent from elsewhere. An error is the reason of the refusal. */
  async #accept({ name, code }: Offer): Promise<void> {
    const { accepts = true, modules = {} } = this.#options;
    const [kind, file = ""] = [code.slice(0, code.indexOf(":")), code.slice(code.indexOf(":") + 1)];
    const module = kind === "ts" && Object.hasOwn(modules, file) ? modules[file] : undefined;
    const isKnown = kind === "asl" || kind === "wasm" || module !== undefined;
    if (!(typeof accepts === "function" ? accepts(name, code) : accepts)) throw new WhimbrelError(`the device ${this.name} does not accept it`);
    if (!isKnown) throw new WhimbrelError(`the device ${this.name} does not have the code ${code}`);
    const agent = await this.#pool.assign({ type: "accept", name, code, module: module && absolute(module) });
    this.#options.onArrival?.(agent);
  }

  /** Measures all Workers at the same time, and reports to the agent `devices`. */
  async weigh(): Promise<number> {
    await this.#pool.weigh();
    return this.units;
  }

  // ---- Sessions

  /** Creates the device's agent in a new session. */
  async #serve(platform: Platform): Promise<void> {
    const steward = await platform.create(this.name, (agent) => {
      // `devices` may not exist. The device then gets no work.
      agent.onMessage({ performative: "failure", sender: "ams" }, () => undefined);
      agent.onMessage({ performative: "request", sender: "devices" }, (message) => this.#work(agent, message));
      agent.onMessage({ performative: ["confirm", "refuse", "inform"], sender: "devices" }, (message) => {
        if (message.performative === "refuse") this.#trouble("", new WhimbrelError(`the agent devices refused a status report: ${String(message.content)}`));
      });
    });
    steward.onMessage({ performative: "query-ref", ontology: "whimbrel-mind" }, (message) => this.#show(steward, message));
    for (const [name, setup] of this.#setups) await this.#settle(platform, name, setup);
    if (this.#isOver) throw new WhimbrelError(DEVICE_LEFT);
    this.#platform = platform;
    this.#steward = steward;
    platform.onOffer((offer) => this.#accept(offer));
    platform.onConnection((isConnected, why) => this.#connected(isConnected, why));
    void platform.closed.then((error) => this.#rejoin(error));
    void endedAlone(steward, platform).then(async (isAlone) => {
      if (isAlone) await this.#end(new WhimbrelError(`the device's agent ended: ${await steward.ended}`));
    });
    this.#connected(platform.isConnected);
    this.#tellHow();
  }

  /** Begins another session under the same name. Retries until the node refuses it for good. */
  async #rejoin(error: SessionError): Promise<void> {
    if (this.#isOver) return;
    this.#connected(false, error.message);
    this.#trouble("", error);
    for (let failures = 1; !this.#isOver; failures++) {
      await retryDelay(failures, this.#ending.signal);
      try {
        if (!this.#isOver) return await this.#joinAgain();
      } catch (why) {
        if (isFinal(why) || (why instanceof RefusedError && REFUSED_FOR_GOOD.includes(why.code))) return this.#end(why as Error);
      }
    }
  }

  /** Resolves with true if the agent exists. Waits until the device has an agent to ask. */
  async #exists(name: string): Promise<boolean> {
    for (let steward = this.#steward; !this.#isOver; steward = this.#steward) {
      if (steward && !steward.signal.aborted) return (await steward.ams.search({ name })).some((found) => found.name.name === name);
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
    return false;
  }

  async #joinAgain(): Promise<void> {
    const platform = await this.#connect();
    try {
      await this.#serve(platform);
      // A machine that slept may have another capacity now. Its report may have crossed with the end of the last
      // session.
      this.#pool.weighSoon();
    } catch (error) {
      // The last session's agent may still have the name.
      await platform.close();
      throw error;
    }
  }

  #connected(isConnected: boolean, why?: string): void {
    if (isConnected === this.#isConnected || this.#isOver) return;
    this.#isConnected = isConnected;
    try {
      this.#options.onConnection?.(isConnected, why);
    } catch (error) {
      this.#trouble("", error instanceof Error ? error : new WhimbrelError(String(error)));
    }
  }

  /** Ends its agents, Workers and sessions. */
  async leave(): Promise<void> {
    await this.#end(new SessionError("bye", DEVICE_LEFT));
    await this.closed;
  }

  async #end(why: Error): Promise<void> {
    if (this.#isOver) return;
    this.#ending.abort(why);
    clearTimeout(this.#tells);
    for (const type of ["levelchange", "chargingchange"]) this.#battery?.removeEventListener(type, this.#tellHow);
    globalThis.document?.removeEventListener("visibilitychange", this.#seen);
    await this.#pool.leave();
    await this.#platform?.close();
    this.#closed?.(why);
  }

  // ---- Work, inspection and reports

  async #work(steward: Agent, message: Message): Promise<void> {
    const { content } = message;
    const kind = isTerm(content, "share", 2) ? (textOf(content.args[0]) ?? "") : "";
    const { work = {}, onWork } = this.#options;
    const module = Object.hasOwn(work, kind) ? work[kind] : undefined;
    const since = performance.now();
    const working = module !== undefined && isTerm(content, "share", 2) ? this.#pool.work(absolute(module), content.args[1] ?? null) : undefined;
    if (!working) return steward.reply(message, "refuse", content);
    try {
      const answer = await working;
      if (!isHidden() && this.#durations.note(kind, performance.now() - since)) this.#pool.weighSoon();
      steward.reply(message, "inform", answer);
      onWork?.(kind, true);
    } catch (error) {
      onWork?.(kind, false);
      if (!steward.signal.aborted) steward.reply(message, "failure", error instanceof Error ? error.message : String(error));
    }
  }

  /** Answers a request to inspect a mind. */
  async #show(steward: Agent, message: Message): Promise<void> {
    const { content, sender } = message;
    if (!this.#options.lookers?.some((looker) => sender.equals(looker))) return steward.reply(message, "refuse", "forbidden");
    const name = isTerm(content, "mind", 1) ? textOf(content.args[0]) : undefined;
    try {
      const agent = this.agents.find((one) => one.name === name);
      if (!agent) throw new WhimbrelError(`no agent ${name} on this device`);
      steward.reply(message, "inform", JSON.stringify(await agent.mind()));
    } catch (error) {
      if (!steward.signal.aborted) steward.reply(message, "failure", error instanceof Error ? error.message : String(error));
    }
  }

  /** Schedules a status report. */
  #tellSoon(): void {
    if (this.#isOver) return;
    this.#tells ??= setTimeout(() => {
      this.#tells = undefined;
      this.#tellHow();
    }, TELL_MS);
  }

  /** Handles a change of visibility. The capacity may have changed while the page was hidden. */
  readonly #seen = (): void => {
    if (!isHidden()) this.#pool.weighSoon();
    this.#tellHow();
  };

  /** Reports capacity and status to the agent `devices`. */
  readonly #tellHow = (): void => {
    const steward = this.#steward;
    if (!steward || steward.signal.aborted) return;
    const content = map({
      units: BigInt(this.units),
      places: BigInt(this.workers),
      visible: !isHidden(),
      kinds: Object.keys(this.#options.work ?? {}),
      agents: this.agents.slice(0, AGENTS_REPORTED_MAX).map(({ name }) => name),
      battery: this.#battery ? map({ percent: BigInt(Math.round(this.#battery.level * 100)), charging: this.#battery.charging }) : null,
    });
    steward.send({ performative: "inform", receivers: "devices", content });
  };

  #trouble(agent: string, error: Error): void {
    try {
      if (this.#options.onTrouble) return this.#options.onTrouble({ agent, error });
    } catch (worse) {
      console.error("device: onTrouble throws", worse, "when called with");
    }
    console.error(agent === "" ? "device:" : `agent ${agent}:`, error);
  }
}

/**
 * Returns true if an agent ended by itself, and not with its session. A stopping node reports the end of the session a
 * moment later.
 */
async function endedAlone(agent: Agent, platform: Platform): Promise<boolean> {
  if ((await agent.ended) === "finished") return true;
  await waitAtMost(OVER_MS, platform.closed);
  return platform.over === undefined;
}

const absolute = (url: string | URL): string => new URL(url, globalThis.location?.href).href;

function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function defaultWorkers(): number {
  return Math.min(WORKERS_UNASKED_MAX, Math.max(1, (globalThis.navigator?.hardwareConcurrency ?? 2) - 1));
}

function defaultWorker(): WorkerLike {
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}
