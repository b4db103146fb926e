/** Agents that somebody here had go elsewhere: who is on its way, and how it went. */
import { signal } from "@preact/signals";

export interface Journey {
  readonly to: string;
  readonly is: "under way" | "done" | "refused";
  /** When that began, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Why it was refused. */
  readonly why: string;
}

/** Of more agents the oldest is forgotten. */
const JOURNEYS_MAX = 200;

export class Journeys {
  readonly all = signal<ReadonlyMap<string, Journey>>(new Map());

  of(agent: string): Journey | undefined {
    return this.all.value.get(agent);
  }

  note(agent: string, to: string, is: Journey["is"], sinceMs: number, why = ""): void {
    const all = new Map(this.all.value);
    // Last in the order: it is the newest.
    all.delete(agent);
    all.set(agent, { to, is, sinceMs, why });
    for (const oldest of all.keys()) if (all.size > JOURNEYS_MAX) all.delete(oldest);
    this.all.value = all;
  }
}

/** How it went, in words. */
export function inWords({ to, is, why }: Journey): string {
  if (is === "under way") return `On its way to ${to}…`;
  return is === "done" ? `It went to ${to}.` : `It did not go to ${to}: ${why}`;
}
