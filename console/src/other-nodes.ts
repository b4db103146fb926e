/**
 * Messages of agents on other nodes. Their logs are polled for new lines. Nodes without a log are polled for recent
 * events instead, so that all nodes are live.
 */
import { signal } from "@preact/signals";
import type { LiveError } from "./live/client.js";
import { pollAll } from "./live/polling.js";
import { browserClock } from "./live/socket.js";
import type { Event, LogLine, LogWanted } from "./live/vocabulary.js";
import { silenceReason, queryLimit } from "./parts/all-nodes.js";
import { live, society, recording } from "./session.js";

const EVERY_MS = 1_000;
const LINES = 256;
/** Pages of a log that one poll reads. */
const PAGES_MAX = 40;

/** Selection from other nodes' logs. */
export type LogSelection = Pick<LogWanted, "conversation" | "performatives" | "since_us">;

/** Reasons why messages of some nodes are missing, by node. */
export const unheard = signal<ReadonlyMap<string, string>>(new Map());

/** Intervals for nodes without a log: their events are kept for a short time only. */
const EVENTS_MS = 500;

interface Part {
  readonly lines: readonly Event[];
  readonly next: number;
}

/** Number of other nodes up to which they are asked more often, and before the view is open. */
export const FEW_NODES = 8;

/** Nodes that keep no log, with the cursor of their recent events. */
const logless = new Map<string, number>();

/** Asks a node for its recent events. */
async function askEvents(node: string, { conversation, performatives }: LogSelection): Promise<Part> {
  const answer = await live.ask({ request: "at", node, ask: { request: "events", since: logless.get(node) ?? 0, wanted: { conversation: conversation ?? null, performatives: performatives ?? [] } } });
  if (answer.answer !== "events") return { lines: [], next: 0 };
  logless.set(node, answer.next);
  return { lines: answer.events, next: 0 };
}

/** Asks a node for new messages: from its log, or else from its recent events. */
async function askNode(node: string, wanted: LogSelection, since: number, isLive: boolean): Promise<Part> {
  if (live.offers("events") && (isLive || logless.has(node))) return askEvents(node, wanted);
  try {
    return await ask(node, wanted, since);
  } catch (error) {
    if ((error as LiveError).reason !== "no_log" || !live.offers("events")) throw error;
    return askEvents(node, wanted);
  }
}

/** Reads all lines of a node's log after entry `since`. */
async function ask(node: string, wanted: LogSelection, since: number): Promise<{ readonly lines: readonly LogLine[]; readonly next: number }> {
  const lines: LogLine[] = [];
  let next = since;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await live.ask({ request: "at", node, ask: { request: "conversations", wanted: { since: next, follow: false, ...wanted }, limit: LINES } });
    if (answer.answer !== "conversations") return { lines, next };
    lines.push(...answer.lines);
    next = answer.next;
    if (answer.complete || answer.lines.length === 0) break;
  }
  return { lines, next };
}

/** Returns the reason why messages of a node are missing, as text. */
function unheardReason(node: string, { reason, message }: LiveError): string {
  return reason === "no_log" ? `No messages from ${node}: it keeps no log. Start it with --log.` : silenceReason(node, { reason, text: message });
}

/**
 * Polls all other nodes, new ones included, until the returned function is called.
 * @param isLive True for messages from now on, false for those of the logs, too.
 */
export function pollOtherNodes(wanted: LogSelection, isLive: boolean): () => void {
  logless.clear();
  const heard = new Map<string, number>();
  const say = (node: string, fault: string | undefined): void => {
    const faults = new Map(unheard.value);
    if (fault === undefined) faults.delete(node);
    else faults.set(node, fault);
    unheard.value = faults;
  };
  const begin = (nodes: readonly string[]): (() => void) =>
    pollAll(nodes, {
      everyMs: isLive && nodes.length <= FEW_NODES ? EVENTS_MS : EVERY_MS,
      queryLimit,
      clock: browserClock,
      ask: (node) => askNode(node, wanted, heard.get(node) ?? 0, isLive),
      told: (node, { lines, next }) => {
        heard.set(node, next);
        recording.insert(lines);
        if (unheard.value.has(node)) say(node, undefined);
      },
      failed: (node, error) => say(node, unheardReason(node, error as LiveError)),
    });
  let stop = (): void => {};
  const forget = society.others.subscribe((others) => {
    stop();
    unheard.value = new Map();
    stop = begin(others === "" ? [] : others.split("\n"));
  });
  return () => {
    forget();
    stop();
    unheard.value = new Map();
  };
}
