/** Simulated node, controlled by the test. */
import { setTimeout as pause } from "node:timers/promises";
import { connect, type Platform } from "../src/index.js";
import type { Connect, TransportEvents } from "../src/session/transport.js";

/** A frame of the client. */
export interface ClientFrame {
  readonly type: string;
  readonly message?: { readonly performative: string; readonly reply_with?: string; readonly conversation_id?: string; readonly content?: unknown };
  readonly number?: number;
  readonly agent?: number;
  readonly name?: string;
  readonly upto?: number;
  readonly code?: string;
  readonly state?: string;
  readonly to?: string | null;
  readonly from?: string | null;
  readonly also?: readonly number[];
  readonly text?: string;
  readonly moves?: boolean;
  readonly follows?: boolean;
  readonly resume?: { readonly session: string } | null;
  readonly certificate?: string;
  readonly signature?: string;
  readonly bytes?: string;
  readonly messages?: readonly number[];
  readonly received?: number;
}

/** A node that creates and ends agents, certifies keys, and accepts all messages. */
export class SmallNode {
  readonly heard: ClientFrame[] = [];
  isThere = true;
  connections = 0;
  leaseMs = 10_000;
  isDeaf = false;
  /** Challenge for clients with a certificate. */
  challenge = "";
  /** Number of times that the node does not know yet whether "soon" is free. */
  notYet = 0;
  /** Saved states of agents, sent before their creation is confirmed. */
  readonly states = new Map<string, { readonly code: string; readonly state: string; readonly from?: string }>();
  /** Places of agents at other nodes, and of sessions. */
  readonly agentsElsewhere = new Map<string, string>();
  sessionsElsewhere: string | undefined;
  #follows = false;
  #events: TransportEvents | undefined;
  #said = 0;
  #took = 0;

  readonly transport: Connect = (events) => {
    this.#events = events;
    this.connections++;
    queueMicrotask(() => (this.isThere ? events.onOpen() : events.onClose("no network")));
    return { send: (frame) => this.#hearBy(events, JSON.parse(String(frame)) as ClientFrame), close: () => undefined };
  };

  connect(signal?: AbortSignal): Promise<Platform> {
    return connect("ws://node.example", { transport: this.transport, ...(signal && { signal }) });
  }

  /** Breaks the connection. */
  cut(): void {
    this.#events?.onClose("cut");
  }

  say(frame: object): void {
    this.#events?.onFrame(JSON.stringify(frame));
  }

  number(frame: object): void {
    this.say({ ...frame, number: ++this.#said });
  }

  of(type: string): readonly ClientFrame[] {
    return this.heard.filter((frame) => frame.type === type);
  }

  /** Waits for the next frame of a kind after `behind` of them. */
  async next(type: string, behind = 0): Promise<ClientFrame> {
    while (this.of(type).length <= behind) await pause(2);
    return this.of(type)[behind] as ClientFrame;
  }

  /** Answers the sending connection, because one session may leave while the next begins. */
  #hearBy(events: TransportEvents, frame: ClientFrame): void {
    const last = this.#events;
    this.#events = events;
    this.#hear(frame);
    this.#events = last;
  }

  #hear(frame: ClientFrame): void {
    this.heard.push(frame);
    const { type, agent, name, number } = frame;
    if (number !== undefined) this.#took = number;
    if (number !== undefined && !this.isDeaf) this.say({ type: "ack", received: number });
    if (type === "hello") this.#follows = frame.follows ?? false;
    if (type === "hello" && !frame.resume) this.#said = this.#took = 0;
    const elsewhere = this.#follows && type === "create" ? this.agentsElsewhere.get(name ?? "") : undefined;
    if (type === "hello" && frame.resume && this.#follows && this.sessionsElsewhere !== undefined) this.say({ type: "error", code: "elsewhere", text: this.sessionsElsewhere });
    else if (elsewhere !== undefined) this.number({ type: "refused", of: number, code: "elsewhere", text: elsewhere });
    else if (type === "hello" && frame.certificate !== undefined) this.say({ type: "challenge", text: this.challenge });
    else if (type === "hello" || type === "proof") this.#welcome();
    else if (type === "create" && name === "soon" && this.notYet-- > 0) this.number({ type: "refused", of: number, code: "not-yet", text: "soon" });
    else if (type === "create" && name === "taken") this.number({ type: "refused", of: number, code: "name-taken", text: "no" });
    else if (type === "create") {
      const state = this.states.get(name ?? "");
      if (state) this.number({ type: "state", agent, ...state });
      this.number({ type: "created", agent, name: `${name}@home` });
    } else if (type === "save" && frame.to === null) this.number({ type: "saved", agent, of: number });
    else if (type === "end") this.number({ type: "ended", agent, reason: "finished" });
    else if (type === "certify") this.number({ type: "certified", agent, certificates: "PEM" });
    else if (type === "bye") this.say({ type: "bye" });
  }

  #welcome(): void {
    const limits = { lease_ms: this.leaseMs, window: 256, agents: 4, message_bytes: 1 << 20, messages_per_s: 10_000, remember: 0 };
    this.say({ type: "welcome", version: 1, session: "s1", secret: "hush", platform: "home", received: this.#took, credit: this.#took + 256, ...limits });
  }
}

export async function withPlatform(run: (platform: Platform, node: SmallNode) => Promise<void>, node = new SmallNode()): Promise<void> {
  const platform = await node.connect();
  try {
    await run(platform, node);
  } finally {
    await platform.close();
  }
}
