/**
 * Positions of agents on the map. Agents that talk attract each other; all others repel. Placed agents move little, so
 * that the picture stays familiar.
 */
import type { Pair } from "./traffic.js";

export interface Spot {
  readonly name: string;
  x: number;
  y: number;
  vx: number;
  vy: number;
  /** Messages in a frame, sent and received. */
  weight: number;
  /** Number of agents that it stands for. */
  size: number;
}
export interface Edge {
  readonly from: Spot;
  readonly to: Spot;
  readonly weight: number;
  readonly fresh: number;
  readonly total: number;
}

export const SPOTS_MAX = 600;

const SPRING = 0.02;
const SPRING_LENGTH = 60;
const REPULSION = 900;
/** Distance beyond which agents do not repel. It makes the computation linear. */
const REACH = 160;
const GRAVITY = 0.006;
const FRICTION = 0.82;
const SPEED_MAX = 18;
const HEAT_MIN = 0.02;
const COOLING = 0.985;

export class Layout {
  readonly #spots = new Map<string, Spot>();
  #edges: Edge[] = [];
  #heat = 0;
  /** Width of the map by its height. The layout takes this shape. */
  aspect = 1;

  get spots(): IterableIterator<Spot> {
    return this.#spots.values();
  }

  get edges(): readonly Edge[] {
    return this.#edges;
  }

  get size(): number {
    return this.#spots.size;
  }

  get isAtRest(): boolean {
    return this.#heat < HEAT_MIN;
  }

  spot(name: string): Spot | undefined {
    return this.#spots.get(name);
  }

  /**
   * Takes the busiest pairs, up to the limit of agents.
   * @param also Agents that are placed without traffic, too.
   * @param sizeOf Number of agents that a spot stands for.
   */
  take(pairs: readonly Pair[], also: readonly string[] = [], sizeOf: (name: string) => number = () => 1): void {
    const wanted = new Map<string, number>();
    const used: Pair[] = [];
    for (const pair of pairs) {
      const more = Number(!wanted.has(pair.from)) + Number(pair.to !== pair.from && !wanted.has(pair.to));
      if (wanted.size + more > SPOTS_MAX) continue;
      used.push(pair);
      for (const name of [pair.from, pair.to]) wanted.set(name, (wanted.get(name) ?? 0) + pair.weight);
    }
    for (const name of also) if (!wanted.has(name) && wanted.size < SPOTS_MAX) wanted.set(name, 0);
    let changed = 0;
    for (const name of this.#spots.keys()) {
      if (!wanted.has(name)) {
        this.#spots.delete(name);
        changed++;
      }
    }
    const partners = partnersOf(used);
    for (const [name, weight] of wanted) {
      const spot = this.#spots.get(name);
      if (spot) {
        spot.weight = weight;
        spot.size = sizeOf(name);
      } else {
        this.#spots.set(name, this.#place(name, weight, sizeOf(name), partners));
        changed++;
      }
    }
    this.#edges = used.flatMap((pair) => {
      const [from, to] = [this.#spots.get(pair.from), this.#spots.get(pair.to)];
      return from && to ? [{ from, to, weight: pair.weight, fresh: pair.fresh, total: pair.total }] : [];
    });
    if (changed > 0) this.#heat = Math.max(this.#heat, Math.min(1, 0.15 + (2 * changed) / (this.#spots.size + 1)));
  }

  /** Places an agent beside a partner, or else at a position that depends on its name only. */
  #place(name: string, weight: number, size: number, partners: ReadonlyMap<string, string[]>): Spot {
    const hash = hashOf(name);
    const angle = ((hash & 0xffff) / 0x10000) * 2 * Math.PI;
    const partner = (partners.get(name) ?? []).map((other) => this.#spots.get(other)).find((spot) => spot !== undefined);
    const far = partner ? SPRING_LENGTH : 40 + ((hash >>> 16) / 0x10000) * 12 * Math.sqrt(this.#spots.size + 20);
    return { name, x: (partner?.x ?? 0) + Math.cos(angle) * far, y: (partner?.y ?? 0) + Math.sin(angle) * far, vx: 0, vy: 0, weight, size };
  }

  /** Simulates one step. */
  step(): void {
    if (this.isAtRest) return;
    this.#repel();
    for (const { from, to, weight } of this.#edges) pull(from, to, weight, this.#heat);
    for (const spot of this.#spots.values()) move(spot, this.#heat, this.aspect);
    this.#heat *= COOLING;
  }

  /** Simulates until the layout rests, for the first picture. */
  settle(stepsMax = 300): void {
    for (let step = 0; step < stepsMax && !this.isAtRest; step++) this.step();
  }

  /** Re-heats the layout after an agent was dragged. */
  warm(): void {
    this.#heat = Math.max(this.#heat, 0.3);
  }

  #repel(): void {
    const cells = new Map<number, Spot[]>();
    const keyOf = (x: number, y: number) => (Math.floor(x / REACH) + 0x4000) * 0x8000 + Math.floor(y / REACH) + 0x4000;
    for (const spot of this.#spots.values()) {
      const key = keyOf(spot.x, spot.y);
      const cell = cells.get(key);
      if (cell) cell.push(spot);
      else cells.set(key, [spot]);
    }
    for (const spot of this.#spots.values()) {
      for (let dx = -REACH; dx <= REACH; dx += REACH) {
        for (let dy = -REACH; dy <= REACH; dy += REACH) {
          for (const other of cells.get(keyOf(spot.x + dx, spot.y + dy)) ?? []) push(spot, other, this.#heat);
        }
      }
    }
  }
}

function partnersOf(pairs: readonly Pair[]): Map<string, string[]> {
  const partners = new Map<string, string[]>();
  for (const { from, to } of pairs) {
    for (const [a, b] of [[from, to], [to, from]] as const) {
      const list = partners.get(a);
      if (!list) partners.set(a, [b]);
      else if (list.length < 4) list.push(b);
    }
  }
  return partners;
}

function push(spot: Spot, other: Spot, heat: number): void {
  if (spot === other) return;
  const dx = spot.x - other.x;
  const dy = spot.y - other.y;
  const squared = dx * dx + dy * dy;
  if (squared > REACH * REACH) return;
  // Busy agents need more room, because their labels are read most.
  const force = (heat * REPULSION * (1 + 0.4 * Math.log1p(other.weight) + 0.5 * Math.log(other.size))) / (squared + 60);
  const length = Math.sqrt(squared) || 1;
  // Two agents at one place move apart in an order that depends on their names only.
  spot.vx += squared === 0 ? (spot.name < other.name ? force : -force) : (dx / length) * force;
  spot.vy += (dy / length) * force;
}

function pull(from: Spot, to: Spot, weight: number, heat: number): void {
  if (from === to) return;
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = Math.sqrt(dx * dx + dy * dy) || 1;
  const force = heat * SPRING * (length - SPRING_LENGTH) * Math.min(1.5, 0.6 + 0.2 * Math.log1p(weight));
  from.vx += (dx / length) * force;
  from.vy += (dy / length) * force;
  to.vx -= (dx / length) * force;
  to.vy -= (dy / length) * force;
}

function move(spot: Spot, heat: number, aspect: number): void {
  // Gravity is weaker along the longer side.
  const stretch = Math.max(0.4, Math.min(2.5, aspect));
  spot.vx = (spot.vx - (spot.x * GRAVITY * heat) / stretch) * FRICTION;
  spot.vy = (spot.vy - spot.y * GRAVITY * heat * stretch) * FRICTION;
  const speed = Math.hypot(spot.vx, spot.vy);
  const slower = speed > SPEED_MAX ? SPEED_MAX / speed : 1;
  spot.x += spot.vx * slower;
  spot.y += spot.vy * slower;
}

/** Hashes a text (FNV-1a), for stable places and colours. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  // The last characters of names differ most, so mix them into all bits.
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
