/** Virtual time: timers and clocks of the program jump to the next timer when nothing else is left to do. */
import { WhimbrelError } from "../acl/errors.js";

/** Milliseconds of virtual time, and moments in it, for which a test may wait without `advance`. */
const PATIENCE_MS = 86_400_000;
const MOMENTS_MAX = 1_000_000;
/** Turns of the real event loop without any work, after which nothing is left to do. */
const IDLE_TURNS = 2;

/** A test waits for something that does not happen in virtual time. */
export class StuckError extends WhimbrelError {
  override readonly name: string = "StuckError";
}

interface VirtualTimer {
  readonly id: number;
  at: number;
  readonly call: () => void;
  /** Interval in milliseconds, of repeated timers. */
  readonly every: number | undefined;
}

/** Functions that are replaced while time is virtual. */
interface Clocks {
  readonly setTimeout: typeof globalThis.setTimeout;
  readonly clearTimeout: typeof globalThis.clearTimeout;
  readonly setInterval: typeof globalThis.setInterval;
  readonly clearInterval: typeof globalThis.clearInterval;
  readonly setImmediate: typeof globalThis.setImmediate | undefined;
  readonly performanceNow: () => number;
  readonly dateNow: () => number;
}

/** Wall clock at the beginning: 2025-01-01. */
export const START_MS = 1_735_689_600_000;

/**
 * Virtual time of a test. While it is installed, `setTimeout`, `setInterval`, `setImmediate`, `performance.now` and
 * `Date.now` follow it. Timers of one moment run in the order in which they were set.
 */
export class VirtualTime {
  #now = 0;
  #ids = 1_000_000_000;
  #timers = new Map<number, VirtualTimer>();
  #immediate: (() => void)[] = [];
  #real: Clocks | undefined;
  #advances = 0;
  #since = 0;
  #moments = 0;
  /** Number of changes, to find out if the program is idle. */
  #changes = 0;

  /** Milliseconds since the beginning. */
  get now(): number {
    return this.#now;
  }

  /** Replaces the clocks of the program. */
  install(): void {
    if (this.#real) return;
    const global = globalThis as { -readonly [name in keyof typeof globalThis]: (typeof globalThis)[name] };
    const { performance } = globalThis;
    this.#real = {
      setTimeout: global.setTimeout,
      clearTimeout: global.clearTimeout,
      setInterval: global.setInterval,
      clearInterval: global.clearInterval,
      setImmediate: global.setImmediate,
      performanceNow: performance.now,
      dateNow: Date.now,
    };
    const set = (call: (...given: unknown[]) => void, ms: number | undefined, given: unknown[], repeats: boolean): number => {
      const wait = Math.max(0, ms ?? 0);
      const id = ++this.#ids;
      this.#changes++;
      this.#timers.set(id, { id, at: this.#now + wait, call: () => call(...given), every: repeats ? Math.max(1, wait) : undefined });
      return id;
    };
    const clear = (id: unknown): void => {
      if (!this.#timers.delete(id as number) && id !== undefined && typeof id === "object") this.#real?.clearTimeout(id as never);
    };
    global.setTimeout = ((call: () => void, ms?: number, ...given: unknown[]) => set(call, ms, given, false)) as never;
    global.setInterval = ((call: () => void, ms?: number, ...given: unknown[]) => set(call, ms, given, true)) as never;
    global.clearTimeout = global.clearInterval = clear as never;
    if (this.#real.setImmediate) {
      global.setImmediate = ((call: (...given: unknown[]) => void, ...given: unknown[]) => {
        this.#changes++;
        this.#immediate.push(() => call(...given));
      }) as never;
    }
    performance.now = () => this.#now;
    Date.now = () => START_MS + Math.floor(this.#now);
  }

  /** Gives the program its clocks back. */
  uninstall(): void {
    const real = this.#real;
    if (!real) return;
    this.#real = undefined;
    const { setTimeout, clearTimeout, setInterval, clearInterval } = real;
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval }, real.setImmediate && { setImmediate: real.setImmediate });
    globalThis.performance.now = real.performanceNow;
    Date.now = real.dateNow;
  }

  /** Waits for a turn of the real event loop, in which all microtasks run. */
  async #turn(): Promise<void> {
    await new Promise<void>((resolve) => {
      const real = this.#real;
      if (real?.setImmediate) real.setImmediate(resolve);
      else if (real) real.setTimeout(resolve, 0);
      else resolve();
    });
    const due = this.#immediate;
    this.#immediate = [];
    for (const call of due) call();
  }

  /** Waits until nothing is left to do at this moment. */
  async settle(): Promise<void> {
    for (let idle = 0; idle < IDLE_TURNS; idle++) {
      const before = this.#changes;
      await this.#turn();
      if (this.#changes !== before || this.#immediate.length > 0) idle = -1;
    }
  }

  /** Lets time pass, and runs all that is due, its last moment included. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new WhimbrelError(`cannot advance by ${ms} ms: time does not go back`);
    this.#advances++;
    try {
      const end = this.#now + ms;
      await this.settle();
      while (this.#jump(end)) await this.settle();
      this.#now = end;
    } finally {
      this.#advances--;
      this.#since = this.#now;
      this.#moments = 0;
    }
  }

  /** Jumps to the next timer, if there is one until `end`, and runs it. */
  #jump(end: number): boolean {
    let next: VirtualTimer | undefined;
    for (const timer of this.#timers.values()) if (!next || timer.at < next.at) next = timer;
    if (!next || next.at > end) return false;
    this.#now = Math.max(this.#now, next.at);
    this.#timers.delete(next.id);
    if (next.every !== undefined) this.#timers.set(next.id, { ...next, at: next.at + next.every });
    next.call();
    return true;
  }

  /**
   * Runs a test in virtual time. When it waits for something that takes time, time jumps there.
   *
   * @throws {@link StuckError} if it waits for something that does not happen.
   */
  async run<T>(test: () => Promise<T>): Promise<T> {
    this.install();
    try {
      const running = test();
      let isOver = false;
      const over = (): void => void (isOver = true);
      running.then(over, over);
      for (;;) {
        await this.settle();
        if (isOver) return await running;
        // `advance` moves time itself.
        if (this.#advances > 0) continue;
        this.#moments++;
        const isLate = this.#now > this.#since + PATIENCE_MS || this.#moments > MOMENTS_MAX;
        if (isLate) throw new StuckError(`the test waits since ${(this.#now - this.#since) / 1000} s of virtual time; if that is meant, await advance(ms)`);
        if (!this.#jump(Infinity)) throw new StuckError("the test waits for what never happens: no message is on its way, and no timer is set");
      }
    } finally {
      this.uninstall();
    }
  }
}
