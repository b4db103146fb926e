/** Duration of parts of work, and detection of its changes. */

/** Parts of a kind before its mean counts. */
const PARTS_MIN = 8;
/** Weights of the latest part in the short-term and the long-term mean. */
const SHORT_WEIGHT = 1 / 8;
const LONG_WEIGHT = 1 / 64;
/** Ratio between the two means that counts as a change. */
const CHANGE_RATIO = 1.5;

interface Kind {
  parts: number;
  shortMean: number;
  longMean: number;
}

/** Means of the durations of parts of work, by kind. Single parts vary, so two means are compared. */
export class DurationTrend {
  readonly #kinds = new Map<string, Kind>();

  /** Notes the duration of a part. Returns true if the short-term mean rose by half, or fell by a third. */
  note(kind: string, ms: number): boolean {
    const known = this.#kinds.get(kind) ?? { parts: 0, shortMean: 0, longMean: 0 };
    this.#kinds.set(kind, known);
    known.parts++;
    // The first parts count alike.
    const share = (least: number): number => Math.max(least, 1 / Math.min(known.parts, PARTS_MIN));
    known.shortMean += (ms - known.shortMean) * share(SHORT_WEIGHT);
    known.longMean += (ms - known.longMean) * (known.parts <= PARTS_MIN ? share(SHORT_WEIGHT) : LONG_WEIGHT);
    const isChange = known.shortMean > known.longMean * CHANGE_RATIO || known.shortMean * CHANGE_RATIO < known.longMean;
    if (known.parts <= PARTS_MIN || !isChange) return false;
    known.longMean = known.shortMean;
    return true;
  }
}
