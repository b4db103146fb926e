import { WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import { isTerm, map, textOf, type Value } from "../acl/value.js";
import { Agent } from "../agents/agent.js";
import { connect } from "../agents/connect.js";
import type { Keep } from "../agents/keeper.js";
import { TIMER_MS_MAX } from "../agents/limits.js";
import type { Offer, Platform } from "../agents/platform.js";
import type { Fault } from "./protocol.js";
import { errorOf, WorkerLine, type WorkerLike } from "./worker-line.js";

/** How a device takes part. */
export interface DeviceOptions {
  /** What lets its agents in. */
  readonly token?: string;
  /** The name of the agent that speaks for the device; `device-` and a random number if not said. */
  readonly name?: string;
  /** How many Workers it has: what its user allows. One less than the machine has processors, and 4 at most, if not said. */
  readonly workers?: number;
  /** How long its agents outlive the connection: 1 s to 5 min; 10 s if not said. */
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
  /** Whether its agents that are kept go elsewhere when somebody else wants that; true if not said. */
  readonly yields?: boolean;
  /** After how long without a word a Worker is taken for stuck, and ended with its agents: 20 s if not said. */
  readonly stuckMs?: number;
  /** Told of what agents fail with, of lost connections, of Workers that end. Prints it, if not said. */
  readonly onTrouble?: (trouble: Trouble) => void;
  /** Told of agents that came from elsewhere. How they left again {@link DeviceAgent.ended} tells. */
  readonly onArrival?: (agent: DeviceAgent) => void;
  /** Told of work that it did for others: of which kind, and whether it went well. */
  readonly onWork?: (kind: string, isDone: boolean) => void;
  /** Told of what agents in AgentSpeak and WebAssembly print. */
  readonly onPrint?: (agent: string, text: string) => void;
}

/** Something that went wrong on a device, and did not end it. */
export interface Trouble {
  /** Whom it is about; empty if it is the device. */
  readonly agent: string;
  readonly error: Error;
}

/** Between two looks at the Workers. */
const LOOK_MS = 2000;
const STUCK_MS = 20_000;
const WORKERS_MAX = 4;
/** Compute units are measured again after so long. */
const WEIGH_EVERY_MS = 600_000;
/** What part they have to differ by to be told of. */
const DRIFT = 0.25;
/** Agents that come and go are told of together, after so long. */
const TELL_AGENTS_MS = 300;
/** How many of them are told by name. */
const AGENTS_TOLD_MAX = 256;

/** An agent in a Worker of this device. */
export class DeviceAgent {
  /** Resolves with the reason when it ended. */
  readonly ended: Promise<string>;
  #end: ((reason: string) => void) | undefined;
  #isSuspended = false;

  /** @internal */
  constructor(
    /** Its identifier, `name@platform`. */
    readonly aid: string,
    readonly line: WorkerLine,
    readonly id: number,
  ) {
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  /** Its local name. */
  get name(): string {
    return this.aid.slice(0, this.aid.lastIndexOf("@"));
  }

  /** Whether it is given nothing to do. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** Gives it nothing to do; messages wait for it. */
  suspend(): void {
    this.#isSuspended = true;
    this.line.say({ type: "suspend", id: this.id, suspended: true });
  }

  /** Lets it go on. */
  resume(): void {
    this.#isSuspended = false;
    this.line.say({ type: "suspend", id: this.id, suspended: false });
  }

  /**
   * Has it go on elsewhere, from where it is now: on a node, or on the device of this name. It has to be kept. Resolves when it is there; {@link DeviceAgent.ended} says so, too.
   *
   * @throws {@link StayedError} if it stays: why.
   */
  async moveTo(place: string): Promise<void> {
    await this.line.ask({ type: "move", agent: this.id, to: place });
  }

  /** Ends it. */
  async end(): Promise<void> {
    this.line.say({ type: "end", id: this.id });
    await this.ended;
  }

  /** @internal */
  over(reason: string): void {
    this.#end?.(reason);
  }
}

interface Crew {
  readonly line: WorkerLine;
  readonly agents: Map<number, DeviceAgent>;
  /** Agents that are to be. */
  coming: number;
  working: number;
}

/** What browsers tell of their battery; few do. */
interface BatteryManager extends EventTarget {
  readonly level: number;
  readonly charging: boolean;
}

/**
 * A page as a device of a platform: agents run in its Web Workers, each of which has a session of its own. What one agent does
 * holds up no more than its own Worker, and no failure reaches another.
 *
 * ```ts
 * const device = await Device.join("wss://node.example/session", { token, workers: 2 });
 * const bob = await device.spawn("bob", new URL("./bob.js", import.meta.url));
 * ```
 */
export class Device {
  readonly #options: DeviceOptions;
  readonly #url: string;
  readonly #name: string;
  #platform: Platform | undefined;
  #steward: Agent | undefined;
  #crews: Crew[] = [];
  #units = 0;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #battery: BatteryManager | undefined;
  #weighedAt = 0;
  #lookedAt = 0;
  #tells: ReturnType<typeof setTimeout> | undefined;

  private constructor(url: string, options: DeviceOptions) {
    this.#url = url;
    this.#options = options;
    this.#name = options.name ?? `device-${randomName()}`;
  }

  /**
   * Joins a platform: begins sessions for the device and its Workers, measures what they can do, and tells the agent `devices`, if there is one.
   *
   * @throws {@link SessionError} if the node does not let it in, or none answers; {@link RefusedError} if the name is taken.
   */
  static async join(url: string | URL, options: DeviceOptions = {}): Promise<Device> {
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
    const { token, leaseMs, workers = defaultWorkers() } = this.#options;
    const session = { ...(token !== undefined && { token }), ...(leaseMs !== undefined && { leaseMs }) };
    this.#platform = await connect(this.#url, session);
    const hired = await Promise.allSettled(Array.from({ length: Math.max(1, workers) }, () => this.#hire()));
    // Those that came are ended with the device, if one did not.
    this.#crews = hired.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const failed = hired.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    await this.weigh();
    this.#steward = await this.#platform.create(this.#name, (agent) => {
      // `devices` may not be there: then nobody wants anything.
      agent.onMessage({ performative: "failure", sender: "ams" }, () => undefined);
      agent.onMessage({ performative: "request", sender: "devices" }, (message) => this.#work(agent, message));
      agent.onMessage({ performative: ["confirm", "refuse", "inform"], sender: "devices" }, (message) => {
        if (message.performative === "refuse") this.#trouble("", new WhimbrelError(`devices refuses: ${String(message.content)}`));
      });
    });
    this.#platform.onOffer((offer) => this.#accept(offer));
    void this.#platform.closed.then((error) => this.#isOver || this.#trouble("", error));
    // Some browsers never answer.
    void battery().then((found) => this.#watchBattery(found));
    globalThis.document?.addEventListener("visibilitychange", this.#tellHow);
    this.#tellHow();
    this.#look();
  }

  #watchBattery(found: BatteryManager | undefined): void {
    if (!found || this.#isOver) return;
    this.#battery = found;
    for (const type of ["levelchange", "chargingchange"]) found.addEventListener(type, this.#tellHow);
    this.#tellHow();
  }

  /** The platform's name. */
  get platform(): string {
    return this.#platform?.name ?? "";
  }

  /** The name of the agent that speaks for the device. */
  get name(): string {
    return this.#steward?.name ?? "";
  }

  /** What its Workers can do together, in compute units. */
  get units(): number {
    return this.#units;
  }

  /** How many Workers it has. */
  get workers(): number {
    return this.#crews.length;
  }

  /** The agents that run here. */
  get agents(): readonly DeviceAgent[] {
    return this.#crews.flatMap(({ agents }) => [...agents.values()]);
  }

  /**
   * Creates an agent in the Worker that has the fewest. Its module exports a function that sets it up, or a class; or is a program in AgentSpeak
   * (`.asl`), whose options by the keys of `.mas2j` are `data` then, or a WebAssembly module (`.wasm`), whose first call is told `data`: an object of values.
   * With `keep` its state is kept at the node: closed, and opened again, the page goes on with it.
   *
   * @throws {@link RefusedError} if the node does not want it; {@link WhimbrelError} if the module cannot be loaded.
   */
  async spawn(name: string, module: string | URL, data?: unknown, keep?: Keep): Promise<DeviceAgent> {
    return this.#lodge((line, id) => line.ask({ type: "spawn", name, module: absolute(module), data, keep }, id));
  }

  /** An agent is to come here from elsewhere. What is thrown is why it does not. */
  async #accept({ name, code }: Offer): Promise<void> {
    const { accepts = true, modules = {} } = this.#options;
    const [kind, file = ""] = [code.slice(0, code.indexOf(":")), code.slice(code.indexOf(":") + 1)];
    const module = kind === "ts" && Object.hasOwn(modules, file) ? modules[file] : undefined;
    const isKnown = kind === "asl" || kind === "wasm" || module !== undefined;
    if (!(typeof accepts === "function" ? accepts(name, code) : accepts)) throw new WhimbrelError(`the device ${this.#name} does not take it in`);
    if (!isKnown) throw new WhimbrelError(`the device ${this.#name} does not know ${code}`);
    const agent = await this.#lodge((line, id) => line.ask({ type: "accept", name, code, module: module && absolute(module) }, id));
    this.#options.onArrival?.(agent);
  }

  /** Has an agent come to be in the Worker that has the fewest. */
  async #lodge(order: (line: WorkerLine, id: number) => Promise<unknown>): Promise<DeviceAgent> {
    const crew = this.#freest();
    const { line } = crew;
    const id = line.number();
    crew.coming++;
    try {
      const agent = new DeviceAgent((await order(line, id)) as string, line, id);
      crew.agents.set(id, agent);
      this.#tellSoon();
      // The Worker may have ended meanwhile.
      if (!this.#crews.includes(crew)) agent.over("failed: its Worker ended");
      return agent;
    } finally {
      crew.coming--;
    }
  }

  #freest(): Crew {
    const load = ({ agents, coming }: Crew): number => agents.size + coming;
    const free = this.#crews.filter((crew) => load(crew) < crew.line.agentsMax).sort((one, other) => load(one) - load(other));
    const [first] = free;
    if (first) return first;
    throw new WhimbrelError(this.#isOver ? "the device left the platform" : "the device has as many agents as it may have");
  }

  /** Measures what its Workers can do, all at once; the agent `devices` is told if it is much more or less than before. */
  async weigh(): Promise<number> {
    const measured = await Promise.all(this.#crews.map(({ line }) => line.ask({ type: "weigh" }).catch(() => 0)));
    const units = Math.max(1, measured.reduce<number>((sum, each) => sum + Number(each), 0));
    this.#weighedAt = performance.now();
    const isNew = Math.abs(units - this.#units) > this.#units * DRIFT;
    if (isNew) this.#units = units;
    if (isNew) this.#tellHow();
    return this.#units;
  }

  /** Ends its agents, its Workers and its sessions. */
  async leave(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#tells);
    for (const type of ["levelchange", "chargingchange"]) this.#battery?.removeEventListener(type, this.#tellHow);
    globalThis.document?.removeEventListener("visibilitychange", this.#tellHow);
    const crews = this.#crews.splice(0);
    await Promise.all(crews.map((crew) => this.#dismiss(crew)));
    if (this.#platform && !(await this.#isClosed())) await this.#platform.close();
  }

  async #isClosed(): Promise<boolean> {
    return Promise.race([this.#platform?.closed.then(() => true) ?? true, Promise.resolve(false)]);
  }

  /** Lets a Worker say good-bye; it has a second for that. */
  async #dismiss({ line, agents }: Crew): Promise<void> {
    line.say({ type: "leave" });
    const all = Promise.all([...agents.values()].map(({ ended }) => ended));
    await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 1000))]);
    line.terminate("the device left the platform");
    for (const agent of agents.values()) agent.over("the device left the platform");
  }

  // ---- Workers

  async #hire(): Promise<Crew> {
    const { token, leaseMs, compact = false, createWorker = defaultWorker, engine, storage = false, yields = true } = this.#options;
    const crew: Crew = {
      agents: new Map(),
      coming: 0,
      working: 0,
      line: new WorkerLine(createWorker(), (news) => {
        if (news.type === "ended") {
          crew.agents.get(news.id)?.over(news.reason);
          crew.agents.delete(news.id);
          this.#tellSoon();
        } else if (news.type === "trouble") this.#trouble(news.agent, errorOf(news.fault));
        else if (news.type === "printed") this.#options.onPrint?.(news.agent, news.text);
        else if (news.type === "closed") this.#lost(crew, news.fault);
        else if (news.type === "connection" && !news.isConnected) this.#trouble("", new WhimbrelError(`no connection: ${news.why ?? ""}`));
      }),
    };
    const order = { type: "join", url: this.#url, token, leaseMs, compact, engine: engine === undefined ? undefined : absolute(engine), place: this.#name, storage, yields } as const;
    try {
      await crew.line.join(order);
    } catch (error) {
      crew.line.terminate("it could not join");
      throw error;
    }
    return crew;
  }

  /** A Worker's session is over: its agents are. Another takes its place. */
  #lost(crew: Crew, fault: Fault): void {
    const place = this.#crews.indexOf(crew);
    if (place < 0) return;
    const error = errorOf(fault);
    crew.line.terminate(error.message);
    for (const agent of crew.agents.values()) agent.over(`failed: ${error.message}`);
    this.#crews.splice(place, 1);
    this.#tellSoon();
    if (this.#isOver) return;
    this.#trouble("", error);
    this.#hire().then(
      (next) => (this.#isOver ? next.line.terminate("the device left the platform") : void this.#crews.push(next)),
      (again: unknown) => this.#trouble("", again instanceof Error ? again : new WhimbrelError(String(again))),
    );
  }

  /** Looks whether Workers are stuck, and how much they can do. */
  #look(): void {
    const stuckMs = this.#options.stuckMs ?? STUCK_MS;
    const wait = Math.min(LOOK_MS, stuckMs / 4, TIMER_MS_MAX);
    const now = performance.now();
    // A page that was frozen, or whose machine slept, says nothing about its Workers.
    if (now - this.#lookedAt > 4 * wait) for (const { line } of this.#crews) line.forgive();
    this.#lookedAt = now;
    for (const crew of [...this.#crews]) {
      if (!crew.line.isStuckFor(stuckMs)) continue;
      this.#lost(crew, { name: "WhimbrelError", message: `a Worker did not answer for ${Math.round(stuckMs / 1000)} s`, code: undefined });
    }
    if (performance.now() - this.#weighedAt > WEIGH_EVERY_MS) void this.weigh();
    if (!this.#isOver) this.#timer = setTimeout(() => this.#look(), wait);
  }

  // ---- Work

  async #work(steward: Agent, message: Message): Promise<void> {
    const { content } = message;
    const kind = isTerm(content, "share", 2) ? textOf(content.args[0]) : undefined;
    const module = kind === undefined ? undefined : this.#options.work?.[kind];
    const [crew] = this.#crews.toSorted((one, other) => one.working - other.working);
    if (module === undefined || !crew || !isTerm(content, "share", 2)) return steward.reply(message, "refuse", content);
    crew.working++;
    try {
      const answer = await crew.line.ask({ type: "work", module: absolute(module), part: content.args[1] ?? null });
      steward.reply(message, "inform", answer as Value);
      this.#options.onWork?.(kind ?? "", true);
    } catch (error) {
      this.#options.onWork?.(kind ?? "", false);
      if (!steward.signal.aborted) steward.reply(message, "failure", error instanceof Error ? error.message : String(error));
    } finally {
      crew.working--;
    }
  }

  /** Agents came or went. */
  #tellSoon(): void {
    if (this.#isOver) return;
    this.#tells ??= setTimeout(() => {
      this.#tells = undefined;
      this.#tellHow();
    }, TELL_AGENTS_MS);
  }

  /** Tells the agent `devices` what the device can do, and how it is doing. */
  readonly #tellHow = (): void => {
    const steward = this.#steward;
    if (!steward || steward.signal.aborted) return;
    const content = map({
      units: BigInt(this.#units),
      places: BigInt(this.#crews.length),
      visible: globalThis.document?.visibilityState !== "hidden",
      kinds: Object.keys(this.#options.work ?? {}),
      agents: this.agents.slice(0, AGENTS_TOLD_MAX).map(({ name }) => name),
      battery: this.#battery ? map({ percent: BigInt(Math.round(this.#battery.level * 100)), charging: this.#battery.charging }) : null,
    });
    steward.send({ performative: "inform", receivers: "devices", content });
  };

  #trouble(agent: string, error: Error): void {
    if (this.#options.onTrouble) this.#options.onTrouble({ agent, error });
    else console.error(agent === "" ? "device:" : `agent ${agent}:`, error);
  }
}

const absolute = (url: string | URL): string => new URL(url, globalThis.location?.href).href;

function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function defaultWorkers(): number {
  return Math.min(WORKERS_MAX, Math.max(1, (globalThis.navigator?.hardwareConcurrency ?? 2) - 1));
}

function defaultWorker(): WorkerLike {
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}

async function battery(): Promise<BatteryManager | undefined> {
  const { getBattery } = globalThis.navigator as { getBattery?: () => Promise<BatteryManager> };
  return getBattery?.call(globalThis.navigator).catch(() => undefined);
}
