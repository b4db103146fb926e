/** Replay of a transcript of `conformance/session`. The session under test is the client; its node is simulated. */
import assert from "node:assert/strict";
import { DecodeError } from "../src/acl/errors.js";
import { messageFromJson } from "../src/acl/json.js";
import { compareValues } from "../src/acl/order.js";
import { compact } from "../src/compact.js";
import { FrameReader, FrameWriter, seal, type Form, type Frame, type OnLeave, type Outgoing } from "../src/session/frames.js";
import { ACK_DELAY_MS } from "../src/session/limits.js";
import { Session, type SessionEvent } from "../src/session/session.js";

type Json = Record<string, unknown>;

export interface Transcript {
  readonly about: string;
  readonly only?: string;
  readonly grant: { readonly window?: number; readonly agents?: number };
  readonly steps: readonly {
    readonly client?: Json;
    readonly node?: Json;
    readonly break?: true;
    readonly closed?: true;
    readonly wait_ms?: number;
    readonly silent_ms?: number;
  }[];
}

const DEFAULTS: Readonly<Record<string, Json>> = {
  welcome: { version: 1, session: "s1", secret: "hush", platform: "home", lease_ms: 10_000, agents: 64, message_bytes: 1 << 20, messages_per_s: 10_000, remember: 0 },
  created: { agent: 0, name: "bob@home" },
  ended: { agent: 0, reason: "finished" },
  message: { agent: 0, message: { performative: "inform", sender: "amy", receivers: ["bob"] } },
  refused: { code: "not-allowed", text: "no" },
  error: { text: "no" },
  certified: { certificates: "PEM" },
  offer: { name: "bob", code: "ts:counter" },
  yield: { agent: 0, to: "n2" },
  ack: { credit: null },
  bye: {},
};

/** Returns a frame in the form for writing, with its message not encoded. */
export function outgoing(form: Form, frame: Frame): Outgoing {
  return (frame.type === "message" ? { ...frame, message: seal(form, frame.message, Infinity) } : frame) as Outgoing;
}

/** Completes a message of a transcript: `*` and missing parts become values. */
function fill(json: unknown): unknown {
  if (json === "*") return "anything";
  if (Array.isArray(json)) return json.map(fill);
  if (typeof json === "object" && json !== null) return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, fill(value)]));
  return json;
}

/** Returns a frame without the reader's additions. */
export const said = (frame: Frame): object => ({ ...frame, bytes: undefined });

export class Replay {
  now = 1000;
  /** Client steps that a correct session cannot take. Only their bytes are checked. */
  misdeeds = 0;
  #session: Session | undefined;
  #isConnected = false;
  /** True if no session would make this connection. */
  #isForeign = false;
  readonly #names = new Map<string, unknown>();
  #reader: FrameReader;
  #toNode = 0;
  #fromNode = 0;
  #ownNumber = 0;
  readonly #events: SessionEvent[] = [];

  constructor(
    readonly transcript: Transcript,
    readonly form: Form,
  ) {
    this.#reader = new FrameReader(form, 0);
  }

  run(): void {
    for (const step of this.transcript.steps) {
      if (step.client) this.#client(step.client);
      if (step.node) this.#node(step.node);
      if (step.break) this.#break();
      if (step.closed) this.#closed();
      const pause = step.wait_ms ?? step.silent_ms;
      if (pause !== undefined) this.#wait(pause);
    }
  }

  get #live(): Session {
    assert.ok(this.#session, "there is a session");
    return this.#session;
  }

  #known(value: unknown): unknown {
    return typeof value === "string" && value.startsWith("$") ? this.#names.get(value) : value;
  }

  /**
   * Returns all frames that the session wants to write now, except acknowledgements and, unless asked for, `open`
   * frames.
   */
  #written(isOpenWanted = false): Frame[] {
    const frames: Frame[] = [];
    for (let bytes = this.#live.pollFrame(this.now); bytes; bytes = this.#live.pollFrame(this.now)) {
      const frame = this.#reader.read(bytes);
      if (frame.type !== "ack" && (frame.type !== "open" || isOpenWanted)) frames.push(frame);
      if ("number" in frame) this.#ownNumber = frame.number;
    }
    return frames;
  }

  #collect(): void {
    for (let event = this.#live.pollEvent(); event; event = this.#live.pollEvent()) {
      this.#events.push(event);
      if (event.type === "disconnect" || event.type === "over") this.#isConnected = false;
    }
  }

  /** Writes and reads a frame that a session cannot send. */
  #misdeed(json: Json): void {
    this.misdeeds++;
    const known = Object.fromEntries(Object.entries(json).map(([name, value]) => [name, this.#known(value)]));
    const text = JSON.stringify(known);
    if (this.form === "json") return void new FrameReader("json", 0).read(text);
    const frame = new FrameReader("json", 0).read(text);
    assert.deepEqual(new FrameReader(this.form, 0).read(new FrameWriter(this.form, 0).write(outgoing(this.form, frame))), frame);
  }

  #client(json: Json): void {
    if (json["type"] === "hello") return this.#hello(json);
    if (this.#isForeign || json["type"] === "created") return this.#misdeed(json);
    if (json["type"] === "ack") return this.#ack(json);
    if (json["type"] === "open") return this.#open(json["messages"] as number[]);
    if (json["type"] === "bye") {
      this.#live.bye();
      assert.deepEqual(this.#written(), [{ type: "bye" }]);
      return;
    }
    if (json["number"] !== this.#ownNumber + 1) return this.#misdeed(json);
    this.#numbered(json);
  }

  #hello(json: Json): void {
    const resume = json["resume"] as Json | undefined;
    const isNew = resume === undefined || resume === null;
    const goesOn = this.#session && !this.#session.over && !this.#isConnected;
    const isOwn = resume && this.#known(resume["secret"]) === this.#session?.welcome?.secret;
    const isGood = (json["versions"] as number[]).includes(1) && (isNew ? !this.#isConnected : goesOn && isOwn);
    this.#reader = new FrameReader(this.form, 0);
    if (!isGood) {
      this.#isForeign = !this.#isConnected;
      return this.#misdeed(json);
    }
    if (isNew) {
      const [token, leaseMs, window] = [json["token"], json["lease_ms"], json["window"]];
      this.#session = new Session(
        {
          form: this.form,
          remember: 0,
          ...(typeof token === "string" && { token }),
          ...(typeof leaseMs === "number" && { leaseMs }),
          ...(typeof window === "number" && { window }),
          ...(json["moves"] === true && { moves: true }),
        },
        this.now,
        () => 0.5,
      );
      this.#toNode = this.#fromNode = this.#ownNumber = 0;
    }
    this.#collect();
    if (this.#events.at(-1)?.type !== "connect") {
      this.#live.handleTimeout((this.now = Math.max(this.now, this.#live.pollTimeout())));
      this.#collect();
    }
    assert.equal(this.#events.pop()?.type, "connect");
    this.#live.handleConnected(this.now);
    this.#isConnected = true;
    const [hello, ...more] = this.#written();
    assert.equal(more.length, 0);
    assert.ok(hello?.type === "hello");
    assert.deepEqual(hello.versions, [1]);
    for (const name of ["token", "lease_ms", "window"] as const) if (json[name] !== undefined) assert.equal(hello[name], json[name]);
    const wanted = isNew ? null : { session: this.#known(resume["session"]), secret: this.#known(resume["secret"]), received: this.#fromNode };
    // A client that lost frames reports fewer received ones. This one received all.
    assert.deepEqual(hello.resume, wanted);
  }

  #open(messages: number[]): void {
    const runs = messages.flatMap((first, at) => (at % 2 === 0 ? Array.from({ length: messages[at + 1] ?? 0 }, (_, index) => first + index) : []));
    this.#live.open = () => runs;
    this.#live.isStale = true;
    this.now += ACK_DELAY_MS;
    const [before] = this.#written(true);
    // Pending changes go with the next acknowledgement.
    const [frame] = before ? [before] : (this.#live.handleTimeout((this.now += ACK_DELAY_MS)), this.#written(true));
    assert.deepEqual(frame, { type: "open", messages });
  }

  #ack(json: Json): void {
    if ((json["received"] as number) > this.#fromNode) return this.#misdeed(json);
    this.now += ACK_DELAY_MS;
    const before = this.#live.pollTimeout();
    assert.deepEqual(this.#written(), []);
    assert.ok(this.#live.pollTimeout() > before || before > this.now, "received frames are acknowledged");
  }

  #numbered(json: Json): void {
    const session = this.#live;
    const agent = json["agent"] as number;
    let isReadable = true;
    if (json["type"] === "create") session.create(agent, json["name"] as string);
    else if (json["type"] === "end") session.end(agent);
    else if (json["type"] === "certify") session.certify(agent, json["request"] as string);
    else if (json["type"] === "keep") session.keep(agent, json["policy"] as OnLeave, json["holds"] as boolean);
    else if (json["type"] === "save") session.save(agent, json["upto"] as number, json["code"] as string, Buffer.from(json["state"] as string, "base64"), json["also"] as number[], (json["to"] ?? null) as string | null, (json["from"] ?? null) as string | null);
    else if (json["type"] === "stays") session.stays(json["name"] as string, json["text"] as string);
    else if (json["type"] === "lacks") session.lacks(agent, json["code"] as string);
    else if (json["type"] === "code") session.code(agent, json["code"] as string, Buffer.from(json["bytes"] as string, "base64"));
    else {
      try {
        session.send(agent, messageFromJson(json["message"]));
      } catch (error) {
        assert.ok(error instanceof DecodeError);
        isReadable = false;
        this.misdeeds++;
        session.end(agent);
      }
    }
    const [frame, ...more] = this.#written();
    assert.ok(frame, `the credit lets it write ${JSON.stringify(json)}`);
    assert.equal(more.length, 0);
    this.#toNode = json["number"] as number;
    if (!isReadable) return;
    const expected = new FrameReader("json", 0).read(JSON.stringify(json));
    assert.deepEqual(said(frame), said(expected), JSON.stringify(json));
  }

  #node(json: Json): void {
    const type = json["type"] as string;
    const { message, number, ...rest } = json;
    const frame: Json = { ...DEFAULTS[type], ...(fill(rest) as Json), type };
    for (const [name, value] of Object.entries(json)) {
      if (typeof value !== "string" || !value.startsWith("$")) continue;
      if (!this.#names.has(value)) this.#names.set(value, name === "number" ? this.#fromNode + 1 : (DEFAULTS[type]?.[name] ?? "x"));
      frame[name] = this.#names.get(value);
    }
    if (type === "welcome") {
      const window = (json["window"] as number | undefined) ?? this.transcript.grant.window ?? 256;
      const received = (json["received"] as number | undefined) ?? this.#toNode;
      Object.assign(frame, { window, received, credit: json["credit"] ?? received + window });
    }
    const isNumbered = ["created", "ended", "message", "refused", "certified", "saved", "state", "lacks", "code", "yield", "offer"].includes(type);
    const next = typeof number === "number" ? number : this.#fromNode + 1;
    if (isNumbered) frame["number"] = next;
    if (type === "refused" && frame["of"] === undefined) frame["of"] = next;
    if (type === "message") frame["message"] = { ...(DEFAULTS["message"]?.["message"] as Json), ...(fill(message ?? {}) as Json) };
    this.#hear(frame, isNumbered && next <= this.#fromNode, next);
  }

  #hear(json: Json, isAgain: boolean, number: number): void {
    const frame = new FrameReader("json", 0).read(JSON.stringify(json));
    const written = new FrameWriter(this.form, 0).write(outgoing(this.form, frame));
    assert.deepEqual(said(new FrameReader(this.form, 0).read(written)), said(frame));
    // Repetitions for a client that lost frames, and frames for a foreign client.
    if (isAgain || this.#isForeign) return;
    const wasOver = this.#live.over !== undefined;
    this.#live.handleFrame(written, this.now);
    this.#collect();
    if (frame.type === "error" || frame.type === "bye") return assert.equal(this.#isConnected, false, "an error ends the connection");
    assert.equal(this.#isConnected && !wasOver, true, `it takes ${JSON.stringify(json)}`);
    if (!("number" in frame)) return;
    this.#fromNode = number;
    const event = this.#events.at(-1);
    assert.equal(event?.type, frame.type);
    if (frame.type === "message" && event?.type === "message") {
      const expected = messageFromJson(json["message"]);
      assert.equal(compareValues(event.message.content, expected.content), 0);
      assert.equal(event.message.sender.toString(), expected.sender.toString());
    }
  }

  #break(): void {
    if (this.#isConnected) this.#live.handleClosed(this.now);
    this.#collect();
    this.#isConnected = false;
    assert.equal(this.#live.over, undefined);
  }

  #closed(): void {
    this.#isForeign = false;
    assert.equal(this.#isConnected, false, "the session is not connected");
  }

  /** Lets time pass. An idle client gives a sign of life in each third of the lease. */
  #wait(ms: number): void {
    const until = this.now + ms;
    const lease = this.#live.welcome?.lease_ms ?? 0;
    let spokeAt = this.now - lease / 3;
    while (this.now < until) {
      this.now = Math.min(until, this.now + 10);
      this.#live.handleTimeout(this.now);
      if (this.#live.pollFrame(this.now)) spokeAt = this.now;
      assert.ok(this.now - spokeAt <= (2 * lease) / 3, "there are signs of life");
      // The node does the same.
      if (this.form === "json") this.#live.handleFrame(`{"type":"ack","received":${this.#toNode}}`, this.now);
      else this.#live.handleFrame(new FrameWriter(compact, 0).write({ type: "ack", received: this.#toNode, credit: null }), this.now);
    }
    this.#collect();
  }
}
