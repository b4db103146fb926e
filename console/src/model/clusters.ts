/** Clusters of agents on the map. Above a number of agents, those of one kind of name are one spot. */
import type { Pair } from "./traffic.js";

/** Number of agents above which the map has clusters. */
export const CLUSTERED_FROM = 200;
/** Smallest cluster. Fewer agents stay apart. */
const CLUSTER_MIN = 8;

/** Returns the name of an agent's cluster: its name without a number at the end, as a pattern. */
export function clusterOf(name: string): string {
  return `${name.replace(/[\d_.-]*\d$/, "")}*`;
}

export class Clusters {
  /** Number of agents by cluster; empty if the map has none. */
  readonly sizes = new Map<string, number>();
  readonly #open = new Set<string>();

  get isOn(): boolean {
    return this.sizes.size > 0;
  }

  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Counts the agents of each cluster. */
  update(names: readonly string[]): void {
    this.sizes.clear();
    if (names.length <= CLUSTERED_FROM) return this.#open.clear();
    for (const name of names) {
      const cluster = clusterOf(name);
      this.sizes.set(cluster, (this.sizes.get(cluster) ?? 0) + 1);
    }
    for (const [cluster, size] of this.sizes) if (size < CLUSTER_MIN) this.sizes.delete(cluster);
  }

  /** Returns the clusters that are one spot. */
  closed(): string[] {
    return [...this.sizes.keys()].filter((cluster) => !this.#open.has(cluster));
  }

  /** Opens a cluster, or closes it. */
  toggle(cluster: string): void {
    if (!this.#open.delete(cluster)) this.#open.add(cluster);
  }

  closeAll(): void {
    this.#open.clear();
  }

  /** Returns the spot of an agent: itself, or its cluster. */
  spotOf(name: string, isApart: (name: string) => boolean): string {
    if (this.sizes.size === 0) return name;
    const cluster = clusterOf(name);
    return this.sizes.has(cluster) && !this.#open.has(cluster) && !isApart(name) ? cluster : name;
  }

  /** Returns the traffic between spots. */
  pairs(pairs: readonly Pair[], isApart: (name: string) => boolean): readonly Pair[] {
    if (this.sizes.size === 0) return pairs;
    const all = new Map<string, Pair>();
    for (const pair of pairs) {
      const [from, to] = [this.spotOf(pair.from, isApart), this.spotOf(pair.to, isApart)];
      const key = `${from}\n${to}`;
      const known = all.get(key);
      if (!known) {
        all.set(key, { ...pair, from, to });
        continue;
      }
      known.weight += pair.weight;
      known.fresh += pair.fresh;
      known.total += pair.total;
    }
    return [...all.values()].sort((a, b) => b.weight - a.weight || b.total - a.total);
  }
}
