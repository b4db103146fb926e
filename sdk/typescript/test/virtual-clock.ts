/** Virtual clock that jumps to the next timer when nothing is left to do. */
import type { Clock } from "../src/agentspeak.js";

export class VirtualClock implements Clock {
  #now = 0;
  readonly #lookMs: number;
  #calls: { readonly at: number; readonly call: () => void }[] = [];

  /** Duration of a look at the clock, in milliseconds, so that programs that poll it make progress. */
  constructor(lookMs = 0.001) {
    this.#lookMs = lookMs;
  }

  now(): number {
    return (this.#now += this.#lookMs);
  }

  wall(): number {
    return Math.floor(1_700_000_000_000 + this.#now);
  }

  after(ms: number, call: () => void): () => void {
    const entry = { at: this.#now + ms, call };
    this.#calls.push(entry);
    return () => void (this.#calls = this.#calls.filter((other) => other !== entry));
  }

  /** Lets time pass, at most until nothing is left to do. */
  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = this.#calls.toSorted((one, other) => one.at - other.at);
      if (!next || next.at > end) break;
      this.#calls = this.#calls.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.at);
      next.call();
    }
    this.#now = Math.max(this.#now, end);
  }
}
