/** Traffic between agents, weighted by age. */
import type { TrafficFrame } from "../live/vocabulary.js";

/** Frames after which a pair's weight has halved. */
const HALF_LIFE_FRAMES = 8;
const DECAY = 0.5 ** (1 / HALF_LIFE_FRAMES);
/** Weight below which a pair is only remembered. */
const WEIGHT_MIN = 0.02;
const PAIRS_MAX = 4_000;

export interface Pair {
  readonly from: string;
  readonly to: string;
  /** Messages in a frame, smoothed. */
  weight: number;
  /** Messages in the last frame. */
  fresh: number;
  /** All messages so far. */
  total: number;
}

export class Traffic {
  readonly #pairs = new Map<string, Pair>();
  #atUs = 0;

  get atUs(): number {
    return this.#atUs;
  }

  hear(frame: TrafficFrame): void {
    this.#atUs = frame.at_us;
    for (const pair of this.#pairs.values()) {
      pair.weight = pair.weight < WEIGHT_MIN ? 0 : pair.weight * DECAY;
      pair.fresh = 0;
    }
    const seen = frame.pairs.reduce((sum, [, , count]) => sum + count, 0);
    // Extrapolate from the sampled messages.
    const scale = seen > 0 ? (seen + (frame.unseen ?? 0)) / seen : 1;
    for (const [from, to, looked] of frame.pairs) {
      const count = looked * scale;
      const key = `${from}\n${to}`;
      const pair = this.#pairs.get(key);
      if (pair) {
        pair.weight += count * (1 - DECAY);
        pair.fresh += count;
        pair.total += count;
      } else if (this.#pairs.size < PAIRS_MAX || this.#forget()) {
        this.#pairs.set(key, { from, to, weight: Math.max(count * (1 - DECAY), WEIGHT_MIN), fresh: count, total: count });
      }
    }
  }

  /** Forgets the oldest pair that is only remembered. Returns false if there is none. */
  #forget(): boolean {
    for (const [key, { weight }] of this.#pairs) if (weight === 0) return this.#pairs.delete(key);
    return false;
  }

  /** Returns all pairs, the busiest first, then those of the past. */
  pairs(): Pair[] {
    return [...this.#pairs.values()].sort((a, b) => b.weight - a.weight || b.total - a.total);
  }

  /** Returns the pairs of an agent, the busiest first. */
  of(agent: string): Pair[] {
    return this.pairs().filter((pair) => pair.from === agent || pair.to === agent);
  }
}
