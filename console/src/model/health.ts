/** History of nodes' figures, of each and of all, in columns for charts. */
import { signal } from "@preact/signals";
import type { HealthFrame } from "../live/vocabulary.js";
import type { NodeReport } from "./totals.js";

/** Ten minutes, one row a second. */
const ROWS_MAX = 600;

export type Column = "sent" | "handled" | "dead" | "queued" | "p50" | "p90" | "p99" | "memory";
const COLUMNS: readonly Column[] = ["sent", "handled", "dead", "queued", "p50", "p90", "p99", "memory"];
type Row = Readonly<Record<Column, number | null>>;

/** Figures by time. */
export class History {
  /** Seconds since 1970. */
  readonly times: number[] = [];
  readonly #columns = new Map<Column, (number | null)[]>(COLUMNS.map((column) => [column, []]));

  column(name: Column): (number | null)[] {
    return this.#columns.get(name) ?? [];
  }

  add(atS: number, row: Row): void {
    this.times.push(atS);
    for (const column of COLUMNS) this.column(column).push(row[column]);
    if (this.times.length <= ROWS_MAX) return;
    this.times.shift();
    for (const column of COLUMNS) this.column(column).shift();
  }
}

/** Returns the faults of all nodes but `here`. */
export function faultsOfOthers(told: readonly NodeReport[], here: string): string[] {
  return told.flatMap(({ info }) => (info.node === here ? [] : (info.wrong ?? []).map((what) => `${info.node}: ${what}`)));
}

const NONE = { p50: null, p90: null, p99: null };

export class Health {
  /** Last report of the asked node. */
  readonly now = signal<HealthFrame | null>(null);
  /** Row counter. A change redraws the charts. */
  readonly version = signal(0);
  readonly #of = new Map<string, History>();

  /** Returns the history of a node; of all nodes if the name is empty. */
  of(node: string): History {
    const known = this.#of.get(node) ?? new History();
    this.#of.set(node, known);
    return known;
  }

  /** Adds a row for each node that answered. Only the asked node, `here`, reports latencies. */
  hear(told: readonly NodeReport[], here: string, atS: number): void {
    const rows = told.flatMap(({ info, rates }): [string, Row][] => {
      const latency = info.node === here ? (this.now.value?.latency_us ?? NONE) : NONE;
      return [[info.node, { sent: rates?.sent ?? null, handled: rates?.handled ?? null, dead: rates?.dead ?? null, queued: info.queued, p50: latency.p50, p90: latency.p90, p99: latency.p99, memory: info.memory_bytes }]];
    });
    for (const [node, row] of rows) this.of(node).add(atS, row);
    const sum = (column: Column): number | null => {
      const known = rows.flatMap(([, row]) => row[column] ?? []);
      return known.length === 0 ? null : known.reduce((one, other) => one + other, 0);
    };
    const all = Object.fromEntries(COLUMNS.map((column) => [column, sum(column)])) as Row;
    // Percentiles cannot be added.
    this.of("").add(atS, { ...all, ...NONE });
    this.version.value++;
  }
}
