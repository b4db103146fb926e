/**
 * The same question to many, again and again. Nodes answer so many questions of a console at a time, and each that does not answer takes a while: so they are asked in turns, few at a time, and
 * all of them, however many there are.
 */
import type { Clock } from "./client.js";

/** How much longer whoever did not answer is left alone than whoever did. */
const PATIENCE = 4;

/** Who wants to ask waits for his turn: as many as this at a time, the first that came first. */
export class Turns {
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

/** Who is asked how, and who is told of that. */
export interface Asking<Answer> {
  readonly everyMs: number;
  readonly turns: Turns;
  readonly clock: Clock;
  ask(who: string): Promise<Answer>;
  told(who: string, answer: Answer): void;
  failed(who: string, error: unknown): void;
}

/** Asks all of them, each so often or as often as its turn comes, until the function that is returned is called. */
export function askInTurns<Answer>(all: readonly string[], { everyMs, turns, clock, ask, told, failed }: Asking<Answer>): () => void {
  const cancels = new Map<string, () => void>();
  let isOver = false;
  const once = async (who: string): Promise<void> => {
    await turns.take();
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
      turns.leave();
    }
    if (!isOver) cancels.set(who, clock.after(Math.max(0, since + wait - clock.now()), () => void once(who)));
  };
  for (const who of all) void once(who);
  return () => {
    isOver = true;
    for (const cancel of cancels.values()) cancel();
  };
}
