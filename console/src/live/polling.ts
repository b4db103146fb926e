/**
 * Repeated queries to many nodes. A node answers a limited number of queries of one console at a time, and a silent
 * node takes long. So a few nodes are asked at a time, in turns.
 */
import type { Clock } from "./client.js";

/** Factor of the interval after a failure. */
const PATIENCE = 4;

/** Semaphore for a limited number of queries at a time, first come, first served. */
export class QueryLimit {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atATime: number) {
    this.#free = atATime;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((goOn) => this.#waiting.push(goOn));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}

/** Query, and the callbacks for its results. */
export interface Poll<Answer> {
  readonly everyMs: number;
  readonly queryLimit: QueryLimit;
  readonly clock: Clock;
  ask(who: string): Promise<Answer>;
  told(who: string, answer: Answer): void;
  failed(who: string, error: unknown): void;
}

/** Asks all nodes repeatedly, at the interval or when its turn comes. The returned function ends that. */
export function pollAll<Answer>(all: readonly string[], { everyMs, queryLimit, clock, ask, told, failed }: Poll<Answer>): () => void {
  const cancels = new Map<string, () => void>();
  let isOver = false;
  const once = async (who: string): Promise<void> => {
    await queryLimit.take();
    const since = clock.now();
    let wait = everyMs;
    try {
      if (isOver) return;
      const answer = await ask(who);
      if (!isOver) told(who, answer);
    } catch (error) {
      wait *= PATIENCE;
      if (!isOver) failed(who, error);
    } finally {
      queryLimit.leave();
    }
    if (!isOver) cancels.set(who, clock.after(Math.max(0, since + wait - clock.now()), () => void once(who)));
  };
  for (const who of all) void once(who);
  return () => {
    isOver = true;
    for (const cancel of cancels.values()) cancel();
  };
}
