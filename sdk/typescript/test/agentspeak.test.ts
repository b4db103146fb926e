/** Test of the AgentSpeak engine in WebAssembly: the whole corpus, minds that nodes wrote, and its host. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { difference, type Case } from "./agentspeak-cases.js";
import { Aid, atom, connect, message, term, type Connect, type Message, type Platform, type TransportEvents } from "../src/index.js";
import { attachSociety, EngineError, ProgramError, Society, type ProgramFiles, type SocietyOptions } from "../src/agentspeak.js";
import { Browser, bundle, Pages, withoutBrowser } from "./chromium.js";
import { ENGINE, MIND, WITHOUT_ENGINE, WITHOUT_MIND } from "./engine.js";
import { repository } from "./vectors.js";
import { VirtualClock } from "./virtual-clock.js";

const CORPUS = join(repository(), "conformance/agentspeak");

/** Returns the files in a folder and its subfolders, by relative path. */
function filesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
}

/** Returns the cases, and those in which Whimbrel deliberately differs from Jason. */
function cases(): { readonly all: readonly Case[]; readonly deviating: ReadonlySet<string> } {
  const folders = readdirSync(CORPUS).filter((name) => existsSync(join(CORPUS, name, "expected.txt")));
  const all = folders.sort().map((name) => {
    const { "expected.txt": expected = "", ...files } = filesIn(join(CORPUS, name));
    return { name, files, expected };
  });
  const lines = readFileSync(join(CORPUS, "DEVIATIONS"), "utf8").split("\n");
  return { all, deviating: new Set(lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => line.split(/\s/)[0] ?? "")) };
}

describe("AgentSpeak corpus in WebAssembly", { skip: WITHOUT_ENGINE }, () => {
  test("every program prints what Jason prints", { timeout: 300_000 }, async (context) => {
    const module = await WebAssembly.compile(readFileSync(ENGINE));
    const { all, deviating } = cases();
    const wrong: string[] = [];
    for (const one of all) {
      const why = await difference(module, one);
      if ((why !== undefined) !== deviating.has(one.name)) wrong.push(`${one.name}: ${why ?? "no deviation any more"}`);
    }
    context.diagnostic(`${all.length - wrong.length - deviating.size} of ${all.length} programs, and ${deviating.size} known deviations`);
    assert.ok(all.length > 450, "the corpus is there");
    assert.deepEqual(wrong, []);
  });

  test("every program prints it in a browser's Worker", { skip: withoutBrowser(), timeout: 300_000 }, async (context) => {
    const { all, deviating } = cases();
    const pages = await Pages.of({
      "tab-agentspeak.js": await bundle("tab-agentspeak.js"),
      "agentspeak.wasm": readFileSync(ENGINE),
      "cases.json": JSON.stringify({ all, deviating: [...deviating] }),
    });
    const browser = new Browser(`${pages.url}?script=tab-agentspeak.js`);
    try {
      const [posted] = await pages.heard(1);
      const { programs, wrong, ms } = JSON.parse(posted ?? "") as { programs: number; wrong: string[]; ms: number };
      context.diagnostic(`${programs - wrong.length - deviating.size} of ${programs} programs, and ${deviating.size} known deviations, in ${ms} ms`);
      assert.deepEqual(wrong, []);
      assert.equal(programs, all.length);
    } finally {
      await browser.close();
      pages.close();
    }
  });
});

/** A society on a clock of its own, and its output. */
class Bench {
  readonly lines: string[] = [];
  readonly ended: string[] = [];
  readonly sent: Message[] = [];

  private constructor(
    readonly clock: VirtualClock,
    readonly society: Society,
  ) {
    society.on("printed", ({ agent, text }) => this.lines.push(`[${agent}] ${text}`));
    society.on("ended", ({ agent, reason }) => this.ended.push(`${agent} ${reason}`));
    society.on("sent", ({ message: said }) => this.sent.push(said));
  }

  static async of(files: Readonly<Record<string, string>>, options: SocietyOptions = {}): Promise<Bench> {
    const clock = new VirtualClock(0);
    const society = await Society.load(readFileSync(ENGINE), { clock, random: () => 7n, sliceMs: Infinity, ...options });
    society.putFiles(files);
    return new Bench(clock, society);
  }
}

describe("minds", { skip: WITHOUT_ENGINE }, () => {
  const read = (layout: string, name: string): Buffer => readFileSync(join(repository(), "conformance/snapshots", layout, name));

  for (const layout of ["layout-3", "layout-4"]) {
    test(`mind of a node in ${layout} continues`, async () => {
      const { clock, society, lines } = await Bench.of({ "prog.asl": read(layout, "prog.asl").toString() });
      clock.pass(5000);
      society.restore("prog", "prog.asl", read(layout, "mind.bin"));
      clock.pass(3000);
      assert.deepEqual(lines, read(layout, "expected.txt").toString().trimEnd().split("\n"));
    });
  }

  test("written mind equals a node's bytes", { skip: WITHOUT_MIND }, async () => {
    const { clock, society } = await Bench.of({ "prog.asl": read("layout-4", "prog.asl").toString() });
    society.spawn("prog", "prog.asl");
    clock.pass(200);
    assert.deepEqual(Buffer.from(society.snapshot("prog")), readFileSync(MIND));
  });

  test("departed mind continues with its messages", async () => {
    const files = { "bob.asl": "n(0). !tick. +!tick <- .wait(100); ?n(N); -+n(N+1); .print(tick, N); !tick. +hi[source(A)] <- .print(hi, A)." };
    const [here, there] = [await Bench.of(files), await Bench.of(files)];
    here.society.spawn("bob", "bob.asl");
    here.clock.pass(250);
    here.society.suspend("bob");
    here.society.deliver(message({ performative: "tell", sender: "amy", receivers: "bob", content: atom("hi") }));
    const { state, messages } = here.society.depart("bob");
    assert.deepEqual([here.society.agents, here.ended, messages.length], [[], [], 1]);
    here.society.spawn("bob", "bob.asl");
    there.society.restore("bob", "bob.asl", state);
    for (const waited of messages) assert.deepEqual(there.society.deliver(waited), []);
    there.clock.pass(160);
    assert.deepEqual([...here.lines, ...there.lines], ["[bob] tick0", "[bob] tick1", "[bob] hiamy", "[bob] tick2", "[bob] tick3"]);
    assert.throws(() => there.society.restore("eve", "bob.asl", state.subarray(0, state.length / 2)), /eve/);
    assert.throws(() => there.society.depart("nobody"), /no such agent/);
    const { sent, came, handled, dead, queued, left } = here.society.counters;
    assert.equal(sent + came, handled + dead + queued + left);
  });
});

test("moved society agent exists once, or stays", { skip: WITHOUT_ENGINE }, async () => {
  const files = { "bob.asl": "n(0). !tick. +!tick <- .wait(100); ?n(N); -+n(N+1); .print(tick, N); !tick. +hi[source(A)] <- .print(hi, A)." };
  const [here, there] = [await Bench.of(files), await Bench.of({})];
  const move = (moved: ProgramFiles): void => {
    there.society.putFiles(moved);
    there.society.restore("bob", "bob.asl", here.society.snapshot("bob"));
    for (const waited of here.society.depart("bob").messages) there.society.deliver(waited);
  };
  here.society.spawn("bob", "bob.asl");
  here.clock.pass(250);
  here.society.suspend("bob");
  here.society.deliver(message({ performative: "tell", sender: "amy", receivers: "bob", content: atom("hi") }));
  assert.throws(() => move({}), /there is no file bob.asl/);
  assert.deepEqual([here, there].map(({ society }) => society.agents.map(({ name }) => name)), [["bob"], []]);
  move(files);
  assert.deepEqual([here, there].map(({ society }) => society.agents.map(({ name }) => name)), [[], ["bob"]]);
  there.clock.pass(160);
  assert.deepEqual([...here.lines, ...there.lines], ["[bob] tick0", "[bob] tick1", "[bob] hiamy", "[bob] tick2", "[bob] tick3"]);
});

/** Node that creates agents, refuses those called `taken`, and records messages. */
class SmallNode {
  readonly said: { readonly type: string; readonly agent: number; readonly name?: string; readonly message?: { readonly performative: string; readonly content?: unknown } }[] = [];
  #events: TransportEvents | undefined;
  #number = 0;
  #heard = 0;
  /** True to withhold acknowledgements. */
  isBusy = false;

  readonly transport: Connect = (events) => {
    this.#events = events;
    queueMicrotask(() => events.onOpen());
    return { send: (frame) => this.#hear(JSON.parse(String(frame)) as { type: string; agent: number; name?: string; number?: number }), close: () => undefined };
  };

  message(agent: number, content: object): void {
    this.#say({ type: "message", number: ++this.#number, agent, message: content });
  }

  catchUp(): void {
    this.#say({ type: "ack", received: this.#heard, credit: this.#heard + 256 });
  }

  ended(agent: number): void {
    this.#say({ type: "ended", number: ++this.#number, agent, reason: "killed" });
  }

  #say(frame: object): void {
    this.#events?.onFrame(JSON.stringify(frame));
  }

  #hear(frame: { type: string; agent: number; name?: string; number?: number }): void {
    this.said.push(frame);
    const { type, agent, name, number } = frame;
    this.#heard = number ?? this.#heard;
    if (number !== undefined && !this.isBusy) this.#say({ type: "ack", received: number, credit: number + 256 });
    const limits = { lease_ms: 10_000, window: 256, agents: 8, message_bytes: 1 << 20, messages_per_s: 10_000, remember: 0 };
    if (type === "hello") this.#say({ type: "welcome", version: 1, session: "s", secret: "x", platform: "garden", received: 0, credit: 256, ...limits });
    else if (type === "create" && name === "taken") this.#say({ type: "refused", number: ++this.#number, of: number, code: "name-taken", text: "no" });
    else if (type === "create") this.#say({ type: "created", number: ++this.#number, agent, name: `${name}@garden` });
    else if (type === "end") this.#say({ type: "ended", number: ++this.#number, agent, reason: "finished" });
    else if (type === "bye") this.#say({ type: "bye" });
  }
}

test("society attaches agent by agent, then detaches", { skip: WITHOUT_ENGINE, timeout: 20_000 }, async () => {
  const { clock, society, lines, ended } = await Bench.of({
    "bob.asl": "!go. +!go <- .create_agent(kid, \"kid.asl\"); .send(amy, tell, hello). +!kqml_received(A, failure, C, _) <- .print(failed, A).",
    "kid.asl": "+x(N)[source(S)] <- .print(N, S).",
    "taken.asl": "!go. +!go <- .send(amy, tell, hello). +!kqml_received(A, failure, C, _) <- .print(failed, A).",
  });
  const node = new SmallNode();
  const platform = await connect("ws://node.example", { transport: node.transport });
  const errors: string[] = [];
  society.spawn("bob", "bob.asl");
  society.spawn("taken", "taken.asl");
  const leave = await attachSociety(society, platform, { onError: (agent, error) => errors.push(`${agent} ${String(error)}`) });
  assert.deepEqual(errors, ["taken RefusedError: name-taken: no"]);
  clock.pass(10);
  const until = async (done: () => boolean): Promise<void> => {
    while (!done()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await until(() => platform.agents.length === 2);
  await until(() => node.said.some(({ type }) => type === "message"));
  const said = node.said.filter(({ type }) => type === "message").map(({ agent, message: what }) => [agent, what?.performative, what?.content]);
  assert.deepEqual(said, [[0, "tell", { atom: "hello" }]]);
  clock.pass(10);
  assert.deepEqual(lines, ["[taken] failedams"], "sender without a slot gets the failure");
  const kid = node.said.find(({ type, name }) => type === "create" && name === "kid")?.agent ?? -1;
  node.message(kid, { performative: "tell", sender: "amy@garden", receivers: ["kid"], content: { term: "x", args: [1] } });
  await until(() => (clock.pass(10), lines.length > 1));
  assert.equal(lines.at(-1), "[kid] 1amy");
  node.ended(kid);
  await until(() => ended.length > 0);
  assert.deepEqual(ended, ["kid killed"]);
  await leave();
  assert.deepEqual([platform.agents.length, society.agents.map(({ name }) => name)], [0, ["bob", "taken"]]);
  await platform.close();
});

test("earlier services are registered, stopped society leaves", { skip: WITHOUT_ENGINE, timeout: 20_000 }, async () => {
  const { clock, society } = await Bench.of({ "bob.asl": "!go. +!go <- .df_register(cook); .df_register(baker); .df_deregister(baker). +stop <- .stopMAS." });
  const node = new SmallNode();
  const platform = await connect("ws://node.example", { transport: node.transport });
  society.spawn("bob", "bob.asl");
  clock.pass(10);
  await attachSociety(society, platform, { onError: () => undefined });
  const asked = (): string => JSON.stringify(node.said.filter(({ type }) => type === "message").map(({ message: what }) => what?.content));
  while (!asked().includes("register")) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.match(asked(), /cook/);
  assert.doesNotMatch(asked(), /baker/);
  node.message(0, { performative: "tell", sender: "amy@garden", receivers: ["bob"], content: { atom: "stop" } });
  while (!society.isOver) await new Promise((resolve) => setTimeout(resolve, 5).unref() && (clock.pass(10), resolve(undefined)));
  while (platform.agents.length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await platform.close();
});

test("minds wait for a slow node", { skip: WITHOUT_ENGINE, timeout: 60_000 }, async () => {
  const { clock, society } = await Bench.of({ "bob.asl": "!go(0). +!go(N) : N < 30000 <- .send(amy, tell, n(N)); !go(N + 1)." });
  const node = new SmallNode();
  const platform = await connect("ws://node.example", { transport: node.transport });
  await attachSociety(society, platform, { onError: (_, error) => assert.fail(String(error)) });
  society.spawn("bob", "bob.asl");
  await attachedAgents(platform, 1);
  node.isBusy = true;
  clock.pass(50);
  await new Promise((resolve) => setTimeout(resolve, 50));
  clock.pass(50);
  assert.ok(platform.unacknowledged < 20_000, `${platform.unacknowledged} are kept`);
  node.isBusy = false;
  node.catchUp();
  while (node.said.filter(({ type }) => type === "message").length < 30_000) {
    clock.pass(50);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const said = node.said.flatMap(({ message: what }) => (what ? [Number((what.content as { args: { num: number }[] }).args[0]?.num)] : []));
  assert.deepEqual(said, Array.from({ length: 30_000 }, (_, at) => at));
  await platform.close();
});

async function attachedAgents(platform: Platform, count: number): Promise<void> {
  while (platform.agents.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("society", { skip: WITHOUT_ENGINE }, () => {
  test("agents create, find, message and end each other", async () => {
    const { clock, society, lines, ended } = await Bench.of({
      "amy.asl": `!go.
        +!go <- .create_agent(bob, "bob.asl", [beliefs("likes(tea)")]); .wait(20); .df_search("cook", L); .print(L);
                .send(bob, askOne, likes(X), likes(Y)); .print(Y); .kill_agent(bob); .wait(20); .send(bob, tell, late).
        -!go[error_msg(M)] <- .print(failed).`,
      "bob.asl": "!offer. +!offer <- .df_register(cook).",
    });
    await society.open("amy.asl");
    assert.deepEqual(society.agents, [{ name: "amy", state: "active" }]);
    clock.pass(1000);
    assert.deepEqual(lines.slice(0, 2), ["[amy] [bob]", "[amy] tea"]);
    assert.deepEqual(ended, ["bob killed"]);
    society.close();
    assert.throws(() => society.agents, /the society has ended/);
  });

  test("attached society sends and receives outside messages", async () => {
    const { clock, society, sent, lines } = await Bench.of({
      "bob.asl": "!go. +!go <- .send([amy, carl], tell, hello); .df_register(cook). +price(X)[source(S)] <- .print(X, S).",
      "carl.asl": "+hello[source(S)] <- .print(S).",
    });
    const offered: unknown[] = [];
    society.on("offered", (offer) => offered.push(offer));
    society.attach("garden");
    society.spawn("carl", "carl.asl");
    society.spawn("bob", "bob.asl");
    clock.pass(10);
    assert.deepEqual(sent.map(({ receivers, content, sender }) => [receivers.map(String), content, String(sender)]), [[["amy"], atom("hello"), "bob"]]);
    assert.deepEqual(offered, [{ agent: "bob", service: "cook", kind: "jason-type", offered: true }]);
    const missing = society.deliver(message({ performative: "tell", sender: Aid.of("amy@garden"), receivers: ["bob", "nobody"], content: term("price", 3) }));
    assert.deepEqual(missing, ["nobody"]);
    clock.pass(10);
    assert.deepEqual(lines, ["[carl] bob", "[bob] 3amy"]);
    society.attach(undefined);
    assert.throws(() => society.deliver(message({ performative: "tell", sender: "amy", receivers: "bob", content: { kind: "nothing" } as never })));
  });

  test("suspended agent handles its messages later", async () => {
    const { clock, society, lines } = await Bench.of({ "bob.asl": "+n(X) <- .print(X)." });
    const tell = (n: number): unknown => society.deliver(message({ performative: "tell", sender: "amy", receivers: "bob", content: term("n", n) }));
    society.spawn("bob", "bob.asl");
    society.suspend("bob");
    tell(1);
    tell(2);
    clock.pass(100);
    assert.deepEqual([lines, society.agents], [[], [{ name: "bob", state: "suspended" }]]);
    society.resume("bob");
    society.pause();
    clock.pass(100);
    assert.deepEqual(lines, []);
    society.goOn();
    clock.pass(100);
    assert.deepEqual(lines, ["[bob] 1", "[bob] 2"]);
    assert.throws(() => society.suspend("nobody"), /nobody/);
  });

  test("mind is inspected, stepped and changed", async () => {
    const { clock, society, lines } = await Bench.of({ "bob.asl": "likes(tea). !go. +!go <- ?likes(X); .wait(10); !go. @rain +rain <- .print(rain)." });
    society.spawn("bob", "bob.asl");
    clock.pass(5);
    const { beliefs, intentions, plans, paused } = society.mind("bob", { follow: true });
    assert.deepEqual([beliefs.map(({ text }) => text), intentions.length, paused], [["likes(tea)"], 1, false]);
    assert.deepEqual([intentions[0]?.frames[0]?.file, intentions[0]?.frames[0]?.line, intentions[0]?.frames[0]?.unifier], ["bob.asl", 1, [["X", "tea"]]]);
    assert.ok(plans.some(({ label }) => label === "rain"));
    society.instruct("bob", { breakpoint: { plan: "rain", on: true } });
    society.instruct("bob", { believe: { belief: "rain", add: true } });
    clock.pass(100);
    assert.deepEqual([society.mind("bob").paused, lines], [true, []]);
    society.instruct("bob", "step");
    clock.pass(10);
    assert.ok((society.mind("bob").cycle ?? 0) > 0);
    society.instruct("bob", "end");
    clock.pass(100);
    assert.deepEqual([society.mind("bob").paused, lines], [false, ["[bob] rain"]]);
    assert.throws(() => society.instruct("bob", { pursue: { goal: "a(" } }));
    assert.throws(() => society.mind("nobody"), /nobody/);
  });

  test("diagnostics have editor positions", async () => {
    const { society } = await Bench.of({
      "a.asl": 'greeting("ä😀"). +!go <- .print(X',
      "s.mas2j": "MAS s { agents: a; b; }",
    });
    const { diagnostics, missing } = await society.check("s.mas2j");
    const [first] = diagnostics.filter(({ file }) => file === "a.asl");
    assert.deepEqual([first?.severity, first?.line], ["error", 1]);
    assert.ok(first && first.column > 19 && first.column <= 38 && first.rendered.includes("a.asl:1"), JSON.stringify(first));
    assert.deepEqual(missing, ["b.asl"]);
    await assert.rejects(society.open("s.mas2j"), (error) => error instanceof ProgramError && error.diagnostics.length >= 2);
    assert.deepEqual(society.agents, [], "no agent is created");
    assert.throws(() => society.spawn("a", "a.asl"), /a\.asl/);
    assert.throws(() => society.spawn("a@b", "a.asl"));
  });

  test("included files are fetched", async () => {
    const asked: string[] = [];
    const library: Record<string, string> = { "lib/x.asl": '{ include("y.asl") }', "lib/y.asl": "+!go <- .print(here)." };
    const fetchFile = async (path: string): Promise<string | undefined> => (asked.push(path), library[path]);
    const { clock, society, lines } = await Bench.of({ "a.asl": '{ include("lib/x.asl") } !go.', "b.asl": '{ include("no.asl") }' }, { fetchFile });
    const { agents } = await society.open("a.asl");
    clock.pass(10);
    assert.deepEqual([agents, lines, asked], [["a"], ["[a] here"], ["lib/x.asl", "lib/y.asl"]]);
    await assert.rejects(society.open("b.asl"), ProgramError);
    assert.equal(asked.at(-1), "no.asl");
  });

  test("busy agent delays no others", { timeout: 20_000 }, async () => {
    const society = await Society.load(readFileSync(ENGINE));
    const told = new Promise((resolve) => society.on("printed", ({ agent, text }) => agent === "calm" && resolve(text)));
    society.putFiles({ "busy.asl": "!go. +!go <- !go.", "calm.asl": "!go. +!go <- .wait(50); .print(done)." });
    society.spawn("busy", "busy.asl");
    society.spawn("calm", "calm.asl");
    assert.equal(await told, "done");
    society.close();
  });

  test("endless terms fail their plan only", { timeout: 60_000 }, async () => {
    const { clock, society, lines } = await Bench.of({
      "deep.asl": "!g(z). +!g(T) <- !g(f(T)). -!g(_) <- .print(failed).",
      "calm.asl": "!go. +!go <- .wait(50); .print(done).",
    });
    const faults: EngineError[] = [];
    society.on("failed", (error) => faults.push(error));
    society.spawn("deep", "deep.asl");
    society.spawn("calm", "calm.asl");
    clock.pass(100);
    assert.deepEqual([faults, lines.includes("[calm] done")], [[], true]);
  });

  test("invalid orders and states change nothing", async () => {
    const { clock, society, lines } = await Bench.of({ "bob.asl": "!go. +!go <- .wait(10); .print(fine)." });
    society.spawn("bob", "bob.asl");
    for (const seed of [1, 2, 3, 50]) {
      const noise = Uint8Array.from({ length: seed * 40 }, (_, at) => (at * 131 * seed) % 251);
      assert.throws(() => society.restore("eve", "bob.asl", noise));
    }
    assert.throws(() => society.spawn("eve", "bob.asl", { beliefs: 1n as never }), /cannot be encoded/);
    assert.throws(() => society.putFiles({ "x.asl": "x".repeat(129 << 20) }), /too long/);
    assert.throws(() => society.kill("nobody"), /no such agent/);
    assert.throws(() => society.removeFile("x.asl"), /no file/);
    clock.pass(100);
    assert.deepEqual(lines, ["[bob] fine"]);
  });
});
