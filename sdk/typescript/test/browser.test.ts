/** Test of agents in a page and its Web Worker, in a real browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, term, type Agent } from "../src/node.js";
import { Browser, bundle, Pages, withoutBrowser } from "./chromium.js";
import { Proxy } from "./proxy.js";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";

/** Asks repeatedly until the agent exists. */
async function reach(agent: Agent, name: string): Promise<string> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      const answer = await agent.ask({ performative: "request", receivers: name, content: term("greet", name) }, { timeoutMs: 5000 });
      return `${answer.sender} ${JSON.stringify(answer.content)}`;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

test("page and Worker agents survive a network break", { skip: WITHOUT_NODE || withoutBrowser(), timeout: 120_000 }, async () => {
  const society = await Society.of({ fern: "" });
  const proxy = await Proxy.to(society.gateway);
  const pages = await Pages.of({ "tab.js": await bundle("tab.js") });
  const browser = new Browser(`${pages.url}?${new URLSearchParams({ gateway: `http://${proxy.address}/session`, token: TOKEN })}`);
  const platform = await connect(`tcp://${society.address}`, { token: TOKEN });
  try {
    const bob = await platform.create("bob");
    for (const _ of [1, 2]) {
      for (const name of ["page", "tab-worker"]) {
        assert.equal(await reach(bob, name), `${name} {"term":"greet","args":["${name}"]}`);
      }
      proxy.cut();
    }
    assert.ok(proxy.cuts >= 1, "the connections were made again");
  } finally {
    await platform.close();
    await browser.close();
    pages.close();
    await proxy.close();
    society.stop();
  }
});
