/** How much this thread can do: what a device's compute units are. */

/** A unit is so many steps in a millisecond. It says nothing but how devices compare. */
const STEPS_PER_MS_OF_UNIT = 10;
/** How long the benchmark takes. */
const WEIGH_MS = 60;
/** Steps between two looks at the clock. */
const STEPS = 2000;

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

/** Does a mixture of things for 60 ms, and says how much of it was done: the compute units of this thread. */
export function weigh(now: () => number = () => performance.now()): number {
  const known = new Map<string, Pheromone>();
  // What was not compiled yet says nothing.
  let sum = steps(1, known) + steps(2, known);
  const since = now();
  let [done, spent] = [0, 0];
  while (spent < WEIGH_MS) {
    sum += steps(done + 3, known);
    done += STEPS;
    spent = now() - since;
  }
  // Whoever compiles this cannot leave it out.
  if (Number.isNaN(sum)) throw new Error("the benchmark went wrong");
  return Math.max(1, Math.round(done / spent / STEPS_PER_MS_OF_UNIT));
}
