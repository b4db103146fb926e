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

/** Maximum number of past reports. */
const HISTORY_MAX = 100;

/** A report, with its time in milliseconds since 1970. */
export interface MindReport {
  readonly info: MindInfo;
  readonly atMs: number;
}

export class Mind {
  /** Last report. */
  readonly info = signal<MindInfo | null>(null);
  readonly refusal = signal<string | null>(null);
  /** Reports so far, the newest last. */
  readonly history = signal<readonly MindReport[]>([]);
  /** Index of the shown report; null for the last one. */
  readonly at = signal<number | null>(null);

  /** Returns the shown report. */
  get shown(): MindInfo | null {
    return this.at.value === null ? this.info.value : (this.history.value[this.at.value]?.info ?? this.info.value);
  }

  /** Returns the changes of the shown report since the one before. */
  get changes(): MindChanges {
    const all = this.history.value;
    const at = this.at.value ?? all.length - 1;
    const now = all[at]?.info;
    return now ? changes(all[at - 1]?.info ?? null, now) : NO_CHANGES;
  }

  hear(mind: MindInfo, atMs = Date.now()): void {
    const all = [...this.history.value, { info: mind, atMs }];
    const over = Math.max(0, all.length - HISTORY_MAX);
    this.history.value = all.slice(over);
    if (this.at.value !== null) this.at.value = Math.max(0, this.at.value - over);
    this.info.value = mind;
    this.refusal.value = null;
  }

  /** Shows an earlier or later report; after the last one, new ones as they come. */
  step(by: number): void {
    this.show((this.at.value ?? this.history.value.length - 1) + by);
  }

  show(at: number): void {
    this.at.value = at >= this.history.value.length - 1 ? null : Math.max(0, at);
  }

  forget(): void {
    this.info.value = null;
    this.history.value = [];
    this.at.value = null;
    this.refusal.value = null;
  }
}

/** Beliefs of one predicate. */
export interface BeliefGroup {
  readonly predicate: string;
  readonly beliefs: readonly Belief[];
}

/** Returns the predicate of a belief, as `offer/3`. Rules and strange texts are their own predicates. */
export function predicateOf({ text, namespace, rule }: Belief): string {
  const [functor] = /^~?[a-z][\w.]*/.exec(text) ?? [];
  if (rule || functor === undefined) return text;
  const rest = text.slice(functor.length);
  const space = namespace === "" || namespace === "default" ? "" : `${namespace}::`;
  return `${space}${functor}/${rest.startsWith("(") ? steps(rest.slice(1, -1).replaceAll(",", ";")).length : 0}`;
}

/** Groups beliefs of one predicate, in the order of the first of each. */
export function groupsOf(beliefs: readonly Belief[]): BeliefGroup[] {
  const groups = new Map<string, Belief[]>();
  for (const belief of beliefs) {
    const predicate = predicateOf(belief);
    const group = groups.get(predicate);
    if (group) group.push(belief);
    else groups.set(predicate, [belief]);
  }
  return [...groups].map(([predicate, beliefs]) => ({ predicate, beliefs }));
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
