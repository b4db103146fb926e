/** How much this thread can do: what a device's compute units are. */

/** A unit is so many steps in a millisecond. It says nothing but how devices compare. */
const STEPS_PER_MS_OF_UNIT = 10;
/** How long the benchmark takes. */
const WEIGH_MS = 120;
/** How long one of its slices takes: about as long as a machine gives a thread at a time that has others beside it. */
const SLICE_MS = 4;
/** So many slices say something, however long they took. */
const SLICES_MIN = 12;
/** What part of the slices may be quicker than what counts: those that others held up do not say what the thread can do. */
const QUICKER = 1 / 8;
/** Below what part of its best slice a thread does on the whole, it was held up. */
const STEADY = 0.6;
/** Steps between two looks at the clock. */
const STEPS = 2000;

/** What a thread can do. */
export interface Weight {
  /** Compute units: 1 at least. */
  readonly units: number;
  /** Whether others had much of its time meanwhile: a quieter moment would say more. */
  readonly isBusy: boolean;
}

interface Pheromone {
  readonly trail: number;
  readonly key: string;
}

/** A mixture of what agents do: whole numbers, doubles, small objects, a map that is looked into. */
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
 * Does a mixture of things for 120 ms, in slices of 4 ms, and says how much of it was done in the best eighth of them: a moment in which the machine had other things to do
 * says little. `now` is a clock in milliseconds.
 */
export function measure(now: () => number = () => performance.now()): Weight {
  const known = new Map<string, Pheromone>();
  // What was not compiled yet says nothing.
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
  // Whoever compiles this cannot leave it out.
  if (Number.isNaN(sum)) throw new Error("the benchmark went wrong");
  rates.sort((one, other) => other - one);
  const [best = 1, rate = best] = [rates[0], rates[Math.floor(rates.length * QUICKER)]];
  return { units: Math.max(1, Math.round(rate / STEPS_PER_MS_OF_UNIT)), isBusy: done / (at - since) < best * STEADY };
}

/** What this thread can do, in compute units. */
export function weigh(): number {
  return measure().units;
}
