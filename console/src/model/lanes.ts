/** Assignment of agents to life lines. Agents keep their lanes as long as possible. */
import type { Event } from "../live/vocabulary.js";
import { plainNames } from "./pattern.js";
import { isMessage } from "./recording.js";

/** Factor of the number of lanes: an agent keeps its lane while it is among that many busiest. */
const PATIENCE = 2;

export class Lanes {
  #names: readonly string[] = [];

  #hasOthers = false;

  /** Agents that a user has given the first lanes, in order. */
  #pinned: readonly string[] = [];

  get names(): readonly string[] {
    return this.#names;
  }

  get pinned(): readonly string[] {
    return this.#pinned;
  }

  /** Pins an agent to a lane, or frees it. */
  pin(name: string): void {
    this.#pinned = this.#pinned.includes(name) ? this.#pinned.filter((one) => one !== name) : [...this.#pinned, name];
  }

  /** Moves an agent to a lane. All lanes up to there are pinned, so that the order stays. */
  moveTo(name: string, lane: number): void {
    const others = this.#names.filter((one) => one !== name);
    const order = [...others.slice(0, lane), name, ...others.slice(lane)];
    const upto = Math.max(lane + 1, ...this.#pinned.map((one) => order.indexOf(one) + 1));
    this.#pinned = order.slice(0, upto);
    this.#names = order;
  }

  /** True if some agents have no lane. */
  get hasOthers(): boolean {
    return this.#hasOthers;
  }

  /** Returns the lane of an agent. The last lane belongs to all others. */
  of(agent: string): number {
    const lane = this.#names.indexOf(agent);
    return lane < 0 ? this.#names.length : lane;
  }

  /**
   * Assigns lanes to named agents, then to the busiest of these events.
   * @param agents As in the filter: those named without wildcards have lanes first.
   * @param also They have lanes, too, in the place of others if need be.
   * @param laneOf Lane of an agent without its own: its cluster.
   */
  update(agents: string, events: readonly Event[], most: number, also: readonly string[] = [], laneOf: (name: string) => string = (name) => name): void {
    const chosen = [...new Set([...this.#pinned, ...plainNames(agents)])].slice(0, most);
    const counts = new Map<string, number>();
    for (const event of events) {
      if (!isMessage(event)) continue;
      const lane = (name: string) => (chosen.includes(name) ? name : laneOf(name));
      for (const name of new Set([lane(event.from), lane(event.to)])) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    // The sort is stable: among equals, the first speaker comes first.
    const ranked = [...counts].sort(([, a], [, b]) => b - a).map(([name]) => name);
    const welcome = new Set(ranked.slice(0, most * PATIENCE));
    const kept = this.#names.filter((name) => !chosen.includes(name) && welcome.has(name));
    const names = [...chosen, ...kept].slice(0, most);
    for (const name of ranked) {
      if (names.length >= most) break;
      if (!names.includes(name)) names.push(name);
    }
    for (const name of also) {
      if (names.includes(name)) continue;
      if (names.length >= most) names.splice(names.findLastIndex((one) => !also.includes(one) && !chosen.includes(one)), 1);
      names.push(name);
    }
    this.#hasOthers = counts.size > names.length || ranked.some((name) => !names.includes(name));
    if (names.length !== this.#names.length || names.some((name, lane) => name !== this.#names[lane])) this.#names = names;
  }
}
