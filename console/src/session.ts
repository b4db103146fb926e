/** The console of this page: its connection and its data. */
import { signal } from "@preact/signals";
import { readStored, writeStored } from "./storage.js";
import { LiveClient, LiveError } from "./live/client.js";
import { browserClock, dialOrigin } from "./live/socket.js";
import type { Answer, Request } from "./live/vocabulary.js";
import { Agents } from "./model/agents.js";
import { Devices } from "./model/devices.js";
import { faultsOfOthers, Health } from "./model/health.js";
import { AgentMoves } from "./model/moves.js";
import { Keys } from "./model/keys.js";
import { Mind } from "./model/mind.js";
import { HOME, readRoute, tokenIn, writeRoute, type Route, type View } from "./model/route.js";
import { Society } from "./model/society.js";
import { Output } from "./model/output.js";
import { Recording } from "./model/recording.js";
import { Totals } from "./model/totals.js";
import { activitiesOf, RECENT_MS, verdictOf, type Beat, type Verdict } from "./model/verdict.js";

const TOKEN_KEY = "whimbrel.token";

/** Returns the token in the address, which it removes, or the stored one. */
function findToken(): string {
  const token = tokenIn(location.hash);
  if (token === null) return readStored("tab", TOKEN_KEY) ?? "";
  writeStored("tab", TOKEN_KEY, token);
  history.replaceState(null, "", `${location.pathname}${location.search}#/`);
  return token;
}

export const live = new LiveClient(dialOrigin(location), findToken(), browserClock);
export const society = new Society();
export const totals = new Totals();
export const agents = new Agents();
export const devices = new Devices();
export const agentMoves = new AgentMoves();
export const recording = new Recording();
export const output = new Output();
agents.failedUs = (name) => output.lastFault(name)?.at_us ?? 0;
export const health = new Health();
export const mind = new Mind();
export const keys = new Keys();
export const route = signal<Route>(HOME);

/** Maximum number of known agents. A search for more asks the node. */
export const AGENTS_MAX = 20_000;

/** Maximum number of shown devices. */
export const DEVICES_MAX = 200;

export function useToken(token: string): void {
  writeStored("tab", TOKEN_KEY, token);
  live.connect(token);
}

export function go(view: View, of = "", query: Readonly<Record<string, string>> = {}): void {
  location.hash = writeRoute(view, of, query);
}

export function followAddress(): void {
  const read = () => {
    const token = tokenIn(location.hash);
    if (token !== null) useToken(findToken());
    route.value = readRoute(location.hash);
  };
  window.addEventListener("hashchange", read);
  read();
}

// ---- Verdict about the society

/** Time for which figures are kept for the verdict, in milliseconds. */
const BEATS_MS = RECENT_MS + 5_000;
let beats: Beat[] = [];
export const verdict = signal<Verdict>({ level: "unknown", word: "loading", reasons: [] });

/** Takes in the figures of all nodes at this moment. */
export function beat(): void {
  const figures = totals.sum.value ?? society.node.value;
  if (figures && live.isLive) beats = [...beats.filter(({ atMs }) => atMs >= Date.now() - BEATS_MS), { atMs: Date.now(), handled: figures.handled, sent: figures.sent, dead: figures.dead, queued: figures.queued }];
  judge();
}

/** Renews the verdict. */
export function judge(): void {
  const nowMs = Date.now();
  const here = society.node.value?.node ?? "";
  const ended = society.node.value?.ended;
  const next = verdictOf({
    nowMs,
    isConnected: live.isLive,
    isStopped: live.phase.value.is === "ended",
    ended,
    wrongs: [...society.wrong.value, ...faultsOfOthers(totals.nodes.value, here)],
    silent: totals.silent.value,
    activities: activitiesOf(agents.all()),
    failing: output.failing((nowMs - RECENT_MS) * 1000),
    beats,
  });
  if (JSON.stringify(next) !== JSON.stringify(verdict.value)) verdict.value = next;
}

// ---- Notices to the user

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isFault: boolean;
}
export const toasts = signal<readonly Toast[]>([]);
let lastToast = 0;

export function say(text: string, isFault = false): void {
  passes(put(text, isFault), isFault);
}

/** Shows a message about work in progress. The returned function replaces it with the outcome. */
export function sayProgress(text: string): (text: string, isFault?: boolean) => void {
  const begun = put(text, false);
  return (text, isFault = false) => {
    dismiss(begun);
    say(text, isFault);
  };
}

function put(text: string, isFault: boolean): number {
  const id = ++lastToast;
  toasts.value = [...toasts.value.slice(-3), { id, text, isFault }];
  return id;
}

function passes(id: number, isFault: boolean): void {
  setTimeout(() => dismiss(id), isFault ? 9_000 : 3_500);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** Sends a request and shows the outcome. Returns null after a failure. */
export async function order(request: Request, done: string | null): Promise<Answer | null> {
  try {
    const answer = await live.ask(request);
    if (done !== null) say(done);
    return answer;
  } catch (error) {
    say(error instanceof LiveError ? error.message : String(error), true);
    return null;
  }
}

/** Returns the programs of the project; none if the node does not list them. */
export async function programsOf(): Promise<readonly string[]> {
  if (!live.offers("programs")) return [];
  try {
    const answer = await live.ask({ request: "programs" });
    return answer.answer === "programs" ? answer.programs : [];
  } catch {
    return [];
  }
}
