/** What agents of other nodes say: each node has a log of what its own agents say, which is asked for what came since. */
import { signal } from "@preact/signals";
import type { LiveError } from "./live/client.js";
import { askInTurns } from "./live/rounds.js";
import { browserClock } from "./live/socket.js";
import type { LogLine, LogWanted } from "./live/vocabulary.js";
import { silence, turns } from "./parts/everywhere.js";
import { live, society, talk } from "./session.js";

const EVERY_MS = 1_000;
const LINES = 256;
/** How much of it is asked for at a time. */
const PAGES_MAX = 40;

/** What of other nodes' logs is wanted. */
export type Elsewhere = Pick<LogWanted, "conversation" | "performatives" | "since_us">;

/** Whose part is missing: a line of each that says why. */
export const deaf = signal<ReadonlyMap<string, string>>(new Map());

interface Part {
  readonly lines: readonly LogLine[];
  readonly next: number;
}

/** What a node has to tell behind this entry of its log, all of it. */
async function ask(node: string, wanted: Elsewhere, since: number): Promise<Part> {
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

/** Why a node's agents are not heard. */
function deafness(node: string, { reason, message }: LiveError): string {
  return reason === "no_log" ? `What agents of ${node} say is not heard here: it keeps no log (run --log)` : silence(node, { reason, text: message });
}

/** Hears it, and goes on hearing it until the function that is returned is called; of nodes that come later, too. */
export function hearElsewhere(wanted: Elsewhere): () => void {
  const heard = new Map<string, number>();
  const say = (node: string, fault: string | undefined): void => {
    const faults = new Map(deaf.value);
    if (fault === undefined) faults.delete(node);
    else faults.set(node, fault);
    deaf.value = faults;
  };
  const begin = (nodes: readonly string[]): (() => void) =>
    askInTurns(nodes, {
      everyMs: EVERY_MS,
      turns,
      clock: browserClock,
      ask: (node) => ask(node, wanted, heard.get(node) ?? 0),
      told: (node, { lines, next }) => {
        heard.set(node, next);
        talk.insert(lines);
        if (deaf.value.has(node)) say(node, undefined);
      },
      failed: (node, error) => say(node, deafness(node, error as LiveError)),
    });
  let stop = (): void => {};
  const forget = society.others.subscribe((others) => {
    stop();
    deaf.value = new Map();
    stop = begin(others === "" ? [] : others.split("\n"));
  });
  return () => {
    forget();
    stop();
    deaf.value = new Map();
  };
}
