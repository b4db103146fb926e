/**
 * Node in memory: sessions, agents and their mailboxes, topics and groups, and the directories. It has no process.
 * Programs connect to it by the session protocol, so all parts of the SDK run as they do in production.
 */
import { Aid } from "../acl/aid.js";
import { replyTo, type Message } from "../acl/message.js";
import { atom, term, type Value } from "../acl/value.js";
import type { Connect } from "../session/transport.js";
import { MemoryAms, type AgentRecord, type Residents } from "./memory-ams.js";
import { MemoryDf } from "./memory-df.js";
import { connectTo, MemoryResident, type MemorySession } from "./memory-session.js";
import { Recording } from "./recording.js";
import { agentAtom, CASTS, sending } from "./requests.js";

/** Milliseconds for which a kept agent waits for its client. */
const WAIT_MS = 24 * 3_600_000;
/** Agents of the platform itself. */
const SERVICES = ["ams", "df"];

/** A node without a process, for tests. Several platforms may share one, as programs do. */
export class MemoryNode implements Residents {
  /** All messages that agents sent, those of the directories included. */
  readonly recording = new Recording();
  /** Sessions by their identifiers. @internal */
  readonly sessions = new Map<string, MemorySession>();
  readonly #residents = new Map<string, MemoryResident>();
  readonly #members = new Map<string, Set<string>>();
  readonly #turns = new Map<string, number>();
  readonly #letters: Message[] = [];
  #isRouting = false;
  readonly #ams: MemoryAms;
  readonly #df: MemoryDf;

  constructor(
    /** Name of the platform. */
    readonly name = "whimbrel",
  ) {
    const send = (message: Message): void => this.route(message);
    this.#ams = new MemoryAms(name, send, this);
    this.#df = new MemoryDf({ platform: name, send, now: () => performance.now(), wallMs: () => Date.now(), onLease: (ms) => void setTimeout(() => this.#df.handleTime(), ms) });
  }

  /** Transport of a platform: `connect("ws://memory", { transport: node.transport })`. */
  readonly transport: Connect = (events) => connectTo(this, events);

  // ---- Agents

  /** Creates an agent, or returns the waiting one of this client. Returns code and text of a refusal. @internal */
  create(session: MemorySession, number: number, name: string): MemoryResident | readonly ["bad-name" | "name-taken", string] {
    if (Aid.parse(name) === undefined || name.includes("@") || CASTS.test(name) || SERVICES.includes(name)) return ["bad-name", `"${name}" is no name for an agent`];
    let known = this.#residents.get(name);
    if (known && (known.session || known.token !== session.token)) return ["name-taken", `an agent named ${name} exists already`];
    if (!known) this.#residents.set(name, (known = new MemoryResident(name)));
    known.attach(session, number);
    return known;
  }

  /** Ends an agent. Its unhandled messages go back to their senders. @internal */
  end(resident: MemoryResident, reason: string): void {
    const { name } = resident;
    if (this.#residents.get(name) !== resident) return;
    this.#residents.delete(name);
    for (const members of this.#members.values()) members.delete(name);
    for (const message of resident.unhandled()) this.#bury(message, Aid.of(name), "agent_ended");
    resident.session?.tellEnded(resident, reason);
    this.#df.handleEnded(name);
    this.#ams.handleEnded(name, reasonValue(reason));
  }

  /** Lets a kept agent wait for its client. @internal */
  leaveWaiting(resident: MemoryResident): void {
    const since = resident.detach();
    setTimeout(() => {
      if (!resident.session && resident.waits === since) this.end(resident, "expired");
    }, WAIT_MS);
  }

  // ---- Messages

  /** Sends a message of an agent to its receivers. @internal */
  route(message: Message): void {
    this.#letters.push(message);
    if (this.#isRouting) return;
    this.#isRouting = true;
    try {
      for (let letter = this.#letters.shift(); letter; letter = this.#letters.shift()) {
        this.recording.add(performance.now(), letter);
        const receivers = new Map(letter.receivers.map((receiver) => [receiver.toString(), receiver]));
        for (const receiver of receivers.values()) this.#carry(letter, receiver);
      }
    } finally {
      this.#isRouting = false;
    }
  }

  #carry(message: Message, receiver: Aid): void {
    const { name, platform } = receiver;
    if (platform !== "" && platform !== this.name) return this.#bury(message, receiver, "unreachable");
    if (CASTS.test(name)) return this.#cast(message, receiver);
    if (name === "df") return this.#df.handle(message);
    if (name === "ams") return this.#ams.handle(message);
    const resident = this.#residents.get(name);
    if (resident) resident.take(message);
    else this.#bury(message, receiver, "unknown_agent");
  }

  /** Sends a message to a topic or group. */
  #cast(message: Message, receiver: Aid): void {
    const [, kind, name = ""] = /^(\w+):(.*)$/s.exec(receiver.name) ?? [];
    let members = [...(this.#members.get(kind === "any" ? `group:${name}` : receiver.name) ?? [])];
    if (members.length === 0 && kind !== "topic") return this.#bury(message, receiver, "no_member");
    if (kind === "any") {
      const turn = this.#turns.get(name) ?? 0;
      this.#turns.set(name, turn + 1);
      members = members.slice(turn % members.length, (turn % members.length) + 1);
    }
    for (const member of members) this.#residents.get(member)?.take(message);
  }

  /** Tells the sender that a message cannot be delivered. */
  #bury(message: Message, receiver: Aid, reason: string): void {
    if (message.performative === "failure" || message.performative === "not-understood" || message.sender.equals("ams")) return;
    if (reason === "agent_ended" && message.receivers.some(({ name }) => CASTS.test(name))) return;
    const action = term("action", agentAtom(message.sender), sending(message, receiver));
    const failure = replyTo(message, "ams", "failure", [action, term("undelivered", agentAtom(receiver), atom(reason))]);
    this.route({ ...failure, receivers: [message.sender] });
  }

  // ---- Agents, for the AMS

  /** @internal */
  described(): readonly AgentRecord[] {
    return [...SERVICES.map((name) => ({ name, owner: undefined, state: "active" })), ...this.#residents.values()];
  }

  /** @internal */
  modify(name: string, owner: string | undefined, state: string | undefined): void {
    this.#residents.get(name)?.modify(owner, state);
  }

  /** @internal */
  kill(name: string): void {
    const resident = this.#residents.get(name);
    if (resident) this.end(resident, "killed");
  }

  /** @internal */
  join(agent: string, group: string): void {
    this.#members.set(group, (this.#members.get(group) ?? new Set()).add(agent));
  }

  /** @internal */
  leave(agent: string, group: string): boolean {
    return this.#members.get(group)?.delete(agent) ?? false;
  }
}

/** Returns the reason of an agent's end as a value, as the AMS tells it. */
function reasonValue(reason: string): Value {
  const [, why] = /^failed: (.*)$/s.exec(reason) ?? [];
  return why === undefined ? atom(reason) : term("failed", why);
}
