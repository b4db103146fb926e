import { WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import { isTerm, map, textOf } from "../acl/value.js";
import type { Agent, Setup } from "../agents/agent.js";
import { connect } from "../agents/connect.js";
import { RefusedError } from "../agents/errors.js";
import type { Keep } from "../agents/keeper.js";
import { WORKERS_MAX } from "../agents/limits.js";
import type { Offer, Platform } from "../agents/platform.js";
import type { Code } from "../session/frames.js";
import { SessionError } from "../session/session.js";
import type { DeviceAgent } from "./agent.js";
import { Crews, isFinal, LEFT } from "./crews.js";
import { Pace } from "./pace.js";
import { credentials } from "./protocol.js";
import { again, battery, isHidden, within, type BatteryManager } from "./page.js";
import type { WorkerLike } from "./worker-line.js";

/** How a device takes part. */
export interface DeviceOptions {
  /** What lets its agents in. */
  readonly token?: string;
  /** A certificate of the platform's authority, as PEM: does instead of a token, for the agents that it names. The device's own name is to be one of them. */
  readonly certificate?: string;
  /** The key of `certificate`, for Ed25519 or for ECDSA with P-256 ({@link importKey}). It may be one that cannot be exported: Workers have it, too, and can do no more with it. */
  readonly key?: CryptoKey;
  /** The name of the agent that speaks for the device; `device-` and a random number if not said. */
  readonly name?: string;
  /** How many Workers it has, 1 at least: what its user allows. One less than the machine has processors, and 4 at most, if not said. */
  readonly workers?: number;
  /** How long its agents outlive the connection: 1 s to 5 min; 20 s if not said. */
  readonly leaseMs?: number;
  /** Whether frames are in the compact form instead of JSON. */
  readonly compact?: boolean;
  /** Makes a Worker that runs `whimbrel/device/worker`: for pages that are bundled. */
  readonly createWorker?: () => WorkerLike;
  /** Where the AgentSpeak engine is: `agentspeak.wasm` of this package. */
  readonly engine?: string | URL;
  /** Whether WebAssembly agents may keep something here beside their memory, for as long as their Worker lives. */
  readonly storage?: boolean;
  /** Kinds of work that it does for others, each with the module that makes an answer of a part. */
  readonly work?: Readonly<Record<string, string | URL>>;
  /**
   * Which agents from elsewhere it takes in, by their names and what their code is called (`asl:HASH/NAME`, `wasm:HASH/NAME`, `ts:NAME`): all, none, or those of which this is
   * true. All if not said: their code comes with them, but that of agents in TypeScript, which are taken in only if `modules` has it.
   */
  readonly accepts?: boolean | ((name: string, code: string) => boolean);
  /** Code of agents in TypeScript that may come from elsewhere, by its name: that of the file of the module that they were spawned with. */
  readonly modules?: Readonly<Record<string, string | URL>>;
  /**
   * Names of agents that may look into the minds here, and change nothing: `cli` is who asks for the consoles of the platform's nodes. None if not said. They ask the device's agent (`query-ref`,
   * ontology `whimbrel-mind`) for `mind(Name)`, and are told as JSON. Whoever may have any name on the platform could have one of these.
   */
  readonly lookers?: readonly string[];
  /** Whether its agents that are kept go elsewhere when somebody else wants that; true if not said. */
  readonly yields?: boolean;
  /** After how long without a word a Worker is taken for stuck, and ended with its agents: 20 s if not said. */
  readonly stuckMs?: number;
  /** Told of what agents fail with, of lost connections, of Workers that end. Prints it, if not said. */
  readonly onTrouble?: (trouble: Trouble) => void;
  /**
   * Told when the device is cut off from its platform, and why, and when it is there again: over the same session, or, if that is over, over another one, for which it tries until it has left.
   */
  readonly onConnection?: (isConnected: boolean, why: string | undefined) => void;
  /** Told of agents that came from elsewhere. How they left again {@link DeviceAgent.ended} tells. */
  readonly onArrival?: (agent: DeviceAgent) => void;
  /** Told of work that it did for others: of which kind, and whether it went well. */
  readonly onWork?: (kind: string, isDone: boolean) => void;
  /** Told of what agents in AgentSpeak and WebAssembly print. */
  readonly onPrint?: (agent: string, text: string) => void;
  /** Compute units are not measured again before so long: 30 s. @internal */
  readonly weighAgainMs?: number;
}

/** Something that went wrong on a device, and did not end it. */
export interface Trouble {
  /** Whom it is about; empty if it is the device. */
  readonly agent: string;
  readonly error: Error;
}

const STUCK_MS = 20_000;
/** As many as there are if nobody says how many. */
const WORKERS_UNASKED_MAX = 4;
/** Compute units are measured again after so long, and not before so long. */
const WEIGH_EVERY_MS = 600_000;
const WEIGH_AGAIN_MS = 30_000;
/** They are after so long, if the machine had other things to do meanwhile. */
const WEIGH_BUSY_MS = 7000;
/** How long a node that stops may take from the end of a session's agents to that of the session. */
const OVER_MS = 5000;
/** What changes at once is told of together, after so long. */
const TELL_MS = 300;
/** How long somebody waits for the device to be there again. */
const ASK_AGAIN_MS = 200;
/** How many of its agents are told by name. */
const AGENTS_TOLD_MAX = 256;
/** A node that refuses an agent for one of these does so again. */
const REFUSED_FOR_GOOD: readonly Code[] = ["not-allowed", "bad-name"];

/**
 * A page as a device of a platform: agents run in its Web Workers, each of which has a session of its own. What one agent does
 * holds up no more than its own Worker, and no failure reaches another.
 *
 * It takes part until it leaves: if its session is over, as the network was away for longer than the lease, or the machine asleep, it joins again under the same name.
 *
 * ```ts
 * const device = await Device.join("wss://node.example/session", { token, workers: 2 });
 * const bob = await device.spawn("bob", new URL("./bob.js", import.meta.url));
 * ```
 */
export class Device {
  readonly #options: DeviceOptions;
  readonly #url: string;
  readonly #crews: Crews;
  readonly #ending = new AbortController();
  readonly #pace = new Pace();
  /** What sets up the agents that live in the page itself, by their names. */
  readonly #setups = new Map<string, Setup>();
  #platform: Platform | undefined;
  #steward: Agent | undefined;
  #isConnected = false;
  #battery: BatteryManager | undefined;
  #tells: ReturnType<typeof setTimeout> | undefined;
  #closed: ((why: Error) => void) | undefined;

  /** The name of the agent that speaks for the device. */
  readonly name: string;
  /** Resolves with the reason when the device is part of its platform no more: it left, the node does not let it in any more, or somebody ended the agent that speaks for it. */
  readonly closed: Promise<Error> = new Promise((resolve) => (this.#closed = resolve));

  private constructor(url: string, options: DeviceOptions) {
    const { token, certificate, key, leaseMs, compact = false, engine, storage = false, yields = true, createWorker = defaultWorker, stuckMs = STUCK_MS } = options;
    this.#url = url;
    this.#options = options;
    this.name = options.name ?? `device-${randomName()}`;
    this.#crews = new Crews({
      order: { type: "join", url, token, certificate, key, leaseMs, compact, engine: engine === undefined ? undefined : absolute(engine), place: this.name, storage, yields },
      stuckMs,
      weighEveryMs: WEIGH_EVERY_MS,
      weighAgainMs: options.weighAgainMs ?? WEIGH_AGAIN_MS,
      weighBusyMs: WEIGH_BUSY_MS,
      create: createWorker,
      changed: () => this.#tellSoon(),
      trouble: (agent, error) => this.#trouble(agent, error),
      printed: (agent, text) => this.#options.onPrint?.(agent, text),
      isThere: (agent) => this.#isThere(agent),
    });
  }

  /**
   * Joins a platform: begins sessions for the device and its Workers, measures what they can do, and tells the agent `devices`, if there is one.
   *
   * @throws {@link SessionError} if the node does not let it in, or none answers; {@link RefusedError} if the name is taken; {@link WhimbrelError} if `workers` is no number of Workers.
   */
  static async join(url: string | URL, options: DeviceOptions = {}): Promise<Device> {
    const { workers = 1 } = options;
    if (!Number.isInteger(workers) || workers < 1 || workers > WORKERS_MAX) throw new WhimbrelError(`a device has 1 to ${WORKERS_MAX} Workers, a whole number: workers is ${workers}`);
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
    await this.#crews.begin(this.#options.workers ?? defaultWorkers());
    await this.#crews.weigh();
    await this.#serve(this.#platform);
    // Some browsers never answer.
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

  // ---- What it is

  /** The platform's name. */
  get platform(): string {
    return this.#platform?.name ?? "";
  }

  /** Whether there is a connection with its node. If not one is being made. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** What its Workers can do together, in compute units. */
  get units(): number {
    return this.#crews.units;
  }

  /** How many Workers it has. */
  get workers(): number {
    return this.#crews.size;
  }

  /** The agents that run in its Workers. */
  get agents(): readonly DeviceAgent[] {
    return this.#crews.agents;
  }

  get #isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  // ---- Agents

  /**
   * Creates an agent in the Worker that has the fewest. Its module exports a function that sets it up, or a class; or is a program in AgentSpeak
   * (`.asl`), whose options by the keys of `.mas2j` are `data` then, or a WebAssembly module (`.wasm`), whose first call is told `data`: an object of values.
   * With `keep` its state is kept at the node: closed, and opened again, the page goes on with it.
   *
   * @throws {@link RefusedError} if the node does not want it; {@link WhimbrelError} if the module cannot be loaded.
   */
  async spawn(name: string, module: string | URL, data?: unknown, keep?: Keep): Promise<DeviceAgent> {
    return this.#crews.lodge({ type: "spawn", name, module: absolute(module), data, keep });
  }

  /**
   * Creates an agent in the page itself, by the device's own session: for what the page shows, and what its user does. Should that session be over, a new agent of this name is set up by the same
   * function in the next one; unless this one ended before.
   *
   * @throws {@link RefusedError} if the node does not want it; {@link SessionError} if the device has no session now; what `setup` throws.
   */
  async create(name: string, setup: Setup): Promise<Agent> {
    if (!this.#platform) throw new WhimbrelError("the device is part of no platform");
    return this.#settle(this.#platform, name, setup);
  }

  async #settle(platform: Platform, name: string, setup: Setup): Promise<Agent> {
    const agent = await platform.create(name, setup);
    this.#setups.set(name, setup);
    void endedAlone(agent, platform).then((isAlone) => isAlone && this.#setups.get(name) === setup && this.#setups.delete(name));
    return agent;
  }

  /** An agent is to come here from elsewhere. What is thrown is why it does not. */
  async #accept({ name, code }: Offer): Promise<void> {
    const { accepts = true, modules = {} } = this.#options;
    const [kind, file = ""] = [code.slice(0, code.indexOf(":")), code.slice(code.indexOf(":") + 1)];
    const module = kind === "ts" && Object.hasOwn(modules, file) ? modules[file] : undefined;
    const isKnown = kind === "asl" || kind === "wasm" || module !== undefined;
    if (!(typeof accepts === "function" ? accepts(name, code) : accepts)) throw new WhimbrelError(`the device ${this.name} does not take it in`);
    if (!isKnown) throw new WhimbrelError(`the device ${this.name} does not know ${code}`);
    const agent = await this.#crews.lodge({ type: "accept", name, code, module: module && absolute(module) });
    this.#options.onArrival?.(agent);
  }

  /** Measures what its Workers can do, all at once; the agent `devices` is told. */
  async weigh(): Promise<number> {
    await this.#crews.weigh();
    return this.units;
  }

  // ---- Being there

  /** Is the device from now on, by this session. */
  async #serve(platform: Platform): Promise<void> {
    const steward = await platform.create(this.name, (agent) => {
      // `devices` may not be there: then nobody wants anything.
      agent.onMessage({ performative: "failure", sender: "ams" }, () => undefined);
      agent.onMessage({ performative: "request", sender: "devices" }, (message) => this.#work(agent, message));
      agent.onMessage({ performative: ["confirm", "refuse", "inform"], sender: "devices" }, (message) => {
        if (message.performative === "refuse") this.#trouble("", new WhimbrelError(`devices refuses: ${String(message.content)}`));
      });
    });
    steward.onMessage({ performative: "query-ref", ontology: "whimbrel-mind" }, (message) => this.#show(steward, message));
    for (const [name, setup] of this.#setups) await this.#settle(platform, name, setup);
    if (this.#isOver) throw new WhimbrelError(LEFT);
    this.#platform = platform;
    this.#steward = steward;
    platform.onOffer((offer) => this.#accept(offer));
    platform.onConnection((isConnected, why) => this.#connected(isConnected, why));
    void platform.closed.then((error) => this.#rejoin(error));
    void endedAlone(steward, platform).then(async (isAlone) => {
      if (isAlone) await this.#end(new WhimbrelError(`its agent ended: ${await steward.ended}`));
    });
    this.#connected(platform.isConnected);
    this.#tellHow();
  }

  /** Its session is over: another one is begun, under the same name, whenever that may be. */
  async #rejoin(error: SessionError): Promise<void> {
    if (this.#isOver) return;
    this.#connected(false, error.message);
    this.#trouble("", error);
    for (let failures = 1; !this.#isOver; failures++) {
      await again(failures, this.#ending.signal);
      try {
        if (!this.#isOver) return await this.#joinAgain();
      } catch (why) {
        if (isFinal(why) || (why instanceof RefusedError && REFUSED_FOR_GOOD.includes(why.code))) return this.#end(why as Error);
      }
    }
  }

  /** Whether there is an agent of this name, once there is somebody who can ask. */
  async #isThere(name: string): Promise<boolean> {
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
      // A machine that slept may be another one now; and what it told may have crossed with the news of its last session's end.
      this.#crews.weighSoon();
    } catch (error) {
      // Its name may be that of its last session's agent still.
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

  /** Ends its agents, its Workers and its sessions. */
  async leave(): Promise<void> {
    await this.#end(new SessionError("bye", LEFT));
    await this.closed;
  }

  async #end(why: Error): Promise<void> {
    if (this.#isOver) return;
    this.#ending.abort(why);
    clearTimeout(this.#tells);
    for (const type of ["levelchange", "chargingchange"]) this.#battery?.removeEventListener(type, this.#tellHow);
    globalThis.document?.removeEventListener("visibilitychange", this.#seen);
    await this.#crews.leave();
    await this.#platform?.close();
    this.#closed?.(why);
  }

  // ---- Work

  async #work(steward: Agent, message: Message): Promise<void> {
    const { content } = message;
    const kind = isTerm(content, "share", 2) ? (textOf(content.args[0]) ?? "") : "";
    const { work = {}, onWork } = this.#options;
    const module = Object.hasOwn(work, kind) ? work[kind] : undefined;
    const since = performance.now();
    const working = module !== undefined && isTerm(content, "share", 2) ? this.#crews.work(absolute(module), content.args[1] ?? null) : undefined;
    if (!working) return steward.reply(message, "refuse", content);
    try {
      const answer = await working;
      if (!isHidden() && this.#pace.note(kind, performance.now() - since)) this.#crews.weighSoon();
      steward.reply(message, "inform", answer);
      onWork?.(kind, true);
    } catch (error) {
      onWork?.(kind, false);
      if (!steward.signal.aborted) steward.reply(message, "failure", error instanceof Error ? error.message : String(error));
    }
  }

  /** Somebody wants to see a mind. */
  async #show(steward: Agent, message: Message): Promise<void> {
    const { content, sender } = message;
    if (!this.#options.lookers?.some((looker) => sender.equals(looker))) return steward.reply(message, "refuse", "forbidden");
    const name = isTerm(content, "mind", 1) ? textOf(content.args[0]) : undefined;
    try {
      const agent = this.agents.find((one) => one.name === name);
      if (!agent) throw new WhimbrelError(`there is no agent ${name} here`);
      steward.reply(message, "inform", JSON.stringify(await agent.mind()));
    } catch (error) {
      if (!steward.signal.aborted) steward.reply(message, "failure", error instanceof Error ? error.message : String(error));
    }
  }

  /** What is told of is another. */
  #tellSoon(): void {
    if (this.#isOver) return;
    this.#tells ??= setTimeout(() => {
      this.#tells = undefined;
      this.#tellHow();
    }, TELL_MS);
  }

  /** The page was shown, or hidden. What it can do may be another since it was seen last. */
  readonly #seen = (): void => {
    if (!isHidden()) this.#crews.weighSoon();
    this.#tellHow();
  };

  /** Tells the agent `devices` what the device can do, and how it is doing. */
  readonly #tellHow = (): void => {
    const steward = this.#steward;
    if (!steward || steward.signal.aborted) return;
    const content = map({
      units: BigInt(this.units),
      places: BigInt(this.workers),
      visible: !isHidden(),
      kinds: Object.keys(this.#options.work ?? {}),
      agents: this.agents.slice(0, AGENTS_TOLD_MAX).map(({ name }) => name),
      battery: this.#battery ? map({ percent: BigInt(Math.round(this.#battery.level * 100)), charging: this.#battery.charging }) : null,
    });
    steward.send({ performative: "inform", receivers: "devices", content });
  };

  #trouble(agent: string, error: Error): void {
    try {
      if (this.#options.onTrouble) return this.#options.onTrouble({ agent, error });
    } catch (worse) {
      console.error("device: onTrouble throws", worse, "when told of");
    }
    console.error(agent === "" ? "device:" : `agent ${agent}:`, error);
  }
}

/** Whether an agent ended by itself, or was ended, and not with its session: of that a node that stops tells a moment later. */
async function endedAlone(agent: Agent, platform: Platform): Promise<boolean> {
  if ((await agent.ended) === "finished") return true;
  await within(OVER_MS, platform.closed);
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
