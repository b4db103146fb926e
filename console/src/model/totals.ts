/** Figures of the whole society. Nodes report counters since their start; rates here cover the last moments. */
import { signal } from "@preact/signals";
import type { NodeInfo, PairInfo, Sum, TrafficFrame } from "../live/vocabulary.js";
import { NodeRates, type Rates } from "./rates.js";

/** Averaging time of rates, long enough to smooth bursts. */
const RATE_MS = 2_000;

/** A node's report, with its rates since the previous one. */
export interface NodeReport {
  readonly info: NodeInfo;
  readonly rates: Rates | null;
}

/** Figures of all nodes together and of each. */
export class Totals {
  readonly sum = signal<Sum | null>(null);
  readonly messagesPerS = signal<number | null>(null);
  /** Nodes that answered. */
  readonly nodes = signal<readonly NodeReport[]>([]);
  /** Names of silent nodes. */
  readonly silent = signal<readonly string[]>([]);
  readonly #rates = new NodeRates();
  #past: { readonly atMs: number; readonly sent: number }[] = [];

  hear({ sum, nodes, silent }: { readonly sum: Sum; readonly nodes: readonly NodeInfo[]; readonly silent: readonly string[] }, nowMs: number): void {
    this.sum.value = sum;
    this.nodes.value = nodes.map((info) => ({ info, rates: this.#rates.note(info) }));
    if (this.silent.value.join() !== silent.join()) this.silent.value = silent;
    this.#past.push({ atMs: nowMs, sent: sum.sent });
    this.look(nowMs);
  }

  /** Updates the rate without a new report, because unchanged counters are not reported. */
  look(nowMs: number): void {
    const { sum } = this;
    const last = this.#past.at(-1);
    if (!sum.value || !last) return;
    // A node restarted, or did not answer this time.
    if (this.#past.some(({ sent }) => sent > last.sent)) this.#past = [last];
    while ((this.#past[1]?.atMs ?? Infinity) <= nowMs - RATE_MS) this.#past.shift();
    const [first] = this.#past;
    this.messagesPerS.value = first && first.atMs < nowMs ? ((last.sent - first.sent) * 1000) / (nowMs - first.atMs) : null;
  }
}

/** Traffic since the last look, from growing counters. */
export class Pairs {
  #before: ReadonlyMap<string, number> | undefined;
  #unseenBefore = 0;
  #fresh = new Map<string, number>();
  #unseen = 0;

  hear(pairs: readonly PairInfo[], unseen: number): void {
    const now = new Map(pairs.map(({ from, to, count }) => [`${from}\n${to}`, count]));
    // The first report has no time span.
    if (this.#before) {
      for (const [key, count] of now) {
        const before = this.#before.get(key) ?? 0;
        // The counter restarted.
        const more = count < before ? count : count - before;
        if (more > 0) this.#fresh.set(key, (this.#fresh.get(key) ?? 0) + more);
      }
      this.#unseen += unseen < this.#unseenBefore ? unseen : unseen - this.#unseenBefore;
    }
    this.#before = now;
    this.#unseenBefore = unseen;
  }

  /** Returns the traffic since the previous call. */
  take(nowMs: number): TrafficFrame {
    const pairs = [...this.#fresh].map(([key, count]) => [...key.split("\n"), count] as unknown as [string, string, number]);
    const frame: TrafficFrame = { type: "traffic", at_us: nowMs * 1000, pairs, unseen: this.#unseen };
    this.#fresh = new Map();
    this.#unseen = 0;
    return frame;
  }
}
