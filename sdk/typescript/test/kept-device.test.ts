/** Test of durable agents in a real browser: a page is closed, and another one continues. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, term } from "../src/node.js";
import { Browser, bundle, Pages, withoutBrowser } from "./chromium.js";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";

test("durable agent continues in another tab", { skip: WITHOUT_NODE || withoutBrowser(), timeout: 180_000 }, async () => {
  const society = await Society.of({ fern: "" });
  const pages = await Pages.of({
    "tab-device.js": await bundle("tab-device.js"),
    "worker.js": await bundle("../src/device/worker.js"),
    "kept-agent.js": await bundle("kept-agent.js"),
  });
  const platform = await connect(`tcp://${society.address}`, { token: TOKEN });
  const boss = await platform.create("boss");
  try {
    let expected = 0n;
    for (const name of ["tab-first", "tab-second"]) {
      const query = new URLSearchParams({ script: "tab-device.js", gateway: `http://${society.gateway}`, token: TOKEN, name, workers: "1" });
      const browser = new Browser(`${pages.url}?${query}`);
      try {
        while (!pages.posted.some((text) => text.includes('"joined"') && text.includes(name))) {
          const broken = pages.posted.find((text) => text.includes('"broken"'));
          assert.equal(broken, undefined);
          await pages.heard(pages.posted.length + 1);
        }
        // This waits until the previous tab's session is over.
        await boss.ask({ performative: "request", receivers: `${name}-control`, content: term("spawn", "counter", "kept-agent.js", "kept") }, { timeoutMs: 60_000 });
        for (let n = 0; n < 3; n++) {
          const { content } = await boss.ask({ performative: "request", receivers: "counter" }, { timeoutMs: 20_000 });
          assert.equal(content, ++expected);
        }
      } finally {
        await browser.close();
      }
    }
  } finally {
    await platform.close();
    pages.close();
    society.stop();
  }
});
