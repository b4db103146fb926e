/** Pool of a device's Workers: starts, measures, watches and replaces them. */
import { WhimbrelError } from "../acl/errors.js";
import type { Value } from "../acl/value.js";
import { RefusedError } from "../agents/errors.js";
import { TIMER_MS_MAX } from "../agents/limits.js";
import type { Code } from "../session/frames.js";
import { SessionError } from "../session/session.js";
import { DeviceAgent } from "./agent.js";
import { again, isHidden, within } from "./page.js";
import type { Fault, JoinOrder } from "./protocol.js";
import type { Weight } from "./weigh.js";
import { errorOf, WorkerLine, type Question, type WorkerLike } from "./worker-channel.js";

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
const AWAY: readonly (string | undefined)[] = ["lease-over", "session-gone", "stopping", "elsewhere"] satisfies readonly Code[];
/** Reason of an agent that ended because its device left. */
export const LEFT = "the device left the platform";

/** The Worker that was to run an agent was lost first. */
class LostError extends WhimbrelError {}

/** A Worker of the pool, with its agents and its load. */
interface Crew {
  readonly line: WorkerLine;
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
export interface Employer {
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
  isThere(agent: string): Promise<boolean>;
}

/** Returns true if the node refused the client for good. */
export function isFinal(error: unknown): boolean {
  return error instanceof SessionError && FINAL.includes(error.code);
}

/** See the module. */
export class Crews {
  readonly #employer: Employer;
  readonly #crews: Crew[] = [];
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

  constructor(employer: Employer) {
    this.#employer = employer;
  }

  /**
   * Starts `count` Workers, and watches them from then on.
   *
   * @throws {@link SessionError} if the node refuses one of them.
   */
  async begin(count: number): Promise<void> {
    const hired = await Promise.allSettled(Array.from({ length: count }, () => this.#hire(0)));
    const failed = hired.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    this.#look();
  }

  /** Number of Workers. */
  get size(): number {
    return this.#crews.length;
  }

  /** Compute units of all Workers. */
  get units(): number {
    return Math.max(1, this.#crews.reduce((sum, { units }) => sum + units, 0));
  }

  /** Agents of all Workers. */
  get agents(): readonly DeviceAgent[] {
    return this.#crews.flatMap(({ agents }) => [...agents.values()]);
  }

  get #isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  // ---- Start, replacement and end

  /** Starts a Worker with a session of its own. */
  async #hire(units: number, isWatched = false): Promise<Crew> {
    const crew: Crew = { agents: new Map(), coming: new Map(), working: 0, units, isWatched, line: new WorkerLine(this.#employer.create(), (news) => {
      if (news.type === "ended") {
        crew.agents.get(news.id)?.over(news.reason);
        crew.agents.delete(news.id);
        this.#employer.changed();
      } else if (news.type === "trouble") this.#employer.trouble(news.agent, errorOf(news.fault));
      else if (news.type === "printed") this.#employer.printed(news.agent, news.text);
      else if (news.type === "closed") this.#lost(crew, news.fault);
      else if (news.type === "connection" && !news.isConnected && !this.#isOver) this.#employer.trouble("", new WhimbrelError(`no connection: ${news.why ?? ""}`));
    }) };
    const { line } = crew;
    const late = setTimeout(() => line.terminate(`a Worker did not join within ${JOIN_MS / 1000} s`), JOIN_MS);
    try {
      await line.join({ ...this.#employer.order, isWatched });
      if (this.#isOver) throw new WhimbrelError(LEFT);
    } catch (error) {
      line.terminate("it could not join");
      throw error;
    } finally {
      clearTimeout(late);
    }
    this.#crews.push(crew);
    return crew;
  }

  /**
   * Handles the end of a Worker's session. Its agents end, except durable ones that can continue in the replacement.
   */
  #lost(crew: Crew, fault: Fault, isStuck = false): void {
    const place = this.#crews.indexOf(crew);
    if (place < 0) return;
    const error = errorOf(fault);
    crew.line.terminate(error.message);
    const reason = `failed: ${error.message}`;
    const agents = [...crew.agents.values(), ...[...crew.coming.values()].filter((agent) => agent !== undefined)];
    const guilty = isStuck ? suspects(crew) : [];
    // After a second stall without a suspect, do not restore its agents: the stall would repeat for ever.
    const goOn = isStuck ? guilty.length > 0 || !crew.isWatched : AWAY.includes(fault.code);
    const waiting = agents.filter((agent) => agent.order && goOn && !guilty.includes(agent));
    for (const agent of agents) if (!waiting.includes(agent)) agent.over(reason);
    this.#crews.splice(place, 1);
    this.#employer.changed();
    this.#employer.trouble("", error);
    for (const { name } of guilty) this.#employer.trouble(name, new WhimbrelError(`it had its turn when ${error.message}: it is not brought back here`));
    void this.#replace(crew.units, isStuck).then((other) => {
      for (const agent of waiting) if (other) void this.#bringBack(agent, reason, isStuck ? other : undefined);
      else agent.over(reason);
    });
  }

  /** Restores a durable agent in this device, unless it ended meanwhile. */
  async #bringBack(agent: DeviceAgent, reason: string, wanted: Crew | undefined): Promise<void> {
    try {
      if (!agent.order || !(await this.#employer.isThere(agent.name))) return agent.over(reason);
      await this.lodge(agent.order, agent, wanted && this.#crews.includes(wanted) ? wanted : undefined);
    } catch (error) {
      // If that Worker is lost, too, its own end handles this agent.
      if (!(error instanceof LostError)) agent.over(`failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /**
   * Starts a replacement. Retries without limit, as the network may be down. Undefined if the node refuses it for good.
   */
  async #replace(units: number, isWatched: boolean): Promise<Crew | undefined> {
    for (let failures = 0; !this.#isOver; ) {
      try {
        const crew = await this.#hire(units, isWatched);
        this.#employer.changed();
        this.weighSoon();
        return crew;
      } catch (error) {
        if (this.#isOver) break;
        if (failures++ === 0) this.#employer.trouble("", error instanceof Error ? error : new WhimbrelError(String(error)));
        if (isFinal(error)) break;
        await again(failures, this.#ending.signal);
      }
    }
    return undefined;
  }

  /** Closes all Workers' sessions. */
  async leave(): Promise<void> {
    this.#ending.abort();
    clearTimeout(this.#timer);
    const crews = this.#crews.splice(0);
    await Promise.all(crews.map((crew) => this.#dismiss(crew)));
  }

  async #dismiss({ line, agents }: Crew): Promise<void> {
    line.say({ type: "leave" });
    await within(LEAVE_MS, line.closed);
    line.terminate(LEFT);
    for (const agent of agents.values()) agent.over(LEFT);
  }

  /** Checks for stuck Workers and due measurements. */
  #look(): void {
    const { stuckMs, weighEveryMs } = this.#employer;
    const wait = Math.min(LOOK_MS, stuckMs / 4, weighEveryMs / 4, TIMER_MS_MAX);
    const now = performance.now();
    // After a frozen page or a sleeping machine, silence says nothing about the Workers.
    if (now - this.#lookedAt > 4 * wait) for (const { line } of this.#crews) line.forgive();
    this.#lookedAt = now;
    for (const crew of [...this.#crews]) {
      if (!crew.line.isStuckFor(stuckMs)) continue;
      this.#lost(crew, { name: "WhimbrelError", message: `a Worker did not answer for ${Math.round(stuckMs / 1000)} s`, code: undefined }, true);
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
    this.#weighAt = Math.min(this.#weighAt, this.#weighedAt + this.#employer.weighAgainMs);
  }

  async #measure(): Promise<void> {
    const measured = new Map<Crew, Weight>();
    const ask = async (crew: Crew): Promise<void> => void measured.set(crew, (await crew.line.ask({ type: "weigh" })) as Weight);
    await Promise.allSettled(this.#crews.map(ask));
    this.#weighedAt = performance.now();
    this.#weighAt = Math.min(this.#weighAt, this.#weighedAt + this.#patience([...measured.values()].some(({ isBusy }) => isBusy)));
    const before = this.units;
    const units = this.#crews.reduce((sum, crew) => sum + (measured.get(crew) ?? crew).units, 0);
    if (Math.abs(units - before) > before * DRIFT) for (const [crew, each] of measured) crew.units = each.units;
    // The receiver may have forgotten the last report, or have been replaced.
    this.#employer.changed();
  }

  /** Returns the time until the next measurement: short after a busy one, whose result is too low. */
  #patience(isBusy: boolean): number {
    this.#busy = isBusy ? this.#busy + 1 : 0;
    const { weighBusyMs, weighEveryMs } = this.#employer;
    return isBusy && this.#busy <= BUSY_TRIES_MAX ? weighBusyMs : weighEveryMs;
  }

  // ---- Agents and work

  /**
   * Assigns an agent to the Worker with the fewest agents, or to `wanted`: a new agent, or `known` again. If the agent
   * waits on another node, tries Workers with sessions there.
   */
  async lodge(order: Question, known?: DeviceAgent, wanted?: Crew): Promise<DeviceAgent> {
    let refused: unknown;
    for (const crew of wanted ? [wanted] : this.#freest()) {
      if (refused && !this.#crews.includes(crew)) continue;
      try {
        return await this.#lodgeIn(crew, order, known);
      } catch (error) {
        if (!(error instanceof RefusedError) || error.code !== "elsewhere") throw error;
        refused = error;
      }
    }
    throw refused;
  }

  async #lodgeIn(crew: Crew, order: Question, known: DeviceAgent | undefined): Promise<DeviceAgent> {
    const { line } = crew;
    const id = line.number();
    crew.coming.set(id, known);
    try {
      const aid = (await line.ask(order, id)) as string;
      const agent = known ?? new DeviceAgent(aid, line, id, order.type === "spawn" && order.keep ? order : undefined);
      crew.agents.set(id, agent);
      known?.goOn(line, id);
      this.#employer.changed();
      // The Worker may have ended meanwhile.
      if (!this.#crews.includes(crew)) agent.over("failed: its Worker ended");
      return agent;
    } catch (error) {
      throw this.#crews.includes(crew) ? error : new LostError(error instanceof Error ? error.message : String(error));
    } finally {
      crew.coming.delete(id);
    }
  }

  /** Workers with room for an agent, the least loaded first. */
  #freest(): readonly Crew[] {
    const load = ({ agents, coming }: Crew): number => agents.size + coming.size;
    const free = this.#crews.filter((crew) => load(crew) < crew.line.agentsMax).sort((one, other) => load(one) - load(other));
    if (free.length > 0) return free;
    if (this.#isOver) throw new WhimbrelError(LEFT);
    throw new WhimbrelError(this.size === 0 ? "the device's Workers are gone, and are being replaced" : "the device has as many agents as it may have");
  }

  /** Executes a part of work in the least busy Worker; undefined without Workers. */
  work(module: string, part: Value): Promise<Value> | undefined {
    const [crew] = this.#crews.toSorted((one, other) => one.working - other.working);
    if (!crew) return undefined;
    crew.working++;
    return (crew.line.ask({ type: "work", module, part }) as Promise<Value>).finally(() => crew.working--);
  }
}

/** Agents that may have caused a stall: the one with the turn, or the only agent of the Worker. */
function suspects({ agents, line, isWatched, coming, working }: Crew): readonly DeviceAgent[] {
  if (isWatched) return line.turn.flatMap((id) => agents.get(id) ?? coming.get(id) ?? []);
  return agents.size + coming.size + working === 1 ? [...agents.values()] : [];
}
