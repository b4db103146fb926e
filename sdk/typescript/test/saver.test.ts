/** Test of saving: its time, the covered messages, and failures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EndedError } from "../src/agents/errors.js";
import { StateSaver, Progress, type Keep, type Checkpoint } from "../src/agents/saver.js";
import { HELD_BYTES_DUE, HELD_MESSAGES_DUE, HELD_MESSAGES_MAX, STATE_BYTES_MAX } from "../src/agents/limits.js";

/** Waits until all pending work is done. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** A saver with a simulated node. */
class Bench {
  readonly saves: Pick<Checkpoint, "upto" | "also">[] = [];
  readonly troubles: unknown[] = [];
  readonly saver: StateSaver;
  state = new Uint8Array(8);

  constructor(keep: Keep = {}, stateBytesMax?: number) {
    this.saver = new StateSaver(keep, {
      say: ({ upto, also }) => this.saves.push({ upto, also }),
      tell: (error) => this.troubles.push(error),
      ...(stateBytesMax !== undefined && { stateBytesMax }),
    });
    this.saver.source = () => ({ state: this.state, upto: 0 });
  }
}

test("one save at a time carries later changes", async () => {
  const { saver, saves } = new Bench();
  for (let turn = 0; turn < 100; turn++) {
    saver.touched();
    await settled();
  }
  assert.equal(saves.length, 1);
  saver.saved(1);
  await settled();
  assert.equal(saves.length, 2);
  saver.saved(2);
  await settled();
  assert.equal(saves.length, 2, "nothing changed since");
});

test("checkpoint waits for the previous one", async () => {
  const { saver, saves } = new Bench({ save: "checkpoint", checkpointMs: 1 });
  const passed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  for (let turn = 0; turn < 3; turn++) {
    saver.touched();
    await passed();
  }
  assert.equal(saves.length, 1);
  saver.saved(1);
  await passed();
  assert.equal(saves.length, 2);
});

test("many messages cause a save after the handler", async () => {
  for (const [count, bytes] of [[HELD_MESSAGES_DUE, 10], [4, HELD_BYTES_DUE / 4]] as const) {
    const { saver, saves } = new Bench();
    saver.touched();
    await settled();
    for (let at = 0; at < count; at++) saver.said(bytes);
    assert.equal(saves.length, 1, "the handler has not returned");
    saver.touched();
    assert.equal(saves.length, 2);
  }
});

test("endless handler is saved in its middle", () => {
  const { saver, saves } = new Bench();
  for (let at = 1; at < HELD_MESSAGES_MAX; at++) saver.said(1);
  assert.equal(saves.length, 0);
  saver.said(1);
  assert.equal(saves.length, 1);
  for (let at = 0; at < 3; at++) saver.said(1 << 20);
  assert.equal(saves.length, 2);
});

test("too long state is refused with an error", async () => {
  for (const [bench, most] of [[new Bench(), STATE_BYTES_MAX], [new Bench({}, 1000), 1000]] as const) {
    const { saver, saves, troubles } = bench;
    bench.state = new Uint8Array(most + 1);
    saver.touched();
    await settled();
    assert.match(String(troubles[0]), new RegExp(`state too long: ${most + 1} bytes, the limit is ${most}`));
    await assert.rejects(saver.save(), /state too long/);
    assert.equal(saves.length, 0);
    bench.state = new Uint8Array(most);
    saver.touched();
    await settled();
    assert.equal(saves.length, 1);
  }
});

test("error of write is reported", async () => {
  const { saver, saves, troubles } = new Bench();
  const { source } = saver;
  saver.source = () => {
    throw new Error("no state");
  };
  saver.touched();
  await settled();
  assert.match(String(troubles[0]), /no state/);
  await assert.rejects(saver.save(), /no state/);
  saver.source = source;
  saver.touched();
  await settled();
  assert.equal(saves.length, 1);
});

test("failed save rejects its caller", async () => {
  const { saver, troubles, saves } = new Bench();
  const [first, second, third] = [saver.save(), saver.save(), saver.save()];
  saver.refused(2, new Error("too much is kept"));
  await assert.rejects(second, /too much is kept/);
  saver.saved(1);
  await first;
  saver.over();
  await assert.rejects(third, EndedError);
  await assert.rejects(saver.save(), EndedError);
  saver.touched();
  await settled();
  assert.deepEqual([saves.length, troubles], [3, []]);
});

test("refused automatic save is reported and retried", async () => {
  const { saver, troubles, saves } = new Bench();
  saver.touched();
  await settled();
  saver.touched();
  saver.refused(1, new Error("too much is kept"));
  await settled();
  assert.deepEqual([saves.length, troubles.map(String)], [2, ["Error: too much is kept"]]);
});

test("held messages leave with the next save", async () => {
  const { saver, saves, troubles } = new Bench({ checkpointMs: 1 });
  for (let said = 0; said < HELD_MESSAGES_DUE - 1; said++) saver.said(10);
  await settled();
  assert.equal(saves.length, 1);
  saver.refused(1, new Error("too much is kept"));
  assert.equal(saves.length, 1, "an immediate save would be refused again");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual([saves.length, troubles.length], [2, 1]);
  saver.saved(2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(saves.length, 2);

  const much = new Bench();
  much.state = new Uint8Array(STATE_BYTES_MAX + 1);
  for (let said = 0; said < HELD_MESSAGES_DUE - 1; said++) much.saver.said(10);
  await settled();
  much.state = new Uint8Array(8);
  much.saver.said(10);
  much.saver.touched();
  assert.deepEqual([much.saves.length, much.troubles.length], [1, 1], "many held messages cause an immediate save");
});

test("each covered message is reported once", () => {
  const progress = new Progress();
  const first = progress.take(1);
  for (let round = 0; round < 4; round++) {
    const numbers = Array.from({ length: 1000 }, (_, at) => 2 + round * 1000 + at);
    for (const done of numbers.map((number) => progress.take(number))) done();
    const { upto, also, known } = progress.covered;
    assert.deepEqual([upto, also], [0, numbers]);
    known?.();
  }
  progress.take(5000)();
  first();
  assert.deepEqual([progress.covered.upto, progress.covered.also], [5000, []]);
});
