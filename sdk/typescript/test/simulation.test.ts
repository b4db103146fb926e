/**
 * Simulation of a session and a small node on a virtual clock, with a network that loses, delays and breaks. A seed
 * determines each run.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { message } from "../src/acl/message.js";
import { compact } from "../src/compact.js";
import { FrameReader, FrameWriter, type Form, type Frame } from "../src/session/frames.js";
import { Session } from "../src/session/session.js";
import { outgoing } from "./transcript.js";

const WINDOW = 8;
const REMEMBER = 4;
const LEASE_MS = 5000;

/** A minimal node that echoes each message. */
class SmallNode {
  readonly received: unknown[] = [];
  #number = 0;
  #keep: Frame[] = [];
  #last = 0;
  #written = 0;
  #reader: FrameReader;
  #writer: FrameWriter;

  constructor(readonly form: Form) {
    this.#reader = new FrameReader(form, REMEMBER);
    this.#writer = new FrameWriter(form, 0);
  }

  /** Begins a new connection, without the previous dictionary. */
  connected(): void {
    this.#reader = new FrameReader(this.form, REMEMBER);
    this.#writer = new FrameWriter(this.form, 0);
    this.#written = 0;
  }

  hear(bytes: string | Uint8Array): (string | Uint8Array)[] {
    const frame = this.#reader.read(bytes);
    const answers: (string | Uint8Array)[] = [];
    const say = (answer: Frame): void => void answers.push(this.#writer.write(outgoing(this.form, answer)));
    if (frame.type === "hello") {
      // A client that never saw its welcome begins anew, and has sent nothing yet.
      if (frame.resume) this.#acknowledge(frame.resume.received);
      else assert.deepEqual([this.#number, this.#last], [0, 0], "a welcomed client resumes");
      const limits = { lease_ms: LEASE_MS, window: WINDOW, agents: 4, message_bytes: 1 << 20, messages_per_s: 1000, remember: this.form === "json" ? 0 : REMEMBER };
      say({ type: "welcome", version: 1, session: "s", secret: "hush", platform: "home", ...limits, received: this.#number, credit: this.#number + WINDOW });
      this.#writer = new FrameWriter(this.form, limits.remember);
    } else if (frame.type === "ack") this.#acknowledge(frame.received);
    else if ("number" in frame) {
      assert.equal(frame.number, ++this.#number, "each number once, in order");
      if (frame.type === "message") {
        this.received.push(frame.message.content);
        this.#keep.push({ ...frame, number: ++this.#last });
      }
      say({ type: "ack", received: this.#number, credit: null });
    }
    while (this.#written < Math.min(WINDOW, this.#keep.length)) say(this.#keep[this.#written++] as Frame);
    return answers;
  }

  #acknowledge(received: number): void {
    const first = this.#last - this.#keep.length;
    assert.ok(received >= first && received <= this.#last, `an acknowledgement of ${received}`);
    this.#keep = this.#keep.slice(received - first);
    this.#written = Math.max(0, this.#written - (received - first));
  }
}

interface Fate {
  readonly delayMs: number;
  readonly cutAfter: number;
  readonly refuse: boolean;
}

/** Runs until all echoes arrived, or the session is over. Returns the echoes in order. */
function run(form: Form, count: number, fates: readonly Fate[]): { readonly node: SmallNode; readonly echoes: unknown[]; readonly session: Session } {
  const node = new SmallNode(form);
  const session = new Session({ form, remember: REMEMBER, leaseMs: LEASE_MS }, 0, () => 0.5);
  const echoes: unknown[] = [];
  const inFlight: { readonly at: number; readonly toNode: boolean; readonly bytes: string | Uint8Array }[] = [];
  let [now, sent, fate, passed, isConnected] = [0, 0, 0, 0, false];
  const current = (): Fate => fates[fate % fates.length] as Fate;
  const cut = (): void => {
    inFlight.length = 0;
    passed = 0;
    fate++;
    isConnected = false;
    session.handleClosed(now);
  };
  for (let step = 0; step < 100_000 && !session.over && echoes.length < count; step++) {
    for (let event = session.pollEvent(); event; event = session.pollEvent()) {
      if (event.type === "message") echoes.push(event.message.content);
      assert.notEqual(event.type, "disconnect", "no end does what is wrong");
      if (event.type !== "connect") continue;
      if (current().refuse) cut();
      else {
        isConnected = true;
        session.handleConnected(now);
        node.connected();
      }
    }
    if (session.welcome && sent < count) session.send(0, message({ performative: "inform", receivers: "amy", content: `item ${++sent % 7}`, conversationId: `c${sent % 3}` }));
    for (let bytes = session.pollFrame(now); bytes; bytes = session.pollFrame(now)) inFlight.push({ at: now + current().delayMs, toNode: true, bytes });
    const next = inFlight[0];
    if (isConnected && next && next.at <= Math.max(now, session.pollTimeout())) {
      now = Math.max(now, next.at);
      inFlight.shift();
      if (++passed > current().cutAfter) {
        cut();
        continue;
      }
      if (!next.toNode) session.handleFrame(next.bytes, now);
      else for (const bytes of node.hear(next.bytes)) inFlight.push({ at: now + current().delayMs, toNode: false, bytes });
    } else if (session.pollTimeout() !== Infinity) {
      now = Math.max(now, session.pollTimeout());
      session.handleTimeout(now);
    }
  }
  return { node, echoes, session };
}

for (const [name, form] of [["json", "json"], ["compact", compact]] as const) {
  test(`messages arrive once and in order in ${name}`, () => {
    const fate = fc.record({ delayMs: fc.integer({ min: 0, max: 300 }), cutAfter: fc.integer({ min: 0, max: 40 }), refuse: fc.boolean() });
    // One fate lets frames through; otherwise nothing would ever arrive.
    const fates = fc.array(fate, { minLength: 0, maxLength: 6 }).map((some) => [...some, { delayMs: 5, cutAfter: 60, refuse: false }]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fates, (count, chances) => {
        const { node, echoes, session } = run(form, count, chances);
        const all = Array.from({ length: count }, (_, at) => `item ${(at + 1) % 7}`);
        assert.deepEqual(node.received, all.slice(0, node.received.length));
        assert.deepEqual(echoes, all.slice(0, echoes.length));
        // Only an outage longer than the lease may end the session.
        if (session.over) assert.equal(session.over.code, session.welcome ? "lease-over" : "unreachable");
        else assert.equal(echoes.length, count);
      }),
      { numRuns: 300 },
    );
  });
}
