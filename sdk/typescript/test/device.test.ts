/** Test of pages as devices: agents in the Workers of two tabs of a real browser, and on a node. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inspect, isDeepStrictEqual } from "node:util";
import { atom, connect, DeadlineError, FailureError, isTerm, RefuseError, term, type Agent, type Message, type Platform, type Value } from "../src/node.js";
import { weigh, type Mind } from "../src/device.js";
import { Browser, bundle, Pages, withoutBrowser } from "./chromium.js";
import { ENGINE, WITHOUT_ENGINE } from "./engine.js";
import { EXAMPLES, guestBytes, LANGUAGES, WITHOUT_GUESTS } from "./guests.js";
import { Proxy } from "./proxy.js";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";

interface News {
  readonly broken?: string;
  readonly joined?: string;
  readonly units?: number;
  readonly ms?: number;
  readonly trouble?: string;
  readonly error?: string;
  readonly printed?: string;
  readonly text?: string;
  readonly ended?: string;
  readonly reason?: string;
}

/** A node, two browsers with devices, and an agent that controls them. */
class Bench {
  private constructor(
    readonly pages: Pages,
    readonly platform: Platform,
    readonly boss: Agent,
    readonly close: () => Promise<void>,
  ) {}

  static async begin(): Promise<Bench> {
    const society = await Society.of({ fern: "" });
    const pages = await Pages.of({
      "tab-device.js": await bundle("tab-device.js"),
      "worker.js": await bundle("../src/device/worker.js"),
      "greeter.js": await bundle("device-agents.js"),
      "device-squares.js": await bundle("device-squares.js"),
      "agentspeak.wasm": readFileSync(ENGINE),
      "mind.asl": '{ include("more.asl") } price(3). !go. +!go : likes(X) <- .df_register(prices); .print(X).',
      "more.asl": "+?price(X) <- ?cost(X). +!greet(A)[source(S)] <- .send(S, tell, greeted(A)).",
      "wrong.asl": "+!go <- ",
      "stopper.asl": "+!stop <- .stopMAS.",
      ...Object.fromEntries(["worker", "traveller", "keeper", "counter"].flatMap((what) => LANGUAGES.map((language) => [`${what}-${language}.wasm`, guestBytes(`${what}-${language}`)]))),
    });
    const tab = (name: string, workers: number): string =>
      `${pages.url}?${new URLSearchParams({ script: "tab-device.js", gateway: `http://${society.gateway}`, token: TOKEN, name, workers: String(workers) })}`;
    const platform = await connect(`tcp://${society.address}`, { token: TOKEN });
    const boss = await platform.create("boss");
    const browsers = [new Browser(tab("tab-one", 2)), new Browser(tab("tab-two", 1))];
    return new Bench(pages, platform, boss, async () => {
      await platform.close();
      await Promise.all(browsers.map((browser) => browser.close()));
      pages.close();
      society.stop();
    });
  }

  get news(): readonly News[] {
    return this.pages.posted.map((text) => JSON.parse(text) as News);
  }

  /** Waits for a report that satisfies a condition. */
  async hears(fits: (news: News) => boolean): Promise<News> {
    for (;;) {
      const found = this.news.find(fits);
      if (found) return found;
      const broken = this.news.find(({ broken: why }) => why !== undefined);
      assert.equal(broken, undefined);
      await this.pages.heard(this.pages.posted.length + 1);
    }
  }

  /** Returns an agent's answer. */
  async ask(to: string, content: Value, performative = "request"): Promise<Message> {
    return this.boss.ask({ performative, receivers: to, content }, { timeoutMs: 20_000 });
  }

  spawn(tab: string, name: string, module: string, data = ""): Promise<Message> {
    return this.ask(`${tab}-control`, term("spawn", name, module, data));
  }
}

test("weigh returns plausible units", () => {
  const [one, other] = [weigh(), weigh()];
  assert.ok(Number.isInteger(one) && one > 0 && one < 1e6);
  assert.ok(Math.max(one, other) / Math.min(one, other) < 20, `${one} and ${other}`);
});

const without = WITHOUT_NODE || WITHOUT_ENGINE || WITHOUT_GUESTS || withoutBrowser();

test("two pages run agents in their Workers", { skip: without, timeout: 240_000 }, async (context) => {
  const bench = await Bench.begin();
  const { boss, platform } = bench;
  try {
    const [first, second] = [await bench.hears(({ joined }) => joined !== undefined), await bench.pages.heard(2)];
    assert.equal(second.length, 2);
    context.diagnostic(`joined in ${first.ms} ms, ${first.units} compute units`);

    for (const [tab, name] of [["tab-one", "echo1"], ["tab-one", "echo2"], ["tab-two", "far"]] as const) {
      assert.equal((await bench.spawn(tab, name, "greeter.js", `of ${tab}`)).content, `${name}@${platform.name}`);
    }
    assert.equal((await bench.spawn("tab-one", "mind", "mind.asl", "likes(tea)")).content, `mind@${platform.name}`);
    boss.onMessage({ performative: "request" }, (message) => boss.reply(message, "inform", "the boss"));

    // Two Workers, two tabs, a tab and a node: each learns who asked.
    assert.deepEqual((await bench.ask("echo1", term("ask", "echo2"))).content, ["echo2", [{ atom: "hello" }, "echo1", "of tab-one"]]);
    assert.deepEqual((await bench.ask("echo1", term("ask", "far"))).content, ["far", [{ atom: "hello" }, "echo1", "of tab-two"]]);
    assert.deepEqual((await bench.ask("far", term("ask", "echo2"))).content, ["echo2", [{ atom: "hello" }, "far", "of tab-one"]]);
    assert.deepEqual((await bench.ask("far", term("ask", "boss"))).content, ["boss", "the boss"]);

    // A mind in a Worker.
    await bench.hears(({ printed, text }) => printed === "mind" && text === "tea");
    const price = await bench.ask("mind", term("price", { var: "X", slot: 0 }), "askOne");
    assert.equal(price.sender.toString(), "mind");
    assert.ok(isTerm(price.content, "price", 1) && price.content.args[0] === 3);
    boss.send({ performative: "achieve", receivers: "mind", content: term("greet", "world") });
    const greeted = await boss.receive({ performative: "tell", sender: "mind" }, { timeoutMs: 20_000 });
    assert.deepEqual(greeted.content, term("greeted", "world"));
    const [offer] = await boss.df.search({ services: [{ name: "prices" }] });
    assert.equal(offer?.name.name, "mind");

    // Permitted agents may inspect it, others may not.
    const look = (agent: Agent, name: string) => agent.ask({ performative: "query-ref", receivers: "tab-one", ontology: "whimbrel-mind", content: term("mind", name) });
    const mind = JSON.parse(String((await look(boss, "mind")).content)) as Mind;
    assert.deepEqual(mind.beliefs.map(({ text }) => text).sort(), ["likes(tea)", "price(3)"]);
    assert.ok(mind.plans.some(({ trigger }) => trigger === "+!greet(A)[source(S)]"), inspect(mind.plans));
    await assert.rejects(look(boss, "echo1"), /not written in AgentSpeak/);
    await assert.rejects(look(boss, "far"), /no agent far on this device/);
    await assert.rejects(look(await platform.create("stranger"), "mind"), RefuseError);

    // WebAssembly modules in three languages: one registers itself, one waits within its calls.
    for (const language of LANGUAGES) {
      assert.equal((await bench.spawn("tab-one", `sum-${language}`, `worker-${language}.wasm`)).content, `sum-${language}@${platform.name}`);
      assert.deepEqual((await bench.ask(`sum-${language}`, term("sum", [1n, 2n, 3n]))).content, term("sum", 6n, 1n));
      await bench.spawn("tab-two", `tour-${language}`, `traveller-${language}.wasm`);
      const toured = (await bench.ask(`tour-${language}`, term("tour", ["n2"]))).content;
      assert.ok(isTerm(toured, "sum", 3) && toured.args[2] === "tab-two", inspect(toured));
      await bench.spawn("tab-two", `keep-${language}`, `keeper-${language}.wasm`);
      await assert.rejects(bench.ask(`keep-${language}`, term("note", "a", "one")), /does not grant storage/);
    }
    assert.equal((await boss.df.search({ services: [{ name: "sums" }] })).length, 3);
    boss.send({ performative: "inform", receivers: "sum-c", content: "that is no sum" });
    assert.equal((await boss.receive({ sender: "sum-c" }, { timeoutMs: 20_000 })).performative, "not-understood");
    await assert.rejects(bench.spawn("tab-one", "no-guest", "agentspeak.wasm"), /imports|export/);

    // Failures do not affect other agents.
    await assert.rejects(bench.spawn("tab-one", "mind2", "wrong.asl"), FailureError);
    await assert.rejects(bench.spawn("tab-one", "nobody", "no-such-module.js"), FailureError);
    await assert.rejects(bench.spawn("tab-two", "echo1", "greeter.js"), /name-taken|exists/);
    boss.send({ performative: "request", receivers: "echo1", content: "fail" });
    assert.match((await bench.hears(({ trouble }) => trouble === "echo1")).error ?? "", /as it was asked to/);
    assert.equal((await bench.ask("echo1", "hello")).performative, "inform");

    // A mind that stops its society does not prevent another. An uncaught error ends nothing.
    await bench.spawn("tab-two", "stopper", "stopper.asl");
    boss.send({ performative: "achieve", receivers: "stopper", content: atom("stop") });
    await bench.hears(({ ended }) => ended === "stopper");
    await bench.spawn("tab-two", "calm", "mind.asl", "likes(coffee)");
    await bench.hears(({ printed, text }) => printed === "calm" && text === "coffee");
    assert.equal((await bench.ask("far", "fail later")).performative, "inform");
    await bench.hears(({ trouble, error }) => trouble === "" && /later/.test(error ?? ""));
    assert.equal((await bench.ask("far", "hello")).performative, "inform");

    // Messages to a suspended agent wait.
    await bench.ask("tab-one-control", term("suspend", "echo2"));
    await assert.rejects(boss.ask({ performative: "request", receivers: "echo2", content: "hello" }, { timeoutMs: 300 }), DeadlineError);
    await bench.ask("tab-one-control", term("resume", "echo2"));
    assert.equal((await bench.ask("echo2", "hello")).performative, "inform");

    // Work for others, through the agent `devices`.
    const share = (part: Value, ...options: Value[]): Promise<Message> => bench.ask("devices", term("share", "squares", part, options));
    assert.equal((await share(7n)).content, 49n);
    // The choice between the two is random, weighted by their capacity.
    const named = (await share(8n, term("named", true))).content;
    assert.ok(["tab-one", "tab-two"].some((tab) => isDeepStrictEqual(named, term("done", 64n, [tab]))), inspect(named));
    await assert.rejects(share("x", term("attempts", 2n)), /lent 2 times/);
    const described = (await bench.ask("devices", atom("devices"), "query-ref")).content as readonly (readonly Value[])[];
    assert.deepEqual(described.map(([device]) => device), ["tab-one", "tab-two"].map((name) => term("device", name)));
    assert.ok(described.every(([, units = null]) => isTerm(units, "units", 1) && Number(units.args[0]) > 0), "both devices report their units");

    // A stuck Worker is replaced, without effects on others.
    const spinning = bench.ask("echo2", "spin").catch((error: unknown) => error);
    assert.match((await bench.hears(({ ended }) => ended === "echo2")).reason ?? "", /did not answer/);
    assert.ok((await spinning) instanceof Error);
    assert.equal((await bench.ask("echo1", "hello")).performative, "inform");
    const placed = async (): Promise<Value> => (await bench.ask("tab-one-control", "look")).content;
    for (let look = (await placed()) as Value[]; look[1] !== 2n; look = (await placed()) as Value[]) await new Promise((resolve) => setTimeout(resolve, 100));
    await bench.spawn("tab-one", "late", "greeter.js");
    assert.equal((await bench.ask("late", "hello")).performative, "inform");

    // A device that leaves ends its agents.
    await bench.ask("tab-one-control", term("end", "late"));
    await bench.hears(({ ended }) => ended === "late");
    const counted = async (): Promise<Value> => (await bench.ask("keeps", null, "query-ref")).content;
    await bench.spawn("tab-two", "keeps", "counter-rust.wasm", "kept");
    boss.send({ performative: "inform", receivers: "keeps" });
    assert.equal(await counted(), 1n);
    await bench.ask("tab-two-control", "leave");
    await assert.rejects(bench.ask("far", "hello"), FailureError);
    // A durable agent waits, and continues in another tab.
    boss.send({ performative: "inform", receivers: "keeps" });
    await bench.spawn("tab-one", "keeps", "counter-rust.wasm", "kept");
    assert.equal(await counted(), 2n);
  } finally {
    await bench.close();
  }
});

test("stuck module is found, durable agents continue", { skip: without, timeout: 240_000 }, async () => {
  const society = await Society.of({ fern: "" });
  const pages = await Pages.of({
    "tab-device.js": await bundle("tab-device.js"),
    "worker.js": await bundle("../src/device/worker.js"),
    "agentspeak.wasm": readFileSync(ENGINE),
    "mind.asl": "price(3).",
    "counter.wasm": guestBytes("counter-rust"),
    "villain.wasm": new Uint8Array(readFileSync(join(EXAMPLES, "../test/villain-c.wasm"))),
  });
  const platform = await connect(`tcp://${society.address}`, { token: TOKEN });
  const boss = await platform.create("boss");
  const query = new URLSearchParams({ script: "tab-device.js", gateway: `http://${society.gateway}`, token: TOKEN, name: "tab-one", workers: "1", leaseMs: "3000" });
  const browser = new Browser(`${pages.url}?${query}`);
  const hears = async (text: string): Promise<void> => {
    while (!pages.posted.some((posted) => posted.includes(text))) await pages.heard(pages.posted.length + 1);
  };
  const ask = async (to: string, content: Value, performative = "request"): Promise<Value> => (await boss.ask({ performative, receivers: to, content }, { timeoutMs: 90_000 })).content;
  try {
    await hears('"joined"');
    for (const [name, module] of [["mind", "mind.asl"], ["counter", "counter.wasm"], ["villain", "villain.wasm"]]) await ask("tab-one-control", term("spawn", name ?? "", module ?? "", "kept"));
    boss.send({ performative: "inform", receivers: "counter" });
    assert.equal(await ask("counter", null, "query-ref"), 1n);
    boss.send({ performative: "inform", receivers: "villain", content: atom("spin") });
    await hears('"trouble":"villain"');
    await hears('{"ended":"villain","reason":"failed: a Worker did not answer for 10 s"}');
    boss.send({ performative: "inform", receivers: "counter" });
    assert.equal(await ask("counter", null, "query-ref"), 2n);
    assert.ok(isTerm(await ask("mind", term("price", { var: "X", slot: 0 }), "askOne"), "price", 1));
    assert.deepEqual(pages.posted.filter((text) => /"ended":"(mind|counter)"|"broken"/.test(text)), []);
  } finally {
    await browser.close();
    await platform.close();
    pages.close();
    society.stop();
  }
});

test("page rejoins after a long outage", { skip: without, timeout: 180_000 }, async () => {
  const society = await Society.of({ fern: "" });
  const proxy = await Proxy.to(society.gateway);
  const pages = await Pages.of({
    "tab-device.js": await bundle("tab-device.js"),
    "worker.js": await bundle("../src/device/worker.js"),
    "device-squares.js": await bundle("device-squares.js"),
  });
  const platform = await connect(`tcp://${society.address}`, { token: TOKEN });
  const boss = await platform.create("boss");
  const places = async (): Promise<Value | undefined> => {
    const { content } = await boss.ask({ performative: "query-ref", receivers: "devices", content: atom("devices") });
    const [members = []] = content as readonly (readonly Value[])[];
    return members.flatMap((member) => (isTerm(member, "places", 1) ? member.args : []))[0];
  };
  const until = async (count: bigint | undefined): Promise<void> => {
    while ((await places()) !== count) await new Promise((resolve) => setTimeout(resolve, 100));
  };
  const square = async (part: bigint): Promise<Value> =>
    (await boss.ask({ performative: "request", receivers: "devices", content: term("share", "squares", part) }, { timeoutMs: 120_000 })).content;
  const query = new URLSearchParams({ script: "tab-device.js", gateway: `http://${proxy.address}`, token: TOKEN, name: "tab-away", workers: "2", leaseMs: "2000" });
  const browser = new Browser(`${pages.url}?${query}`);
  try {
    await until(2n);
    assert.equal(await square(11n), 121n);
    proxy.isDown = true;
    proxy.cut();
    await until(undefined);
    proxy.isDown = false;
    await until(2n);
    assert.equal(await square(12n), 144n);
    const connections = pages.posted.map((text) => JSON.parse(text) as { readonly isConnected?: boolean }).flatMap(({ isConnected }) => (isConnected === undefined ? [] : [isConnected]));
    assert.deepEqual(connections, [false, true]);
    assert.ok(!pages.posted.some((text) => text.includes('"broken"')));
  } finally {
    await browser.close();
    await platform.close();
    await proxy.close();
    pages.close();
    society.stop();
  }
});
