/** Rates of nodes, from their counters. */
import type { NodeInfo } from "../live/vocabulary.js";

/** Messages a second. */
export interface Rates {
  readonly sent: number;
  readonly handled: number;
  readonly dead: number;
}

interface Noted extends Rates {
  readonly pid: number;
  readonly up_us: number;
  readonly rates: Rates | null;
}

export class NodeRates {
  readonly #noted = new Map<string, Noted>();

  /**
   * Adds a node's counters. Returns the rates since its previous counters; null for a first report or a new process.
   */
  note({ node, pid, up_us, sent, handled, dead }: NodeInfo): Rates | null {
    const before = this.#noted.get(node);
    if (before && before.pid === pid && up_us <= before.up_us) return before.rates;
    const isSame = before !== undefined && before.pid === pid && sent >= before.sent;
    const per = (now: number, then: number): number => Math.max(0, ((now - then) * 1e6) / (up_us - (before?.up_us ?? 0)));
    const rates = isSame ? { sent: per(sent, before.sent), handled: per(handled, before.handled), dead: per(dead, before.dead) } : null;
    this.#noted.set(node, { pid, up_us, sent, handled, dead, rates });
    return rates;
  }
}
