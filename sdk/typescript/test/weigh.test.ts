/** What a thread can do, as a clock says that the test has. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { measure, weigh, type Weight } from "../src/device/weigh.js";

/** What is found where each look at the clock comes `ms` behind the last one, and after each so many a pause of `away` ms. */
function found(ms: number, every = Infinity, away = 0, tick = 0): Weight & { readonly took: number } {
  let [at, looks] = [0, 0];
  const weight = measure(() => {
    at += ms + (++looks % every === 0 ? away : 0);
    return tick > 0 ? Math.floor(at / tick) * tick : at;
  });
  return { ...weight, took: at };
}

test("a thread that nobody holds up does as much as it can", () => {
  const { units, isBusy, took } = found(0.25);
  assert.deepEqual([units, isBusy], [800, false]);
  assert.ok(took < 150, `${took} ms`);
});

test("busy moments change little, and are noticed", () => {
  // Away for 60 ms, as often as not: one run of 60 ms would have found a hundredth.
  const busy = found(0.25, 40, 60);
  assert.deepEqual([busy.units, busy.isBusy], [800, true]);
  // Two threads on one processor.
  const shared = found(0.25, 12, 3);
  assert.ok(shared.units >= 400 && shared.units <= 800, `${shared.units} units`);
  // Now and then somebody else has a turn: nothing that matters.
  const calm = found(0.25, 100, 4);
  assert.deepEqual([calm.units, calm.isBusy], [800, false]);
  const worst = found(0.25, 2, 200);
  assert.equal(worst.isBusy, false, "all slices are alike: that is how it is there");
  assert.ok(worst.units >= 1);
});

test("a clock that goes in long steps does not make it long, nor wrong", () => {
  const { units, took } = found(0.25, Infinity, 0, 16);
  assert.ok(units > 700 && units < 900, `${units} units`);
  assert.ok(took < 200, `${took} ms`);
  assert.ok(found(0.25, Infinity, 0, 100).units > 700);
});

test("weighed again and again this thread is about the same", (context) => {
  const units = Array.from({ length: 5 }, () => weigh()).sort((one, other) => one - other);
  context.diagnostic(units.join(" "));
  assert.ok(units.every((each) => each >= 1 && Number.isInteger(each)));
});
