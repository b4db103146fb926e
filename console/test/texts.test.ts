/** Test of texts: figures, formatted contents, messages, exports. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Event } from "../src/live/vocabulary.js";
import { escapeXml, toJson, toMermaid, toSvg } from "../src/model/export.js";
import { bytes, clock, count, duration, micros, short, visible, visibleLines } from "../src/model/format.js";
import { BLANK, fault, draftOf, messageOf, readTerm, writeTerm, type Json } from "../src/model/draft.js";
import { family, FIPA_PERFORMATIVES, KQML_PERFORMATIVES } from "../src/model/performative.js";
import { entryOf, registrationOf } from "../src/model/registration.js";
import { pretty } from "../src/model/term.js";

test("figures are short", () => {
  const plain = (text: string) => text.replaceAll("\u2009", " ");
  assert.deepEqual([0, 9, 0.25, 1234, 12_345, 999_999, 12_345_678].map((n) => plain(short(n))), ["0", "9", "0.3", "1 234", "12.3 k", "1.0 M", "12.3 M"]);
  assert.deepEqual([0, 999, 41_000_000, 1.5e12].map((n) => plain(bytes(n))), ["0 B", "999 B", "41.0 MB", "1.5 TB"]);
  assert.deepEqual([4, 1500, 150_000, 2_500_000].map((n) => plain(micros(n))), ["4 µs", "1.5 ms", "150 ms", "2.5 s"]);
  assert.deepEqual([5_000, 250_000, 7_500_000, 90_000_000].map(duration), ["5s", "4m 10s", "2h 5m", "1d 1h"]);
  assert.equal(plain(count(1_234_567)), "1 234 567");
  assert.equal(clock(1_763_808_692_873_000), "10:51:32.873");
});

test("hidden characters become visible", () => {
  assert.equal(visible("a\u001b[31m\u202eb\u200b\n\tc"), "a\\u{1b}[31m\\u{202e}b\\u{200b}⏎→c");
  assert.equal(visible("x".repeat(20), 5), "xxxxx…");
  assert.equal(visibleLines("a\n\u0007b"), "a\n\\u{7}b");
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => !/[\u0000-\u001f\u202a-\u202e\u2066-\u2069]/.test(visible(text))));
});

test("long contents break at brackets only", () => {
  assert.equal(pretty("f(a)"), "f(a)");
  assert.equal(pretty('done(job, [a, b, c], "a, (text")', 20), 'done(\n  job,\n  [a, b, c],\n  "a, (text"\n)');
  assert.equal(pretty("not ) a ( term, and rather a long one to be broken", 10), "not ) a ( term, and rather a long one to be broken");
  const bare = (text: string) => text.replaceAll(/\s/g, "");
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom("a", "(", ")", "[", "]", ",", " ", '"', "'", "{", "}", "\\"), maxLength: 80 }), fc.integer({ min: 1, max: 30 }), (text, width) => assert.equal(bare(pretty(text, width)), bare(text))));
  assert.equal(bare(pretty("(".repeat(5_000) + ")".repeat(5_000))), "(".repeat(5_000) + ")".repeat(5_000));
});

test("every performative has a family", () => {
  assert.equal(family("cfp"), "ask");
  assert.equal(family("ASK_ONE"), "ask");
  assert.equal(family("accept_proposal"), "offer");
  assert.equal(family("dance"), "other");
  for (const one of [...FIPA_PERFORMATIVES, ...KQML_PERFORMATIVES]) assert.notEqual(family(one), "other", one);
});

test("terms are read and written", () => {
  for (const [text, json] of [
    ["price(tea,5)", { term: "price", args: [{ atom: "tea" }, 5] }],
    ['[1,-2.5,"a\\"b",X|T]', { list: [1, -2.5, 'a"b', { var: "X", slot: 0 }], tail: { var: "T", slot: 1 } }],
    ["f(X,Y,X,_,_)[Y]", { term: "f", args: [{ var: "X", slot: 0 }, { var: "Y", slot: 1 }, { var: "X", slot: 0 }, { var: "_", slot: 2 }, { var: "_", slot: 3 }], annots: [{ var: "Y", slot: 1 }] }],
    ["~p(a)[source(bob)]", { term: "p", args: [{ atom: "a" }], negated: true, annots: [{ term: "source", args: [{ atom: "bob" }] }] }],
    ["'two words'", { atom: "two words" }],
    ["90071992547409931", { int: "90071992547409931" }],
    ["true", true],
    ["accept-proposal", { atom: "accept-proposal" }],
  ] as const) {
    assert.deepEqual(readTerm(text), json, text);
    assert.equal(writeTerm(json as unknown as Json), text);
  }
  for (const [text, why] of [["f(a", /\) expected at the end/], ["f(a) b", /an end expected before “b”/], ["", /a term expected/], ["[".repeat(500), /levels/]] as const) assert.throws(() => readTerm(text), why);
  fc.assert(fc.property(fc.string(), (text) => {
    try {
      readTerm(text);
    } catch (error) {
      assert.ok(error instanceof Error && !(error instanceof RangeError));
    }
  }));
});

test("letter becomes a message or a fault", () => {
  const letter = { ...BLANK, receivers: "bob, amy", performative: "request", content: "go(5)", conversation: "c1", replyByS: "2" };
  assert.equal(fault(letter), null);
  const message = messageOf(letter, 1_000);
  assert.deepEqual(message, { performative: "request", receivers: ["bob", "amy"], content: { term: "go", args: [5] }, conversation_id: "c1", reply_by_ms: 3_000 });
  assert.deepEqual(draftOf(message), { ...letter, receivers: "bob amy", replyByS: "" });
  assert.match(fault({ ...letter, receivers: " " }) ?? "", /receiver/);
  assert.match(fault({ ...letter, content: "go(" }) ?? "", /is invalid/);
  assert.match(fault({ ...letter, performative: "two words" }) ?? "", /performative/);
  assert.match(fault({ ...letter, replyByS: "-1" }) ?? "", /seconds/);
  const record = { record: "point", fields: [["x", 1]] };
  assert.deepEqual(messageOf(draftOf({ performative: "inform", receivers: ["bob"], content: record }), 0)["content"], record, "a text that is not a term stays unchanged");
  assert.equal(draftOf({ content: { args: [{ num: 5 }], term: "price" } }).content, "price(5)", "members come in any order, and whole numbers have no fraction");
  assert.deepEqual(draftOf({ content: { term: "price", args: [{ int: "5" }] } }).content, "price(5)", "nor is a whole number written as text JSON");
  const twoVariables = { term: "f", args: [{ var: "X", slot: 4 }, { var: "Y", slot: 7 }] };
  assert.deepEqual(messageOf(draftOf({ performative: "inform", receivers: ["bob"], content: twoVariables }), 0)["content"], { term: "f", args: [{ var: "X", slot: 0 }, { var: "Y", slot: 1 }] });
  for (const [x, y] of [["X", "X"], ["X", "Y"]] as const) {
    const slots = x === y ? [0, 1] : [0, 0];
    const content = { term: "f", args: [{ var: x, slot: slots[0]! }, { var: y, slot: slots[1]! }] };
    assert.deepEqual(messageOf(draftOf({ performative: "inform", receivers: ["bob"], content }), 0)["content"], content, "a value without a term stays JSON");
  }
  assert.equal(writeTerm(record), "point{x: 1}");
  assert.equal(messageOf({ ...letter, contentIs: "text", content: "go(" }, 0)["content"], "go(");
});

test("entry changes one service, others stay", () => {
  const form = { agent: " seller ", name: "tea", kind: "shop", protocols: "fipa-request", ontologies: "", properties: "price=5, colour=green", lease: "60" };
  const wanted = entryOf(form);
  assert.deepEqual(wanted, {
    agent: "seller",
    services: [{ name: "tea", kind: "shop", owner: null, protocols: ["fipa-request"], ontologies: [], languages: [], properties: [["price", "5"], ["colour", "green"]] }],
    protocols: [],
    ontologies: [],
    languages: [],
    lease_ms: 60_000,
  });
  const [tea] = wanted.services;
  assert.ok(tea);
  const cake = { ...tea, name: "cake", owner: "amy", properties: [["of", "[flour, eggs]"]] as const };
  const entry = { ...wanted, node: "n1", ontologies: ["food"], lease_left_ms: 1_500, services: [tea, cake] };
  const shown = registrationOf(entry, cake);
  assert.deepEqual([shown.name, shown.properties, shown.lease], ["cake", "of=[flour, eggs]", "2"]);
  const changed = entryOf({ ...shown, kind: "bakery" }, entry, cake);
  assert.deepEqual(changed.services, [tea, { ...cake, kind: "bakery" }]);
  assert.deepEqual(changed.ontologies, ["food"]);
  assert.deepEqual(entryOf({ ...registrationOf(entry), name: "milk", kind: "shop", lease: "" }, entry).services.map(({ name }) => name), ["tea", "cake", "milk"]);
});

const events: Event[] = [
  { at_us: 1e6, node: "n1", event: "sent", from: "a<b>", to: "c", performative: "cfp", conversation: null, protocol: null, reply_with: null, in_reply_to: null, content: `tea; "x" <script>` },
  { at_us: 2e6, node: "n1", event: "died", from: "c", to: "nobody", performative: "inform", conversation: null, protocol: null, reply_with: null, in_reply_to: null, content: "", why: "no such agent" },
  { at_us: 3e6, node: "n1", event: "skipped", count: 12 },
];

test("exports are complete and escaped", () => {
  assert.deepEqual(JSON.parse(toJson(events)), events);
  const mermaid = toMermaid(events).split("\n");
  assert.equal(mermaid[0], "sequenceDiagram");
  assert.ok(mermaid.includes("  participant a1 as a#60;b#62;") && mermaid.includes("  a2-xa3: inform") && mermaid.includes("  Note over a1: 12 more not shown"), mermaid.join("\n"));
  const svg = toSvg(events, ["a<b>", "c"]);
  assert.ok(!svg.includes("<script") && svg.includes("a&#60;b&#62;") && svg.includes("others") && svg.includes("undeliverable: no such agent"));
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => !/[<>&"'](?!#\d+;)/.test(escapeXml(text).replaceAll(/&#\d+;/g, ""))));
});
