/** Test of saving: its time, the covered messages, and failures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EndedError } from "../src/agents/errors.js";
import { Keeper, Progress, type Keep, type Written } from "../src/agents/saver.js";
import { HELD_BYTES_DUE, HELD_MESSAGES_DUE, HELD_MESSAGES_MAX, STATE_BYTES_MAX } from "../src/agents/limits.js";

/** Waits until all pending work is done. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** A keeper with a simulated node. */
class Bench {
  readonly saves: Pick<Written, "upto" | "also">[] = [];
  readonly troubles: unknown[] = [];
  readonly keeper: Keeper;
  state = new Uint8Array(8);

  constructor(keep: Keep = {}, stateBytesMax?: number) {
    this.keeper = new Keeper(keep, {
      say: ({ upto, also }) => this.saves.push({ upto, also }),
      tell: (error) => this.troubles.push(error),
      ...(stateBytesMax !== undefined && { stateBytesMax }),
    });
    this.keeper.source = () => ({ state: this.state, upto: 0 });
  }
}

test("one save at a time carries later changes", async () => {
  const { keeper, saves } = new Bench();
  for (let turn = 0; turn < 100; turn++) {
    keeper.touched();
    await settled();
  }
  assert.equal(saves.length, 1);
  keeper.saved(1);
  await settled();
  assert.equal(saves.length, 2);
  keeper.saved(2);
  await settled();
  assert.equal(saves.length, 2, "nothing changed since");
});

test("checkpoint waits for the previous one", async () => {
  const { keeper, saves } = new Bench({ save: "checkpoint", checkpointMs: 1 });
  const passed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  for (let turn = 0; turn < 3; turn++) {
    keeper.touched();
    await passed();
  }
  assert.equal(saves.length, 1);
  keeper.saved(1);
  await passed();
  assert.equal(saves.length, 2);
});

test("many messages cause a save after the handler", async () => {
  for (const [count, bytes] of [[HELD_MESSAGES_DUE, 10], [4, HELD_BYTES_DUE / 4]] as const) {
    const { keeper, saves } = new Bench();
    keeper.touched();
    await settled();
    for (let at = 0; at < count; at++) keeper.said(bytes);
    assert.equal(saves.length, 1, "the handler has not returned");
    keeper.touched();
    assert.equal(saves.length, 2);
  }
});

test("endless handler is saved in its middle", () => {
  const { keeper, saves } = new Bench();
  for (let at = 1; at < HELD_MESSAGES_MAX; at++) keeper.said(1);
  assert.equal(saves.length, 0);
  keeper.said(1);
  assert.equal(saves.length, 1);
  for (let at = 0; at < 3; at++) keeper.said(1 << 20);
  assert.equal(saves.length, 2);
});

test("too long state is refused with an error", async () => {
  for (const [bench, most] of [[new Bench(), STATE_BYTES_MAX], [new Bench({}, 1000), 1000]] as const) {
    const { keeper, saves, troubles } = bench;
    bench.state = new Uint8Array(most + 1);
    keeper.touched();
    await settled();
    assert.match(String(troubles[0]), new RegExp(`a state of ${most + 1} bytes cannot be kept: ${most} are the most`));
    await assert.rejects(keeper.save(), /cannot be kept/);
    assert.equal(saves.length, 0);
    bench.state = new Uint8Array(most);
    keeper.touched();
    await settled();
    assert.equal(saves.length, 1);
  }
});

test("error of write is reported", async () => {
  const { keeper, saves, troubles } = new Bench();
  const { source } = keeper;
  keeper.source = () => {
    throw new Error("no state");
  };
  keeper.touched();
  await settled();
  assert.match(String(troubles[0]), /no state/);
  await assert.rejects(keeper.save(), /no state/);
  keeper.source = source;
  keeper.touched();
  await settled();
  assert.equal(saves.length, 1);
});

test("failed save rejects its caller", async () => {
  const { keeper, troubles, saves } = new Bench();
  const [first, second, third] = [keeper.save(), keeper.save(), keeper.save()];
  keeper.refused(2, new Error("too much is kept"));
  await assert.rejects(second, /too much is kept/);
  keeper.saved(1);
  await first;
  keeper.over();
  await assert.rejects(third, EndedError);
  await assert.rejects(keeper.save(), EndedError);
  keeper.touched();
  await settled();
  assert.deepEqual([saves.length, troubles], [3, []]);
});

test("refused automatic save is reported and retried", async () => {
  const { keeper, troubles, saves } = new Bench();
  keeper.touched();
  await settled();
  keeper.touched();
  keeper.refused(1, new Error("too much is kept"));
  await settled();
  assert.deepEqual([saves.length, troubles.map(String)], [2, ["Error: too much is kept"]]);
});

test("held messages leave with the next save", async () => {
  const { keeper, saves, troubles } = new Bench({ checkpointMs: 1 });
  for (let said = 0; said < HELD_MESSAGES_DUE - 1; said++) keeper.said(10);
  await settled();
  assert.equal(saves.length, 1);
  keeper.refused(1, new Error("too much is kept"));
  assert.equal(saves.length, 1, "not at once: it would be refused again");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual([saves.length, troubles.length], [2, 1]);
  keeper.saved(2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(saves.length, 2);

  const much = new Bench();
  much.state = new Uint8Array(STATE_BYTES_MAX + 1);
  for (let said = 0; said < HELD_MESSAGES_DUE - 1; said++) much.keeper.said(10);
  await settled();
  much.state = new Uint8Array(8);
  much.keeper.said(10);
  much.keeper.touched();
  assert.deepEqual([much.saves.length, much.troubles.length], [1, 1], "the node holds much: it is saved at once");
});

test("each covered message is reported once", () => {
  const progress = new Progress();
  const first = progress.take(1);
  for (let round = 0; round < 4; round++) {
    const numbers = Array.from({ length: 1000 }, (_, at) => 2 + round * 1000 + at);
    for (const done of numbers.map((number) => progress.take(number))) done();
    const { upto, also, known } = progress.written;
    assert.deepEqual([upto, also], [0, numbers]);
    known?.();
  }
  progress.take(5000)();
  first();
  assert.deepEqual([progress.written.upto, progress.written.also], [5000, []]);
});
