/** Test of moves between pages of a real browser, a node, and devices. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect, isTerm, term, textOf, type Agent, type Message } from "../src/node.js";
import { Browser, bundle, Pages, withoutBrowser } from "./chromium.js";
import { guestBytes, WITHOUT_GUESTS } from "./guests.js";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";

const TABS = ["tab-one", "tab-two"];

/** Sends an order to a page about an agent. */
const order = (boss: Agent, tab: string, what: string, ...args: string[]): Promise<Message> =>
  boss.ask({ performative: "request", receivers: `${tab}-control`, content: term(what, ...args) }, { timeoutMs: 60_000 });

test("guest and script move between pages and node", { skip: WITHOUT_NODE || WITHOUT_GUESTS || withoutBrowser(), timeout: 240_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  const policy = join(folder, "policy.toml");
  writeFileSync(policy, '[[allow]]\nwho = "session:*"\nmove = "*"\ncode = "*"\n');
  const society = await Society.of({ fern: "" }, "--policy", policy, "--nodes", "2");
  const pages = await Pages.of({
    "tab-device.js": await bundle("tab-device.js"),
    "worker.js": await bundle("../src/device/worker.js"),
    "kept-agent.js": await bundle("kept-agent.js"),
    "fussy.js": await bundle("kept-agent.js"),
    "broken.js": 'export default () => { throw new Error("it cannot run here"); };',
    "traveller-c.wasm": guestBytes("traveller-c"),
  });
  const query = (name: string): URLSearchParams => new URLSearchParams({ script: "tab-device.js", gateway: `http://${society.gateway}`, token: TOKEN, name, workers: "2" });
  const browsers = TABS.map((name) => new Browser(`${pages.url}?${query(name)}`));
  const platform = await connect(`tcp://${society.address}`, { token: TOKEN });
  const boss = await platform.create("boss");
  try {
    while (!TABS.every((name) => pages.posted.some((text) => text.includes('"joined"') && text.includes(name)))) {
      const broken = pages.posted.find((text) => text.includes('"broken"'));
      assert.equal(broken, undefined);
      await pages.heard(pages.posted.length + 1);
    }
    await order(boss, "tab-one", "spawn", "traveller", "traveller-c.wasm", "kept");
    const { content } = await boss.ask({ performative: "request", receivers: "traveller", content: term("tour", ["n1", "tab-two", "nowhere", "tab-one", "n2", "tab-two"]) }, { timeoutMs: 60_000 });
    assert.ok(isTerm(content, "sum", 3));
    assert.deepEqual([content.args[1], textOf(content.args[2])], [5n, "tab-two"]);
    await order(boss, "tab-one", "spawn", "still", "traveller-c.wasm", "kept");
    const still = await boss.ask({ performative: "request", receivers: "still", content: term("tour", []) }, { timeoutMs: 60_000 });
    assert.ok(isTerm(still.content));
    assert.equal(content.args[0], still.content.args[0], "both tours compute the same");

    await order(boss, "tab-one", "spawn", "sum", "kept-agent.js", "kept");
    const count = async (name = "sum"): Promise<unknown> => (await boss.ask({ performative: "request", receivers: name }, { timeoutMs: 60_000 })).content;
    assert.equal(await count(), 1n);
    await order(boss, "tab-one", "move", "sum", "tab-two");
    assert.equal(await count(), 2n);
    for (const news of [{ arrived: "sum", at: "tab-two" }, { ended: "sum", reason: "it moved to tab-two" }]) {
      while (!pages.posted.includes(JSON.stringify(news))) await pages.heard(pages.posted.length + 1);
    }
    // The other tab's Worker gets it and cannot set it up. It returns unchanged, and waits for another client.
    await order(boss, "tab-one", "spawn", "fussy", "fussy.js", "kept");
    assert.equal(await count("fussy"), 1n);
    await order(boss, "tab-one", "move", "fussy", "tab-two");
    await order(boss, "tab-one", "spawn", "fussy", "fussy.js", "kept");
    assert.equal(await count("fussy"), 2n);
    const { content: there } = await order(boss, "tab-two", "list");
    assert.deepEqual((there as readonly [bigint, bigint, readonly string[]])[2].filter((name) => name === "fussy"), []);
    await order(boss, "tab-two", "spawn", "unwanted", "traveller-c.wasm", "kept");
    await assert.rejects(order(boss, "tab-two", "move", "unwanted", "tab-one"), /StayedError.*tab-one does not accept it/);
    await assert.rejects(order(boss, "tab-two", "move", "unwanted", "nowhere"), /StayedError there is no node named nowhere/);
  } finally {
    await Promise.all(browsers.map((browser) => browser.close()));
    await platform.close();
    pages.close();
    society.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
