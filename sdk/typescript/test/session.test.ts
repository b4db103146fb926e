/** Test of the session with the vectors of `conformance/session`, and with failures of network and node. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DecodeError, EncodeError } from "../src/acl/errors.js";
import { fromHex, hex } from "../src/acl/json.js";
import { message } from "../src/acl/message.js";
import { compact } from "../src/compact.js";
import { FrameReader, FrameWriter, type Form, type Frame, type Welcome } from "../src/session/frames.js";
import { LEASE_MS, RECONNECT_MS_MAX } from "../src/session/limits.js";
import { Session, type SessionEvent, type SessionOptions } from "../src/session/session.js";
import { outgoing, said, Replay, type Transcript } from "./transcript.js";
import { vectorFiles, vectors } from "./vectors.js";

const FORMS: readonly (readonly [string, Form])[] = [
  ["json", "json"],
  ["compact", compact],
];

type Frames = { frames: { json: Frame; compact: string }[]; refused: { json?: string; compact?: string; error: string }[] };

test("frames match in both forms and directions", () => {
  for (const { json, compact: bytes } of vectors<Frames>("session/frames.json").frames) {
    const frame = new FrameReader("json", 0).read(JSON.stringify(json));
    assert.deepEqual(said(new FrameReader(compact, 0).read(fromHex(bytes))), said(frame));
    assert.deepEqual(said(new FrameReader("json", 0).read(new FrameWriter("json", 0).write(outgoing("json", frame)))), said(frame));
    // Numbers beyond 2^53, which no session reaches, are capped.
    if ("credit" in json && (json.credit ?? 0) > Number.MAX_SAFE_INTEGER) continue;
    assert.equal(hex(new FrameWriter(compact, 0).write(outgoing(compact, frame)) as Uint8Array), bytes);
  }
});

test("invalid frames are refused", () => {
  for (const { json, compact: bytes, error } of vectors<Frames>("session/frames.json").refused) {
    const read = () => (json === undefined ? new FrameReader(compact, 0).read(fromHex(bytes ?? "")) : new FrameReader("json", 0).read(json));
    assert.throws(read, (thrown) => thrown instanceof DecodeError && thrown.message.includes(error), `${json ?? bytes}: ${error}`);
  }
});

describe("transcripts with the session as client", () => {
  let [files, misdeeds] = [0, 0];
  for (const file of vectorFiles("session").filter((name) => name !== "frames.json")) {
    const transcript = vectors<Transcript>(`session/${file}`);
    for (const [name, form] of FORMS) {
      if (transcript.only !== undefined && transcript.only !== name) continue;
      test(`${file} in ${name}: ${transcript.about}`, () => {
        const replay = new Replay(transcript, form);
        replay.run();
        files++;
        misdeeds += replay.misdeeds;
      });
    }
  }
  test("all transcripts were replayed with few misdeeds", () => {
    assert.ok(files >= 19, `${files}`);
    assert.ok(misdeeds < 30, `${misdeeds}`);
  });
});

const WELCOME: Welcome = {
  type: "welcome",
  version: 1,
  session: "s1",
  secret: "hush",
  platform: "home",
  lease_ms: 3000,
  window: 8,
  agents: 4,
  message_bytes: 1000,
  messages_per_s: 1000,
  remember: 0,
  received: 0,
  credit: 8,
};

/** A session in JSON with a simulated node. */
class Bench {
  now = 0;
  readonly session: Session;
  readonly events: SessionEvent[] = [];

  constructor(options: SessionOptions = {}) {
    this.session = new Session({ leaseMs: 3000, ...options }, 0, () => 1);
  }

  connect(): Frame {
    this.session.handleConnected(this.now);
    const [hello] = this.frames();
    assert.ok(hello?.type === "hello");
    return hello;
  }

  hear(frame: Frame | object): void {
    this.session.handleFrame(JSON.stringify(frame), this.now);
  }

  /** Returns the written frames, without the empty `open` list of each new connection. */
  frames(): Frame[] {
    return this.written().filter((frame) => frame.type !== "open" || frame.messages.length > 0);
  }

  written(): Frame[] {
    const frames: Frame[] = [];
    for (let text = this.session.pollFrame(this.now); text; text = this.session.pollFrame(this.now)) frames.push(new FrameReader("json", 0).read(text));
    return frames;
  }

  all(): SessionEvent[] {
    const events: SessionEvent[] = [];
    for (let event = this.session.pollEvent(); event; event = this.session.pollEvent()) events.push(event);
    return events;
  }

  until(now: number): void {
    this.now = now;
    this.session.handleTimeout(now);
  }
}

const hello = message({ performative: "inform", receivers: "amy", content: "hello" });

test("frames beyond the credit wait", () => {
  const bench = new Bench();
  bench.connect();
  for (let n = 0; n < 12; n++) bench.session.send(0, hello);
  assert.deepEqual(bench.frames(), [], "nothing before the welcome");
  bench.hear(WELCOME);
  assert.equal(bench.frames().length, 8);
  bench.hear({ type: "ack", received: 2, credit: 9 });
  assert.equal(bench.frames().length, 1);
  bench.hear({ type: "ack", received: 9 });
  assert.equal(bench.frames().length, 3);
  assert.equal(bench.session.unacknowledged, 3);
});

test("open messages are listed before any message", () => {
  const bench = new Bench();
  bench.connect();
  bench.session.send(0, hello);
  bench.hear(WELCOME);
  const [first, second, ...more] = bench.written();
  assert.deepEqual([first, second?.type, more], [{ type: "open", messages: [] }, "message", []]);
});

test("open list is ordered, joined and bounded", () => {
  const bench = new Bench();
  bench.session.open = () => [9, 4, 3, 1, 8].concat(Array.from({ length: 40_000 }, (_, n) => 11 + 2 * n));
  bench.connect();
  bench.hear({ ...WELCOME, message_bytes: 1 << 20 });
  const [open] = bench.written();
  assert.ok(open?.type === "open");
  assert.deepEqual(open.messages.slice(0, 10), [1, 1, 3, 2, 8, 2, 11, 1, 13, 1]);
  const listed = open.messages.reduce((sum, count, at) => sum + (at % 2) * count, 0);
  assert.equal(listed, 16_384, "as many as a node keeps");
  bench.session.handleClosed(bench.now);
  bench.until(bench.session.pollTimeout());
  bench.connect();
  bench.hear({ ...WELCOME, message_bytes: 65_536 });
  const [short] = bench.written();
  assert.ok(JSON.stringify(short).length < 65_536, "the frame is no longer than a message may be");
});

test("breaks back off, session resumes", () => {
  const bench = new Bench();
  bench.connect();
  bench.hear(WELCOME);
  for (let n = 0; n < 3; n++) bench.session.send(0, hello);
  assert.equal(bench.frames().length, 3);
  bench.hear({ type: "message", number: 1, agent: 0, message: { performative: "inform" } });
  bench.session.handleClosed(bench.now);
  bench.all();
  let wait = 0;
  for (let attempt = 0; attempt < 4; attempt++) {
    const due = bench.session.pollTimeout();
    assert.ok(due - bench.now >= wait && due - bench.now <= RECONNECT_MS_MAX);
    wait = due - bench.now;
    bench.until(due);
    assert.deepEqual(bench.all(), [{ type: "connect" }]);
    if (attempt < 3) bench.session.handleClosed(bench.now, "refused");
  }
  const again = bench.connect();
  assert.ok(again.type === "hello");
  assert.deepEqual(again.resume, { session: "s1", secret: "hush", received: 1 });
  bench.hear({ ...WELCOME, received: 1, credit: 9 });
  assert.deepEqual(
    bench.frames().map((frame) => ("number" in frame ? frame.number : frame.type)),
    [2, 3],
  );
  bench.hear({ type: "message", number: 2, agent: 0, message: { performative: "inform" } });
  assert.deepEqual(
    bench.all().map((event) => event.type),
    ["welcome", "message"],
  );
});

test("ten-second outage is survived at any time", () => {
  for (const [lease, away, latest] of [[LEASE_MS, 10_000, LEASE_MS / 4], [10_000, 7000, 0]] as const) {
    for (let brokenAt = 0; brokenAt <= latest; brokenAt += 250) {
      const bench = new Bench({ leaseMs: lease });
      bench.connect();
      bench.hear({ ...WELCOME, lease_ms: lease });
      bench.all();
      let nodeHeardAt = 0;
      for (let now = 0; now < brokenAt; now += 50) {
        bench.until(now);
        if (bench.frames().length > 0) nodeHeardAt = now;
      }
      bench.until(brokenAt);
      bench.session.handleClosed(brokenAt);
      let isBack = false;
      while (!isBack && !bench.session.over) {
        bench.until(bench.session.pollTimeout());
        isBack = bench.all().some(({ type }) => type === "connect") && bench.now >= brokenAt + away;
        if (!isBack) bench.session.handleClosed(bench.now, "no network");
      }
      assert.ok(isBack, `broken at ${brokenAt} for ${away} ms of a lease of ${lease}: ${bench.session.over?.message}`);
      assert.ok(bench.now <= brokenAt + away + lease / 10, `it takes ${bench.now - brokenAt - away} ms to be there again`);
      assert.ok(nodeHeardAt + lease - bench.now >= 500, `${nodeHeardAt + lease - bench.now} ms are left`);
    }
  }
});

test("session ends after its lease, first connection after patience", () => {
  const bench = new Bench();
  bench.connect();
  bench.hear(WELCOME);
  bench.session.handleClosed(bench.now);
  for (let attempt = 0; attempt < 100 && !bench.session.over; attempt++) {
    bench.until(bench.session.pollTimeout());
    bench.session.handleClosed(bench.now, "refused");
  }
  assert.equal(bench.session.over?.code, "lease-over");
  assert.ok(bench.now >= 3000 && bench.now < 3000 + RECONNECT_MS_MAX);
  assert.throws(() => bench.session.send(0, hello), { name: "SessionError" });

  const lonely = new Bench();
  lonely.all();
  for (let attempt = 0; attempt < 100 && !lonely.session.over; attempt++) {
    lonely.session.handleClosed(lonely.now, "nobody is there");
    lonely.until(Math.max(lonely.now, lonely.session.pollTimeout() === Infinity ? 0 : lonely.session.pollTimeout()));
  }
  assert.equal(lonely.session.over?.code, "unreachable");
  assert.match(lonely.session.over.message, /nobody is there/);
});

test("silent node is dropped early enough to reconnect", () => {
  const bench = new Bench();
  bench.connect();
  bench.hear(WELCOME);
  bench.session.send(0, hello);
  assert.equal(bench.frames().length, 1);
  bench.all();
  bench.until(1999);
  assert.deepEqual(bench.all(), []);
  bench.until(2000);
  const why = "the node is silent";
  assert.deepEqual(bench.all(), [{ type: "disconnect", why }, { type: "lost", why }]);
  bench.until(bench.session.pollTimeout());
  assert.deepEqual(bench.all(), [{ type: "connect" }]);
  assert.ok(bench.now < 3000, `${bench.now}`);
  const again = bench.connect();
  assert.ok(again.type === "hello");
  assert.equal(again.resume?.session, "s1");
  bench.hear(WELCOME);
  assert.deepEqual(bench.frames().map((frame) => frame.type), ["message"], "messages lost on the silent connection are sent again");
  bench.until(3900);
  assert.equal(bench.session.over, undefined);
});

test("silence at any phase leaves time to reconnect", () => {
  const lease = 12_000;
  for (let phase = 0; phase < lease / 3; phase += 250) {
    for (let silentFrom = lease; silentFrom < 2 * lease; silentFrom += 250) {
      const bench = new Bench();
      bench.connect();
      bench.hear({ ...WELCOME, lease_ms: lease });
      bench.all();
      let nodeHeardAt = 0;
      let isAgain = false;
      for (let now = 0; !isAgain; now += 50) {
        bench.until(now);
        if (bench.frames().length > 0 && now < silentFrom) nodeHeardAt = now;
        if (now < silentFrom && now % (lease / 3) === phase) bench.hear({ type: "ack", received: 0 });
        isAgain = bench.all().some(({ type }) => type === "connect");
      }
      assert.ok(nodeHeardAt + lease - bench.now >= 700, `phase ${phase}, silent from ${silentFrom}: ${nodeHeardAt + lease - bench.now} ms`);
    }
  }
});

test("hanging connection is dropped within the session", () => {
  const first = new Bench({ patienceMs: 700 });
  assert.deepEqual(first.all(), [{ type: "connect" }]);
  assert.equal(first.session.pollTimeout(), 700);
  first.until(700);
  assert.equal(first.session.over?.code, "unreachable");

  const mute = new Bench({ patienceMs: 700 });
  mute.connect();
  assert.equal(mute.session.pollTimeout(), 700, "nor is a welcome");
  mute.until(700);
  assert.equal(mute.session.over?.code, "unreachable");

  const later = new Bench();
  later.connect();
  later.hear(WELCOME);
  later.session.handleClosed(0);
  let connects = 0;
  for (let step = 0; step < 100 && !later.session.over; step++) {
    later.until(later.session.pollTimeout());
    connects += later.all().filter(({ type }) => type === "connect").length;
  }
  assert.equal(later.session.over?.code, "lease-over");
  assert.equal(later.now, 3000);
  assert.ok(connects > 1, "further connections are tried beside a hanging one");
});

test("unexpected frames end connection, then session", () => {
  for (const wrong of [
    { type: "message", number: 7, agent: 0, message: { performative: "inform" } },
    { type: "ack", received: 99 },
    { type: "created", number: 0, agent: 0, name: "bob@home" },
    { type: "create", number: 1, agent: 0, name: "bob" },
    { type: "nod" },
    { type: "hello", versions: [1], remember: 0 },
  ]) {
    const bench = new Bench();
    for (let time = 1; time <= 3; time++) {
      assert.equal(bench.session.over, undefined);
      bench.connect();
      bench.hear(WELCOME);
      bench.all();
      bench.hear(wrong);
      assert.equal(bench.all()[0]?.type, "disconnect", JSON.stringify(wrong));
      bench.until(Math.min(bench.session.pollTimeout(), bench.now + 100_000));
    }
    assert.equal(bench.session.over?.code, "protocol");
  }
});

test("repeated unreadable frame ends the session", () => {
  const bench = new Bench();
  const good = { type: "message", number: 1, agent: 0, message: { performative: "inform" } };
  let connections = 0;
  for (; !bench.session.over && connections < 10; connections++) {
    bench.connect();
    // The node acknowledges something each time.
    bench.session.send(0, hello);
    bench.hear({ ...WELCOME, received: connections, credit: connections + 8 });
    bench.frames();
    bench.hear({ type: "ack", received: connections + 1 });
    if (connections === 0) bench.hear(good);
    bench.hear({ type: "message", number: 2, agent: "who", message: { performative: "inform" } });
    bench.all();
    if (!bench.session.over) bench.until(bench.session.pollTimeout());
  }
  assert.equal(bench.session.over?.code, "protocol");
  assert.equal(connections, 3);
});

test("repeated rejection ends the session", () => {
  const bench = new Bench();
  let connections = 0;
  for (; !bench.session.over && connections < 10; connections++) {
    bench.connect();
    bench.hear(WELCOME);
    bench.hear({ type: "message", number: connections + 1, agent: 0, message: { performative: "inform" } });
    bench.hear({ type: "error", code: "too-long", text: "no" });
    bench.all();
    if (!bench.session.over) bench.until(bench.session.pollTimeout());
  }
  assert.equal(bench.session.over?.code, "too-long");
  assert.equal(connections, 3);
});

test("distant faults do not end a session", () => {
  const bench = new Bench();
  for (let number = 1; number <= 5; number++) {
    bench.connect();
    bench.hear(WELCOME);
    bench.hear({ type: "message", number, agent: 0, message: { performative: "inform" } });
    bench.hear({ type: "nod" });
    bench.all();
    bench.until(bench.session.pollTimeout());
  }
  assert.equal(bench.session.over, undefined);
});

const TAKEN_OVER = { type: "error", code: "taken-over", text: "the session goes on over a newer connection" };

test("takeover by an older connection is resumed", () => {
  const bench = new Bench();
  bench.connect();
  bench.hear(WELCOME);
  for (let time = 0; time < 3; time++) {
    bench.hear(TAKEN_OVER);
    assert.equal(bench.session.over, undefined);
    bench.until(bench.session.pollTimeout());
    const hello = bench.connect();
    assert.ok(hello.type === "hello");
    assert.equal(hello.resume?.session, "s1");
    bench.hear(WELCOME);
    // Much later, another takeover is permitted.
    for (const until = bench.now + 2 * WELCOME.lease_ms; bench.now < until; bench.until(bench.now + 500)) bench.hear({ type: "ack", received: 0 });
  }
  bench.all();
  const early = new Bench();
  early.connect();
  early.hear(TAKEN_OVER);
  assert.equal(early.session.over?.code, "taken-over", "the client had no session yet");
});

test("two clients of one session do not fight for ever", () => {
  for (const delays of [[0, 0], [1400, 0], [1400, 1400], [2900, 2900]]) {
    const [one, other] = [new Bench(), new Bench()];
    for (const bench of [one, other]) {
      bench.connect();
      bench.hear(WELCOME);
    }
    let taken = 0;
    let [loser, winner] = [one, other];
    for (; !loser.session.over && taken < 10; taken++) {
      loser.hear(TAKEN_OVER);
      // As slowly as its lease permits.
      const back = Math.max(loser.session.pollTimeout(), loser.now + (delays[taken % 2] ?? 0));
      if (loser.session.over) break;
      loser.connect();
      for (const bench of [one, other]) bench.now = back;
      loser.hear(WELCOME);
      winner.hear({ type: "ack", received: 0 });
      [loser, winner] = [winner, loser];
    }
    assert.equal(loser.session.over?.code, "taken-over", `after ${taken}`);
    assert.equal(winner.session.over, undefined);
    assert.ok(taken <= 3, `${taken} times`);
  }
});

test("too long message is refused before sending", () => {
  const bench = new Bench();
  bench.connect();
  bench.hear(WELCOME);
  const long = message({ performative: "inform", receivers: "amy", content: "x".repeat(1000) });
  assert.throws(() => bench.session.send(0, long), EncodeError);
  bench.session.send(0, hello);
  assert.deepEqual(
    bench.frames().map((frame) => ("number" in frame ? frame.number : 0)),
    [1],
  );
});

test("bye comes after all frames", () => {
  const bench = new Bench();
  bench.connect();
  bench.hear({ ...WELCOME, credit: 1 });
  bench.session.send(0, hello);
  bench.session.send(0, hello);
  bench.session.bye();
  assert.deepEqual(bench.frames().map((frame) => frame.type), ["message"]);
  bench.hear({ type: "ack", received: 1, credit: 3 });
  assert.deepEqual(bench.frames().map((frame) => frame.type), ["message", "bye"]);
  bench.hear({ type: "bye" });
  assert.equal(bench.session.over?.code, "bye");
});

test("unconfirmed bye is repeated", () => {
  for (const answer of [{ type: "bye" }, { type: "error", code: "session-gone", text: "it left" }]) {
    const bench = new Bench();
    bench.connect();
    bench.hear(WELCOME);
    bench.session.bye();
    assert.deepEqual(bench.frames(), [{ type: "bye" }]);
    bench.session.handleClosed(bench.now);
    bench.until(bench.session.pollTimeout());
    bench.connect();
    if (answer.type === "bye") {
      bench.hear(WELCOME);
      assert.deepEqual(bench.frames(), [{ type: "bye" }]);
    }
    bench.hear(answer);
    assert.equal(bench.session.over?.code, "bye");
  }
});
