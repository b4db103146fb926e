/** Messages a second of nodes, from what they tell now and then. */
import type { NodeInfo } from "../live/vocabulary.js";

interface Noted {
  readonly pid: number;
  readonly up_us: number;
  readonly sent: number;
  readonly rate: number | null;
}

export class NodeRates {
  readonly #noted = new Map<string, Noted>();

  /** What a node tells now; messages a second since it told something else before. Null if nothing is known of them, or it is another process now. */
  note({ node, pid, up_us, sent }: NodeInfo): number | null {
    const before = this.#noted.get(node);
    if (before && before.pid === pid && up_us <= before.up_us) return before.rate;
    const rate = before && before.pid === pid && sent >= before.sent ? ((sent - before.sent) * 1e6) / (up_us - before.up_us) : null;
    this.#noted.set(node, { pid, up_us, sent, rate });
    return rate;
  }
}
