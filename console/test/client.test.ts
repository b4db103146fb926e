/** Test of the live socket's client, with a transport and a clock of its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveClient, type Clock, type Listener } from "../src/live/client.js";
import type { NodeInfo, WatchFrame } from "../src/live/vocabulary.js";

class FakeClock implements Clock {
  ms = 0;
  #due: { readonly at: number; readonly run: () => void }[] = [];
  now(): number {
    return this.ms;
  }
  after(ms: number, run: () => void): () => void {
    const one = { at: this.ms + ms, run };
    this.#due.push(one);
    return () => void (this.#due = this.#due.filter((other) => other !== one));
  }
  advance(ms: number): void {
    const until = this.ms + ms;
    for (;;) {
      const next = this.#due.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#due = this.#due.filter((other) => other !== next);
      this.ms = next.at;
      next.run();
    }
    this.ms = until;
  }
  /** Lets time pass without running timers, then runs all that are due. */
  sleep(ms: number): void {
    this.ms += ms;
    const due = this.#due.filter(({ at }) => at <= this.ms);
    this.#due = this.#due.filter((other) => !due.includes(other));
    for (const { run } of due) run();
  }
}

interface Line {
  readonly listener: Listener;
  readonly said: { readonly type: string; readonly id?: number; readonly [member: string]: unknown }[];
  closed: boolean;
}

function setUp(): { client: LiveClient; clock: FakeClock; lines: Line[]; last: () => Line; welcome: () => void } {
  const clock = new FakeClock();
  const lines: Line[] = [];
  const dial = (listener: Listener) => {
    const line: Line = { listener, said: [], closed: false };
    lines.push(line);
    return { send: (text: string) => void line.said.push(JSON.parse(text)), close: () => void (line.closed = true) };
  };
  const client = new LiveClient(dial, "secret", clock, () => 1);
  const last = () => lines.at(-1) as Line;
  const welcome = () => {
    last().listener.opened();
    last().listener.said(JSON.stringify({ type: "welcome", role: "admin", node: { node: "n1" } as NodeInfo, features: ["log"] }));
  };
  return { client, clock, lines, last, welcome };
}

test("token comes first, then the welcome", () => {
  const { client, last, welcome } = setUp();
  client.watch({ what: "society", every_ms: 500 }, () => {});
  client.connect();
  last().listener.opened();
  assert.deepEqual(last().said, [{ type: "hello", token: "secret" }]);
  welcome();
  assert.equal(client.phase.value.is, "live");
  assert.ok(client.mayAct && client.offers("log") && !client.offers("mind"));
  assert.deepEqual(last().said.at(-1), { type: "watch", id: 1, what: "society", every_ms: 500 });
});

test("answers match questions, refusals become errors", async () => {
  const { client, last, welcome } = setUp();
  client.connect();
  welcome();
  const topics = client.ask({ request: "topics" });
  const kill = client.ask({ request: "kill", agent: "bob" });
  const [first, second] = last().said.filter(({ type }) => type === "ask");
  last().listener.said(JSON.stringify({ type: "answer", id: second?.id, answer: { answer: "error", reason: "no_such_agent", text: "no bob" } }));
  last().listener.said(JSON.stringify({ type: "answer", id: first?.id, answer: { answer: "topics", topics: [] } }));
  assert.deepEqual(await topics, { answer: "topics", topics: [] });
  await assert.rejects(kill, { reason: "no_such_agent", message: "no bob" });
});

test("watches survive a reconnection, questions fail", async () => {
  const { client, clock, lines, last, welcome } = setUp();
  const frames: WatchFrame[] = [];
  let since = 0;
  client.watch(() => ({ what: "log", wanted: { since, follow: true } }), (frame) => frames.push(frame));
  const gone = client.watch({ what: "health", every_ms: 1000 }, () => assert.fail("nobody watches this"));
  client.connect();
  welcome();
  gone();
  assert.deepEqual(last().said.at(-1), { type: "unwatch", id: 2 });
  last().listener.said(JSON.stringify({ type: "log", id: 1, lines: [] }));
  last().listener.said(JSON.stringify({ type: "health", id: 2 }));
  assert.equal(frames.length, 1);
  since = 42;
  const asked = client.ask({ request: "topics" });
  last().listener.closed();
  await assert.rejects(asked, { reason: "lost" });
  assert.deepEqual(client.phase.value, { is: "broken", attempt: 1, againAt: 500 });
  clock.advance(500);
  assert.equal(lines.length, 2);
  welcome();
  assert.deepEqual(last().said.slice(1), [{ type: "watch", id: 1, what: "log", wanted: { since: 42, follow: true } }]);
});

test("attempts back off, connect tries at once", () => {
  const { client, clock, lines, last } = setUp();
  client.connect();
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 8; attempt++) {
    last().listener.closed();
    const phase = client.phase.value;
    assert.ok(phase.is === "broken" && phase.attempt === attempt);
    waits.push(phase.againAt - clock.ms);
    clock.advance(phase.againAt - clock.ms);
  }
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  last().listener.closed();
  const before = lines.length;
  client.connect();
  clock.advance(60_000);
  assert.equal(lines.length, before + 1, "the pending attempt was cancelled");
});

test("refused token is not retried", () => {
  const { client, clock, lines, last } = setUp();
  client.connect();
  last().listener.opened();
  last().listener.said(JSON.stringify({ type: "error", reason: "bad_token", text: "who are you" }));
  last().listener.closed();
  clock.advance(100_000);
  assert.equal(lines.length, 1);
  assert.deepEqual(client.phase.value, { is: "refused", reason: "bad_token", text: "who are you" });
  client.connect("other");
  last().listener.opened();
  assert.deepEqual(last().said, [{ type: "hello", token: "other" }]);
});

test("silent node is given up", () => {
  const { client, clock, lines, welcome } = setUp();
  client.watch({ what: "society", every_ms: 500 }, () => {});
  client.connect();
  welcome();
  clock.advance(30_000);
  assert.ok(lines.length >= 2 && lines[0]?.closed);
});

test("steady node that falls silent is quiet", () => {
  const { client, clock, lines, last, welcome } = setUp();
  const society = (): void => last().listener.said(JSON.stringify({ type: "society", id: 1 }));
  client.watch({ what: "society", every_ms: 500 }, () => {});
  client.connect();
  welcome();
  // Before its first frame, its interval is unknown.
  clock.advance(8_000);
  assert.equal(client.quietS.value, 0);
  for (let ticks = 0; ticks < 60; ticks++) {
    clock.advance(500);
    society();
    assert.equal(client.quietS.value, 0);
  }
  clock.advance(4_000);
  assert.equal(client.quietS.value, 0);
  clock.advance(2_500);
  assert.equal(client.quietS.value, 6);
  assert.equal(client.phase.value.is, "live");
  society();
  assert.equal(client.quietS.value, 0, "at once");
  clock.advance(19_000);
  assert.ok(client.quietS.value >= 18);
  clock.advance(2_000);
  assert.deepEqual([lines[0]?.closed, client.quietS.value], [true, 0], "and given up in the end");
});

test("idle node and late timers are not quiet", () => {
  const { client, clock, last, welcome } = setUp();
  client.watch({ what: "answer", request: { request: "topics" }, every_ms: 500 }, () => {});
  const unwatch = client.watch({ what: "health", every_ms: 500 }, () => {});
  client.connect();
  welcome();
  last().listener.said(JSON.stringify({ type: "answer", id: 1, answer: { answer: "topics", topics: [] } }));
  last().listener.said(JSON.stringify({ type: "health", id: 2 }));
  unwatch();
  clock.advance(15_000);
  assert.equal(client.quietS.value, 0, "a node without changes is not quiet");

  client.watch({ what: "society", every_ms: 500 }, () => {});
  last().listener.said(JSON.stringify({ type: "society", id: 3 }));
  clock.sleep(60_000);
  assert.equal(client.quietS.value, 0, "frames of the pause come after the timer");
  assert.equal(client.phase.value.is, "live", "the connection stays");
  last().listener.said(JSON.stringify({ type: "society", id: 3 }));
  clock.advance(1_500);
  assert.equal(client.quietS.value, 0);
  // A hidden page's timers run once a minute, but frames arrive as usual.
  for (let minutes = 0; minutes < 3; minutes++) {
    for (let ticks = 0; ticks < 120; ticks++) {
      clock.ms += 500;
      last().listener.said(JSON.stringify({ type: "society", id: 3 }));
    }
    clock.sleep(0);
    assert.equal(client.quietS.value, 0);
  }
  assert.equal(client.phase.value.is, "live");
});

test("invalid JSON disconnects, unknown frames are ignored", () => {
  const { client, last, welcome } = setUp();
  client.connect();
  welcome();
  last().listener.said(JSON.stringify({ type: "dance", id: 77 }));
  assert.ok(!last().closed);
  last().listener.said("<html>");
  assert.ok(last().closed);
});
