/** Test of the benchmark, with a simulated clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { measure, weigh, type Weight } from "../src/device/weigh.js";

/** Measures with a clock that advances `ms` per look, and `away` ms more after `every` looks. */
function found(ms: number, every = Infinity, away = 0, tick = 0): Weight & { readonly took: number } {
  let [at, looks] = [0, 0];
  const weight = measure(() => {
    at += ms + (++looks % every === 0 ? away : 0);
    return tick > 0 ? Math.floor(at / tick) * tick : at;
  });
  return { ...weight, took: at };
}

test("undisturbed thread reaches its capacity", () => {
  const { units, isBusy, took } = found(0.25);
  assert.deepEqual([units, isBusy], [800, false]);
  assert.ok(took < 150, `${took} ms`);
});

test("disturbances change little and are noticed", () => {
  // Away for 60 ms half of the time: a single run of 60 ms could have found a hundredth.
  const busy = found(0.25, 40, 60);
  assert.deepEqual([busy.units, busy.isBusy], [800, true]);
  // Two threads on one processor.
  const shared = found(0.25, 12, 3);
  assert.ok(shared.units >= 400 && shared.units <= 800, `${shared.units} units`);
  // Rare interruptions do not matter.
  const calm = found(0.25, 100, 4);
  assert.deepEqual([calm.units, calm.isBusy], [800, false]);
  const worst = found(0.25, 2, 200);
  assert.equal(worst.isBusy, false, "equal slices do not mean a busy machine");
  assert.ok(worst.units >= 1);
});

test("coarse clock changes neither duration nor result", () => {
  const { units, took } = found(0.25, Infinity, 0, 16);
  assert.ok(units > 700 && units < 900, `${units} units`);
  assert.ok(took < 200, `${took} ms`);
  assert.ok(found(0.25, Infinity, 0, 100).units > 700);
});

test("repeated measurements agree", (context) => {
  const units = Array.from({ length: 5 }, () => weigh()).sort((one, other) => one - other);
  context.diagnostic(units.join(" "));
  assert.ok(units.every((each) => each >= 1 && Number.isInteger(each)));
});
