/** Sessions of a node in memory: frames of one program, and its agents. */
import { Aid } from "../acl/aid.js";
import type { Message } from "../acl/message.js";
import { FrameReader, FrameWriter, seal, type Code, type Frame, type Hello, type OnLeave, type Outgoing, type Save } from "../session/frames.js";
import { LEASE_MS, MESSAGE_BYTES, SESSION_VERSION, WINDOW } from "../session/limits.js";
import type { Transport, TransportEvents } from "../session/transport.js";
import type { MemoryNode } from "./memory-node.js";

/** Agents of one session, and deliveries a second: as a node grants them. */
const AGENTS_MAX = 10_000;
const MESSAGES_PER_S = 100_000;

type Received<Type extends Frame["type"]> = Extract<Frame, { readonly type: Type }>;

/** An agent of the node: a slot with a mailbox, whose code is in a program. */
export class MemoryResident {
  owner: string | undefined;
  state = "active";
  session: MemorySession | undefined;
  token: string | null = null;
  number = 0;
  /** Number of times that the agent waited for its client. */
  waits = 0;
  policy: OnLeave = "end";
  holds = false;
  /** Name of the code and saved state, if there is one. */
  saved: { readonly code: string; readonly state: Uint8Array } | undefined;
  /** Messages of the agent that leave with its next save. */
  held: Message[] = [];
  /** Messages that the program has not handled, by the numbers of their frames. */
  readonly #given = new Map<number, Message>();
  /** Messages that wait for the program, or for the end of a suspension. */
  #waiting: Message[] = [];

  constructor(readonly name: string) {}

  get isKept(): boolean {
    return this.policy !== "end";
  }

  /** Gives the agent to a session. Its messages follow by `deliver`. */
  attach(session: MemorySession, number: number): void {
    this.session = session;
    this.number = number;
    this.token = session.token;
  }

  /** Takes the agent from its session. Messages that no save covers are delivered again. */
  detach(): number {
    this.session = undefined;
    this.#waiting = this.unhandled();
    this.held = [];
    return ++this.waits;
  }

  /** Takes a message into the mailbox. */
  take(message: Message): void {
    this.#waiting.push(message);
    this.deliver();
  }

  /** Gives the messages of the mailbox to the program, unless the agent is suspended. */
  deliver(): void {
    while (this.session && this.#waiting.length > 0 && this.state === "active") {
      const message = this.#waiting.shift() as Message;
      this.#given.set(this.session.pushMessage(this.number, message), message);
    }
  }

  /** Notes which messages are handled. */
  handled(covers: (number: number) => boolean): void {
    for (const number of [...this.#given.keys()]) if (covers(number)) this.#given.delete(number);
  }

  /** Takes all messages that the agent has not handled. */
  unhandled(): Message[] {
    const found = [...this.#given.values(), ...this.#waiting];
    this.#given.clear();
    this.#waiting = [];
    return found;
  }

  modify(owner: string | undefined, state: string | undefined): void {
    this.owner = owner ?? this.owner;
    this.state = state ?? this.state;
    this.deliver();
  }
}

/** Opens a connection of a program to a node. */
export function connectTo(node: MemoryNode, events: TransportEvents): Transport {
  let session: MemorySession | undefined;
  let isOpen = true;
  const reader = new FrameReader("json", 0);
  const writer = new FrameWriter("json", 0);
  const link: SessionLink = {
    write: (frame) => {
      const text = writer.write(frame);
      queueMicrotask(() => void (isOpen && events.onFrame(text)));
    },
    cut: (why) => {
      if (!isOpen) return;
      isOpen = false;
      session?.lost(link);
      queueMicrotask(() => events.onClose(why));
    },
  };
  const hear = (frame: Frame): void => {
    if (session) session.handle(frame);
    else if (frame.type === "hello") session = begin(node, frame, link);
    session?.acknowledge();
  };
  queueMicrotask(() => void (isOpen && events.onOpen()));
  return {
    send: (frame) => void (isOpen && hear(reader.read(frame))),
    close: () => {
      isOpen = false;
      session?.lost(link);
    },
  };
}

/** The node's end of a connection. */
export interface SessionLink {
  /** Writes a frame. The program gets it after its present step. */
  write(frame: Outgoing): void;
  /** Breaks the connection. */
  cut(why: string): void;
}

function begin(node: MemoryNode, hello: Hello, link: SessionLink): MemorySession | undefined {
  const known = hello.resume ? node.sessions.get(hello.resume.session) : new MemorySession(node, hello);
  if (!known) {
    link.write({ type: "error", code: "session-gone", text: "there is no such session" });
    return undefined;
  }
  known.connected(link, hello.resume?.received ?? 0);
  return known;
}

let identifiers = 0;

/** A session: its agents by number, frames in both directions, and its lease. */
export class MemorySession {
  readonly id = `memory-${++identifiers}`;
  readonly token: string | null;
  readonly #node: MemoryNode;
  readonly #leaseMs: number;
  readonly #window: number;
  readonly #messageBytes: number;
  #link: SessionLink | undefined;
  readonly #agents = new Map<number, MemoryResident>();
  #received = 0;
  #last = 0;
  #unacknowledged: (Outgoing & { readonly number: number })[] = [];
  /** Runs of messages that the program has not handled. */
  #open: readonly number[] = [];
  #isOver = false;
  #losses = 0;

  constructor(node: MemoryNode, hello: Hello) {
    this.#node = node;
    this.token = hello.token;
    this.#leaseMs = hello.lease_ms ?? LEASE_MS;
    this.#window = Math.min(hello.window ?? WINDOW, WINDOW);
    this.#messageBytes = hello.message_bytes ?? MESSAGE_BYTES;
    node.sessions.set(this.id, this);
  }

  // ---- Connections

  /** A connection has the session from now on. Frames that the program did not receive come again. */
  connected(link: SessionLink, received: number): void {
    const before = this.#link;
    this.#link = link;
    this.#losses++;
    before?.cut("a newer connection has the session");
    const grant = { lease_ms: this.#leaseMs, window: this.#window, agents: AGENTS_MAX, message_bytes: this.#messageBytes, messages_per_s: MESSAGES_PER_S, remember: 0 };
    link.write({ type: "welcome", version: SESSION_VERSION, session: this.id, secret: this.id, platform: this.#node.name, ...grant, received: this.#received, credit: this.#received + this.#window });
    this.#acknowledged(received);
    for (const frame of this.#unacknowledged) link.write(frame);
  }

  /** The connection is closed. The session waits for its lease. */
  lost(link: SessionLink): void {
    if (link !== this.#link || this.#isOver) return;
    this.#link = undefined;
    const losses = ++this.#losses;
    setTimeout(() => void (losses === this.#losses && this.over("failed: its lease is over")), this.#leaseMs);
  }

  /** Breaks the connection, as a network does. */
  cut(why = "the connection was cut"): void {
    this.#link?.cut(why);
  }

  /** Ends the session: its agents end, and kept ones wait for their client. */
  over(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#node.sessions.delete(this.id);
    for (const resident of [...this.#agents.values()]) {
      if (resident.isKept) this.#node.leaveWaiting(resident);
      else this.#node.end(resident, reason);
    }
    this.#agents.clear();
  }

  // ---- Frames to the program

  #push(frame: Outgoing & { readonly number: number }): number {
    this.#unacknowledged.push(frame);
    this.#link?.write(frame);
    return frame.number;
  }

  /** Gives a message to an agent. Returns the number of the frame. */
  pushMessage(agent: number, message: Message): number {
    return this.#push({ type: "message", number: ++this.#last, agent, message: seal("json", message, Infinity) });
  }

  /** Acknowledges what was received, and shows that the node lives. */
  acknowledge(): void {
    if (this.#link && !this.#isOver) this.#link.write({ type: "ack", received: this.#received, credit: null });
  }

  /** Tells the program that an agent has ended. */
  tellEnded({ number: agent }: MemoryResident, reason: string): void {
    if (this.#agents.delete(agent) && !this.#isOver) this.#push({ type: "ended", number: ++this.#last, agent, reason });
  }

  #refuse(of: number, code: Code, text: string): void {
    this.#push({ type: "refused", number: ++this.#last, of, code, text });
  }

  // ---- Frames of the program

  /** Handles a frame. */
  handle(frame: Frame): void {
    if (this.#isOver) return;
    if ("number" in frame) {
      if (frame.number <= this.#received) return;
      this.#received = frame.number;
    }
    switch (frame.type) {
      case "ack":
        return this.#onAck(frame.received);
      case "open":
        this.#open = frame.messages;
        return;
      case "bye": {
        const link = this.#link;
        this.over("finished");
        link?.write({ type: "bye" });
        return;
      }
      case "create":
        return this.#onCreate(frame);
      case "unreadable":
        return this.#refuse(frame.number, "bad-message", frame.why);
      case "certify":
        return this.#refuse(frame.number, "not-allowed", "a platform in memory issues no certificates");
      case "end":
      case "message":
      case "keep":
      case "save":
        return this.#onAgent(frame);
      default:
        // Frames of agents that move: there is no other place.
        return;
    }
  }

  #onAck(received: number): void {
    this.#acknowledged(received);
    const isOpen = (number: number): boolean => {
      for (let at = 0; at + 1 < this.#open.length; at += 2) {
        const [first = 0, count = 0] = this.#open.slice(at);
        if (first <= number && number < first + count) return true;
      }
      return false;
    };
    for (const resident of this.#agents.values()) if (!resident.isKept) resident.handled((number) => number <= received && !isOpen(number));
  }

  #acknowledged(received: number): void {
    this.#unacknowledged = this.#unacknowledged.filter(({ number }) => number > received);
  }

  #onCreate({ number, agent, name }: Received<"create">): void {
    const made = this.#node.create(this, agent, name);
    if (!(made instanceof MemoryResident)) return this.#refuse(number, ...made);
    this.#agents.set(agent, made);
    if (made.saved) this.#push({ type: "state", number: ++this.#last, agent, ...made.saved, from: null });
    this.#push({ type: "created", number: ++this.#last, agent, name: `${name}@${this.#node.name}` });
    made.deliver();
  }

  #onAgent(frame: Received<"end" | "message" | "keep" | "save">): void {
    const resident = this.#agents.get(frame.agent);
    if (!resident) return this.#refuse(frame.number, "no-agent", "the session has no such agent");
    if (frame.type === "end") this.#node.end(resident, "finished");
    else if (frame.type === "message") this.#onMessage(resident, frame.number, frame.message);
    else if (frame.type === "save") this.#onSave(resident, frame);
    else {
      resident.policy = frame.policy;
      resident.holds = frame.holds && frame.policy !== "end";
    }
  }

  #onMessage(resident: MemoryResident, number: number, message: Message): void {
    const { name } = resident;
    if (!["", name, `${name}@${this.#node.name}`].includes(message.sender.toString())) return this.#refuse(number, "forged-sender", `the message names ${message.sender} as its sender`);
    if (message.receivers.length === 0) return this.#refuse(number, "no-receiver", "the message has no receiver");
    const sent = { ...message, sender: Aid.of(name) };
    if (resident.holds) resident.held.push(sent);
    else this.#node.route(sent);
  }

  #onSave(resident: MemoryResident, { number, agent, to, code, state, upto, also }: Save): void {
    if (to !== null) return this.#refuse(number, "not-movable", `no_such_node: a platform in memory has no place ${to}`);
    if (!resident.isKept) return this.#refuse(number, "not-kept", "the agent is not to be kept");
    resident.saved = { code, state };
    resident.handled((one) => one <= upto || also.includes(one));
    this.#push({ type: "saved", number: ++this.#last, agent, of: number });
    const { held } = resident;
    resident.held = [];
    for (const message of held) this.#node.route(message);
  }
}
