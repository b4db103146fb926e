/** Test of the console's models, without a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentInfo, CertificateInfo, DeviceInfo, Event, MindInfo, NodeInfo } from "../src/live/vocabulary.js";
import { readStored, writeStored } from "../src/storage.js";
import { Agents, ALL_AGENTS } from "../src/model/agents.js";
import { byUrgency, validity, validityText } from "../src/model/certificate.js";
import { clusterOf, Clusters } from "../src/model/clusters.js";
import { restriction } from "../src/model/devices.js";
import { rowAt, rowsOf } from "../src/model/diagram-rows.js";
import { Health, faultsOfOthers } from "../src/model/health.js";
import { highlighted } from "../src/model/highlight.js";
import { Keys } from "../src/model/keys.js";
import { Lanes } from "../src/model/lanes.js";
import { Layout, SPOTS_MAX } from "../src/model/layout.js";
import { changes, currentStep, groupsOf, Mind, steps } from "../src/model/mind.js";
import { ALL_OUTPUT, LINES_MAX, Output, withPlaces } from "../src/model/output.js";
import { namesOf, patternFits, plainNames, quote, searchFits } from "../src/model/pattern.js";
import { gaugeOf } from "../src/model/quota.js";
import { Ring } from "../src/model/ring.js";
import { NodeRates } from "../src/model/rates.js";
import { readRoute, tokenIn, writeRoute } from "../src/model/route.js";
import { Society } from "../src/model/society.js";
import { density, ALL_EVENTS, indexAt, isMessage, related, sniffWanted, Recording, takes } from "../src/model/recording.js";
import { Traffic } from "../src/model/traffic.js";
import { Pairs, Totals } from "../src/model/totals.js";
import { activitiesOf, endText, verdictOf, type Signs } from "../src/model/verdict.js";

const agent = (name: string, more: Partial<AgentInfo> = {}): AgentInfo => ({ name, kind: "agentspeak", state: "active", ending: false, node: "n1", owner: null, age_ms: 1, mailbox: 0, handled: 0, ...more });
const sent = (from: string, to: string, more: object = {}): Event => ({ at_us: 1, node: "n1", event: "sent", from, to, performative: "tell", conversation: null, protocol: null, reply_with: null, in_reply_to: null, content: "", ...more });

test("ring keeps the newest items by number", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(fc.integer(), { maxLength: 60 }), (capacity, items) => {
      const ring = new Ring<number>(capacity);
      for (const item of items) ring.push(item);
      assert.deepEqual(ring.slice(), items.slice(-capacity));
      assert.equal(ring.end, items.length);
      items.forEach((item, number) => assert.equal(ring.at(number), number >= ring.start ? item : undefined));
      assert.equal(ring.at(-1), undefined);
    }),
  );
});

test("patterns equal regular expressions", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "b", "*", "?") }), fc.string({ unit: fc.constantFrom("a", "b") }), (pattern, name) => {
      const expression = new RegExp(`^${pattern.replaceAll(/\*+/g, ".*").replaceAll("?", ".")}$`);
      assert.equal(patternFits(pattern, name), expression.test(name));
    }),
  );
  assert.ok(searchFits("ELL", "seller2") && searchFits("sell*", "seller2") && !searchFits("sell?", "seller2"));
});

test("agents are updated and listed in order", () => {
  const agents = new Agents();
  agents.hear({ type: "agents", total: 3, agents: [agent("b10", { mailbox: 5 }), agent("b2"), agent("a", { state: "suspended", mailbox: 5 })] });
  const names = (filter = ALL_AGENTS, by: "name" | "mailbox" = "name", descending = false) => agents.list(filter, { by, descending }).map(({ name }) => name);
  assert.deepEqual(names(), ["a", "b2", "b10"]);
  assert.deepEqual(names(ALL_AGENTS, "mailbox", true), ["a", "b10", "b2"], "among equals by name");
  assert.deepEqual(names({ ...ALL_AGENTS, search: "b" }), ["b2", "b10"]);
  assert.deepEqual(names({ ...ALL_AGENTS, state: "suspended" }), ["a"]);
  agents.hear({ type: "agents_changed", total: 3, changed: [agent("b3"), agent("b2", { node: "n2" })], gone: ["b10"] });
  assert.deepEqual(names(), ["a", "b2", "b3"]);
  assert.deepEqual(agents.counts("node"), [["n1", 2], ["n2", 1]]);
  agents.hear({ type: "agents", total: 0, agents: [] });
  assert.deepEqual(names(), []);
});

test("rate covers the time between reports", () => {
  const rates = new NodeRates();
  const told = (up_us: number, sent: number, pid = 1) => rates.note(node({ up_us, sent, pid }));
  assert.equal(told(1e6, 100), null);
  assert.equal(told(3e6, 300)?.sent, 100);
  assert.equal(told(3e6, 300)?.sent, 100, "a repeated report changes nothing");
  assert.equal(told(1e6, 5, 2), null, "another process");
  assert.equal(told(2e6, 4, 2), null, "the figure cannot fall");
});

test("changed place counts as a move", () => {
  const agents = new Agents();
  const moves: string[] = [];
  agents.onMove = (before, now) => moves.push(`${now.name} ${before.device ?? before.node} ${now.device ?? now.node}`);
  agents.hear({ type: "agents", total: 2, agents: [agent("a", { node: "n2" }), agent("b")] });
  agents.hear({ type: "agents_changed", total: 2, changed: [agent("a", { node: "n3" }), agent("b", { mailbox: 1 })], gone: [] });
  agents.hear({ type: "agents_changed", total: 2, changed: [agent("a", { kind: "session", device: "tab1" })], gone: [] });
  assert.deepEqual(moves, ["a n2 n3", "a n3 tab1"]);
});

test("agent of a device is at the device", () => {
  const agents = new Agents();
  agents.hear({ type: "agents", total: 3, agents: [agent("a"), agent("b", { kind: "session", device: "tab1" }), agent("tab1", { kind: "session" })] });
  assert.deepEqual(agents.counts("node"), [["n1", 2], ["tab1", 1]]);
  assert.deepEqual(agents.list({ ...ALL_AGENTS, node: "tab1" }, { by: "name", descending: false }).map(({ name }) => name), ["b"]);
  assert.deepEqual(agents.list(ALL_AGENTS, { by: "node", descending: true }).map(({ name }) => name), ["b", "a", "tab1"]);
});

test("quota is shown in its unit", () => {
  const text = (name: string, used: number | null, max: number | null) => gaugeOf({ name, used, max }).text.replaceAll(/\s/g, " ");
  assert.equal(text("cpu_ms_per_s", 5, 100), "5 ms of 100 ms");
  assert.equal(text("owner_memory_bytes", 65_536, null), "65.5 kB no limit");
  assert.equal(text("lifetime_s", 3, 60), "3 s of 60 s");
  assert.equal(gaugeOf({ name: "messages_per_s", used: 300, max: 200 }).share, 1);
  assert.equal(gaugeOf({ name: "owner_clones", used: 1, max: 16 }).name, "clones");
});

test("certificates are judged and sorted by urgency", () => {
  const of = (from_ms: number, until_ms: number, revoked = false): CertificateInfo => ({ of: "node", subject: `${from_ms} ${until_ms}`, issuer: "", serial: "1", from_ms, until_ms, revoked });
  const hour = 3_600_000;
  const all = [of(0, 100 * hour), of(0, 51 * hour), of(60 * hour, 90 * hour), of(0, 100 * hour, true), of(0, 20 * hour)];
  const now = 50 * hour;
  assert.deepEqual(all.map((one) => validity(one, now)), ["good", "soon", "early", "revoked", "over"]);
  assert.equal(validityText(of(0, 20 * hour), now), "expired 1d 6h ago");
  assert.equal(validityText(of(0, 51 * hour), now), "1h 0m left");
  assert.deepEqual([...all].sort(byUrgency(now)).map((one) => validity(one, now)), ["over", "revoked", "early", "soon", "good"]);
});

test("restriction of a device is named", () => {
  const device: DeviceInfo = { name: "tab1", node: "n1", units: 80, units_now: 80, workers: 2, taken: 0, visible: true, battery: null, kinds: [], agents: 0, shunned: false };
  assert.equal(restriction(device), "");
  assert.match(restriction({ ...device, visible: false, units_now: 10 }), /hidden/);
  assert.equal(restriction({ ...device, units_now: 0, battery: { percent: 9, charging: false } }), "battery low: 9 %");
  assert.match(restriction({ ...device, workers: 0, units_now: 0 }), /no workers/);
  assert.match(restriction({ ...device, shunned: true, visible: false }), /excluded/);
});

const node = (more: Partial<NodeInfo>): NodeInfo => ({ platform: "p", node: "n1", society: "s", pid: 1, version: "0", started_ms: 0, up_us: 0, agents: 2, sent: 0, handled: 0, dead: 0, queued: 0, came: 0, left: 0, memory_bytes: 1, security: null, address: null, peers: [], ...more });

test("linked nodes have cards", () => {
  const society = new Society();
  society.hear({ type: "society", at_us: 1, node: node({ peers: [{ node: "n2", address: null }, { node: null, address: "x" }] }), nodes: [], links: [] });
  assert.deepEqual(society.cards.value.map(({ name, isHere }) => [name, isHere]), [["n1", true], ["n2", false]]);
  assert.equal(society.others.value, "n2");
});

test("filter takes matches and gaps", () => {
  const fits = takes({ ...ALL_EVENTS, agents: "bob, sell*", performatives: ["tell"] });
  assert.ok(fits(sent("bob", "x")) && fits(sent("x", "seller1")) && !fits(sent("x", "y")));
  assert.ok(!fits(sent("bob", "x", { performative: "ask" })));
  assert.ok(fits({ at_us: 1, node: "n", event: "skipped", count: 3 }));
  assert.ok(!fits({ at_us: 1, node: "n", event: "agent", agent: "bob", text: "" }), "performatives are of messages");
  assert.ok(takes({ ...ALL_EVENTS, agents: "bob" })({ at_us: 1, node: "n", event: "agent", agent: "bob", text: "" }));
  const conversation = takes({ ...ALL_EVENTS, conversation: "job-*", content: "TEA" });
  assert.ok(conversation(sent("a", "b", { conversation: "job-1", content: "price(tea)" })));
  assert.ok(!conversation(sent("a", "b", { content: "price(tea)" })));
});

test("quoted names are neither split nor patterns", () => {
  for (const name of ["a, b", "*", "x?", 'say "hi"', "back\\slash, too", "plain"]) {
    assert.deepEqual(namesOf(`${quote(name)} other`), [name, "other"], name);
    const fits = takes({ ...ALL_EVENTS, agents: quote(name) });
    assert.ok(fits(sent(name, "x")) && !fits(sent("a", "b")) && !fits(sent("xy", "say")), name);
    assert.deepEqual(plainNames(`${quote(name)} any*`), [name]);
  }
  assert.deepEqual(namesOf('bob, "a, b" sell* "unfinished'), ["bob", "a, b", "sell*", "unfinished"]);
  assert.deepEqual(sniffWanted({ ...ALL_EVENTS, agents: '"a, b" c' }).agents, ["a, b", "c"]);
  fc.assert(fc.property(fc.string({ minLength: 1 }), (name) => assert.deepEqual(namesOf(quote(name)), [name])));
  assert.ok(takes({ ...ALL_EVENTS, agents: "bob" })({ at_us: 1, node: "", event: "missed" }), "gaps are always shown");
});

test("shown events match any filter", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom("a", "b", "c"), fc.constant(null)), { maxLength: 80 }), (turns) => {
      const recording = new Recording(16);
      for (const turn of turns) {
        if (turn === null) recording.want({ ...ALL_EVENTS, agents: recording.filter.value.agents === "a" ? "" : "a" });
        else recording.hear([sent(turn, "z")]);
      }
      const wanted = takes(recording.filter.value);
      const kept = recording.all.slice().filter(wanted);
      // The ring of shown events may hold matches that the other ring has dropped already.
      assert.deepEqual(recording.shown.slice().slice(-kept.length || recording.shown.size), kept);
      assert.ok(recording.shown.slice().every(wanted));
    }),
  );
});

test("late events are inserted at their time", () => {
  const recording = new Recording(8);
  const said = (at_us: number, node: string): Event => ({ at_us, node, event: "sent", from: "a", to: "b", via: null, performative: "inform", conversation: "c", protocol: null, reply_with: null, in_reply_to: null, reply_by_ms: null, ontology: null, language: null, content: `${at_us}`, bytes: null, is_cut: false }) as unknown as Event;
  recording.hearLog([1, 5, 9].map((at_us, index) => ({ number: index + 1, ...said(at_us, "n1") })));
  recording.insert([said(7, "n2"), { at_us: 8, node: "n2", event: "tick" } as Event, said(3, "n2")]);
  recording.insert([]);
  assert.deepEqual(recording.shown.slice().map(({ at_us, node }) => [at_us, node]), [[1, "n1"], [3, "n2"], [5, "n1"], [7, "n2"], [9, "n1"]]);
  assert.deepEqual([recording.logNumber, recording.performatives.get("inform")], [3, 5]);
});

test("late events keep the ring sorted and new", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50)), fc.array(fc.array(fc.nat(60), { maxLength: 9 })), fc.integer({ min: 1, max: 40 }), (own, parts, capacity) => {
      const recording = new Recording(capacity);
      const at = (at_us: number, name: string): Event => ({ ...sent(name, "z"), at_us });
      recording.want({ ...ALL_EVENTS, agents: "b" });
      recording.hear(own.sort((one, other) => one - other).map((at_us, index) => at(at_us, index % 2 === 0 ? "a" : "b")));
      for (const part of parts) recording.insert(part.map((at_us) => at(at_us, "b")));
      const [kept, all] = [recording.all.slice().map(({ at_us }) => at_us), [...own, ...parts.flat()].sort((one, other) => one - other)];
      assert.deepEqual(kept, [...kept].sort((one, other) => one - other));
      assert.equal(kept.length, Math.min(capacity, all.length));
      assert.deepEqual(kept, all.slice(-capacity));
      assert.ok(recording.shown.slice().every((event) => isMessage(event) && event.from === "b"));
    }),
  );
});

test("node filter takes its events and gaps", () => {
  const wanted = takes({ ...ALL_EVENTS, node: "n2" });
  const gap = (node: string): Event => ({ event: "missed", at_us: 1, node });
  assert.deepEqual([sent("a", "b"), { ...sent("a", "b"), node: "n2" }, gap("n1"), gap("n2"), gap("")].map((event) => wanted(event as Event)), [false, true, false, true, true]);
});

test("messages and gaps are counted, log number grows", () => {
  const recording = new Recording(4);
  recording.hearLog([{ ...sent("a", "b"), number: 7 }, { at_us: 2, node: "n", event: "skipped", count: 5, number: 7 }, { at_us: 2, node: "n", event: "tick", number: 9 }]);
  assert.deepEqual([recording.logNumber, recording.skipped, recording.shown.size, recording.performatives.get("tell")], [9, 5, 2, 1]);
  recording.clear();
  assert.deepEqual([recording.logNumber, recording.shown.size, recording.performatives.size], [0, 0, 0]);
});

test("timeline counts each event, time finds its index", () => {
  const ring = new Ring<Event>(1000);
  for (let at = 0; at < 500; at++) ring.push(at % 100 === 0 ? { ...sent("a", "b"), at_us: at, event: "died", why: "gone" } as Event : { ...sent("a", "b"), at_us: at });
  const { counts, dead } = density(ring, 7);
  assert.equal(counts.reduce((a, b) => a + b), 500);
  assert.equal(dead.reduce((a, b) => a + b), 5);
  assert.deepEqual(density(new Ring<Event>(3), 2).counts, new Uint32Array(2));
  const events = ring.slice();
  assert.deepEqual([indexAt(events, -5), indexAt(events, 250), indexAt(events, 9999)], [0, 250, 500]);
});

test("answers belong to the quoted question", () => {
  const question = sent("a", "b", { reply_with: "q1" });
  const answer = sent("b", "a", { in_reply_to: "q1", at_us: 2 });
  const other = sent("c", "a", { in_reply_to: "q2" });
  assert.ok(isMessage(question) && isMessage(answer));
  assert.deepEqual(related(question, [question, answer, other]).answers, [answer]);
  assert.equal(related(answer, [question, answer, other]).asks, question);
});

test("named agents have lanes first, busiest next", () => {
  const lanes = new Lanes();
  lanes.update("zoe x*", [sent("a", "b"), sent("a", "c"), sent("a", "b")], 3);
  assert.deepEqual(lanes.names, ["zoe", "a", "b"]);
  lanes.update("", [sent("c", "b"), sent("c", "b"), sent("b", "a")], 3);
  assert.deepEqual(lanes.names, ["a", "b", "c"], "a and b keep their lanes");
  lanes.update("", [sent("c", "b"), sent("a", "b")], 3, ["x", "b"]);
  assert.deepEqual(lanes.names, ["a", "b", "x"], "a chosen agent has a lane");
  lanes.update("", [sent("a", "b"), sent("c", "b"), sent("c", "b")], 3);
  assert.deepEqual(lanes.names, ["a", "b", "c"]);
  const { names } = lanes;
  lanes.update("", [sent("c", "b"), sent("a", "b")], 3);
  assert.equal(lanes.names, names, "the same lanes are the same list");
  assert.deepEqual([lanes.of("b"), lanes.of("nobody")], [1, 3]);
  assert.ok(!lanes.hasOthers);
  lanes.update("", [sent("c", "b"), sent("a", "d")], 3);
  assert.ok(lanes.hasOthers);
});

test("pinned lanes come first and can be moved", () => {
  const lanes = new Lanes();
  const talk = [sent("a", "b"), sent("b", "c"), sent("c", "d"), sent("a", "d")];
  lanes.update("", talk, 4);
  assert.deepEqual(lanes.names, ["a", "b", "d", "c"].sort((one, other) => lanes.of(one) - lanes.of(other)));
  lanes.pin("c");
  lanes.update("", talk, 4);
  assert.equal(lanes.of("c"), 0);
  lanes.update("", [sent("x", "y"), sent("x", "y")], 2);
  assert.deepEqual(lanes.names, ["c", "x"], "a pinned agent keeps its lane without messages");
  lanes.pin("c");
  lanes.update("", talk, 4);
  lanes.moveTo("d", 0);
  lanes.update("", talk, 4);
  assert.deepEqual([lanes.of("d"), lanes.pinned], [0, ["d"]]);
  // Of many agents, those of one kind of name share a line; a pinned one keeps its own.
  lanes.pin("d");
  lanes.pin("b2");
  lanes.update("", [sent("a1", "b2"), sent("a2", "b3"), sent("a3", "b3")], 4, [], clusterOf);
  assert.deepEqual(lanes.names, ["b2", "a*", "b*"]);
});

test("copies of one message share a row", () => {
  const cfp = (to: string, more: object = {}) => sent("a", to, { performative: "cfp", content: "task(1)", conversation: "j1", ...more });
  const events = [cfp("b"), cfp("c"), cfp("d", { at_us: 9 }), sent("b", "a"), cfp("b"), cfp("b"), cfp("e", { at_us: 9e6 })];
  const rows = rowsOf(events);
  assert.deepEqual(rows.map(({ index, copies }) => [index, copies.length]), [[0, 2], [3, 0], [4, 0], [5, 0], [6, 0]], "not twice to one receiver, not later");
  assert.deepEqual([0, 1, 2, 3, 6].map((index) => rowAt(rows, index)), [0, 0, 0, 1, 4]);
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.constantFrom("c", "d", "e"))), (pairs) => {
      const all = pairs.map(([from, to]) => sent(from, to));
      const told = rowsOf(all).flatMap(({ event, copies }) => [event, ...copies]);
      assert.deepEqual(told, all, "no event is lost");
    }),
  );
});

test("traffic decays and is remembered", () => {
  const traffic = new Traffic();
  const hear = (...pairs: [string, string, number][]) => traffic.hear({ type: "traffic", at_us: 1, pairs });
  hear(["a", "b", 10], ["c", "d", 1]);
  assert.deepEqual(traffic.pairs().map(({ from }) => from), ["a", "c"]);
  const [{ weight: before } = { weight: 0 }] = traffic.pairs();
  hear();
  assert.ok((traffic.pairs()[0]?.weight ?? 0) < before);
  for (let frame = 0; frame < 100; frame++) hear(["x", "y", 1]);
  assert.deepEqual(traffic.pairs().map(({ from, weight, total }) => [from, weight > 0, total]), [["x", true, 100], ["a", false, 10], ["c", false, 1]]);
  assert.equal(traffic.of("y").length, 1);
  // What is only remembered makes room for what is new.
  for (let pair = 0; pair < 5_000; pair++) hear([`p${pair}`, "q", 1]);
  assert.ok(traffic.pairs().length <= 4_000 && traffic.of("p4999").length === 1 && traffic.of("a").length === 0);
});

test("many agents are clustered by name", () => {
  const names = Array.from({ length: 300 }, (_, index) => (index < 3 ? `boss${index}` : `worker_${index}`));
  const clusters = new Clusters();
  clusters.update(names.slice(0, 100));
  assert.ok(!clusters.isOn);
  clusters.update(names);
  assert.deepEqual([...clusters.sizes], [["worker*", 297]], "three bosses stay apart");
  const pair = (from: string, to: string) => ({ from, to, weight: 1, fresh: 0, total: 4 });
  const pairs = [pair("boss0", "worker_3"), pair("boss0", "worker_4"), pair("worker_3", "boss1")];
  const told = () => clusters.pairs(pairs, (name) => name === "worker_4").map(({ from, to, total }) => `${from} ${to} ${total}`);
  assert.deepEqual(told(), ["boss0 worker* 4", "boss0 worker_4 4", "worker* boss1 4"]);
  clusters.toggle("worker*");
  assert.deepEqual(told()[0], "boss0 worker_3 4");
});

test("output of nodes is merged, failures outlive chatter", () => {
  const output = new Output();
  const line = (number: number, at_us: number, kind = "printed", agent = "bob") => ({ number, at_us, agent, kind, text: `line ${number}` });
  const hear = (node: string, next: number, ...lines: ReturnType<typeof line>[]) => output.hear(node, { lines, next, left_out: 0, printed: 0, faults: 0 });
  hear("n1", 2, line(1, 10), line(2, 30, "failure"));
  hear("n2", 1, line(1, 20, "printed", "amy"));
  assert.deepEqual(output.lines.map(({ node, number }) => `${node} ${number}`), ["n1 1", "n2 1", "n1 2"]);
  hear("n1", 2, line(2, 30, "failure"));
  assert.equal(output.lines.length, 3, "no line comes twice");
  assert.deepEqual([output.since("n1"), output.lastFault("bob")?.number, output.failing(20).length, output.failing(31).length], [2, 2, 1, 0]);
  for (let number = 3; number < LINES_MAX + 10; number++) hear("n1", number, line(number, 30 + number));
  assert.deepEqual([output.lines.length, output.faults.length], [LINES_MAX, 1]);
  assert.equal(output.list({ ...ALL_OUTPUT, onlyFaults: true })[0]?.text, "line 2");
  hear("n1", 1, line(1, 90_000));
  assert.equal(output.since("n1"), 1, "a node that began anew");
  assert.deepEqual(withPlaces("in plan @p, a/clerk.asl:6\nno"), ["in plan @p, ", { file: "a/clerk.asl", line: 6 }, "\nno"]);
});

test("verdict is good only if nothing is wrong", () => {
  const beats = (...handled: number[]) => handled.map((many, index) => ({ atMs: index * 1_000, handled: many, sent: many, dead: 0, queued: 0 }));
  const works = beats(...Array.from({ length: 31 }, (_, second) => second * 5));
  const stands = beats(...Array.from({ length: 31 }, (_, second) => Math.min(second, 3)));
  const base: Signs = { nowMs: 30_000, isConnected: true, ended: undefined, wrongs: [], silent: [], failing: [], beats: works, activities: activitiesOf([agent("a", { activity: "active" }), agent("b", { activity: "waits" })]) };
  const level = (more: Partial<Signs>) => verdictOf({ ...base, ...more }).level;
  const failed = { number: 1, at_us: 0, agent: "bob", kind: "failure", text: "it failed", node: "n1" };
  const still = activitiesOf([agent("a", { activity: "idle" }), agent("b", { activity: "waits" }), agent("c", { activity: "waits" })]);
  assert.equal(level({}), "good");
  assert.equal(level({ beats: stands }), "good", "an agent has a timer");
  assert.equal(level({ beats: stands, activities: still }), "stuck");
  const [reason] = verdictOf({ ...base, beats: stands, activities: still }).reasons;
  assert.match(reason?.text ?? "", /for 27 s, and 2 agents wait for messages that nobody sends: b, c/);
  assert.equal(level({ beats: stands, activities: activitiesOf([agent("a", { activity: "idle" })]) }), "rests");
  assert.equal(level({ activities: activitiesOf([agent("a", { activity: "paused" })]) }), "paused");
  assert.equal(level({ failing: [failed] }), "warns");
  assert.equal(level({ activities: activitiesOf([agent("a", { state: "suspended", mailbox: 3 })]) }), "warns");
  assert.equal(level({ beats: works.map((beat, at) => ({ ...beat, dead: at > 20 ? 1 : 0 })) }), "warns");
  assert.equal(level({ beats: works.map((beat, at) => ({ ...beat, queued: at * 50 })) }), "warns");
  assert.equal(level({ beats: works.map((beat, at) => ({ ...beat, queued: (at % 3) * 900 })) }), "good", "a queue that is emptied");
  assert.equal(level({ silent: ["n2"] }), "wrong");
  assert.equal(level({ wrongs: ["a quota ended bomb"] }), "wrong");
  assert.equal(level({ isConnected: false }), "unknown");
  const ended = { at_us: 1, code: 0, agents: 3, queued: 1 };
  assert.equal(level({ ended, isConnected: false }), "ended");
  assert.equal(endText(ended), "The society has ended: 3 agents still lived, 1 message still waited.");
  assert.equal(endText({ at_us: 1, code: 2, agents: 0, queued: 0 }), "The society has ended with exit code 2; nothing was left unfinished.");
});

test("agents of an ended society are kept", () => {
  const agents = new Agents();
  agents.hear({ type: "agents", total: 2, agents: [agent("a"), agent("b", { handled: 4 })] });
  agents.hear({ type: "agents_changed", total: 0, changed: [], gone: ["a", "b"] });
  assert.equal(agents.known, 0);
  agents.keepEnded();
  agents.hear({ type: "agents_changed", total: 0, changed: [], gone: [] });
  assert.deepEqual([...agents.names, agents.total], ["a", "b", 2]);
  agents.hear({ type: "agents", total: 1, agents: [agent("c")] });
  assert.deepEqual(agents.names, ["c"], "another society began");
});

test("past minds are shown with their changes", () => {
  const mind = new Mind();
  const report = (cycle: number, ...beliefs: string[]): MindInfo => ({ agent: "bob", kind: "agentspeak", cycle, beliefs: beliefs.map((text) => ({ text, namespace: "default", sources: [], annotations: [], rule: false })) });
  mind.hear(report(1, "a"), 1);
  mind.hear(report(2, "a", "b"), 2);
  mind.hear(report(3, "b"), 3);
  assert.deepEqual([mind.shown?.cycle, mind.changes.lost], [3, ["a"]]);
  mind.step(-1);
  mind.hear(report(4, "b"), 4);
  assert.deepEqual([mind.shown?.cycle, [...mind.changes.beliefs]], [2, ["default\nb\n"]], "the past stays while the agent goes on");
  mind.step(1);
  mind.step(1);
  assert.deepEqual([mind.at.value, mind.shown?.cycle], [null, 4]);
  for (let cycle = 5; cycle < 300; cycle++) mind.hear(report(cycle), cycle);
  mind.show(0);
  assert.ok(mind.history.value.length <= 100 && mind.shown?.cycle === 200);
});

test("similar beliefs are one group", () => {
  const belief = (text: string, more: object = {}) => ({ text, namespace: "default", sources: [], annotations: [], rule: false, ...more });
  const groups = groupsOf([belief("offer(1, f(a, b), 3)"), belief("rich"), belief('offer("x, y", [1,2], 4)'), belief("offer(1)"), belief("offer(1,2,3)", { namespace: "ns" })]);
  assert.deepEqual(groups.map(({ predicate, beliefs }) => `${predicate} ${beliefs.length}`), ["offer/3 2", "rich/0 1", "offer/1 1", "ns::offer/3 1"]);
});

test("highlighting keeps every character", () => {
  const lines = ["// go: !x", "+!serve(Who)[source(A)] : likes(\"a\\\"b // c\", X) /* long", "still */ <- .print(X); !!go.", "@p1 -!x <- a-b; ?y(_)."];
  const parts = highlighted(lines);
  assert.deepEqual(parts.map((line) => line.map(([, text]) => text).join("")), lines);
  const kinds = (line: number) => (parts[line] ?? []).flatMap(([kind, text]) => (kind === "" ? [] : [`${kind} ${text}`]));
  assert.deepEqual(kinds(0), ["comment // go: !x"]);
  assert.deepEqual(kinds(2), ["comment still */", "action .print", "variable X", "trigger !!"]);
  assert.deepEqual(kinds(3), ["label @p1", "trigger -!", "trigger ?", "variable _"]);
  fc.assert(fc.property(fc.array(fc.string()), (texts) => assert.deepEqual(highlighted(texts).map((line) => line.map(([, text]) => text).join("")), texts)));
});

test("map comes to rest and stays in place", () => {
  const pairs = Array.from({ length: 40 }, (_, index) => ({ from: `hub${index % 4}`, to: `leaf${index}`, weight: 2, fresh: 1, total: 2 }));
  const layout = new Layout();
  layout.take(pairs);
  layout.settle(1000);
  assert.ok(layout.isAtRest && layout.size === 44);
  const far = (a: string, b: string) => {
    const [p, q] = [layout.spot(a), layout.spot(b)];
    assert.ok(p && q && Number.isFinite(p.x + p.y));
    return Math.hypot(p.x - q.x, p.y - q.y);
  };
  const mean = (lengths: number[]) => lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  const own = mean(pairs.map(({ from, to }) => far(from, to)));
  const strange = mean(pairs.map(({ from, to }) => far(`hub${(Number(from.slice(3)) + 1) % 4}`, to)));
  assert.ok(own < strange, `${own} to its own, ${strange} to another's`);
  const before = [...layout.spots].map(({ x, y }) => [x, y]);
  layout.take(pairs);
  layout.step();
  assert.deepEqual([...layout.spots].map(({ x, y }) => [x, y]), before, "nothing new, nothing moves");
  layout.take(Array.from({ length: 5_000 }, (_, index) => ({ from: `a${index}`, to: `b${index}`, weight: 1, fresh: 0, total: 1 })));
  assert.ok(layout.size <= SPOTS_MAX && layout.edges.length > 0);
});

test("changes of the same mind are reported", () => {
  const mind = (agent: string, beliefs: string[]): MindInfo => ({ agent, kind: "agentspeak", beliefs: beliefs.map((text) => ({ text, namespace: "default", sources: ["self"], annotations: [], rule: false })) });
  const { beliefs, lost } = changes(mind("bob", ["a", "b"]), mind("bob", ["b", "c"]));
  assert.deepEqual([[...beliefs], lost], [["default\nc\nself"], ["a"]]);
  assert.deepEqual(changes(mind("amy", ["a"]), mind("bob", ["b"])).lost, []);
});

test("plan body splits into steps", () => {
  const body = '.print("a; b");\nif (x(Y)) { !a; !b };\n?p(A, B); -+q(A).';
  assert.deepEqual(steps(body), ['.print("a; b");', "if (x(Y)) { !a; !b };", "?p(A, B);", "-+q(A)."]);
  assert.equal(currentStep(steps(body), "?p(A,B)"), 2);
  assert.equal(currentStep(steps(body), null), -1);
  fc.assert(fc.property(fc.string(), (text) => steps(text).join("").length <= text.length));
});

test("health keeps ten minutes", () => {
  const health = new Health();
  for (let at = 0; at < 700; at++) health.hear([{ info: node({}), rates: { sent: at, handled: 0, dead: 0 } }], "n1", at);
  const all = health.of("");
  assert.deepEqual([all.times.length, all.times[0], all.column("sent").at(-1), all.column("p50").at(-1)], [600, 100, 699, null]);
  assert.deepEqual(health.of("n1").column("sent"), all.column("sent"));
});

test("health covers each node and all", () => {
  const health = new Health();
  health.now.value = { type: "health", at_us: 1, sent_per_s: 3, handled_per_s: 0, dead_per_s: 0, queued: 0, latency_us: { p50: 5, p90: 6, p99: 7 }, memory_bytes: null, mailboxes: [], wrong: [] };
  const told = (name: string, sent: number, queued: number) => ({ info: node({ node: name, queued, memory_bytes: 10 }), rates: { sent, handled: 1, dead: 0 } });
  health.hear([told("n1", 3, 1), told("n2", 40, 2), { info: node({ node: "n3" }), rates: null }], "n1", 2);
  const last = (name: string) => (["sent", "handled", "queued", "memory", "p90"] as const).map((column) => health.of(name).column(column).at(-1));
  assert.deepEqual(last("n1"), [3, 1, 1, 10, 6]);
  assert.deepEqual(last("n2"), [40, 1, 2, 10, null]);
  assert.deepEqual(last("n3"), [null, null, 0, 1, null]);
  assert.deepEqual(last(""), [43, 2, 3, 21, null]);
});

test("faults of other nodes are listed", () => {
  const told = [{ info: node({ node: "n1", wrong: ["it is told beside"] }), rates: null }, { info: node({ node: "n2", wrong: ["agents wait 5s for their turns"] }), rates: null }, { info: node({ node: "n3" }), rates: null }];
  assert.deepEqual(faultsOfOthers(told, "n1"), ["n2: agents wait 5s for their turns"]);
});

test("fullest mailboxes of a node or all", () => {
  const agents = new Agents();
  const all = [agent("a", { mailbox: 2 }), agent("b", { mailbox: 7, node: "n2" }), agent("c", { mailbox: 0 }), agent("d", { mailbox: null }), agent("e", { mailbox: 2 })];
  agents.hear({ type: "agents", total: 5, agents: all });
  assert.deepEqual(agents.fullest("", 2), [["b", 7], ["a", 2]]);
  assert.deepEqual(agents.fullest("n1", 9), [["a", 2], ["e", 2]]);
});

test("rates cover the last moments and restarts", () => {
  const totals = new Totals();
  const sum = (sent: number) => ({ sum: { agents: 3, sent, handled: sent, dead: 0, queued: 0, memory_bytes: 1 }, nodes: [], silent: [] });
  totals.hear(sum(1000), 0);
  assert.equal(totals.messagesPerS.value, null);
  totals.hear(sum(1010), 1000);
  assert.equal(totals.messagesPerS.value, 10);
  totals.look(2000);
  assert.equal(totals.messagesPerS.value, 5, "unreported figures stay");
  totals.look(4000);
  assert.equal(totals.messagesPerS.value, 0);
  totals.hear(sum(100), 5000);
  totals.hear(sum(130), 6000);
  assert.equal(totals.messagesPerS.value, 30);
});

test("pairs take growth of counters", () => {
  const pairs = new Pairs();
  const pair = (from: string, to: string, count: number) => ({ from, to, count });
  pairs.hear([pair("a", "b", 70)], 5);
  assert.deepEqual(pairs.take(1).pairs, [], "its time is unknown");
  pairs.hear([pair("a", "b", 72), pair("b", "a", 1)], 5);
  pairs.hear([pair("a", "b", 75), pair("b", "a", 1)], 9);
  const { pairs: taken, unseen, at_us } = pairs.take(2);
  assert.deepEqual([taken, unseen, at_us], [[["a", "b", 5], ["b", "a", 1]], 4, 2000]);
  assert.deepEqual(pairs.take(3).pairs, []);
  pairs.hear([pair("a", "b", 2)], 0);
  assert.deepEqual(pairs.take(4).pairs, [["a", "b", 2]]);
});

test("routes survive any name", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (name, value) => {
      const route = readRoute(writeRoute("mind", name, { to: value }));
      assert.deepEqual([route.view, route.of, route.query.get("to") ?? ""], ["mind", name, value]);
    }),
  );
  assert.equal(readRoute("#/nowhere/x").view, "society");
  assert.equal(readRoute("#/mind/%E0%A4%A").of, "%E0%A4%A");
  assert.equal(tokenIn("#token=a%2Fb"), "a/b");
  assert.equal(tokenIn("#/society?token=x"), null);
});

test("key sequences need time and no text field", () => {
  const keys = new Keys();
  const done: string[] = [];
  keys.bind("g s", () => done.push("society"));
  keys.bind("s", () => done.push("s"));
  const undo = keys.bind("Escape", () => done.push("below"));
  keys.bind("Escape", () => done.push("above"));
  const press = (key: string, atMs: number, more = {}) => keys.press({ key, ctrl: false, inText: false, ...more }, atMs);
  assert.ok(press("g", 0) && press("s", 500));
  assert.ok(press("g", 1000) && press("s", 9000));
  assert.ok(!press("s", 9001, { inText: true }) && !press("s", 9002, { ctrl: true }));
  undo();
  assert.ok(press("Escape", 9100));
  assert.ok(!press("x", 9200));
  assert.deepEqual(done, ["society", "s", "above"]);
});

test("refused storage does no harm", () => {
  const names = ["sessionStorage", "localStorage"] as const;
  const before = names.map((name) => Object.getOwnPropertyDescriptor(globalThis, name));
  const be = (get: () => unknown) => names.forEach((name) => Object.defineProperty(globalThis, name, { configurable: true, get }));
  try {
    be(() => {
      throw new DOMException("denied", "SecurityError");
    });
    assert.deepEqual([readStored("tab", "k"), writeStored("tab", "k", "x"), writeStored("browser", "k", null)], [null, false, false]);
    const full = () => {
      throw new DOMException("full", "QuotaExceededError");
    };
    be(() => ({ getItem: full, setItem: full, removeItem: full }));
    assert.deepEqual([readStored("browser", "k"), writeStored("browser", "k", "x")], [null, false]);
    const held = new Map<string, string>();
    be(() => ({ getItem: (key: string) => held.get(key) ?? null, setItem: (key: string, text: string) => held.set(key, text), removeItem: (key: string) => held.delete(key) }));
    assert.deepEqual([writeStored("tab", "k", "x"), readStored("tab", "k"), writeStored("tab", "k", null), readStored("tab", "k")], [true, "x", true, null]);
  } finally {
    names.forEach((name, at) => Object.defineProperty(globalThis, name, before[at] ?? { configurable: true, value: undefined }));
  }
});
