import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { whenAborted } from "../src/agents/aborts.js";
import { ChurnList, type ListItem } from "../src/collections/churn-list.js";
import { Fifo } from "../src/collections/fifo.js";

interface Numbered extends ListItem {
  readonly number: number;
}

const numbers = (items: Iterable<Numbered>): number[] => [...items].map(({ number }) => number);

test("churn list keeps order", () => {
  const model = fc.array(fc.oneof(fc.constant("add" as const), fc.nat(100)), { maxLength: 300 });
  fc.assert(
    fc.property(model, (acts) => {
      const list = new ChurnList<Numbered>();
      let expected: Numbered[] = [];
      for (const [number, act] of acts.entries()) {
        if (act === "add" || expected.length === 0) {
          const item = { number };
          list.add(item);
          expected.push(item);
        } else {
          const gone = expected[act % expected.length] as Numbered;
          assert.ok(list.delete(gone) && !list.delete(gone));
          expected = expected.filter((item) => item !== gone);
        }
        assert.equal(list.size, expected.length);
      }
      assert.deepEqual(numbers(list), numbers(expected));
      list.clear();
      assert.deepEqual([list.size, list.items()], [0, []]);
    }),
  );
});

test("walk sees each item once", () => {
  const list = new ChurnList<Numbered>();
  const items = Array.from({ length: 100 }, (_, number) => ({ number }));
  for (const item of items) list.add(item);
  const seen: number[] = [];
  list.find((item) => {
    seen.push(item.number);
    // So many leave that the list closes its gaps afterwards.
    for (const gone of items.slice(0, 95)) list.delete(gone);
    return false;
  });
  assert.deepEqual(seen, [0, 95, 96, 97, 98, 99]);
  assert.ok(list.delete(items[97] as Numbered));
  assert.deepEqual(numbers(list), [95, 96, 98, 99]);
});

test("item of another list stays", () => {
  const [one, other] = [new ChurnList<Numbered>(), new ChurnList<Numbered>()];
  const item = { number: 1 };
  one.add(item);
  other.add({ number: 2 });
  assert.ok(!other.delete(item));
  assert.deepEqual([one.size, other.size], [1, 1]);
});

test("fifo drops what came first", () => {
  const acts = fc.array(fc.oneof(fc.constant("push" as const), fc.nat(2500)), { maxLength: 60 });
  fc.assert(
    fc.property(acts, fc.nat(90), (all, many) => {
      const fifo = new Fifo<number>();
      let expected: number[] = [];
      for (const act of all) {
        if (act === "push") for (let count = 0; count < many; count++) expected.push(fifo.size), fifo.push(fifo.size);
        else {
          fifo.drop(act);
          expected = expected.slice(act);
        }
        assert.deepEqual([fifo.size, fifo.at(0), fifo.at(fifo.size - 1), fifo.at(fifo.size)], [expected.length, expected[0], expected.at(-1), undefined]);
      }
      assert.deepEqual([...fifo], expected);
      fifo.dropIf((number) => number % 2 === 0);
      assert.deepEqual([...fifo], expected.filter((number) => number % 2 === 1));
    }),
  );
});

test("fifo of many items drops some", () => {
  const fifo = new Fifo<number>();
  for (let number = 0; number < 300_000; number++) fifo.push(number);
  fifo.dropIf((number) => number % 3 === 0);
  assert.deepEqual([fifo.size, fifo.at(0), fifo.at(199_999)], [200_000, 1, 299_999]);
});

test("abort callback cancels another one", () => {
  const ending = new AbortController();
  const called: string[] = [];
  whenAborted(ending.signal, () => (called.push("first"), cancel()));
  const cancel = whenAborted(ending.signal, () => called.push("second"));
  whenAborted(ending.signal, () => called.push("third"));
  ending.abort();
  assert.deepEqual(called, ["first", "third"]);
});
