/** Duration of parts of work, and detection of its changes. */

/** Parts of a kind before its mean counts. */
const PARTS_MIN = 8;
/** Weights of the latest part in the short-term and the long-term mean. */
const LATELY = 1 / 8;
const BEFORE = 1 / 64;
/** Ratio between the two means that counts as a change. */
const MARKED = 1.5;

interface Kind {
  parts: number;
  lately: number;
  before: number;
}

/** See the module. Single parts vary, so means are compared. */
export class Pace {
  readonly #kinds = new Map<string, Kind>();

  /** Notes the duration of a part. Returns true if the short-term mean rose by half, or fell by a third. */
  note(kind: string, ms: number): boolean {
    const known = this.#kinds.get(kind) ?? { parts: 0, lately: 0, before: 0 };
    this.#kinds.set(kind, known);
    known.parts++;
    // The first parts count alike.
    const share = (least: number): number => Math.max(least, 1 / Math.min(known.parts, PARTS_MIN));
    known.lately += (ms - known.lately) * share(LATELY);
    known.before += (ms - known.before) * (known.parts <= PARTS_MIN ? share(LATELY) : BEFORE);
    const isMarked = known.lately > known.before * MARKED || known.lately * MARKED < known.before;
    if (known.parts <= PARTS_MIN || !isMarked) return false;
    known.before = known.lately;
    return true;
  }
}
