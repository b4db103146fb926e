/** Moves of agents that this console ordered, with their outcomes. */
import { signal } from "@preact/signals";

export interface AgentMove {
  readonly to: string;
  readonly is: "under way" | "done" | "refused";
  /** Start of the move, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Reason of a refusal. */
  readonly why: string;
}

/** Maximum number of moves. The oldest is dropped. */
const MOVES_MAX = 200;

export class AgentMoves {
  readonly all = signal<ReadonlyMap<string, AgentMove>>(new Map());

  of(agent: string): AgentMove | undefined {
    return this.all.value.get(agent);
  }

  note(agent: string, to: string, is: AgentMove["is"], sinceMs: number, why = ""): void {
    const all = new Map(this.all.value);
    // Re-inserted, because the newest comes last.
    all.delete(agent);
    all.set(agent, { to, is, sinceMs, why });
    for (const oldest of all.keys()) if (all.size > MOVES_MAX) all.delete(oldest);
    this.all.value = all;
  }
}

/** Returns the outcome as text. */
export function moveText({ to, is, why }: AgentMove): string {
  if (is === "under way") return `Moving to ${to}…`;
  return is === "done" ? `Moved to ${to}.` : `The move to ${to} failed: ${why}`;
}
