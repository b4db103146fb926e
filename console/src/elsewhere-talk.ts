/** What agents of other nodes said in one conversation: each node has a log of what its own agents say. */
import { signal } from "@preact/signals";
import type { LiveError } from "./live/client.js";
import { askInTurns } from "./live/rounds.js";
import { browserClock } from "./live/socket.js";
import type { LogLine } from "./live/vocabulary.js";
import { silence, turns } from "./parts/everywhere.js";
import { live, society, talk } from "./session.js";

const EVERY_MS = 2_000;
const LINES = 256;
/** How much of it is asked for at a time. */
const PAGES_MAX = 40;

/** Whose part is missing: a line of each that says why. */
export const deaf = signal<ReadonlyMap<string, string>>(new Map());

interface Part {
  readonly lines: readonly LogLine[];
  readonly next: number;
}

/** What a node has to tell behind this entry of its log, all of it. */
async function ask(node: string, conversation: string, since: number): Promise<Part> {
  const lines: LogLine[] = [];
  let next = since;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await live.ask({ request: "at", node, ask: { request: "conversations", wanted: { since: next, follow: false, conversation }, limit: LINES } });
    if (answer.answer !== "conversations") return { lines, next };
    lines.push(...answer.lines);
    next = answer.next;
    if (answer.complete || answer.lines.length === 0) break;
  }
  return { lines, next };
}

/** Hears it, and goes on hearing it until the function that is returned is called. */
export function hearElsewhere(conversation: string): () => void {
  const heard = new Map<string, number>();
  const say = (node: string, fault: string | undefined): void => {
    const faults = new Map(deaf.value);
    if (fault === undefined) faults.delete(node);
    else faults.set(node, fault);
    deaf.value = faults;
  };
  deaf.value = new Map();
  const stop = askInTurns(society.others.value === "" ? [] : society.others.value.split("\n"), {
    everyMs: EVERY_MS,
    turns,
    clock: browserClock,
    ask: (node) => ask(node, conversation, heard.get(node) ?? 0),
    told: (node, { lines, next }) => {
      heard.set(node, next);
      talk.insert(lines);
      if (deaf.value.has(node)) say(node, undefined);
    },
    failed: (node, error) => {
      const { reason, message } = error as LiveError;
      say(node, silence(node, { reason, text: message }));
    },
  });
  return () => {
    stop();
    deaf.value = new Map();
  };
}
