/** What agents of other nodes said in one conversation: each node has a log of what its own agents say. */
import { signal } from "@preact/signals";
import { LiveError } from "./live/client.js";
import type { LogLine } from "./live/vocabulary.js";
import { live, society, talk } from "./session.js";

const EVERY_MS = 2_000;
const LINES = 256;
/** How much of it is asked for at a time. */
const PAGES_MAX = 40;

/** Whose part is missing, and why. */
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
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const round = async (): Promise<void> => {
    const others = society.others.value === "" ? [] : society.others.value.split("\n");
    const silent = new Map<string, string>();
    const hearOne = async (node: string): Promise<readonly LogLine[]> => {
      try {
        const { lines, next } = await ask(node, conversation, heard.get(node) ?? 0);
        heard.set(node, next);
        return lines;
      } catch (error) {
        silent.set(node, error instanceof LiveError ? error.message : String(error));
        return [];
      }
    };
    const told = await Promise.all(others.map(hearOne));
    if (isOver) return;
    talk.insert(told.flat());
    deaf.value = silent;
    timer = setTimeout(() => void round(), EVERY_MS);
  };
  deaf.value = new Map();
  void round();
  return () => {
    isOver = true;
    clearTimeout(timer);
    deaf.value = new Map();
  };
}
