/** Rows of a sequence diagram: copies of one message to several receivers share a row. */
import type { Event, MessageEvent } from "../live/vocabulary.js";
import { isMessage } from "./recording.js";

/** Longest time between the first and the last copy of a multicast, in microseconds. */
const COPIES_US = 50_000;

export interface DiagramRow {
  readonly event: Event;
  /** Index of the event among all events. */
  readonly index: number;
  /** Further copies of the message, to other receivers. */
  readonly copies: readonly MessageEvent[];
}

function isCopy(first: MessageEvent, other: Event): other is MessageEvent {
  return (
    isMessage(other) &&
    other.event === first.event &&
    other.from === first.from &&
    other.performative === first.performative &&
    other.conversation === first.conversation &&
    other.content === first.content &&
    Math.abs(other.at_us - first.at_us) <= COPIES_US
  );
}

/** Groups consecutive copies of a message. */
export function rowsOf(events: readonly Event[]): DiagramRow[] {
  const rows: DiagramRow[] = [];
  for (let index = 0; index < events.length; ) {
    const event = events[index];
    if (!event) break;
    const copies: MessageEvent[] = [];
    if (isMessage(event)) {
      const receivers = new Set([event.to]);
      for (let next = index + 1; next < events.length; next++) {
        const other = events[next];
        if (!other || !isCopy(event, other) || receivers.has(other.to)) break;
        receivers.add(other.to);
        copies.push(other);
      }
    }
    rows.push({ event, index, copies });
    index += 1 + copies.length;
  }
  return rows;
}

/** Returns the row of an event by the event's index. */
export function rowAt(rows: readonly DiagramRow[], index: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.index ?? 0) <= index) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
