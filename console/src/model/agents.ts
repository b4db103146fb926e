/** The agents of the society, as the node told last. */
import { signal } from "@preact/signals";
import type { AgentInfo, WatchFrame } from "../live/vocabulary.js";
import { searchFits } from "./pattern.js";
import { Pulse } from "./pulse.js";

export type AgentColumn = "name" | "kind" | "state" | "node" | "mailbox" | "handled" | "age_ms";

export interface AgentFilter {
  readonly search: string;
  readonly kind: string;
  readonly state: string;
  /** A node, or a device. */
  readonly node: string;
}
export interface AgentSort {
  readonly by: AgentColumn;
  readonly descending: boolean;
}

export const EVERYBODY: AgentFilter = { search: "", kind: "", state: "", node: "" };

const collator = new Intl.Collator("en", { numeric: true });

/** How names are put in order, numbers in names as numbers: `b2` before `b10`. */
export function compareNames(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

export class Agents {
  readonly pulse = new Pulse();
  /** Nodes that did not say how their agents are doing. */
  readonly silent = signal<readonly string[]>([]);
  /** Told of an agent that is elsewhere than it was. */
  onMove: ((before: AgentInfo, now: AgentInfo) => void) | undefined;
  readonly #byName = new Map<string, AgentInfo>();
  /** The names in order, sorted anew only when somebody came or went: to compare names takes longest. */
  #order: string[] | undefined = [];
  #total = 0;
  /** When they began to live, in milliseconds since 1970: nodes do not tell each second that everybody is older now. */
  readonly #born = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  /** How many of them are known here. */
  get known(): number {
    return this.#byName.size;
  }

  named(name: string): AgentInfo | undefined {
    return this.#byName.get(name);
  }

  get names(): readonly string[] {
    return (this.#order ??= [...this.#byName.keys()].sort(compareNames));
  }

  hear(frame: WatchFrame): void {
    if (frame.type === "agents") {
      this.#byName.clear();
      this.#born.clear();
      for (const agent of frame.agents) this.#note(agent);
      this.#order = undefined;
      this.#total = frame.total;
    } else if (frame.type === "agents_changed") {
      for (const name of frame.gone) {
        this.#born.delete(name);
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

  #note(agent: AgentInfo): void {
    const before = this.#byName.get(agent.name);
    if (before && placeOf(before) !== placeOf(agent)) this.onMove?.(before, agent);
    this.#byName.set(agent.name, agent);
    if (agent.age_ms !== null) this.#born.set(agent.name, Date.now() - agent.age_ms);
  }

  /** For how long an agent has lived, in milliseconds. */
  age(name: string): number | null {
    const born = this.#born.get(name);
    return born === undefined ? null : Math.max(0, Date.now() - born);
  }

  /** Those that fit, in order. */
  list(filter: AgentFilter, sort: AgentSort): AgentInfo[] {
    const found: AgentInfo[] = [];
    for (const name of this.names) {
      const agent = this.#byName.get(name);
      if (agent && fits(agent, filter)) found.push(agent);
    }
    if (sort.by === "name") return sort.descending ? found.reverse() : found;
    const { by } = sort;
    const sign = sort.descending ? -1 : 1;
    // Array.sort is stable: those that are alike stay in the order of their names.
    const cell = (agent: AgentInfo) => (by === "node" ? placeOf(agent) : agent[by]);
    return found.sort((a, b) => sign * compareCells(cell(a), cell(b)));
  }

  /** Whose mailboxes have most messages that wait, of a node or of all; those without are left out. */
  fullest(node: string, most: number): [string, number][] {
    const found: [string, number][] = [];
    for (const agent of this.#byName.values()) {
      if ((node === "" || agent.node === node) && (agent.mailbox ?? 0) > 0) found.push([agent.name, agent.mailbox ?? 0]);
    }
    return found.sort(([one, many], [other, more]) => more - many || compareNames(one, other)).slice(0, most);
  }

  /** How many agents there are of each kind, state and node. */
  counts(by: "kind" | "state" | "node"): [string, number][] {
    const counts = new Map<string, number>();
    for (const agent of this.#byName.values()) {
      const key = by === "node" ? placeOf(agent) : (agent[by] ?? "elsewhere");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].sort(([a], [b]) => compareNames(a, b));
  }
}

/** Where an agent runs: a node, or a device. */
export function placeOf(agent: AgentInfo): string {
  return agent.device ?? agent.node;
}

function fits(agent: AgentInfo, filter: AgentFilter): boolean {
  return (
    (filter.kind === "" || agent.kind === filter.kind) &&
    (filter.state === "" || (agent.state ?? "elsewhere") === filter.state) &&
    (filter.node === "" || placeOf(agent) === filter.node) &&
    searchFits(filter.search, agent.name)
  );
}

/** What is not known comes first. */
function compareCells(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return a < b ? -1 : a > b ? 1 : 0;
}
