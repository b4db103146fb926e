// The SDKs and the examples, on a node in a few lines: make guests builds them first.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { fields, hex, request, spell, term, toHex } from "./frames.mjs";
import { Agent, load } from "./node.mjs";

const here = new URL(".", import.meta.url);
const vectors = JSON.parse(readFileSync(new URL("../../conformance/guest/frames.json", here)));
const example = (name) => load(new URL(`../examples/${name}.wasm`, here));
const LANGUAGES = ["rust", "assemblyscript", "c"];

const INFORM = 7;
const NOT_UNDERSTOOD = 10;

/** What an agent has sent, and nothing else since it was asked last. */
function answer(agent) {
  assert.equal(agent.sent.length, 1, agent.logged.join("\n"));
  const { performative, found } = fields(agent.sent.pop());
  return { performative, content: found.get(3), to: Buffer.from(found.get(2)).toString(), quoted: Buffer.from(found.get(6)).toString() };
}

for (const language of ["assemblyscript", "c"]) {
  const module = load(new URL(`echo-${language}.wasm`, here));

  test(`${language} reads and writes values`, () => {
    const agent = new Agent(module).start();
    for (const { name, value, bytes } of vectors.values) {
      const len = (bytes.length / 2).toString(16).padStart(2, "0");
      const frame = value === null ? "07" : `0703${len}000000${bytes}`;
      agent.message(hex(frame));
      assert.equal(agent.printed.pop(), spell(value), name);
      assert.equal(toHex(agent.sent.pop()), frame, name);
    }
  });

  test(`${language} reads and writes messages`, () => {
    const agent = new Agent(module).start();
    for (const { name, message, bytes } of vectors.messages) {
      agent.message(hex(bytes));
      assert.equal(agent.printed.pop(), spell(message.content ?? null), name);
      assert.equal(toHex(agent.sent.pop()), bytes, name);
    }
  });

  test(`${language} reads messages longer than its room`, () => {
    const agent = new Agent(module).start();
    for (const count of [10, 3000, 10]) {
      const frame = request("sum", Array(count).fill(7));
      agent.message(language === "c" && count > 300 ? request("sum", ["x".repeat(3000)]) : frame);
      assert.ok(agent.printed.pop().startsWith("f3:sum("));
      agent.sent.pop();
    }
  });
}

for (const language of LANGUAGES) {
  const module = example(`worker-${language}`);

  test(`a worker in ${language} sums`, () => {
    const agent = new Agent(module).start();
    agent.message(request("sum", [1, 2, 3]));
    const first = answer(agent);
    assert.deepEqual([first.performative, first.to, first.quoted], [INFORM, "amy@test", "r1"]);
    assert.deepEqual(term(first.content), ["sum", 6, 1]);
    agent.message(request("product", [1, 2, 3]));
    assert.equal(answer(agent).performative, NOT_UNDERSTOOD);
    agent.message(request("sum", [-1, 5000000000]));
    assert.deepEqual(term(answer(agent).content), ["sum", 4999999999, 2]);
  });

  test(`a worker in ${language} keeps count while it moves`, () => {
    const agent = new Agent(module).start();
    for (let count = 1; count <= 100; count++) {
      agent.message(request("sum", [count]));
      assert.deepEqual(term(answer(agent).content), ["sum", count, count]);
      agent.departing = `n${count % 3}`;
      agent.depart();
    }
    assert.equal(agent.hops, 100);
  });
}

/** What a traveller that goes to these nodes reports. */
function tour(name, nodes, closed = []) {
  const agent = new Agent(example(name), { closed }).start();
  agent.message(request("tour", nodes));
  const report = term(answer(agent).content);
  return { sum: report[1], moves: report[2], node: report[3], hops: agent.hops };
}

const UNMOVED = tour("traveller-rust", []).sum;

for (const language of LANGUAGES) {
  test(`a traveller in ${language} moves a hundred times in the middle of its recursion`, () => {
    const nodes = Array.from({ length: 100 }, (_, at) => `n${2 - (at % 2)}`);
    assert.deepEqual(tour(`traveller-${language}`, []), { sum: UNMOVED, moves: 0, node: "n1", hops: 0 });
    assert.deepEqual(tour(`traveller-${language}`, nodes), { sum: UNMOVED, moves: 100, node: "n1", hops: 100 });
  });

  test(`a traveller in ${language} goes on where it is if a node is closed to it`, () => {
    const seen = tour(`traveller-${language}`, ["n2", "n3", "n4"], ["n3", "n4"]);
    assert.deepEqual(seen, { sum: UNMOVED, moves: 1, node: "n2", hops: 1 });
  });
}

test("a nomad moves in the middle of its loop, and its module is not prepared", () => {
  const unmoved = tour("nomad-rust", []);
  const nodes = Array.from({ length: 100 }, (_, at) => `n${2 - (at % 2)}`);
  assert.deepEqual(tour("nomad-rust", nodes), { ...unmoved, moves: 100, node: "n1", hops: 100 });
  assert.deepEqual(tour("nomad-rust", nodes, ["n2"]), { ...unmoved, moves: 0, node: "n1", hops: 0 });
  assert.ok(!WebAssembly.Module.exports(example("nomad-rust")).some(({ name }) => name.startsWith("asyncify")));
});
