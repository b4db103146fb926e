/** Who talks to whom: what was sent lately counts most. */
import type { TrafficFrame } from "../live/vocabulary.js";

/** What a pair is worth halves in so many frames. */
const HALF_LIFE_FRAMES = 8;
const DECAY = 0.5 ** (1 / HALF_LIFE_FRAMES);
/** Less than this is forgotten. */
const WEIGHT_MIN = 0.02;
const PAIRS_MAX = 4_000;

export interface Pair {
  readonly from: string;
  readonly to: string;
  /** Messages a frame, smoothed. */
  weight: number;
  /** Messages in the last frame. */
  fresh: number;
}

export class Traffic {
  readonly #pairs = new Map<string, Pair>();
  #atUs = 0;

  get atUs(): number {
    return this.#atUs;
  }

  hear(frame: TrafficFrame): void {
    this.#atUs = frame.at_us;
    for (const [key, pair] of this.#pairs) {
      pair.weight *= DECAY;
      pair.fresh = 0;
      if (pair.weight < WEIGHT_MIN) this.#pairs.delete(key);
    }
    const seen = frame.pairs.reduce((sum, [, , count]) => sum + count, 0);
    // What was not looked at is taken to be as what was.
    const scale = seen > 0 ? (seen + (frame.unseen ?? 0)) / seen : 1;
    for (const [from, to, looked] of frame.pairs) {
      const count = looked * scale;
      const key = `${from}\n${to}`;
      const pair = this.#pairs.get(key);
      if (pair) {
        pair.weight += count * (1 - DECAY);
        pair.fresh += count;
      } else if (this.#pairs.size < PAIRS_MAX) {
        this.#pairs.set(key, { from, to, weight: Math.max(count * (1 - DECAY), WEIGHT_MIN), fresh: count });
      }
    }
  }

  /** The busiest first. */
  pairs(): Pair[] {
    return [...this.#pairs.values()].sort((a, b) => b.weight - a.weight);
  }

  /** With whom an agent talks, the busiest first. */
  of(agent: string): Pair[] {
    return this.pairs().filter((pair) => pair.from === agent || pair.to === agent);
  }
}
