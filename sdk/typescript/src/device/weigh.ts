/** Benchmark of this thread, measured in a device's compute units. */

/** Steps per millisecond of one compute unit. Units only serve to compare devices. */
const STEPS_PER_MS_OF_UNIT = 10;
/** Duration of the benchmark. */
const WEIGH_MS = 120;
/** Duration of a slice: about the time that a busy machine gives a thread at once. */
const SLICE_MS = 4;
/** Least number of slices, however long they take. */
const SLICES_MIN = 12;
/** Fraction of slices faster than the result. Slower slices were disturbed by other threads. */
const QUICKER = 1 / 8;
/** Ratio of mean to best slice below which the machine counts as busy. */
const STEADY = 0.6;
/** Steps between two looks at the clock. */
const STEPS = 2000;

/** Capacity of a thread. */
export interface Weight {
  /** Compute units, at least 1. */
  readonly units: number;
  /** True if other work disturbed the measurement. Repeat it later. */
  readonly isBusy: boolean;
}

interface Pheromone {
  readonly trail: number;
  readonly key: string;
}

/** Typical work of agents: integers, doubles, small objects, map look-ups. */
function steps(seed: number, known: Map<string, Pheromone>): number {
  let [state, sum] = [seed | 1, 0];
  for (let step = 0; step < STEPS; step++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    const key = `t${state & 255}`;
    const before = known.get(key)?.trail ?? 1;
    const trail = before * 0.9 + Math.sqrt((state >>> 8) + 1) / 4096;
    known.set(key, { trail, key });
    sum += trail;
  }
  return sum;
}

/**
 * Runs the benchmark for 120 ms in slices of 4 ms. Takes the rate of the best eighth of the slices, because other work
 * disturbs the rest. `now` is a clock in milliseconds.
 */
export function measure(now: () => number = () => performance.now()): Weight {
  const known = new Map<string, Pheromone>();
  // Warm-up: code that is not compiled yet would distort the result.
  let sum = steps(1, known) + steps(2, known);
  const rates: number[] = [];
  const since = now();
  let [done, at] = [0, since];
  while (at - since < WEIGH_MS || rates.length < SLICES_MIN) {
    let [slice, spent] = [0, 0];
    while (spent < SLICE_MS) {
      sum += steps(done + slice + 3, known);
      slice += STEPS;
      spent = now() - at;
    }
    rates.push(slice / spent);
    done += slice;
    at += spent;
  }
  // Keeps the compiler from dropping the computation.
  if (Number.isNaN(sum)) throw new Error("the benchmark failed");
  rates.sort((one, other) => other - one);
  const [best = 1, rate = best] = [rates[0], rates[Math.floor(rates.length * QUICKER)]];
  return { units: Math.max(1, Math.round(rate / STEPS_PER_MS_OF_UNIT)), isBusy: done / (at - since) < best * STEADY };
}

/** Returns the capacity of this thread in compute units. */
export function weigh(): number {
  return measure().units;
}
