/** Text for events other than messages. */
import type { Event } from "../live/vocabulary.js";
import { count } from "./format.js";

/** Returns the text; empty for a message. */
export function aside(event: Event): string {
  switch (event.event) {
    case "agent":
    case "service":
      return event.text;
    case "skipped":
      return `${count(event.count)} more, not shown: they came faster than they could be`;
    case "dropped":
      return `${count(event.count)} entries before this are not kept any more`;
    case "cut_short":
      return "the node was cut short here: the last that was said may be missing";
    case "missed":
      return "there was no connection to the node: what was said meanwhile is not shown";
    case "refused":
      return `refused ${event.who}: ${event.text || event.reason}`;
    case "allowed":
      return `${event.who}: ${event.action} ${event.object}`;
    default:
      return "";
  }
}
