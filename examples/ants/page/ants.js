/** Ant colony optimisation of a short round trip: a MAX-MIN ant system (Stuetzle, Hoos 2000). Each ant walks from place
 * to place, and prefers near places and strong trails. Its tour is then shortened where two ways cross, or a few places
 * are better visited elsewhere. The best ant leaves a trail for later ones. There is no page, no worker and no network:
 * the result depends on the arguments only. */

/** Number of the nearest places that an ant considers first. */
const NEAR = 16;
const ANTS = 12;
/** Share of the trails that remains from one walk to the next. */
const STAYS = 0.9;
/** Weight of nearness. */
const NEARNESS = 3;

/** Random numbers from 0 to 1, the same for the same seed (mulberry32). */
function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Returns the distances, as TSPLIB's EUC_2D defines them, and the nearest places of each place. */
export function mapOf(cities) {
  const count = cities.length;
  const distances = new Float64Array(count * count);
  for (let a = 0; a < count; a++) {
    for (let b = 0; b < count; b++) {
      distances[a * count + b] = Math.round(Math.hypot(cities[a][0] - cities[b][0], cities[a][1] - cities[b][1]));
    }
  }
  const near = cities.map((_, a) => {
    const others = cities.map((_, b) => b).filter((b) => b !== a);
    return others.sort((b, c) => distances[a * count + b] - distances[a * count + c]).slice(0, NEAR);
  });
  return { count, distances, near };
}

/** Returns the length of a round trip. */
export function lengthOf({ count, distances }, tour) {
  return tour.reduce((sum, place, at) => sum + distances[place * count + tour[(at + 1) % count]], 0);
}

/** Returns the best tour that so many rounds of ants find: `{ length, tour }`. `known` is a tour to begin with, if
 * there is one; `seed` decides the ants' ways. */
export function search({ cities, known, seed, rounds }) {
  const map = mapOf(cities);
  const random = numbers(seed);
  const first = known?.length === map.count ? known : walk(map, new Float64Array(map.count ** 2).fill(1), random);
  let best = shorten(map, first);
  const trails = new Float64Array(map.count * map.count).fill(1);
  for (let round = 0; round < rounds; round++) {
    let roundBest = best;
    for (let ant = 0; ant < ANTS; ant++) {
      const found = shorten(map, walk(map, trails, random));
      if (ant === 0 || found.length < roundBest.length) roundBest = found;
    }
    if (roundBest.length < best.length) best = roundBest;
    // The best ant of this round leads the next ones; now and then the best of all does, so that not all ants go the
    // same way.
    leaveTrail(map, trails, random() < 0.25 ? best : roundBest);
  }
  return best;
}

/** Returns the walk of an ant. */
function walk({ count, distances, near }, trails, random) {
  const isLeft = new Uint8Array(count).fill(1);
  const tour = [Math.floor(random() * count)];
  isLeft[tour[0]] = 0;
  const weights = new Float64Array(NEAR);
  while (tour.length < count) {
    const here = tour.at(-1);
    let sum = 0;
    near[here].forEach((there, at) => {
      const edge = here * count + there;
      weights[at] = isLeft[there] ? trails[edge] / Math.max(distances[edge], 1) ** NEARNESS : 0;
      sum += weights[at];
    });
    const next = sum > 0 ? near[here][drawn(weights, sum * random(), near[here].length)] : nearestLeft(here, isLeft, distances, count);
    isLeft[next] = 0;
    tour.push(next);
  }
  return tour;
}

function drawn(weights, number, count) {
  let last = 0;
  for (let at = 0; at < count; at++) {
    if (weights[at] === 0) continue;
    last = at;
    number -= weights[at];
    if (number < 0) break;
  }
  return last;
}

function nearestLeft(here, isLeft, distances, count) {
  let nearest = -1;
  for (let there = 0; there < count; there++) {
    if (isLeft[there] && (nearest < 0 || distances[here * count + there] < distances[here * count + nearest])) nearest = there;
  }
  return nearest;
}

/** Lets the trails fade, and strengthens the leader's. No trail is so weak or so strong that no ant goes elsewhere. */
function leaveTrail({ count }, trails, { tour }) {
  const most = 1;
  const least = most / (2 * count);
  for (let edge = 0; edge < trails.length; edge++) trails[edge] = Math.max(trails[edge] * STAYS, least);
  tour.forEach((place, at) => {
    const next = tour[(at + 1) % count];
    const grown = Math.min(trails[place * count + next] + (1 - STAYS), most);
    trails[place * count + next] = grown;
    trails[next * count + place] = grown;
  });
}

/** Removes crossing ways from a tour (2-opt), and moves runs of up to three places to where they fit best (Or-opt). */
export function shorten(map, tour) {
  const { count, distances, near } = map;
  const order = Int32Array.from(tour);
  const places = new Int32Array(count);
  order.forEach((place, at) => (places[place] = at));
  const between = (a, b) => distances[a * count + b];
  const at = (index) => order[((index % count) + count) % count];

  /** Reverses a part of the order. */
  const reverse = (from, to) => {
    let inner = (to - from + count) % count + 1;
    // The other part is as good, and may be shorter.
    if (2 * inner > count) [from, to, inner] = [(to + 1) % count, (from - 1 + count) % count, count - inner];
    for (let step = 0; step < inner >> 1; step++) {
      const [left, right] = [order[from], order[to]];
      order[from] = right;
      order[to] = left;
      places[right] = from;
      places[left] = to;
      from = (from + 1) % count;
      to = (to - 1 + count) % count;
    }
  };

  const uncross = (a) => {
    for (const ahead of [true, false]) {
      const b = at(places[a] + (ahead ? 1 : -1));
      const ab = between(a, b);
      for (const c of near[a]) {
        const ac = between(a, c);
        if (ac >= ab) break;
        const d = at(places[c] + (ahead ? 1 : -1));
        if (ac + between(b, d) < ab + between(c, d)) {
          if (ahead) reverse(places[b], places[c]);
          else reverse(places[a], places[d]);
          return [a, b, c, d];
        }
      }
    }
    return undefined;
  };

  /** Moves up to three places that begin with `a` elsewhere. */
  const shift = (a) => {
    for (let run = 1; run <= 3; run++) {
      const from = places[a];
      const [before, last, after] = [at(from - 1), at(from + run - 1), at(from + run)];
      if (before === last || after === before) return undefined;
      const gained = between(before, a) + between(last, after) - between(before, after);
      const isInRun = (place) => (places[place] - from + count) % count < run;
      for (const c of near[a]) {
        const toC = between(a, c);
        if (toC >= gained) break;
        if (isInRun(c)) continue;
        const d = at(places[c] + 1);
        const e = at(places[c] - 1);
        // Before c, turned round ...
        if (e !== last && !isInRun(e) && toC + between(e, last) - between(e, c) < gained) return move(run, a, e, false), [before, after, a, last, c, e];
        // ... or behind it, as it is.
        if (!isInRun(d) && toC + between(last, d) - between(c, d) < gained) return move(run, a, c, true), [before, after, a, last, c, d];
      }
    }
    return undefined;
  };

  /** Moves the run that begins with `a` behind `target`, as it is or reversed. */
  const move = (run, a, target, isAsItIs) => {
    const from = places[a];
    const taken = Array.from({ length: run }, (_, step) => at(from + step));
    const rest = Array.from({ length: count - run }, (_, step) => at(from + run + step));
    const behind = rest.indexOf(target) + 1;
    rest.splice(behind, 0, ...(isAsItIs ? taken : taken.reverse()));
    rest.forEach((place, index) => {
      order[index] = place;
      places[place] = index;
    });
  };

  const queue = [...order];
  const isQueued = new Uint8Array(count).fill(1);
  while (queue.length > 0) {
    const a = queue.pop();
    isQueued[a] = 0;
    for (let touched = uncross(a) ?? shift(a); touched; touched = uncross(a) ?? shift(a)) {
      for (const place of touched) {
        if (!isQueued[place]) queue.push(place);
        isQueued[place] = 1;
      }
    }
  }
  const shortened = [...order];
  return { tour: shortened, length: lengthOf(map, shortened) };
}
