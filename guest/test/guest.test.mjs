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

/** Takes the only message that the agent has sent since the last call. */
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
      agent.depart({ to: `n${count % 3}` });
    }
    assert.equal(agent.hops, 100);
  });
}

/** Returns the report of a traveller that goes to these nodes. */
function tour(name, nodes, closed = [], seed = 0) {
  const agent = new Agent(example(name), { closed }).start();
  agent.message(request("tour", nodes, seed));
  const report = term(answer(agent).content);
  return { sum: report[1], moves: report[2], node: report[3], hops: agent.hops };
}

const UNMOVED = tour("traveller-rust", []).sum;

for (const language of LANGUAGES) {
  test(`a traveller in ${language} moves a hundred times in the middle of its recursion`, () => {
    const nodes = Array.from({ length: 100 }, (_, at) => `n${2 - (at % 2)}`);
    assert.deepEqual(tour(`traveller-${language}`, []), { sum: UNMOVED, moves: 0, node: "n1", hops: 0 });
    for (const seed of [0, 1, 2, 1999]) {
      const seen = tour(`traveller-${language}`, nodes, [], seed);
      assert.deepEqual(seen, { sum: UNMOVED, moves: 100, node: "n1", hops: 100 }, `seed ${seed}`);
    }
  });

  test(`a traveller in ${language} goes on where it is if a node is closed to it`, () => {
    const seen = tour(`traveller-${language}`, ["n2", "n3", "n4"], ["n3", "n4"]);
    assert.deepEqual(seen, { sum: UNMOVED, moves: 1, node: "n2", hops: 1 });
  });
}

/** Returns what a scout told at its stops and at its end. */
function scout(language, { stops, within = 1000, closed = [], at = () => {} }) {
  const agent = new Agent(example(`scout-${language}`), { closed }).start();
  agent.message(request("tour", stops, within, 7));
  for (let stop = 1; ; stop++) {
    const told = agent.sent.splice(0).map((frame) => term(fields(frame).found.get(3)));
    const [name, ...report] = told.pop();
    if (name === "toured") return { agent, report };
    assert.deepEqual([name, report], ["visits", [agent.node]]);
    at(agent, stop);
    while (agent.sent.length === 0) agent.time();
  }
}

for (const language of LANGUAGES) {
  test(`a scout in ${language} goes round, takes another way where a node is dead, and comes home`, () => {
    const stops = [["n1"], ["n9", "n2"], ["n8"], ["n3"]];
    const { agent, report } = scout(language, { stops, closed: ["n8", "n9"] });
    assert.deepEqual(report, [["0 on n1", "1 on n2", "3 on n3"], ["n9", "n8"], "done", "n1"]);
    assert.deepEqual([agent.hops, agent.timers.size], [3, 0]);
  });

  test(`a scout in ${language} makes no stop when its time is over`, () => {
    const stops = [["n2"], ["n3"], ["n4"]];
    const late = (agent, stop) => {
      const [tag] = [...agent.timers.keys()].filter((tag) => agent.timers.get(tag) === 1000n);
      if (stop === 2) agent.timers.set(tag, 0n);
    };
    const { agent, report } = scout(language, { stops, at: late });
    assert.deepEqual(report, [["0 on n2", "1 on n3"], [], "late", "n1"]);
    assert.equal(agent.timers.size, 0);
  });

  test(`a scout in ${language} tries no other node when finding one dead took all its time`, () => {
    let tourist;
    const closed = {
      includes(to) {
        const [tag] = [...(tourist?.timers.keys() ?? [])].filter((tag) => tourist.timers.get(tag) === 1000n);
        if (to === "n9" && tag !== undefined) tourist.timers.set(tag, 0n);
        return to === "n9";
      },
    };
    const stops = [["n2"], ["n9", "n3"], ["n4"]];
    const { report } = scout(language, { stops, closed, at: (agent) => (tourist = agent) });
    assert.deepEqual(report, [["0 on n2"], ["n9"], "late", "n1"]);
  });

  test(`a scout in ${language} is called home in the middle of its tour`, () => {
    const stops = [["n2"], ["n3"], ["n4"]];
    const { agent, report } = scout(language, { stops, at: (agent, stop) => stop === 2 && agent.recall("n1") });
    assert.deepEqual(report, [["0 on n2", "1 on n3"], [], "recalled", "n1"]);
    assert.deepEqual([agent.hops, agent.timers.size], [3, 0]);
  });

  test(`a scout in ${language} cannot go back to where it began`, () => {
    const { report } = scout(language, { stops: [["n2"]], at: (agent) => agent.closed.push("n1") });
    assert.deepEqual(report, [["0 on n2"], [], "no_way_back", "n2"]);
  });

  test(`a minion in ${language} brings back what it found, and ends`, () => {
    const agent = new Agent(example(`scout-${language}`), { closed: ["n9"] }).start();
    for (const [node, found] of [["n22", 3], ["south", language === "c" ? "that is no name" : "south is no name"]]) {
      agent.message(request("send", ["n9", node], 5000, 7));
      const minion = agent.clones.pop();
      minion.time();
      assert.ok(minion.stopped && !agent.stopped);
      assert.deepEqual([minion.lifetime, agent.lifetime, minion.node, agent.node], [5000n, null, node, "n1"]);
      const report = Uint8Array.from(minion.sent.pop());
      const [lastWords, quoted] = [fields(Uint8Array.from(minion.lastWords)), fields(report).found];
      assert.deepEqual([lastWords.performative, lastWords.found.get(2), lastWords.found.get(6)], [6, quoted.get(2), quoted.get(6)]);
      assert.equal(agent.lastWords, null);
      agent.message(report);
      const [name, ...said] = term(answer(agent).content);
      const text = typeof found === "string" && language === "rust" ? `failed: ${found}` : found;
      assert.deepEqual([name, said], ["heard", [text, "n1"]]);
    }
  });

  test(`a sender in ${language} waits for its minion no longer than it says`, () => {
    const agent = new Agent(example(`scout-${language}`)).start();
    agent.message(request("send", ["n2"], 5000, 7));
    agent.time();
    const text = "the minion did not answer";
    assert.deepEqual(term(answer(agent).content), ["heard", language === "rust" ? `not in time: ${text}` : text, "n1"]);
  });
}

test("a nomad moves in the middle of its loop, and its module is not prepared", () => {
  const unmoved = tour("nomad-rust", []);
  const nodes = Array.from({ length: 100 }, (_, at) => `n${2 - (at % 2)}`);
  assert.deepEqual(tour("nomad-rust", nodes), { ...unmoved, moves: 100, node: "n1", hops: 100 });
  assert.deepEqual(tour("nomad-rust", nodes, ["n2"]), { ...unmoved, moves: 0, node: "n1", hops: 0 });
  assert.ok(!WebAssembly.Module.exports(example("nomad-rust")).some(({ name }) => name.startsWith("asyncify")));
});
