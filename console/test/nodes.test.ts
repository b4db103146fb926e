/**
 * Test of the console on a society of two real nodes: agents of the other node are seen and controlled as if there were
 * one node.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { Market, TOKEN } from "./market.js";
import { launch, Visit, withoutNode } from "./page.js";

/** A pair of agents on the other node, and an agent that talks across. */
const PROGRAMS = {
  "harbour.mas2j": 'MAS harbour { agents: pilot at "n1"; master at "n2"; mate at "n2"; }',
  "pilot.asl": "!call. +!call <- .send(master, tell, tide(high)); .wait(300); !call.",
  "master.asl": "watch(first). !order(1). +!order(N) <- .send(mate, achieve, sound(N)); .wait(300); !order(N + 1).",
  "mate.asl": "+!sound(N)[source(Who)] <- .send(Who, tell, depth(N)). +!rest <- +rested.",
};

describe("console on two nodes", { skip: withoutNode(), timeout: 300_000 }, () => {
  let browser: Browser;
  let market: Market;
  before(async () => {
    [browser, market] = [await launch(), await Market.open(PROGRAMS, ["--log", "--nodes", "2"])];
  });
  after(async () => {
    await browser.close();
    await market.close();
  });

  const see = async (does: (there: Visit, page: Page) => Promise<void>) => {
    const there = await Visit.to(browser, market.url, { token: TOKEN });
    try {
      await does(there, there.page);
      assert.deepEqual(there.faults, []);
    } finally {
      await there.close();
    }
  };
  const row = (page: Page, name: string) => page.locator(".agent-row[role=option]").filter({ has: page.getByText(name, { exact: true }) });

  test("both nodes have figures, agent moves there and back", () =>
    see(async (_, page) => {
      for (const node of ["n1", "n2"]) await page.locator(`[data-node="${node}"]`).getByText(/msg\/s/).waitFor();
      await page.locator('[data-node="n2"]').getByRole("button", { name: "2 agents" }).waitFor();
      await row(page, "master").getByText("n2").waitFor();
      await row(page, "mate").dragTo(page.locator('[data-node="n1"]'));
      await page.getByText("mate moved to n1").waitFor();
      await row(page, "mate").getByText("n1").waitFor();
      await row(page, "mate").click();
      const pane = page.getByRole("complementary", { name: "Agent" });
      await pane.getByText("Moved to n1.").waitFor();
      await pane.getByRole("button", { name: "Move to" }).click();
      await page.getByRole("menuitem", { name: "n2" }).click();
      await pane.getByText("Moved to n2.").waitFor();
      await row(page, "mate").getByText("n2").waitFor();
    }));

  test("messages of the other node are heard", () =>
    see(async (there, page) => {
      await there.go("c", "Conversations");
      await page.getByRole("button", { name: "Lines" }).click();
      const lines = page.locator(".line-row.virtual-row");
      await page.getByLabel("Agents", { exact: true }).fill("mate");
      await lines.filter({ hasText: "depth(" }).first().waitFor();
      await lines.filter({ hasText: "sound(" }).first().waitFor();
      await page.getByRole("button", { name: "From now" }).click();
      await page.getByRole("button", { name: "Clear" }).click();
      await lines.filter({ hasText: "depth(" }).first().waitFor();
      await page.getByRole("button", { name: "Show all" }).click();
      await page.getByLabel("Node", { exact: true }).selectOption("n1");
      // Lines of before may be there until the others have come.
      await page.waitForFunction(() => {
        const said = new Set([...document.querySelectorAll(".line-row.virtual-row .parties")].map((parties) => parties.textContent));
        return said.size === 1 && said.has("pilot→master");
      });
      await page.getByLabel("Node", { exact: true }).selectOption("n2");
      await lines.filter({ hasText: "sound(" }).first().waitFor();
    }));

  test("health covers all nodes and each", () =>
    see(async (there, page) => {
      await there.go("h", "Health");
      await page.locator(".verdict").getByText(/[1-9]\d* messages handled/).waitFor();
      const figures = page.locator(".nodes-health tbody tr");
      await figures.filter({ hasText: "all nodes" }).waitFor();
      assert.equal(await figures.count(), 3);
      await figures.filter({ hasText: "n2" }).getByRole("button").click();
      await page.locator(".plot").filter({ hasText: "Messages a second n2" }).locator("canvas").waitFor();
    }));

  test("mind of the other node is read and changed", () =>
    see(async (there, page) => {
      await there.go("m", "Mind");
      await page.locator(".chooser-row .name").getByText("master", { exact: true }).click();
      await page.locator(".beliefs li").filter({ hasText: "watch(first)" }).waitFor();
      await page.locator(".chooser-row .name").getByText("mate", { exact: true }).click();
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByLabel("Post a goal").fill("rest");
      await page.keyboard.press("Enter");
      await page.locator(".beliefs li").filter({ hasText: "rested" }).waitFor();
    }));
});

describe("console on nodes without logs", { skip: withoutNode(), timeout: 120_000 }, () => {
  test("all nodes are live", async () => {
    const [browser, market] = [await launch(), await Market.open(PROGRAMS, ["--nodes", "2"])];
    try {
      const there = await Visit.to(browser, market.url, { token: TOKEN });
      await there.go("c", "Conversations");
      await there.page.getByRole("button", { name: "Lines" }).click();
      await there.page.locator(".line-row.virtual-row").filter({ hasText: "tide(high)" }).first().waitFor();
      await there.page.getByLabel("Node", { exact: true }).selectOption("n2");
      await there.page.locator(".line-row.virtual-row").filter({ hasText: "sound(" }).first().waitFor();
      assert.equal(await there.page.getByText(/keeps no log/).count(), 0);
      assert.deepEqual(there.faults, []);
    } finally {
      await browser.close();
      await market.close();
    }
  });
});
