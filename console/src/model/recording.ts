/** Recorded messages and the filter for showing them. */
import { signal } from "@preact/signals";
import type { Event, LogLine, MessageEvent, SniffWanted } from "../live/vocabulary.js";
import { named, namesOf, patternFits } from "./pattern.js";
import { Pulse } from "./pulse.js";
import { Ring } from "./ring.js";

/** Maximum events: twenty seconds of 5,000 messages a second. */
export const EVENTS_MAX = 100_000;

export interface EventFilter {
  /**
   * Names and patterns, separated by spaces or commas; quote names that contain these. Sender or receiver must match.
   */
  readonly agents: string;
  readonly performatives: readonly string[];
  /** Pattern for the conversation. */
  readonly conversation: string;
  /** Part of the content. */
  readonly content: string;
  /** Node that reported the event. */
  readonly node: string;
}
export const ALL_EVENTS: EventFilter = { agents: "", performatives: [], conversation: "", content: "", node: "" };

export function isMessage(event: Event): event is MessageEvent {
  return event.event === "sent" || event.event === "died";
}

/** Returns true for gaps. A gap is always shown, because the missing events might match. */
function isGap(event: Event): boolean {
  return event.event === "skipped" || event.event === "dropped" || event.event === "cut_short" || event.event === "missed";
}

/** Returns a matcher of events for a filter. */
export function takes(filter: EventFilter): (event: Event) => boolean {
  const isAnybody = namesOf(filter.agents).length === 0;
  const fits = named(filter.agents);
  const performatives = new Set(filter.performatives);
  const content = filter.content.toLowerCase();
  const ofMessagesOnly = performatives.size > 0 || filter.conversation !== "" || content !== "";
  return (event) => {
    // A gap in the connection belongs to no node.
    if (filter.node !== "" && event.node !== filter.node && event.node !== "") return false;
    if (isGap(event)) return true;
    if (isMessage(event)) {
      return (
        (isAnybody || fits(event.from) || fits(event.to)) &&
        (performatives.size === 0 || performatives.has(event.performative)) &&
        (filter.conversation === "" || (event.conversation !== null && patternFits(filter.conversation, event.conversation))) &&
        (content === "" || event.content.toLowerCase().includes(content))
      );
    }
    if (event.event !== "agent" && event.event !== "service") return false;
    return !ofMessagesOnly && (isAnybody || fits(event.agent));
  };
}

/** Returns the part of a filter that the node applies, so that it does not send hidden events. */
export function sniffWanted(filter: EventFilter): SniffWanted {
  return {
    // The node treats all words as patterns. A quoted name matches itself; other matches are removed here.
    agents: namesOf(filter.agents),
    conversation: filter.conversation === "" ? null : filter.conversation,
    performatives: filter.performatives,
  };
}

export class Recording {
  readonly pulse = new Pulse();
  readonly filter = signal<EventFilter>(ALL_EVENTS);
  /** All recorded events. */
  readonly all: Ring<Event>;
  /** Events that match the filter. */
  readonly shown: Ring<Event>;
  /** Number of recorded messages by performative. */
  readonly performatives = new Map<string, number>();
  /** Number of the last received log entry. */
  logNumber = 0;
  skipped = 0;
  #takes = takes(ALL_EVENTS);

  constructor(capacity = EVENTS_MAX) {
    this.all = new Ring(capacity);
    this.shown = new Ring(capacity);
  }

  hear(events: readonly Event[]): void {
    for (const event of events) {
      if (event.event === "tick") continue;
      this.#count(event);
      this.all.push(event);
      if (this.#takes(event)) this.shown.push(event);
    }
    if (events.length > 0) this.pulse.touch();
  }

  #count(event: Event): void {
    if (event.event === "skipped") this.skipped += event.count;
    if (isMessage(event)) this.performatives.set(event.performative, (this.performatives.get(event.performative) ?? 0) + 1);
  }

  /** Inserts late events of other nodes at their time. */
  insert(events: readonly Event[]): void {
    const told = events.filter((event) => event.event !== "tick").sort((one, other) => one.at_us - other.at_us);
    const [first] = told;
    if (!first) return;
    for (const event of told) this.#count(event);
    weave(this.all, told, first.at_us);
    weave(this.shown, told.filter(this.#takes), first.at_us);
    this.pulse.touch();
  }

  hearLog(lines: readonly LogLine[]): void {
    for (const line of lines) this.logNumber = Math.max(this.logNumber, line.number);
    this.hear(lines);
  }

  want(filter: EventFilter): void {
    this.filter.value = filter;
    this.#takes = takes(filter);
    this.shown.clear();
    for (let number = this.all.start; number < this.all.end; number++) {
      const event = this.all.at(number);
      if (event && this.#takes(event)) this.shown.push(event);
    }
    this.pulse.touch();
  }

  clear(): void {
    this.all.clear();
    this.shown.clear();
    this.performatives.clear();
    this.skipped = 0;
    this.logNumber = 0;
    this.pulse.touch();
  }
}

/** Merges sorted events into a ring. `fromUs` is the time of the first one; older events stay as they are. */
function weave(ring: Ring<Event>, told: readonly Event[], fromUs: number): void {
  let from = ring.end;
  while (from > ring.start && (ring.at(from - 1)?.at_us ?? 0) > fromUs) from--;
  const tail = ring.cut(from);
  let next = 0;
  for (const event of told) {
    for (let there = tail[next]; there && there.at_us <= event.at_us; there = tail[++next]) ring.push(there);
    ring.push(event);
  }
  for (const there of tail.slice(next)) ring.push(there);
}

/** Counts events in equal parts of the recorded time, for the timeline. */
export function density(events: Ring<Event>, parts: number): { readonly fromUs: number; readonly toUs: number; readonly counts: Uint32Array; readonly dead: Uint32Array } {
  const counts = new Uint32Array(parts);
  const dead = new Uint32Array(parts);
  const fromUs = events.at(events.start)?.at_us ?? 0;
  const toUs = Math.max(fromUs + 1, events.at(events.end - 1)?.at_us ?? 0);
  // A sample of very many events suffices.
  const stride = Math.max(1, Math.floor(events.size / 20_000));
  for (let number = events.start; number < events.end; number += stride) {
    const event = events.at(number);
    if (!event) continue;
    const part = Math.min(parts - 1, Math.max(0, Math.floor(((event.at_us - fromUs) / (toUs - fromUs)) * parts)));
    counts[part] = (counts[part] ?? 0) + stride;
    if (event.event === "died") dead[part] = (dead[part] ?? 0) + 1;
  }
  return { fromUs, toUs, counts, dead };
}

/** Returns the index of the first event at or after a time. Events are nearly in the order of time. */
export function indexAt(events: readonly Event[], atUs: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.at_us ?? Infinity) < atUs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the question that a message answers, and the answers that quote the message. */
export function related(message: MessageEvent, events: readonly Event[]): { readonly asks: MessageEvent | undefined; readonly answers: MessageEvent[] } {
  let asks: MessageEvent | undefined;
  const answers: MessageEvent[] = [];
  for (const event of events) {
    if (!isMessage(event) || event === message) continue;
    if (message.in_reply_to !== null && event.reply_with === message.in_reply_to && event.at_us <= message.at_us && event.to === message.from) asks = event;
    if (message.reply_with !== null && event.in_reply_to === message.reply_with && event.at_us >= message.at_us && event.to === message.from && answers.length < 50) answers.push(event);
  }
  return { asks, answers };
}
