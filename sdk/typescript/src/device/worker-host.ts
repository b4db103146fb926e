/** The program in a device's Worker: its session, its agents, and work for others. */
import { Agent } from "../agents/agent.js";
import { connect } from "../agents/connect.js";
import { StayedError } from "../agents/errors.js";
import type { Keep } from "../agents/saver.js";
import type { Platform } from "../agents/platform.js";
import { WhimbrelError } from "../acl/errors.js";
import type { Value } from "../acl/value.js";
import type { Mind } from "../agentspeak/engine.js";
import type { Slots } from "../agentspeak/slots.js";
import type { Society } from "../agentspeak/society.js";
import type { GuestAgent, GuestModule, GuestStorage } from "../guest.js";
import { credentials, faultOf, type JoinOrder, type WorkerReport, type Order, type Port } from "./protocol.js";
import { waitAtMost } from "./page.js";
import { measure } from "./weigh.js";

/**
 * Module of an agent. It exports a class that extends {@link Agent}, or a function that sets up an agent. Both get the
 * data.
 */
export type AgentModule = { readonly default: (new (data: unknown) => Agent) | ((agent: Agent, data: unknown) => unknown) };

/** Module for work. It exports a function that computes the answer to a part. */
export type WorkModule = { readonly default: (part: Value) => Value | Promise<Value> };

type SpawnOrder = Omit<Extract<Order, { readonly type: "spawn" }>, "type">;
type AcceptOrder = Extract<Order, { readonly type: "accept" }>;

/** A society with its slots on the platform. */
interface AttachedSociety {
  readonly society: Society;
  readonly slots: Slots;
}

/** An agent of this Worker: in TypeScript, WebAssembly, or a mind of the society. */
interface HostedAgent {
  readonly name: string;
  readonly isMind?: boolean;
  /** True for durable agents: they may continue in another session. */
  readonly isKept?: boolean;
  /** True after the page asked to end it. */
  isToEnd?: boolean;
  end(): Promise<unknown>;
  suspend(suspended: boolean): void;
  moveTo(place: string): Promise<void>;
  mind?(): Mind;
}

/** Cache size for modules of guests. Running agents keep their modules. */
const MODULES_KEPT = 32;

/** Longest time between a stopping node's reports about its agents and about the session. */
const OVER_MS = 5000;
/** Reason that a stopping node gives for them. */
const KILLED = "killed";

/** Durability of agents from elsewhere. If the page closes, they continue at its node or wait there. */
const GUEST_KEEP: Keep = { onLeave: "go-on" };
const SCRIPT_KEEP: Keep = { onLeave: "wait" };

/** Executes the orders of a page. */
export class WorkerHost {
  readonly #port: Port<WorkerReport, Order>;
  readonly #hosted = new Map<number, HostedAgent>();
  #platform: Platform | undefined;
  #joined: JoinOrder | undefined;
  #society: Promise<AttachedSociety> | undefined;

  constructor(port: Port<WorkerReport, Order>) {
    this.#port = port;
    port.addEventListener("message", ({ data }) => void this.#handle(data));
  }

  /** Reports an uncaught error. No agent ends because of it. */
  trouble(error: unknown): void {
    this.#tell({ type: "trouble", agent: "", fault: faultOf(error) });
  }

  async #handle(order: Order): Promise<void> {
    try {
      await this.#do(order);
    } catch (error) {
      if ("id" in order) this.#tell({ type: "failed", id: order.id, fault: faultOf(error) });
      else this.#tell({ type: "closed", fault: faultOf(error) });
    }
  }

  #do(order: Order): unknown {
    switch (order.type) {
      case "join":
        return this.#join(order);
      case "spawn":
        this.#hasTurn(order.id);
        return this.#spawn(order);
      case "accept":
        this.#hasTurn(order.id);
        return this.#accept(order);
      case "move":
        return this.#move(order.id, order.agent, order.to);
      case "mind":
        return this.#mind(order.id, order.agent);
      case "end":
        return this.#end(order.id);
      case "suspend":
        return this.#hosted.get(order.id)?.suspend(order.suspended);
      case "work":
        this.#hasTurn(order.id);
        return this.#work(order.id, order.module, order.part);
      case "weigh":
        return this.#tell({ type: "done", id: order.id, value: measure() });
      case "ping":
        return this.#tell({ type: "done", id: order.id, value: null });
      case "leave":
        return this.#platform?.close();
    }
  }

  #tell(report: WorkerReport): void {
    this.#port.postMessage(report);
  }

  #hasTurn(...ids: readonly number[]): void {
    if (this.#joined?.isWatched) this.#tell({ type: "turn", ids });
  }

  async #join(order: JoinOrder): Promise<void> {
    const { url, compact } = order;
    // Sessions with JSON need not load the compact form.
    const form = compact ? (await import("../compact.js")).compact : "json";
    const platform = await connect(url, { form, ...credentials(order) });
    platform.place = order.place;
    this.#platform = platform;
    this.#joined = order;
    platform.onConnection((isConnected, why) => this.#tell({ type: "connection", isConnected, why }));
    void platform.closed.then((error) => this.#tell({ type: "closed", fault: faultOf(error) }));
    this.#tell({ type: "joined", platform: platform.name, agentsMax: platform.agentsMax });
  }

  get #yields(): boolean {
    return this.#joined?.yields ?? true;
  }

  get #here(): Platform {
    if (!this.#platform) throw new WhimbrelError("the Worker has no session");
    return this.#platform;
  }

  async #move(id: number, agent: number, to: string): Promise<void> {
    const hosted = this.#hosted.get(agent);
    if (!hosted) throw new WhimbrelError("the agent ended, or has moved away");
    await hosted.moveTo(to);
    this.#tell({ type: "done", id, value: null });
  }

  #mind(id: number, agent: number): void {
    const mind = this.#hosted.get(agent)?.mind?.();
    if (!mind) throw new WhimbrelError("no mind to show: the agent is not written in AgentSpeak, or not here");
    this.#tell({ type: "done", id, value: mind });
  }

  /**
   * Accepts an agent from another place. If it cannot be set up, it must go back, because this session has it already.
   */
  async #accept(order: AcceptOrder): Promise<void> {
    try {
      await this.#takeIn(order);
    } catch (error) {
      this.#platform?.giveBack(order.name, error);
      throw error;
    }
  }

  async #takeIn(order: AcceptOrder): Promise<void> {
    const { id, name, code, module } = order;
    if (code.startsWith("asl:")) return this.#acceptMind(order);
    if (code.startsWith("wasm:")) {
      const make = (isArriving: boolean): Promise<GuestAgent> => this.#guestOf(name, (one) => this.#fetched(one, code), {}, isArriving);
      return this.#createAgent(id, name, await make(true), { ...GUEST_KEEP, code, again: () => make(false) });
    }
    if (module === undefined) throw new WhimbrelError(`the device does not have the code ${code}`);
    return this.#spawnScript({ ...order, module, data: undefined, keep: { ...SCRIPT_KEEP, code } });
  }

  /** Returns the module of an arriving agent, fetched if it is unknown. */
  async #fetched(agent: Agent, code: string): Promise<GuestModule> {
    const { GuestModule } = await import("../guest.js");
    return this.#moduleOf(code, async () => GuestModule.compile((await agent.fetchCode(code)) as Uint8Array<ArrayBuffer>));
  }

  async #spawn(order: SpawnOrder): Promise<void> {
    const { pathname } = new URL(order.module);
    if (pathname.endsWith(".asl")) return this.#spawnMind(order);
    if (pathname.endsWith(".wasm")) return this.#spawnGuest(order);
    const { keep } = order;
    return this.#spawnScript({ ...order, keep: keep && { code: `ts:${pathname.split("/").at(-1) ?? ""}`, ...keep } });
  }

  /** Creates an agent in TypeScript or JavaScript. */
  async #spawnScript({ id, name, module, data, keep }: SpawnOrder): Promise<void> {
    const { default: given } = (await import(/* @vite-ignore */ module)) as AgentModule;
    const make = (): Agent => {
      const agent = isAgentClass(given) ? new given(data) : new Agent();
      const tellOwn = agent.onError.bind(agent);
      agent.onError = (error, message) => {
        this.#tell({ type: "trouble", agent: name, fault: faultOf(error) });
        tellOwn(error, message);
      };
      if (!isAgentClass(given)) agent.setup = () => given(agent, data);
      return agent;
    };
    await this.#createAgent(id, name, make(), keep && { ...keep, again: make });
  }

  /** Creates the agent on the platform, and reports it to the page. */
  async #createAgent(id: number, name: string, agent: Agent, keep?: Keep): Promise<void> {
    const watched = <A extends Agent>(one: A): A => {
      if (this.#joined?.isWatched) one.onTurn = () => this.#hasTurn(id);
      return one;
    };
    const again = keep?.again;
    await this.#here.create(name, watched(agent), keep && { yields: this.#yields, ...keep, ...(again && { again: async () => watched(await again()) }) });
    this.#register(id, agent, keep !== undefined);
    this.#tell({ type: "spawned", id, name: agent.aid.toString() });
  }

  /** Registers an agent under its number, until it ends or its successor takes over. */
  #register(id: number, agent: Agent, isKept: boolean): void {
    this.#take(id, {
      name: agent.name,
      isKept,
      end: () => agent.end(),
      suspend: (suspended) => (suspended ? agent.suspend() : agent.resume()),
      moveTo: (place) => agent.moveTo(place),
    });
    void agent.ended.then(async (reason) => {
      const successor = await agent.successor?.catch(() => undefined);
      if (successor) this.#register(id, successor, isKept);
      else await this.#ended(id, reason);
    });
  }

  /** Creates a WebAssembly agent. Agents of one address share the module. */
  async #spawnGuest({ id, name, module, data, keep }: SpawnOrder): Promise<void> {
    const { GuestModule } = await import("../guest.js");
    const loaded = await this.#moduleOf(module, async () => {
      const response = await fetch(module);
      if (!response.ok) throw new WhimbrelError(`cannot load ${module}: status ${response.status}`);
      return GuestModule.compile(await response.arrayBuffer());
    });
    const make = (): Promise<GuestAgent> => this.#guestOf(name, loaded, (data ?? {}) as Readonly<Record<string, Value>>);
    await this.#createAgent(id, name, await make(), keep && { ...keep, again: make, code: await loaded.codeName(module.split(/[?#]/)[0]?.split("/").at(-1) ?? "") });
  }

  async #guestOf(name: string, module: GuestModule | ((agent: GuestAgent) => Promise<GuestModule>), options: Readonly<Record<string, Value>>, isArriving = false): Promise<GuestAgent> {
    const { GuestAgent, GuestStorage } = await import("../guest.js");
    const storage = this.#storages.get(name) ?? new GuestStorage();
    if (this.#joined?.storage) this.#storages.set(name, storage);
    const agent = new GuestAgent(module, {
      options,
      isArriving,
      node: this.#joined?.place ?? "",
      onPrint: (text) => this.#tell({ type: "printed", agent: name, text }),
      onLog: (level, text) => level !== "debug" && this.#tell({ type: "printed", agent: name, text: `${level}: ${text}` }),
      ...(this.#joined?.storage && { storage }),
    });
    agent.onError = (error) => this.#tell({ type: "trouble", agent: name, fault: faultOf(error) });
    return agent;
  }

  /** Returns the module of this address or code name from the cache, or makes it. */
  #moduleOf(name: string, make: () => Promise<GuestModule>): Promise<GuestModule> {
    const module = this.#modules.get(name) ?? make();
    this.#modules.delete(name);
    this.#modules.set(name, module);
    // A later attempt may succeed.
    module.catch(() => this.#modules.get(name) === module && this.#modules.delete(name));
    for (const [oldest] of this.#modules) {
      if (this.#modules.size <= MODULES_KEPT) break;
      this.#modules.delete(oldest);
    }
    return module;
  }

  /** Guest modules by address, the most recently used last; and guests' storage by agent name. */
  readonly #modules = new Map<string, Promise<GuestModule>>();
  readonly #storages = new Map<string, GuestStorage>();

  #take(id: number, hosted: HostedAgent): void {
    this.#hosted.set(id, hosted);
  }

  #end(id: number): Promise<unknown> | undefined {
    const hosted = this.#hosted.get(id);
    if (hosted) hosted.isToEnd = true;
    return hosted?.end();
  }

  async #ended(id: number, reason: string): Promise<void> {
    const hosted = this.#hosted.get(id);
    // A stopping node reports the end of the session a moment later.
    if (hosted?.isKept && !hosted.isToEnd && reason === KILLED) await waitAtMost(OVER_MS, this.#here.closed);
    // If the session is over, the page learns that, and handles its agents itself.
    if (this.#hosted.get(id) === hosted && this.#hosted.delete(id) && !this.#platform?.over) this.#tell({ type: "ended", id, reason });
  }

  /** Creates an AgentSpeak agent. All minds of a Worker are in one society. */
  async #spawnMind({ id, name, module, data, keep }: SpawnOrder): Promise<void> {
    const { society, slots } = await this.#attached();
    const response = await fetch(module);
    if (!response.ok) throw new WhimbrelError(`cannot load ${module}: status ${response.status}`);
    society.putFiles({ [module]: await response.text() });
    const { diagnostics } = await society.check(module);
    const first = diagnostics.find(({ severity }) => severity === "error");
    if (first) throw new WhimbrelError(withSlashes(first.rendered));
    const options = (data ?? {}) as Record<string, string>;
    if (keep) return this.#registerMind(id, society, await slots.spawnKept(name, module, options, { yields: this.#yields, ...keep }));
    const hosted = hostedMind(society, name, () => Promise.reject(new StayedError("not_movable", "not durable: pass `onLeave` to spawn")));
    const joined = new Promise<string>((resolve, reject) => this.#joining.set(name, { resolve, reject }));
    this.#take(id, hosted);
    try {
      society.spawn(name, module, options);
      this.#tell({ type: "spawned", id, name: await joined });
    } catch (error) {
      this.#hosted.delete(id);
      throw error;
    } finally {
      this.#joining.delete(name);
    }
  }

  /** Accepts a mind from another place, with its program if that is unknown. */
  async #acceptMind({ id, name, code }: AcceptOrder): Promise<void> {
    const { society, slots } = await this.#attached();
    this.#registerMind(id, society, await slots.accept(name, code, { yields: this.#yields, ...GUEST_KEEP }));
  }

  /** Registers a durable mind. The platform reports its end, because it may have moved. */
  #registerMind(id: number, society: Society, agent: Agent): void {
    this.#take(id, { ...hostedMind(society, agent.name, (place) => agent.moveTo(place)), isKept: true });
    this.#tell({ type: "spawned", id, name: agent.aid.toString() });
    void agent.ended.then((reason) => this.#ended(id, reason));
  }

  #attached(): Promise<AttachedSociety> {
    this.#society ??= this.#openSociety();
    // A later attempt may succeed.
    this.#society.catch(() => (this.#society = undefined));
    return this.#society;
  }

  /** Minds that wait for their platform agents. */
  readonly #joining = new Map<string, { resolve(name: string): void; reject(error: unknown): void }>();

  async #openSociety(): Promise<AttachedSociety> {
    const [{ Society }, { attachSlots }] = await Promise.all([import("../agentspeak/society.js"), import("../agentspeak/slots.js")]);
    const platform = this.#here;
    const source = this.#joined?.engine ?? new URL("../agentspeak.wasm", import.meta.url);
    const fetchFile = async (path: string): Promise<string | undefined> => {
      const response = await fetch(withSlashes(path)).catch(() => undefined);
      return response?.ok ? response.text() : undefined;
    };
    const onTurns = this.#joined?.isWatched ? () => this.#hasTurn(...[...this.#hosted].flatMap(([id, { isMind }]) => (isMind ? [id] : []))) : undefined;
    const society = await Society.load(source, { platform: platform.name, fetchFile, ...(onTurns && { onTurns }) });
    society.on("printed", ({ agent, text }) => this.#tell({ type: "printed", agent, text }));
    society.on("noted", ({ agent, level, text }) => level !== "debug" && this.#tell({ type: "printed", agent, text }));
    // The next mind starts a new society.
    const over = (reason: string): void => {
      this.#society = undefined;
      for (const [id, { isMind }] of this.#hosted) if (isMind) void this.#ended(id, reason);
    };
    society.on("stopped", () => over("finished"));
    society.on("failed", (error) => {
      this.#tell({ type: "trouble", agent: "", fault: faultOf(error) });
      over(`failed: ${error.message}`);
      // Durable minds wait for the end of this session. Close it if nobody else uses it.
      if (this.#hosted.size === 0) void this.#platform?.close();
    });
    society.on("ended", ({ agent, reason }) => {
      for (const [id, { name, isMind }] of this.#hosted) if (isMind && name === agent) void this.#ended(id, reason);
    });
    const { slots } = await attachSlots(society, platform, {
      place: this.#joined?.place ?? "",
      onAttached: (name, one) => this.#joining.get(name)?.resolve(one.aid.toString()),
      onError: (name, error) => {
        this.#joining.get(name)?.reject(error);
        this.#tell({ type: "trouble", agent: name, fault: faultOf(error) });
        // An agent without a name on the platform must not run here.
        if (this.#joining.has(name)) society.kill(name);
      },
    });
    return { society, slots };
  }

  async #work(id: number, module: string, part: Value): Promise<void> {
    const { default: answer } = (await import(/* @vite-ignore */ module)) as WorkModule;
    this.#tell({ type: "done", id, value: await answer(part) });
  }
}

/** Restores the double slash of addresses. Paths of a society have one slash between names. */
function withSlashes(text: string): string {
  return text.replace(/\b(https?:)\/+(?=[^/])/g, "$1//");
}

function hostedMind(society: Society, name: string, moveTo: HostedAgent["moveTo"]): HostedAgent {
  return {
    name,
    isMind: true,
    moveTo,
    end: async () => society.kill(name),
    mind: () => society.mind(name, { follow: true }),
    suspend: (suspended) => (suspended ? society.suspend(name) : society.resume(name)),
  };
}

function isAgentClass(given: AgentModule["default"]): given is new (data: unknown) => Agent {
  if (typeof given !== "function") throw new WhimbrelError("invalid agent module: its default export must be a function or a class");
  const prototype: unknown = given.prototype;
  if (prototype instanceof Agent) return true;
  if (Object.getOwnPropertyDescriptor(given, "prototype")?.writable === false) {
    throw new WhimbrelError("the exported class extends the Agent of another copy of the library: export a function, or bundle the library once");
  }
  return false;
}
