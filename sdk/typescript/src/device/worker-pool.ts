/** Pool of a device's Workers: starts, measures, watches and replaces them. */
import { WhimbrelError } from "../acl/errors.js";
import type { Value } from "../acl/value.js";
import { RefusedError } from "../agents/errors.js";
import { TIMER_MS_MAX } from "../agents/limits.js";
import type { Code } from "../session/frames.js";
import { SessionError } from "../session/session.js";
import { DeviceAgent } from "./agent.js";
import { retryDelay, isHidden, waitAtMost } from "./page.js";
import type { WorkerFault, JoinOrder } from "./protocol.js";
import type { Weight } from "./weigh.js";
import { errorOf, WorkerChannel, type WorkerQuery, type WorkerLike } from "./worker-channel.js";

/** Interval of checks on the Workers. */
const LOOK_MS = 2000;
/** Time limit for loading a Worker and beginning its session. */
const JOIN_MS = 60_000;
/** Time limit for a Worker to close its session. */
const LEAVE_MS = 1000;
/** Least relative change of compute units that is reported. */
const DRIFT = 0.25;
/**
 * Measurements in a row that are repeated soon because the machine was busy. A machine that is always busy is measured
 * at the usual interval.
 */
const BUSY_TRIES_MAX = 5;
/** Codes with which a node refuses a client for good. */
const FINAL: readonly string[] = ["unauthorised", "version"] satisfies readonly Code[];
/** Codes with which a session ends although its agents did nothing wrong. */
const HARMLESS_ENDS: readonly (string | undefined)[] = ["lease-over", "session-gone", "stopping", "elsewhere"] satisfies readonly Code[];
/** Reason of an agent that ended because its device left. */
export const DEVICE_LEFT = "the device left the platform";

/** The Worker that was to run an agent was lost first. */
class LostError extends WhimbrelError {}

/** A Worker of the pool, with its agents and its load. */
interface PooledWorker {
  readonly channel: WorkerChannel;
  readonly agents: Map<number, DeviceAgent>;
  /** Compute units; those of the Worker that it replaced, until measured. */
  units: number;
  /** Agents being created, by order number: restored ones, and new ones (undefined). */
  readonly coming: Map<number, DeviceAgent | undefined>;
  working: number;
  /** True if it replaced a stuck Worker: it reports which agent has its turn. */
  readonly isWatched: boolean;
}

/** Configuration and callbacks of a pool. */
export interface PoolOwner {
  readonly order: JoinOrder;
  /** Silence after which a Worker counts as stuck. */
  readonly stuckMs: number;
  /** Interval of measurements, and the shortest time between two. */
  readonly weighEveryMs: number;
  readonly weighAgainMs: number;
  /** Interval after a measurement on a busy machine. */
  readonly weighBusyMs: number;
  create(): WorkerLike;
  /** Called when the Workers, their compute units or their agents changed. */
  changed(): void;
  trouble(agent: string, error: Error): void;
  printed(agent: string, text: string): void;
  /** Resolves with true if an agent of this name exists on the platform. */
  exists(agent: string): Promise<boolean>;
}

/** Returns true if the node refused the client for good. */
export function isFinal(error: unknown): boolean {
  return error instanceof SessionError && FINAL.includes(error.code);
}

/** See the module. */
export class WorkerPool {
  readonly #owner: PoolOwner;
  readonly #workers: PooledWorker[] = [];
  readonly #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lookedAt = 0;
  #weighedAt = -Infinity;
  #weighAt = Infinity;
  /** Measurements in a row on a busy machine. */
  #busy = 0;
  /** The running measurement, and the queued one. */
  #weighing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(owner: PoolOwner) {
    this.#owner = owner;
  }

  /**
   * Starts `count` Workers, and watches them from then on.
   *
   * @throws {@link SessionError} if the node refuses one of them.
   */
  async begin(count: number): Promise<void> {
    const started = await Promise.allSettled(Array.from({ length: count }, () => this.#start(0)));
    const failed = started.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    this.#look();
  }

  /** Number of Workers. */
  get size(): number {
    return this.#workers.length;
  }

  /** Compute units of all Workers. */
  get units(): number {
    return Math.max(1, this.#workers.reduce((sum, { units }) => sum + units, 0));
  }

  /** Agents of all Workers. */
  get agents(): readonly DeviceAgent[] {
    return this.#workers.flatMap(({ agents }) => [...agents.values()]);
  }

  get #isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  // ---- Start, replacement and end

  /** Starts a Worker with a session of its own. */
  async #start(units: number, isWatched = false): Promise<PooledWorker> {
    const worker: PooledWorker = { agents: new Map(), coming: new Map(), working: 0, units, isWatched, channel: new WorkerChannel(this.#owner.create(), (report) => {
      if (report.type === "ended") {
        worker.agents.get(report.id)?.over(report.reason);
        worker.agents.delete(report.id);
        this.#owner.changed();
      } else if (report.type === "trouble") this.#owner.trouble(report.agent, errorOf(report.fault));
      else if (report.type === "printed") this.#owner.printed(report.agent, report.text);
      else if (report.type === "closed") this.#lost(worker, report.fault);
      else if (report.type === "connection" && !report.isConnected && !this.#isOver) this.#owner.trouble("", new WhimbrelError(`no connection to the node: ${report.why ?? ""}`));
    }) };
    const { channel } = worker;
    const late = setTimeout(() => channel.terminate(`a Worker did not join within ${JOIN_MS / 1000} s`), JOIN_MS);
    try {
      await channel.join({ ...this.#owner.order, isWatched });
      if (this.#isOver) throw new WhimbrelError(DEVICE_LEFT);
    } catch (error) {
      channel.terminate("the Worker could not join");
      throw error;
    } finally {
      clearTimeout(late);
    }
    this.#workers.push(worker);
    return worker;
  }

  /**
   * Handles the end of a Worker's session. Its agents end, except durable ones that can continue in the replacement.
   */
  #lost(worker: PooledWorker, fault: WorkerFault, isStuck = false): void {
    const place = this.#workers.indexOf(worker);
    if (place < 0) return;
    const error = errorOf(fault);
    worker.channel.terminate(error.message);
    const reason = `failed: ${error.message}`;
    const agents = [...worker.agents.values(), ...[...worker.coming.values()].filter((agent) => agent !== undefined)];
    const guilty = isStuck ? suspects(worker) : [];
    // After a second stall without a suspect, do not restore its agents: the stall would repeat for ever.
    const goOn = isStuck ? guilty.length > 0 || !worker.isWatched : HARMLESS_ENDS.includes(fault.code);
    const waiting = agents.filter((agent) => agent.order && goOn && !guilty.includes(agent));
    for (const agent of agents) if (!waiting.includes(agent)) agent.over(reason);
    this.#workers.splice(place, 1);
    this.#owner.changed();
    this.#owner.trouble("", error);
    for (const { name } of guilty) this.#owner.trouble(name, new WhimbrelError(`not restored on this device, because it had its turn when ${error.message}`));
    void this.#replace(worker.units, isStuck).then((other) => {
      for (const agent of waiting) if (other) void this.#restore(agent, reason, isStuck ? other : undefined);
      else agent.over(reason);
    });
  }

  /** Restores a durable agent in this device, unless it ended meanwhile. */
  async #restore(agent: DeviceAgent, reason: string, wanted: PooledWorker | undefined): Promise<void> {
    try {
      if (!agent.order || !(await this.#owner.exists(agent.name))) return agent.over(reason);
      await this.assign(agent.order, agent, wanted && this.#workers.includes(wanted) ? wanted : undefined);
    } catch (error) {
      // If that Worker is lost, too, its own end handles this agent.
      if (!(error instanceof LostError)) agent.over(`failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /**
   * Starts a replacement. Retries without limit, as the network may be down. Undefined if the node refuses it for good.
   */
  async #replace(units: number, isWatched: boolean): Promise<PooledWorker | undefined> {
    for (let failures = 0; !this.#isOver; ) {
      try {
        const worker = await this.#start(units, isWatched);
        this.#owner.changed();
        this.weighSoon();
        return worker;
      } catch (error) {
        if (this.#isOver) break;
        if (failures++ === 0) this.#owner.trouble("", error instanceof Error ? error : new WhimbrelError(String(error)));
        if (isFinal(error)) break;
        await retryDelay(failures, this.#ending.signal);
      }
    }
    return undefined;
  }

  /** Closes all Workers' sessions. */
  async leave(): Promise<void> {
    this.#ending.abort();
    clearTimeout(this.#timer);
    const workers = this.#workers.splice(0);
    await Promise.all(workers.map((worker) => this.#close(worker)));
  }

  async #close({ channel, agents }: PooledWorker): Promise<void> {
    channel.say({ type: "leave" });
    await waitAtMost(LEAVE_MS, channel.closed);
    channel.terminate(DEVICE_LEFT);
    for (const agent of agents.values()) agent.over(DEVICE_LEFT);
  }

  /** Checks for stuck Workers and due measurements. */
  #look(): void {
    const { stuckMs, weighEveryMs } = this.#owner;
    const wait = Math.min(LOOK_MS, stuckMs / 4, weighEveryMs / 4, TIMER_MS_MAX);
    const now = performance.now();
    // After a frozen page or a sleeping machine, silence says nothing about the Workers.
    if (now - this.#lookedAt > 4 * wait) for (const { channel } of this.#workers) channel.forgive();
    this.#lookedAt = now;
    for (const worker of [...this.#workers]) {
      if (!worker.channel.isStuckFor(stuckMs)) continue;
      this.#lost(worker, { name: "WhimbrelError", message: `a Worker did not answer for ${Math.round(stuckMs / 1000)} s`, code: undefined }, true);
    }
    // A hidden page measures about an eighth of its visible capacity.
    if (now >= this.#weighAt && !isHidden()) void this.weigh();
    if (!this.#isOver) this.#timer = setTimeout(() => this.#look(), wait);
  }

  // ---- Measurement

  /** Measures all Workers at the same time. The owner learns of a large change. */
  weigh(): Promise<void> {
    // Two measurements at a time would halve each other's result.
    if (this.#next) return this.#next;
    this.#weighAt = Infinity;
    this.#next = this.#weighing.then(() => {
      this.#next = undefined;
      return this.#measure();
    });
    return (this.#weighing = this.#next);
  }

  /** Schedules a measurement for the earliest allowed time, because the capacity may have changed. */
  weighSoon(): void {
    this.#weighAt = Math.min(this.#weighAt, this.#weighedAt + this.#owner.weighAgainMs);
  }

  async #measure(): Promise<void> {
    const measured = new Map<PooledWorker, Weight>();
    const ask = async (worker: PooledWorker): Promise<void> => void measured.set(worker, (await worker.channel.ask({ type: "weigh" })) as Weight);
    await Promise.allSettled(this.#workers.map(ask));
    this.#weighedAt = performance.now();
    this.#weighAt = Math.min(this.#weighAt, this.#weighedAt + this.#patience([...measured.values()].some(({ isBusy }) => isBusy)));
    const before = this.units;
    const units = this.#workers.reduce((sum, worker) => sum + (measured.get(worker) ?? worker).units, 0);
    if (Math.abs(units - before) > before * DRIFT) for (const [worker, each] of measured) worker.units = each.units;
    // The receiver may have forgotten the last report, or have been replaced.
    this.#owner.changed();
  }

  /** Returns the time until the next measurement: short after a busy one, whose result is too low. */
  #patience(isBusy: boolean): number {
    this.#busy = isBusy ? this.#busy + 1 : 0;
    const { weighBusyMs, weighEveryMs } = this.#owner;
    return isBusy && this.#busy <= BUSY_TRIES_MAX ? weighBusyMs : weighEveryMs;
  }

  // ---- Agents and work

  /**
   * Assigns an agent to the Worker with the fewest agents, or to `wanted`: a new agent, or `known` again. If the agent
   * waits on another node, tries Workers with sessions there.
   */
  async assign(order: WorkerQuery, known?: DeviceAgent, wanted?: PooledWorker): Promise<DeviceAgent> {
    let refused: unknown;
    for (const worker of wanted ? [wanted] : this.#freest()) {
      if (refused && !this.#workers.includes(worker)) continue;
      try {
        return await this.#assignTo(worker, order, known);
      } catch (error) {
        if (!(error instanceof RefusedError) || error.code !== "elsewhere") throw error;
        refused = error;
      }
    }
    throw refused;
  }

  async #assignTo(worker: PooledWorker, order: WorkerQuery, known: DeviceAgent | undefined): Promise<DeviceAgent> {
    const { channel } = worker;
    const id = channel.number();
    worker.coming.set(id, known);
    try {
      const aid = (await channel.ask(order, id)) as string;
      const agent = known ?? new DeviceAgent(aid, channel, id, order.type === "spawn" && order.keep ? order : undefined);
      worker.agents.set(id, agent);
      known?.goOn(channel, id);
      this.#owner.changed();
      // The Worker may have ended meanwhile.
      if (!this.#workers.includes(worker)) agent.over("failed: its Worker ended");
      return agent;
    } catch (error) {
      throw this.#workers.includes(worker) ? error : new LostError(error instanceof Error ? error.message : String(error));
    } finally {
      worker.coming.delete(id);
    }
  }

  /** Workers with room for an agent, the least loaded first. */
  #freest(): readonly PooledWorker[] {
    const load = ({ agents, coming }: PooledWorker): number => agents.size + coming.size;
    const free = this.#workers.filter((worker) => load(worker) < worker.channel.agentsMax).sort((one, other) => load(one) - load(other));
    if (free.length > 0) return free;
    if (this.#isOver) throw new WhimbrelError(DEVICE_LEFT);
    throw new WhimbrelError(this.size === 0 ? "no Worker available: the device is replacing its Workers" : "the device has its maximum number of agents");
  }

  /** Executes a part of work in the least busy Worker; undefined without Workers. */
  work(module: string, part: Value): Promise<Value> | undefined {
    const [worker] = this.#workers.toSorted((one, other) => one.working - other.working);
    if (!worker) return undefined;
    worker.working++;
    return (worker.channel.ask({ type: "work", module, part }) as Promise<Value>).finally(() => worker.working--);
  }
}

/** Agents that may have caused a stall: the one with the turn, or the only agent of the Worker. */
function suspects({ agents, channel, isWatched, coming, working }: PooledWorker): readonly DeviceAgent[] {
  if (isWatched) return channel.turn.flatMap((id) => agents.get(id) ?? coming.get(id) ?? []);
  return agents.size + coming.size + working === 1 ? [...agents.values()] : [];
}
