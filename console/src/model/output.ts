/** Output of agents of all nodes: lines that they print, warnings and failures. */
import { signal } from "@preact/signals";
import type { OutputEntry, OutputFound } from "../live/vocabulary.js";
import { searchFits } from "./pattern.js";
import { Pulse } from "./pulse.js";

/** A line, with its node. */
export interface OutputLine extends OutputEntry {
  readonly node: string;
}

/** Maximum number of lines; and as many warnings and failures. */
export const LINES_MAX = 5_000;

export interface OutputFilter {
  /** Agents, as a search. */
  readonly agent: string;
  /** Part of the text. */
  readonly text: string;
  readonly node: string;
  readonly onlyFaults: boolean;
}
export const ALL_OUTPUT: OutputFilter = { agent: "", text: "", node: "", onlyFaults: false };

export function isFault({ kind }: OutputEntry): boolean {
  return kind === "warning" || kind === "failure";
}

/** Returns true if a line matches a filter. */
export function outputFits(filter: OutputFilter, line: OutputLine): boolean {
  return (
    (!filter.onlyFaults || isFault(line)) &&
    (filter.node === "" || line.node === filter.node) &&
    searchFits(filter.agent, line.agent) &&
    (filter.text === "" || line.text.toLowerCase().includes(filter.text.toLowerCase()))
  );
}

/** A place in a program that a text names. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
}

/** Splits a text at places in programs such as `clerk.asl:6`. Odd parts are places. */
export function withPlaces(text: string): (string | SourcePlace)[] {
  const parts: (string | SourcePlace)[] = [];
  let from = 0;
  for (const found of text.matchAll(/([\w./-]+\.asl):(\d+)/g)) {
    parts.push(text.slice(from, found.index), { file: found[1] ?? "", line: Number(found[2]) });
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

export class Output {
  readonly pulse = new Pulse();
  /** Number of lines that nodes no longer had when asked. */
  readonly leftOut = signal(0);
  #lines: OutputLine[] = [];
  #faults: OutputLine[] = [];
  readonly #lastFault = new Map<string, OutputLine>();
  readonly #next = new Map<string, number>();

  /** Number of the last known line of a node. */
  since(node: string): number {
    return this.#next.get(node) ?? 0;
  }

  /** Lines of all kinds, by time. */
  get lines(): readonly OutputLine[] {
    return this.#lines;
  }

  /** Warnings and failures, by time. They outlive other lines. */
  get faults(): readonly OutputLine[] {
    return this.#faults;
  }

  hear(node: string, found: OutputFound): void {
    // A node that was started anew counts from 1.
    const since = found.next < this.since(node) ? 0 : this.since(node);
    this.#next.set(node, found.next);
    if (since > 0) this.leftOut.value += found.left_out;
    const lines = found.lines.filter(({ number }) => number > since).map((line) => ({ ...line, node }));
    if (lines.length === 0) return;
    this.#lines = merged(this.#lines, lines).slice(-LINES_MAX);
    const faults = lines.filter(isFault);
    if (faults.length > 0) this.#faults = merged(this.#faults, faults).slice(-LINES_MAX);
    for (const fault of faults) this.#lastFault.set(fault.agent, fault);
    this.pulse.touch();
  }

  /** Returns the last warning or failure of an agent. */
  lastFault(agent: string): OutputLine | undefined {
    return this.#lastFault.get(agent);
  }

  /** Returns the agents that failed since a time, with the last fault of each; the latest first. */
  failing(sinceUs: number): OutputLine[] {
    return [...this.#lastFault.values()].filter(({ at_us }) => at_us >= sinceUs).sort((one, other) => other.at_us - one.at_us);
  }

  list(filter: OutputFilter): OutputLine[] {
    return (filter.onlyFaults ? this.#faults : this.#lines).filter((line) => outputFits(filter, line));
  }

  clear(): void {
    [this.#lines, this.#faults] = [[], []];
    this.leftOut.value = 0;
    this.pulse.touch();
  }
}

/** Merges sorted lines by time. Lines of one node keep their order. */
function merged(known: readonly OutputLine[], fresh: readonly OutputLine[]): OutputLine[] {
  const first = fresh[0]?.at_us ?? 0;
  let from = known.length;
  while (from > 0 && (known[from - 1]?.at_us ?? 0) > first) from--;
  const tail = [...known.slice(from), ...fresh].sort((one, other) => one.at_us - other.at_us);
  return [...known.slice(0, from), ...tail];
}
