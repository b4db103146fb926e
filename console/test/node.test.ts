/** Test of the console on a real node. `WHIMBREL` names the binary. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { Market, TOKEN, VIEWER } from "./market.js";
import { launch, Visit, withoutNode } from "./page.js";

const PROGRAMS = {
  "market.mas2j": "MAS market { agents: buyer #3; seller; }",
  "buyer.asl": `budget(100).
affordable(P) :- budget(B) & P < B.
!buy.
!look.
+!look <- .df_subscribe("shop").
+!buy <- .send(seller, askOne, price(tea, P), price(tea, P)); !order(tea, P); .wait(200); !buy.
+!order(What, P) : affordable(P) <- .send(seller, tell, order(What)).
+!serve(Who) <- +served(Who).
`,
  "seller.asl": `price(tea, 5).
!open.
+!open <- .df_register("tea", "shop").
+order(What)[source(Who)] <- -order(What)[source(Who)]; .print("sold ", What, " to ", Who); .send(Who, tell, sold(What)).
`,
};

describe("console on a real node", { skip: withoutNode(), timeout: 300_000 }, () => {
  let browser: Browser;
  let market: Market;
  before(async () => {
    [browser, market] = [await launch(), await Market.open(PROGRAMS)];
  });
  after(async () => {
    await browser.close();
    await market.close();
  });

  const see = async (does: (there: Visit, page: Page) => Promise<void>, token = TOKEN) => {
    const there = await Visit.to(browser, market.url, { token });
    try {
      await does(there, there.page);
      assert.deepEqual(there.faults, []);
    } finally {
      await there.close();
    }
  };

  test("agents are listed, drawn, suspended and resumed", () =>
    see(async (_, page) => {
      await page.locator(".agent-row .name").getByText("seller", { exact: true }).click();
      const pane = page.getByRole("complementary", { name: "Agent" });
      await pane.locator(".partners").getByText("buyer2", { exact: true }).waitFor();
      await pane.getByRole("button", { name: "Suspend" }).click();
      await pane.getByText("suspended").waitFor();
      await pane.getByText(/[1-9]\d* waiting/).waitFor();
      await pane.getByRole("button", { name: "Resume" }).click();
      await pane.getByRole("button", { name: "Suspend" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("img", { name: /Map of [4-9] agents/ }).waitFor();
    }));

  test("messages arrive live and from the log", () =>
    see(async (there, page) => {
      await there.go("c", "Conversations");
      await page.getByRole("button", { name: "Lines" }).click();
      const line = page.locator(".line-row").filter({ hasText: "askOne" }).first();
      await line.click();
      const pane = page.getByRole("complementary", { name: "Message" });
      await pane.getByText("price(tea,P)", { exact: true }).waitFor();
      await pane.locator(".jason").getByText(/^<samid\d+,buyer\d,askOne,seller,price\(tea,P\)>$/).waitFor();
      await page.getByRole("button", { name: "From now" }).click();
      await page.getByLabel("Agents", { exact: true }).fill("seller");
      await page.locator(".line-row").filter({ hasText: "sold(tea)" }).first().waitFor();
    }));

  test("earlier messages are drawn", async () => {
    const quiet = await Market.open({ "quiet.mas2j": "MAS quiet { agents: ann; ben; }", "ann.asl": "!go. +!go <- .send(ben, tell, hello(world)).", "ben.asl": "" });
    try {
      const there = await Visit.to(browser, quiet.url, { token: TOKEN });
      await there.go("c", "Conversations");
      for (const name of ["ann", "ben"]) await there.page.locator(".heads").getByText(name, { exact: true }).waitFor();
      assert.deepEqual(there.faults, []);
      await there.close();
    } finally {
      await quiet.close();
    }
  });

  test("question is sent, agent registered, dead letters listed", () =>
    see(async (there, page) => {
      await there.go("w", "Compose");
      await page.getByLabel("Performative").fill("askOne");
      await page.getByLabel("Receivers").fill("seller");
      await page.getByLabel("Content", { exact: true }).fill("price(tea, P)");
      await page.keyboard.press("Control+Enter");
      await page.locator(".answer").getByText(/price\(tea,5/).waitFor();
      await there.go("d", "Directory");
      await page.locator(".entry-row .name").getByText("seller", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Subscriptions" }).click();
      await page.locator(".subscription-row").filter({ hasText: "buyer1" }).filter({ hasText: "shop" }).waitFor();
      await page.getByRole("button", { name: "Services (DF)" }).click();
      await page.getByRole("button", { name: "Register" }).click();
      const pane = page.getByRole("complementary", { name: "Register" });
      await pane.getByLabel("Agent").fill("buyer2");
      await pane.getByLabel("Service").fill("news");
      await pane.getByLabel("Type").fill("paper");
      await pane.getByLabel("Properties").fill("price=2");
      await pane.getByRole("button", { name: "Register", exact: true }).click();
      const row = page.locator(".entry-row").filter({ hasText: "buyer2" });
      await row.filter({ hasText: "price=2" }).click();
      const entry = page.getByRole("complementary", { name: "Entry" });
      await entry.getByRole("button", { name: "Modify news" }).click();
      await pane.getByLabel("Properties").fill("price=3");
      await pane.getByLabel("Lease").fill("600");
      await pane.getByRole("button", { name: "Modify", exact: true }).click();
      await row.filter({ hasText: "price=3" }).filter({ hasText: "9m" }).click();
      await entry.getByRole("button", { name: "Deregister" }).click();
      await row.waitFor({ state: "detached" });
      await there.go("h", "Health");
      await page.locator(".plot canvas").first().waitFor();
      await page.getByText("No dead letters").waitFor();
      await page.getByText("Time in mailboxes").waitFor();
      await page.evaluate(() => (location.hash = "#/society/buyer3"));
      const agent = page.getByRole("complementary", { name: "Agent" });
      await agent.getByRole("button", { name: "Suspend" }).click();
      await agent.getByText("suspended").waitFor();
      await agent.getByRole("button", { name: "Write" }).click();
      await page.getByRole("checkbox").uncheck();
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("sent without waiting for an answer").waitFor();
      await page.evaluate(() => (location.hash = "#/society/buyer3"));
      await agent.getByRole("button", { name: "Kill" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Kill" }).click();
      await there.go("h", "Health");
      await page.locator(".dead-row").filter({ hasText: "buyer3" }).first().waitFor();
    }));

  test("mind is read, paused, stepped and changed", () =>
    see(async (there, page) => {
      await there.go("m", "Mind");
      await page.locator(".chooser-row .name").getByText("buyer1", { exact: true }).click();
      await page.locator(".beliefs li").filter({ hasText: "budget(100)" }).waitFor();
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("button", { name: "Step" }).and(page.locator(":enabled")).click();
      await page.getByLabel("Add a belief").fill("likes(tea)");
      await page.keyboard.press("Enter");
      await page.locator(".beliefs li").filter({ hasText: "likes(tea)" }).waitFor();
      await page.getByLabel("Post a goal").fill("serve(amy)");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Continue" }).click();
      await page.locator(".beliefs li").filter({ hasText: "served(amy)" }).waitFor();
      await page.locator(".plan").filter({ has: page.locator("summary", { hasText: "+!order" }) }).getByRole("button", { name: /^Breakpoint/ }).click();
      await page.getByRole("button", { name: "Continue" }).waitFor();
      await page.getByRole("button", { name: "Remove breakpoints" }).click();
      await page.getByRole("button", { name: "Pause" }).waitFor();
    }));

  test("agent answers, performs and gets another program", () =>
    see(async (there, page) => {
      await there.open("society/buyer1");
      const pane = page.getByRole("complementary", { name: "Agent" });
      const line = pane.getByLabel("Question or plan body");
      const outcomes = pane.getByRole("list", { name: "Outcomes" });
      await line.fill("?budget(B) & affordable(60)");
      await page.keyboard.press("Enter");
      await outcomes.getByText("B = 100", { exact: true }).waitFor();
      await line.fill("+budget(7); ?budget(X); Y = X + 1; !serve(eve)");
      await page.keyboard.press("Enter");
      await outcomes.getByText(/^X = (7|100), Y = (8|101)$/).waitFor();
      await line.fill("?served(eve)");
      await page.keyboard.press("Enter");
      await outcomes.getByText("yes", { exact: true }).waitFor();
      await line.fill("!fly");
      await page.keyboard.press("Enter");
      await outcomes.locator(".is-fault").getByText(/fly/).first().waitFor();
      await pane.getByRole("button", { name: "Load" }).click();
      await page.getByRole("dialog").getByRole("textbox").fill("buyer.asl");
      await page.keyboard.press("Enter");
      await page.getByText(/buyer1 runs buyer.asl: \d+ plans instead of \d+/).waitFor();
    }));

  test("agents are created and cloned", () =>
    see(async (_, page) => {
      await page.getByRole("button", { name: "New agents" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("stroller");
      await page.getByRole("dialog").getByLabel("Program of the project").fill("seller.asl");
      await page.keyboard.press("Enter");
      await page.locator(".agent-row .name").getByText("stroller", { exact: true }).click();
      const pane = page.getByRole("complementary", { name: "Agent" });
      await pane.getByRole("button", { name: "Clone" }).click();
      await page.getByRole("dialog").getByRole("textbox").fill("shadow");
      await page.keyboard.press("Enter");
      await page.locator(".agent-row .name").getByText("shadow", { exact: true }).waitFor();
      for (const name of ["stroller", "shadow"]) {
        await page.locator(".agent-row .name").getByText(name, { exact: true }).click();
        await pane.getByRole("heading", { name, exact: true }).waitFor();
        await pane.getByRole("button", { name: "Kill" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Kill" }).click();
        await page.locator(".agent-row .name").getByText(name, { exact: true }).waitFor({ state: "detached" });
      }
    }));

  test("output, failures, source and programs come from the node", () =>
    see(async (there, page) => {
      await there.go("p", "Output");
      const lines = page.locator(".output-row.virtual-row");
      await lines.filter({ hasText: "sold tea to buyer2" }).first().waitFor();
      await page.evaluate(() => (location.hash = "#/mind/buyer2?tab=source&file=buyer.asl&line=5"));
      const source = page.getByRole("list", { name: "Source of buyer.asl" });
      await source.locator(".is-it").waitFor();
      await source.getByRole("button", { name: "Breakpoint in line 6" }).click();
      await page.getByText(/the breakpoint in line 6 of .*buyer\.asl/).waitFor();
      await source.locator(".is-now").waitFor();
      await page.locator(".mood").getByText("paused").waitFor();
      await page.getByRole("button", { name: "Remove breakpoints" }).click();
      await page.getByRole("button", { name: "Pause" }).waitFor();
      // A goal whose plans do not apply fails, and the page says so everywhere.
      await page.getByLabel("Post a goal").fill("order(tea, 500)");
      await page.keyboard.press("Enter");
      await page.getByRole("banner").getByText(/[1-9]\d* failed/).click();
      await lines.filter({ hasText: "buyer2" }).filter({ hasText: "order(tea,500)" }).locator(".is-fault").first().waitFor();
      await there.go("h", "Health");
      await page.locator(".verdict").getByText(/1 agent failed in the last minute: buyer2/).waitFor();
      await there.go("s", "Society");
      await page.getByRole("button", { name: "New agents" }).click();
      for (const program of ["buyer.asl", "seller.asl"]) await page.getByRole("dialog").getByRole("button", { name: program }).waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
      await page.locator(".agent-row[role=option]").filter({ hasText: "seller.asl" }).first().waitFor();
    }));

  test("viewer has no actions", () =>
    see(async (_, page) => {
      await page.locator(".agent-row .name").getByText("seller", { exact: true }).click();
      await page.getByRole("complementary", { name: "Agent" }).getByText("agentspeak").waitFor();
      assert.equal(await page.getByRole("button", { name: /Suspend|Kill|New agents|Clone/ }).count(), 0);
    }, VIEWER));

  test("unknown token is refused", () =>
    see(async (_, page) => {
      await page.getByLabel("Token").waitFor();
    }, "another-token"));
});
