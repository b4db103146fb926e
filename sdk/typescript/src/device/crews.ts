/** The Workers of a device: hired, measured, looked after, and replaced when they are lost. */
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
import { errorOf, WorkerLine, type Question, type WorkerLike } from "./worker-line.js";

/** Between two looks at the Workers. */
const LOOK_MS = 2000;
/** How long a Worker has to be loaded and to begin its session. */
const JOIN_MS = 60_000;
/** How long a Worker has to say good-bye. */
const LEAVE_MS = 1000;
/** What part compute units have to differ by to be told of. */
const DRIFT = 0.25;
/** How often at most they are measured again because they had other things to do: who always has will not have less. */
const BUSY_TRIES_MAX = 5;
/** After these a node does not let anybody in who comes again. */
const FINAL: readonly string[] = ["unauthorised", "version"] satisfies readonly Code[];
/** For these a Worker's session is over without its agents having to do with it. */
const AWAY: readonly (string | undefined)[] = ["lease-over", "session-gone", "stopping", "elsewhere"] satisfies readonly Code[];
/** Why it is no more. */
export const LEFT = "the device left the platform";

/** The Worker that was to have an agent was lost before. */
class LostError extends WhimbrelError {}

/** A Worker, its agents and what it does. */
interface Crew {
  readonly line: WorkerLine;
  readonly agents: Map<number, DeviceAgent>;
  /** What it can do: before it was measured as much as the one whose place it took. */
  units: number;
  /** Agents that are to be, by the numbers of what is asked for: those that go on here, and new ones. */
  readonly coming: Map<number, DeviceAgent | undefined>;
  working: number;
  /** It took the place of one that was stuck, and tells whose turn it is. */
  readonly isWatched: boolean;
}

/** What Workers are hired for, and who is told of them. */
export interface Employer {
  readonly order: JoinOrder;
  /** After how long without a word one is taken for stuck. */
  readonly stuckMs: number;
  /** Compute units are measured again after so long, and not before so long. */
  readonly weighEveryMs: number;
  readonly weighAgainMs: number;
  /** They are so soon, if a Worker had other things to do meanwhile. */
  readonly weighBusyMs: number;
  create(): WorkerLike;
  /** How many there are, what they can do, or who lives there, is another. */
  changed(): void;
  trouble(agent: string, error: Error): void;
  printed(agent: string, text: string): void;
  /** Whether there is an agent of this name on the platform. */
  isThere(agent: string): Promise<boolean>;
}

/** Whether a node that said so will say so again. */
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
  /** How often in turn they had other things to do when they were measured. */
  #busy = 0;
  /** The measurement that is being done, and the one behind it. */
  #weighing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(employer: Employer) {
    this.#employer = employer;
  }

  /**
   * Hires so many, and looks after them from then on.
   *
   * @throws {@link SessionError} if a node does not let one of them in.
   */
  async begin(count: number): Promise<void> {
    const hired = await Promise.allSettled(Array.from({ length: count }, () => this.#hire(0)));
    const failed = hired.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    this.#look();
  }

  /** How many there are. */
  get size(): number {
    return this.#crews.length;
  }

  /** What they can do together, in compute units. */
  get units(): number {
    return Math.max(1, this.#crews.reduce((sum, { units }) => sum + units, 0));
  }

  /** Who lives there. */
  get agents(): readonly DeviceAgent[] {
    return this.#crews.flatMap(({ agents }) => [...agents.values()]);
  }

  get #isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  // ---- Coming and going

  /** A Worker with a session of its own. */
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

  /** A Worker's session is over: so are its agents, but those that are kept and can go on in another. That takes its place. */
  #lost(crew: Crew, fault: Fault, isStuck = false): void {
    const place = this.#crews.indexOf(crew);
    if (place < 0) return;
    const error = errorOf(fault);
    crew.line.terminate(error.message);
    const reason = `failed: ${error.message}`;
    const agents = [...crew.agents.values(), ...[...crew.coming.values()].filter((agent) => agent !== undefined)];
    const guilty = isStuck ? suspects(crew) : [];
    // Who is stuck again and again, and unknown, would be so for ever.
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

  /** An agent that is kept goes on here, if it is anywhere: it may have ended meanwhile, and is not to begin anew. */
  async #bringBack(agent: DeviceAgent, reason: string, wanted: Crew | undefined): Promise<void> {
    try {
      if (!agent.order || !(await this.#employer.isThere(agent.name))) return agent.over(reason);
      await this.lodge(agent.order, agent, wanted && this.#crews.includes(wanted) ? wanted : undefined);
    } catch (error) {
      // Should that Worker be lost, too, what becomes of him is seen to.
      if (!(error instanceof LostError)) agent.over(`failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** However long that takes: the network may be away. Undefined if none is to be had any more. */
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

  /** Lets all of them say good-bye. */
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

  /** Looks whether Workers are stuck, and how much they can do. */
  #look(): void {
    const { stuckMs, weighEveryMs } = this.#employer;
    const wait = Math.min(LOOK_MS, stuckMs / 4, weighEveryMs / 4, TIMER_MS_MAX);
    const now = performance.now();
    // A page that was frozen, or whose machine slept, says nothing about its Workers.
    if (now - this.#lookedAt > 4 * wait) for (const { line } of this.#crews) line.forgive();
    this.#lookedAt = now;
    for (const crew of [...this.#crews]) {
      if (!crew.line.isStuckFor(stuckMs)) continue;
      this.#lost(crew, { name: "WhimbrelError", message: `a Worker did not answer for ${Math.round(stuckMs / 1000)} s`, code: undefined }, true);
    }
    // A page that nobody sees is counted for an eighth of what it can do when somebody does.
    if (now >= this.#weighAt && !isHidden()) void this.weigh();
    if (!this.#isOver) this.#timer = setTimeout(() => this.#look(), wait);
  }

  // ---- What they can do

  /** Measures what they can do, all at once; who is told of it is told if it is much more or less than before. */
  weigh(): Promise<void> {
    // Two measurements at a time would be half of what each is.
    if (this.#next) return this.#next;
    this.#weighAt = Infinity;
    this.#next = this.#weighing.then(() => {
      this.#next = undefined;
      return this.#measure();
    });
    return (this.#weighing = this.#next);
  }

  /** Measures again, as soon as that is worth it: what they can do may be another. */
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
    // Who is to know of it may have forgotten, and be another.
    this.#employer.changed();
  }

  /** When they are measured again: soon if they had other things to do, as what was found would stay for long. */
  #patience(isBusy: boolean): number {
    this.#busy = isBusy ? this.#busy + 1 : 0;
    const { weighBusyMs, weighEveryMs } = this.#employer;
    return isBusy && this.#busy <= BUSY_TRIES_MAX ? weighBusyMs : weighEveryMs;
  }

  // ---- What they do

  /** Has an agent come to be in the Worker that has the fewest, or in this one: another agent, or this one again. Others may be with the node that has it, if that Worker is not. */
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

  /** Those that have room, the one with the fewest first. */
  #freest(): readonly Crew[] {
    const load = ({ agents, coming }: Crew): number => agents.size + coming.size;
    const free = this.#crews.filter((crew) => load(crew) < crew.line.agentsMax).sort((one, other) => load(one) - load(other));
    if (free.length > 0) return free;
    if (this.#isOver) throw new WhimbrelError(LEFT);
    throw new WhimbrelError(this.size === 0 ? "the device's Workers are gone, and are being replaced" : "the device has as many agents as it may have");
  }

  /** Has a part done by the Worker that has least to do; undefined if there is none. */
  work(module: string, part: Value): Promise<Value> | undefined {
    const [crew] = this.#crews.toSorted((one, other) => one.working - other.working);
    if (!crew) return undefined;
    crew.working++;
    return (crew.line.ask({ type: "work", module, part }) as Promise<Value>).finally(() => crew.working--);
  }
}

/** In whom a Worker is stuck, as far as that is known: whoever has his turn, or the only one there is. */
function suspects({ agents, line, isWatched, coming, working }: Crew): readonly DeviceAgent[] {
  if (isWatched) return line.turn.flatMap((id) => agents.get(id) ?? coming.get(id) ?? []);
  return agents.size + coming.size + working === 1 ? [...agents.values()] : [];
}
