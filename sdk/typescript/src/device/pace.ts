/** How long parts of work take, and when that changed. */

/** So many parts of a kind say how long they take. */
const PARTS_MIN = 8;
/** What part the last one is of what parts take lately, and of what they took before. */
const LATELY = 1 / 8;
const BEFORE = 1 / 64;
/** By how much they have to differ. */
const MARKED = 1.5;

interface Kind {
  parts: number;
  lately: number;
  before: number;
}

/** See the module. Parts differ among themselves: it is their means that are compared. */
export class Pace {
  readonly #kinds = new Map<string, Kind>();

  /** A part of this kind took so long; true if such parts take half as long again, or two thirds, of what they took before. */
  note(kind: string, ms: number): boolean {
    const known = this.#kinds.get(kind) ?? { parts: 0, lately: 0, before: 0 };
    this.#kinds.set(kind, known);
    known.parts++;
    // Until there are enough, each counts alike.
    const share = (least: number): number => Math.max(least, 1 / Math.min(known.parts, PARTS_MIN));
    known.lately += (ms - known.lately) * share(LATELY);
    known.before += (ms - known.before) * (known.parts <= PARTS_MIN ? share(LATELY) : BEFORE);
    const isMarked = known.lately > known.before * MARKED || known.lately * MARKED < known.before;
    if (known.parts <= PARTS_MIN || !isMarked) return false;
    known.before = known.lately;
    return true;
  }
}
