/** Moves of agents that this console ordered, with their outcomes. */
import { signal } from "@preact/signals";

export interface Journey {
  readonly to: string;
  readonly is: "under way" | "done" | "refused";
  /** Start of the move, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Reason of a refusal. */
  readonly why: string;
}

/** Maximum number of moves. The oldest is dropped. */
const JOURNEYS_MAX = 200;

export class Journeys {
  readonly all = signal<ReadonlyMap<string, Journey>>(new Map());

  of(agent: string): Journey | undefined {
    return this.all.value.get(agent);
  }

  note(agent: string, to: string, is: Journey["is"], sinceMs: number, why = ""): void {
    const all = new Map(this.all.value);
    // Re-inserted, because the newest comes last.
    all.delete(agent);
    all.set(agent, { to, is, sinceMs, why });
    for (const oldest of all.keys()) if (all.size > JOURNEYS_MAX) all.delete(oldest);
    this.all.value = all;
  }
}

/** Returns the outcome as text. */
export function inWords({ to, is, why }: Journey): string {
  if (is === "under way") return `On its way to ${to}…`;
  return is === "done" ? `It went to ${to}.` : `It did not go to ${to}: ${why}`;
}
