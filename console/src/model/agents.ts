/** The agents of the society, by the node's last report. */
import { signal } from "@preact/signals";
import type { AgentInfo, WatchFrame } from "../live/vocabulary.js";
import { searchFits } from "./pattern.js";
import { Pulse } from "./pulse.js";

export type AgentColumn = "name" | "kind" | "program" | "state" | "node" | "mailbox" | "rate" | "handled" | "failed" | "age_ms";

export interface AgentFilter {
  readonly search: string;
  readonly kind: string;
  readonly state: string;
  /** A node or a device. */
  readonly node: string;
}
export interface AgentSort {
  readonly by: AgentColumn;
  readonly descending: boolean;
}

export const ALL_AGENTS: AgentFilter = { search: "", kind: "", state: "", node: "" };

const collator = new Intl.Collator("en", { numeric: true });

/** Shortest time for which a rate is computed, and longest for which it holds, in milliseconds. */
const RATE_MS_MIN = 900;
const RATE_MS_MAX = 3_000;

/** Time for which departed agents are kept, in case the whole society has ended, in milliseconds. */
const DEPARTED_MS = 4_000;

/** Compares names, with numbers by value: `b2` before `b10`. */
export function compareNames(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

export class Agents {
  readonly pulse = new Pulse();
  /** Nodes that did not report the state of their agents. */
  readonly silent = signal<readonly string[]>([]);
  /** Called when an agent's place has changed. */
  onMove: ((before: AgentInfo, now: AgentInfo) => void) | undefined;
  readonly #byName = new Map<string, AgentInfo>();
  /** Sorted names, renewed only when agents come or go, because comparing names is slow. */
  #order: string[] | undefined = [];
  #total = 0;
  /** Time of birth in milliseconds since 1970, because nodes do not report ages each second. */
  readonly #born = new Map<string, number>();
  /** Handled messages at two times, from which the rate follows. */
  readonly #rates = new Map<string, { readonly handled: number; readonly atMs: number; readonly perS: number }>();
  /** Returns the time of an agent's last failure; 0 if there was none. */
  failedUs: (name: string) => number = () => 0;
  /** Recently departed agents, with their time. */
  #departed: { readonly agent: AgentInfo; readonly atMs: number }[] = [];
  #isOver = false;

  get total(): number {
    return this.#total;
  }

  /** Number of agents known here. */
  get known(): number {
    return this.#byName.size;
  }

  named(name: string): AgentInfo | undefined {
    return this.#byName.get(name);
  }

  get names(): readonly string[] {
    return (this.#order ??= [...this.#byName.keys()].sort(compareNames));
  }

  /** Keeps the agents as they were when the society ended. They are dropped when agents are reported again. */
  keepEnded(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const sinceMs = Date.now() - DEPARTED_MS;
    for (const { agent, atMs } of this.#departed) if (atMs >= sinceMs && !this.#byName.has(agent.name)) this.#byName.set(agent.name, agent);
    this.#departed = [];
    this.#total = this.#byName.size;
    this.#order = undefined;
    this.pulse.touch();
  }

  /** Iterates over all known agents. */
  all(): IterableIterator<AgentInfo> {
    return this.#byName.values();
  }

  hear(frame: WatchFrame): void {
    // The end of the agents of an ended society says nothing.
    if (this.#isOver && ((frame.type === "agents" && frame.agents.length === 0) || (frame.type === "agents_changed" && frame.changed.length === 0))) return;
    this.#isOver = false;
    this.#noteDepartures(frame);
    if (frame.type === "agents") {
      this.#byName.clear();
      this.#born.clear();
      this.#rates.clear();
      for (const agent of frame.agents) this.#note(agent);
      this.#order = undefined;
      this.#total = frame.total;
    } else if (frame.type === "agents_changed") {
      for (const name of frame.gone) {
        this.#born.delete(name);
        this.#rates.delete(name);
        if (this.#byName.delete(name)) this.#order = undefined;
      }
      for (const agent of frame.changed) {
        if (!this.#byName.has(agent.name)) this.#order = undefined;
        this.#note(agent);
      }
      this.#total = frame.total;
    } else {
      return;
    }
    if (this.silent.value.join() !== (frame.silent ?? []).join()) this.silent.value = frame.silent ?? [];
    this.pulse.touch();
  }

  #noteDepartures(frame: WatchFrame): void {
    const now = Date.now();
    this.#departed = this.#departed.filter(({ atMs }) => atMs >= now - DEPARTED_MS);
    const gone = frame.type === "agents_changed" ? frame.gone : [];
    for (const name of gone) {
      const agent = this.#byName.get(name);
      if (agent) this.#departed.push({ agent, atMs: now });
    }
  }

  #note(agent: AgentInfo): void {
    const before = this.#byName.get(agent.name);
    if (before && placeOf(before) !== placeOf(agent)) this.onMove?.(before, agent);
    this.#byName.set(agent.name, agent);
    this.#noteRate(agent.name, agent.handled ?? 0, Date.now());
    if (agent.age_ms !== null) this.#born.set(agent.name, Date.now() - agent.age_ms);
  }

  #noteRate(name: string, handled: number, atMs: number): void {
    const before = this.#rates.get(name);
    const spanMs = atMs - (before?.atMs ?? atMs);
    if (before && spanMs < RATE_MS_MIN) return;
    const perS = before && handled >= before.handled ? ((handled - before.handled) * 1000) / spanMs : 0;
    this.#rates.set(name, { handled, atMs, perS });
  }

  /** Returns the messages that an agent handles a second. Unchanged agents are not reported, so the rate runs out. */
  rate(name: string): number {
    const rate = this.#rates.get(name);
    return rate && rate.atMs >= Date.now() - RATE_MS_MAX ? rate.perS : 0;
  }

  /** Returns the age of an agent in milliseconds. */
  age(name: string): number | null {
    const born = this.#born.get(name);
    return born === undefined ? null : Math.max(0, Date.now() - born);
  }

  /** Returns the matching agents, sorted. */
  list(filter: AgentFilter, sort: AgentSort): AgentInfo[] {
    const found: AgentInfo[] = [];
    for (const name of this.names) {
      const agent = this.#byName.get(name);
      if (agent && fits(agent, filter)) found.push(agent);
    }
    if (sort.by === "name") return sort.descending ? found.reverse() : found;
    const { by } = sort;
    const sign = sort.descending ? -1 : 1;
    // The sort is stable: equal agents stay in the order of names.
    const cell = (agent: AgentInfo) => this.#cell(agent, by);
    return found.sort((a, b) => sign * compareCells(cell(a), cell(b)));
  }

  #cell(agent: AgentInfo, by: Exclude<AgentColumn, "name">): string | number | null {
    switch (by) {
      case "node":
        return placeOf(agent);
      case "state":
        return stateOf(agent);
      case "program":
        return agent.program ?? agent.kind;
      case "rate":
        return this.rate(agent.name);
      case "failed":
        return this.failedUs(agent.name);
      default:
        return agent[by];
    }
  }

  /** Returns the fullest mailboxes of a node, or of all. Empty ones are left out. */
  fullest(node: string, most: number): [string, number][] {
    const found: [string, number][] = [];
    for (const agent of this.#byName.values()) {
      if ((node === "" || agent.node === node) && (agent.mailbox ?? 0) > 0) found.push([agent.name, agent.mailbox ?? 0]);
    }
    return found.sort(([one, many], [other, more]) => more - many || compareNames(one, other)).slice(0, most);
  }

  /** Returns the number of agents of each kind, state or node. */
  counts(by: "kind" | "state" | "node"): [string, number][] {
    const counts = new Map<string, number>();
    for (const agent of this.#byName.values()) {
      const key = by === "node" ? placeOf(agent) : by === "state" ? (stateOf(agent) ?? "elsewhere") : agent.kind;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].sort(([a], [b]) => compareNames(a, b));
  }
}

/** Returns the place of an agent: a node or a device. */
export function placeOf(agent: AgentInfo): string {
  return agent.device ?? agent.node;
}

/** Returns the state of an agent for people: that of its life cycle, or its activity. */
export function stateOf({ ending, passive, state, activity }: AgentInfo): string | null {
  if (ending) return "ending";
  if (state !== "active") return state;
  if (activity === "paused" || activity === "waits") return activity;
  if (passive) return "passive";
  return activity === "idle" ? "idle" : state;
}

function fits(agent: AgentInfo, filter: AgentFilter): boolean {
  return (
    (filter.kind === "" || agent.kind === filter.kind) &&
    (filter.state === "" || (stateOf(agent) ?? "elsewhere") === filter.state) &&
    (filter.node === "" || placeOf(agent) === filter.node) &&
    searchFits(filter.search, agent.name)
  );
}

/** Compares cells. Unknown values come first. */
function compareCells(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return a < b ? -1 : a > b ? 1 : 0;
}
