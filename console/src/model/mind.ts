/** An agent's mind, and its changes since the previous report. */
import { signal } from "@preact/signals";
import type { IntentionInfo, MindInfo } from "../live/vocabulary.js";

/** Keys of new or changed items, by part. */
export interface MindChanges {
  readonly beliefs: ReadonlySet<string>;
  readonly goals: ReadonlySet<string>;
  readonly intentions: ReadonlySet<string>;
  /** Removed beliefs. */
  readonly lost: readonly string[];
}
export const NO_CHANGES: MindChanges = { beliefs: new Set(), goals: new Set(), intentions: new Set(), lost: [] };

export type Belief = NonNullable<MindInfo["beliefs"]>[number];
export type Goal = NonNullable<MindInfo["goals"]>[number];

export function beliefKey(belief: Belief): string {
  return `${belief.namespace}\n${belief.text}\n${belief.sources.join(",")}`;
}

export function goalKey(goal: Goal): string {
  return `${goal.text}\n${goal.intention ?? ""}\n${goal.state}`;
}

/** Returns a key of an intention and its progress. */
export function intentionKey(intention: IntentionInfo): string {
  const top = intention.frames[0];
  return `${intention.id}\n${intention.state}\n${intention.frames.length}\n${top?.step_line ?? ""}\n${top?.step ?? ""}`;
}

function news<T>(before: readonly T[] | undefined, after: readonly T[] | undefined, keyOf: (item: T) => string): Set<string> {
  const known = new Set((before ?? []).map(keyOf));
  return new Set((after ?? []).map(keyOf).filter((key) => !known.has(key)));
}

export function changes(before: MindInfo | null, after: MindInfo): MindChanges {
  if (!before || before.agent !== after.agent) return NO_CHANGES;
  const kept = new Set((after.beliefs ?? []).map(beliefKey));
  return {
    beliefs: news(before.beliefs, after.beliefs, beliefKey),
    goals: news(before.goals, after.goals, goalKey),
    intentions: news(before.intentions, after.intentions, intentionKey),
    lost: (before.beliefs ?? []).filter((belief) => !kept.has(beliefKey(belief))).map((belief) => belief.text),
  };
}

export class Mind {
  readonly info = signal<MindInfo | null>(null);
  readonly changes = signal<MindChanges>(NO_CHANGES);
  readonly refusal = signal<string | null>(null);

  hear(mind: MindInfo): void {
    this.changes.value = changes(this.info.value, mind);
    this.info.value = mind;
    this.refusal.value = null;
  }

  forget(): void {
    this.info.value = null;
    this.changes.value = NO_CHANGES;
    this.refusal.value = null;
  }
}

/** Splits the body of a plan into steps, without fully parsing AgentSpeak. */
export function steps(body: string): string[] {
  const found: string[] = [];
  let level = 0;
  let quote = "";
  let step = "";
  for (let index = 0; index < body.length; index++) {
    const c = body[index] ?? "";
    step += c;
    if (quote !== "") {
      if (c === "\\") step += body[++index] ?? "";
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'") quote = c;
    else if ("([{".includes(c)) level++;
    else if (")]}".includes(c)) level--;
    else if (c === ";" && level <= 0) {
      found.push(step.trim());
      step = "";
    }
  }
  if (step.trim() !== "") found.push(step.trim());
  return found.filter((text) => text !== "" && text !== ";");
}

/** Returns the index of the current step: the first one with the same text, apart from spaces and the end. */
export function currentStep(all: readonly string[], step: string | null): number {
  if (step === null) return -1;
  const bare = (text: string) => text.replaceAll(/[\s;.]+/g, "");
  return all.findIndex((text) => bare(text) === bare(step));
}
