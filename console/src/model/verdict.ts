/** Verdict about the society: whether it works, rests, stands still or has faults. */
import type { AgentInfo, EndInfo } from "../live/vocabulary.js";
import type { OutputLine } from "./output.js";

/** Time without a handled message from which a society counts as still, in milliseconds. */
export const STILL_MS = 10_000;
/** Time for which a failure or dead letter counts, in milliseconds. */
export const RECENT_MS = 60_000;
/** Time for which mailboxes must grow, and messages by which they must, to count as growing. */
export const GROWTH_MS = 20_000;
const GROWTH_MIN = 100;
/** Maximum number of agents that a reason names. */
const NAMED_MAX = 3;

export type Level = "good" | "rests" | "stuck" | "paused" | "warns" | "wrong" | "ended" | "unknown";

export interface Verdict {
  readonly level: Level;
  /** One word or two. */
  readonly word: string;
  /** Reasons, the gravest first. */
  readonly reasons: readonly Reason[];
}

export interface Reason {
  readonly text: string;
  readonly isFault: boolean;
  /** Address of the view that shows more. */
  readonly to?: string;
}

/** Figures at one time. */
export interface Beat {
  readonly atMs: number;
  readonly handled: number;
  readonly sent: number;
  readonly dead: number;
  readonly queued: number;
}

/** Numbers of agents by activity, with names of some. */
export interface Activities {
  readonly active: number;
  readonly waits: readonly string[];
  readonly paused: readonly string[];
  readonly idle: number;
  /** Agents whose mailbox is not empty though they have no turn. */
  readonly blocked: readonly string[];
  /** Agents of unknown activity. */
  readonly unknown: number;
}

export interface Signs {
  readonly nowMs: number;
  readonly isConnected: boolean;
  /** True after the node stopped in good order. */
  readonly isStopped?: boolean;
  readonly ended: EndInfo | undefined;
  /** Faults that nodes report of themselves. */
  readonly wrongs: readonly string[];
  /** Nodes that do not answer. */
  readonly silent: readonly string[];
  readonly activities: Activities;
  readonly failing: readonly OutputLine[];
  readonly beats: readonly Beat[];
}

/** Counts agents by activity. */
export function activitiesOf(agents: Iterable<AgentInfo>): Activities {
  let [active, idle, unknown] = [0, 0, 0];
  const [waits, paused, blocked]: [string[], string[], string[]] = [[], [], []];
  for (const { name, kind, activity, mailbox, state } of agents) {
    if (activity === "paused") paused.push(name);
    else if (state === "suspended" && (mailbox ?? 0) > 0) blocked.push(name);
    else if (activity === "active") active++;
    else if (activity === "waits") waits.push(name);
    else if (activity === "idle") idle++;
    else if (kind !== "service") unknown++;
  }
  return { active, idle, unknown, waits, paused, blocked };
}

function named(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return more > 0 ? `${names.slice(0, NAMED_MAX).join(", ")} and ${more} more` : names.join(", ");
}

const agents = (many: number) => `${many} ${many === 1 ? "agent" : "agents"}`;

/** Returns since when nothing was handled or sent, in milliseconds; null if something was. */
export function stillMs(beats: readonly Beat[], nowMs: number): number | null {
  const last = beats.at(-1);
  if (!last) return null;
  let since = last.atMs;
  for (let at = beats.length - 1; at >= 0; at--) {
    const beat = beats[at];
    if (!beat || beat.handled !== last.handled || beat.sent !== last.sent) break;
    since = beat.atMs;
  }
  return nowMs - since;
}

/** Returns by how many messages mailboxes have grown without a pause; 0 if they have not. */
export function growth(beats: readonly Beat[], nowMs: number): number {
  const recent = beats.filter(({ atMs }) => atMs >= nowMs - GROWTH_MS);
  const [first, last] = [recent[0], recent.at(-1)];
  if (!first || !last || last.atMs - first.atMs < GROWTH_MS * 0.8) return 0;
  const grows = recent.every((beat, at) => at === 0 || beat.queued >= (recent[at - 1]?.queued ?? 0));
  const more = last.queued - first.queued;
  return grows && more >= GROWTH_MIN ? more : 0;
}

/** Returns the number of dead letters of the last minute. */
function freshDead(beats: readonly Beat[], nowMs: number): number {
  const recent = beats.filter(({ atMs }) => atMs >= nowMs - RECENT_MS);
  return Math.max(0, (recent.at(-1)?.dead ?? 0) - (recent[0]?.dead ?? 0));
}

export function verdictOf(signs: Signs): Verdict {
  const { activities, nowMs, beats } = signs;
  if (signs.ended) return { level: "ended", word: "ended", reasons: [{ text: endText(signs.ended), isFault: signs.ended.code !== 0 }] };
  if (signs.isStopped) return { level: "ended", word: "stopped", reasons: [{ text: "The node has stopped.", isFault: false }] };
  if (!signs.isConnected) return { level: "unknown", word: "not connected", reasons: [{ text: "No connection to the node: the state is unknown.", isFault: true }] };
  if (beats.length === 0) return { level: "unknown", word: "loading", reasons: [] };
  const fault = (text: string, to?: string): Reason => ({ text, isFault: true, ...(to !== undefined && { to }) });
  const grave = [...signs.wrongs.map((text) => fault(text, "#/health")), ...signs.silent.map((name) => fault(`Node ${name} does not answer: its agents are not counted.`, "#/health"))];
  const reasons: Reason[] = [];
  const { failing } = signs;
  if (failing.length > 0) reasons.push(fault(`${agents(failing.length)} failed in the last minute: ${named(failing.map(({ agent }) => agent))}.`, "#/output?faults=1"));
  const dead = freshDead(beats, nowMs);
  if (dead > 0) reasons.push(fault(`${dead} ${dead === 1 ? "message was" : "messages were"} undeliverable in the last minute.`, "#/health"));
  const grown = growth(beats, nowMs);
  if (grown > 0) reasons.push(fault(`Mailboxes grow: ${grown} more messages wait than ${GROWTH_MS / 1000} s ago.`, "#/health"));
  if (activities.blocked.length > 0) reasons.push(fault(`Messages wait for suspended agents: ${named(activities.blocked)}.`, "#/society"));
  const paused: Reason[] = activities.paused.length === 0 ? [] : [{ text: `${agents(activities.paused.length)} paused: ${named(activities.paused)}.`, isFault: false, to: `#/mind/${encodeURIComponent(activities.paused[0] ?? "")}` }];
  const still = stillMs(beats, nowMs) ?? 0;
  const isStill = still >= STILL_MS && activities.active === 0 && activities.unknown === 0;
  const seconds = Math.floor(still / 1000);
  if (grave.length > 0) return { level: "wrong", word: "faults", reasons: [...grave, ...reasons, ...paused] };
  if (isStill && activities.waits.length > 0) {
    const waits = fault(`Nothing has happened for ${seconds} s, and ${agents(activities.waits.length)} ${activities.waits.length === 1 ? "waits" : "wait"} for messages that nobody sends: ${named(activities.waits)}.`, `#/mind/${encodeURIComponent(activities.waits[0] ?? "")}`);
    return { level: paused.length > 0 ? "paused" : "stuck", word: paused.length > 0 ? "paused" : "stuck", reasons: [...paused, waits, ...reasons] };
  }
  if (paused.length > 0) return { level: "paused", word: "paused", reasons: [...paused, ...reasons] };
  if (reasons.length > 0) return { level: "warns", word: "warnings", reasons };
  if (isStill) return { level: "rests", word: "at rest", reasons: [{ text: `Nothing has happened for ${seconds} s: ${activities.idle === 0 ? "there are no agents" : "all agents are idle until a message comes"}.`, isFault: false }] };
  return { level: "good", word: "running", reasons: [] };
}

/** Describes what an ended society left. */
export function endText({ code, agents: many, queued }: EndInfo): string {
  const how = code === 0 ? "The society has ended" : `The society has ended with exit code ${code}`;
  const parts = [many > 0 ? `${agents(many)} still lived` : "", queued > 0 ? `${queued} ${queued === 1 ? "message" : "messages"} still waited` : ""].filter((part) => part !== "");
  return parts.length === 0 ? `${how}; nothing was left unfinished.` : `${how}: ${parts.join(", ")}.`;
}
