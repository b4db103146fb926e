/** Test of repeated queries to many nodes, with a clock of its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../src/live/client.js";
import { pollAll, QueryLimit } from "../src/live/polling.js";

/** Clock that the test advances. */
class Time implements Clock {
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
  /** Advances the clock, and lets all consequences happen. */
  async pass(ms: number): Promise<void> {
    for (const until = this.ms + ms; this.ms < until; this.ms++) {
      const due = this.#due.filter(({ at }) => at <= this.ms);
      this.#due = this.#due.filter((one) => !due.includes(one));
      for (const { run } of due) run();
      await new Promise(setImmediate);
    }
  }
  get waiting(): number {
    return this.#due.length;
  }
}

const NAMES = Array.from({ length: 100 }, (_, at) => `n${at}`);

/** Asks a hundred nodes, of which the first twenty do not answer. Each query takes the given time. */
function begin(time: Time, answerMs: number, silentMs: number) {
  const heard = new Map<string, number>();
  const failed = new Map<string, number>();
  let [asking, most] = [0, 0];
  const count = (of: Map<string, number>, who: string): void => void of.set(who, (of.get(who) ?? 0) + 1);
  const end = pollAll(NAMES, {
    everyMs: 100,
    queryLimit: new QueryLimit(8),
    clock: time,
    ask: async (who) => {
      most = Math.max(most, ++asking);
      const isSilent = NAMES.indexOf(who) < 20;
      await new Promise<void>((resolve) => time.after(isSilent ? silentMs : answerMs, resolve));
      asking--;
      if (isSilent) throw new Error("it says nothing");
      return who;
    },
    told: (who, answer) => {
      assert.equal(answer, who);
      count(heard, who);
    },
    failed: count.bind(undefined, failed),
  });
  return { heard, failed, end, most: () => most };
}

test("all nodes are asked, eight at a time", async () => {
  const time = new Time();
  const { heard, failed, end, most } = begin(time, 1, 1);
  await time.pass(60);
  assert.equal(heard.size, 80);
  assert.equal(failed.size, 20);
  assert.ok([...heard.values()].every((count) => count === 1), "no poll before its interval");
  await time.pass(200);
  assert.ok([...heard.values()].every((count) => count >= 2));
  assert.ok([...failed.values()].every((count) => count === 1), "a silent node is polled less often");
  assert.equal(most(), 8);
  end();
  const before = [...heard.values()];
  await time.pass(200);
  assert.deepEqual([...heard.values()], before);
});

test("silent nodes delay no others", async () => {
  const time = new Time();
  const { heard, failed, end } = begin(time, 1, 50);
  await time.pass(1500);
  assert.equal(heard.size + failed.size, 100);
  assert.ok([...heard.values()].every((count) => count >= 4), `${Math.min(...heard.values())}`);
  end();
});
