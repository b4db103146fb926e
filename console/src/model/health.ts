/** How the platform has been doing, in columns as charts want them. */
import { signal } from "@preact/signals";
import type { HealthFrame } from "../live/vocabulary.js";

/** Ten minutes, one a second. */
const FRAMES_MAX = 600;

export type Column = "sent" | "handled" | "dead" | "queued" | "p50" | "p90" | "p99" | "memory";
const COLUMNS: readonly Column[] = ["sent", "handled", "dead", "queued", "p50", "p90", "p99", "memory"];

export class Health {
  readonly now = signal<HealthFrame | null>(null);
  /** Counts frames: charts are drawn anew when it does. */
  readonly version = signal(0);
  /** Seconds since 1970. */
  readonly times: number[] = [];
  readonly #columns = new Map<Column, (number | null)[]>(COLUMNS.map((column) => [column, []]));

  column(name: Column): (number | null)[] {
    return this.#columns.get(name) ?? [];
  }

  hear(frame: HealthFrame): void {
    const { latency_us: latency } = frame;
    const values: Record<Column, number | null> = {
      sent: frame.sent_per_s,
      handled: frame.handled_per_s,
      dead: frame.dead_per_s,
      queued: frame.queued,
      p50: latency?.p50 ?? null,
      p90: latency?.p90 ?? null,
      p99: latency?.p99 ?? null,
      memory: frame.memory_bytes,
    };
    this.times.push(frame.at_us / 1e6);
    for (const column of COLUMNS) this.column(column).push(values[column]);
    if (this.times.length > FRAMES_MAX) {
      this.times.shift();
      for (const column of COLUMNS) this.column(column).shift();
    }
    this.now.value = frame;
    this.version.value++;
  }
}
