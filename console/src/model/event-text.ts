/** Text for events other than messages. */
import type { Event } from "../live/vocabulary.js";
import { count } from "./format.js";

/** Returns the text; empty for a message. */
export function eventText(event: Event): string {
  switch (event.event) {
    case "agent":
    case "service":
      return event.text;
    case "skipped":
      return `${count(event.count)} more not shown: too many to display`;
    case "dropped":
      return `${count(event.count)} earlier entries were deleted`;
    case "cut_short":
      return "the node stopped abruptly here: its last messages may be missing";
    case "missed":
      return "messages of this time are missing: the page did not listen, or had no connection to the node";
    case "refused":
      return event.sentence || `refused ${event.who}: ${event.text || event.reason}`;
    case "allowed":
      return event.sentence || `${event.who}: ${event.action} ${event.object}`;
    default:
      return "";
  }
}
