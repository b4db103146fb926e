/** End-to-end test of each view, in a real browser under the policy of nodes. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Download, Page } from "playwright-core";
import { HOSTILE } from "../mock/society.js";
import { visible } from "../src/model/format.js";
import { launch, visit, withoutBrowser } from "./page.js";

const option = (page: Page, name: string) => page.getByRole("option").filter({ has: page.locator(`.name[title="${name}"]`) });
const pressed = (name: string | RegExp) => ({ name, pressed: true });

async function textOf(download: Download): Promise<string> {
  const path = await download.path();
  return readFileSync(path, "utf8");
}

describe("console in a browser", { skip: withoutBrowser(), timeout: 400_000, concurrency: 3 }, () => {
  let browser: Browser;
  before(async () => void (browser = await launch()));
  after(() => browser.close());

  test("token leaves address, keys change views, theme is stored", () =>
    visit(browser, {}, async (there) => {
      const { page } = there;
      await page.getByRole("heading", { name: "Society" }).waitFor();
      assert.ok(!page.url().includes("mock"), page.url());
      assert.equal(await page.evaluate(() => sessionStorage.getItem("whimbrel.token")), "mock");
      for (const [key, title] of [["c", "Conversations"], ["p", "Output"], ["m", "Mind"], ["d", "Directory"], ["w", "Compose"], ["h", "Health"], ["o", "Mobility"], ["e", "Security"], ["s", "Society"]] as const) {
        await there.go(key, title);
      }
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await page.keyboard.press("Escape");
      assert.equal(await page.getByRole("dialog").count(), 0);
      await page.keyboard.press("t");
      assert.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), "dark");
      await page.reload();
      await page.getByRole("heading", { name: "Society" }).waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), "dark");
    }));

  test("agents are searched, sorted, filtered and chosen", () =>
    visit(browser, { agents: 300 }, async (there) => {
      const { page } = there;
      await option(page, "contractor1").waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("initiator*");
      await page.getByText(/of 300/).waitFor();
      const names = await page.getByRole("option").locator(".name").allTextContents();
      assert.ok(names.length > 3 && names.every((name) => name.startsWith("initiator")), names.join(" "));
      await page.keyboard.press("Escape");
      for (const name of ["initiator1", "initiator2"]) {
        await page.keyboard.press("j");
        await page.getByRole("complementary", { name: "Agent" }).getByRole("heading", { name, exact: true }).waitFor();
      }
      await page.keyboard.press("Escape");
      await page.getByRole("complementary").waitFor({ state: "detached" });
      await page.keyboard.press("Escape");
      // An agent chosen elsewhere is scrolled into view.
      await page.keyboard.press("End");
      const last = decodeURIComponent(page.url().split("#/society/")[1] ?? "");
      await there.open(`mind/${encodeURIComponent(last)}`);
      await option(page, last).waitFor();
      await there.open("society");
      await page.getByLabel("Filter by node").selectOption("n2");
      await page.getByRole("button", { name: "Msg/s" }).click();
      assert.equal(await page.getByRole("button", pressed("Msg/s")).count(), 1);
    }));

  test("agent is suspended, moved, cloned and killed", () =>
    visit(browser, {}, async (there, node) => {
      const { page } = there;
      await option(page, "contractor1").click();
      const pane = page.getByRole("complementary", { name: "Agent" });
      await pane.getByRole("button", { name: "Suspend" }).click();
      await pane.getByText("suspended").waitFor();
      await pane.getByRole("button", { name: "Resume" }).click();
      await pane.getByRole("button", { name: "Suspend" }).waitFor();
      await pane.getByRole("button", { name: "Move to" }).click();
      // The whole menu is visible, and nothing covers it.
      const isSeen = await page.getByRole("menuitem").evaluateAll((items) =>
        items.every((item) => {
          const { left, top, width, height } = item.getBoundingClientRect();
          return item.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        }),
      );
      assert.ok(isSeen, "the menu is cut off");
      await page.getByRole("menuitem", { name: "n3" }).click();
      await pane.locator("dd").getByText("n3").waitFor();
      await option(page, "contractor2").dragTo(page.locator('[data-node="n2"]'));
      await page.getByText("contractor2 moved to n2").waitFor();
      // Moves are recorded though the view was not open.
      await there.go("o", "Mobility");
      await page.getByText("contractor2 moved from n1 to n2").waitFor();
      await there.open("society/contractor1");
      await pane.getByRole("button", { name: "Clone" }).click();
      await page.getByRole("dialog").getByRole("textbox").fill("twin");
      await page.keyboard.press("Enter");
      await page.getByText("twin is a clone of contractor1").waitFor();
      await pane.getByRole("button", { name: "Kill" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
      assert.ok(!node.orders.some(({ request }) => request === "kill"));
      await pane.getByRole("button", { name: "Kill" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Kill" }).click();
      await pane.getByText("No agent has this name").waitFor();
      const did = node.orders.map((order) => ("step" in order ? order.step : "to" in order ? `${order.request} ${order.to}` : order.request));
      assert.deepEqual(did, ["suspend", "resume", "move n3", "move n2", "clone", "kill"]);
    }));

  test("agent is asked, performs a plan body, and gets another program", () =>
    visit(browser, {}, async (there, node) => {
      const { page } = there;
      await there.open("society/initiator1");
      const pane = page.getByRole("complementary", { name: "Agent" });
      const line = pane.getByLabel("Question or plan body");
      const outcomes = pane.getByRole("list", { name: "Outcomes" });
      await line.fill("?budget(X)");
      await pane.getByRole("button", { name: "Ask" }).click();
      await outcomes.getByText("X = budget(").waitFor();
      assert.equal(await line.inputValue(), "");
      await line.fill("?nothing(Y)");
      await page.keyboard.press("Enter");
      await outcomes.getByText("no", { exact: true }).waitFor();
      await line.fill("X = 1 + 2");
      await pane.getByRole("button", { name: "Perform" }).click();
      await outcomes.getByText("X = 3", { exact: true }).waitFor();
      // A line that failed stays in the field; an agent's outcomes survive a look at another agent.
      await line.fill("!fly");
      await page.keyboard.press("Enter");
      await outcomes.locator(".is-fault").getByText("failed: no plan for +!fly/0 (prompt:1)").waitFor();
      assert.equal(await line.inputValue(), "!fly");
      await there.open("society/contractor1");
      await pane.getByRole("heading", { name: "contractor1" }).waitFor();
      assert.equal(await outcomes.getByRole("listitem").count(), 0);
      await there.open("society/initiator1");
      await outcomes.getByText("X = 3", { exact: true }).waitFor();
      await pane.getByRole("button", { name: "Load" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox").fill("none.txt");
      await dialog.getByRole("button", { name: "Load", exact: true }).click();
      await dialog.getByText("the project has no program none.txt").waitFor();
      await dialog.getByRole("textbox").fill("better.asl");
      await page.keyboard.press("Enter");
      await page.getByText("initiator1 runs better.asl: 4 plans instead of 3, 1 rule").waitFor();
      await pane.locator("dd").getByText("better.asl").waitFor();
      const did = node.orders.map(({ request }) => request);
      assert.deepEqual(did, ["query", "query", "perform", "perform", "load", "load"]);
    }));

  test("agents move to devices and back, refusals are shown", () =>
    visit(browser, {}, async (there, node) => {
      const { page } = there;
      const tab1 = page.locator('[data-device="tab1"]');
      await page.getByRole("heading", { name: "4 devices" }).waitFor();
      await page.locator('[data-device="tab2"]').getByText("page hidden").waitFor();
      await page.locator('[data-device="tab3"]').getByText("battery low: 12 %").waitFor();
      await tab1.getByText(/^1.200 units$/).waitFor();
      node.hold();
      await option(page, "contractor1").dragTo(tab1);
      await page.getByText("Moving contractor1 to tab1…").waitFor();
      await option(page, "contractor1").getByText("to tab1").waitFor();
      node.release();
      await page.getByText("contractor1 moved to tab1").waitFor();
      await tab1.getByRole("button", { name: "1 agent" }).click();
      await page.waitForFunction(() => document.querySelectorAll("[role=option]").length === 1);
      await option(page, "contractor1").dragTo(page.locator('[data-node="n2"]'));
      await page.getByText("contractor1 moved to n2").waitFor();
      await page.getByText("No agent matches the filter").waitFor();
      await page.keyboard.press("Escape");
      await option(page, "contractor2").focus();
      await option(page, "contractor2").click();
      await page.keyboard.press("v");
      const places = page.getByRole("dialog").getByRole("option");
      await places.filter({ hasText: "tab1" }).getByText(/^device, 1.200 units$/).waitFor();
      await places.filter({ hasText: "tab3" }).getByText("battery low").waitFor();
      await places.filter({ hasText: "n2" }).getByText("node").waitFor();
      await page.getByRole("dialog").getByLabel("To").fill("tab");
      assert.equal(await places.count(), 4, "places that match the typed text");
      await page.keyboard.press("ArrowUp");
      assert.equal(await page.getByRole("dialog").getByLabel("To").inputValue(), "tab4");
      await page.keyboard.press("Enter");
      await page.getByText("contractor2 moved to tab4").waitFor();
      await page.getByRole("complementary", { name: "Agent" }).getByText("tab4", { exact: true }).waitFor();
      await page.getByLabel("Search agents").fill("courier1");
      await option(page, "courier1").dragTo(tab1);
      await page.getByText("courier1 stays: no client could find its code").waitFor();
      await option(page, "courier1").click();
      await page.getByRole("complementary", { name: "Agent" }).getByText(/The move to tab1 failed: courier1 stays: no client could find its code/).waitFor();
      await there.go("o", "Mobility");
      await page.getByText("contractor2 moved from n1 to tab4").waitFor();
      const moves = node.orders.map((order) => ("to" in order ? `${order.agent} ${order.to}` : order.request));
      assert.deepEqual(moves, ["contractor1 tab1", "contractor1 n2", "contractor2 tab4", "courier1 tab1"]);
    }));

  test("agents are created from a program, faults are shown", () =>
    visit(browser, {}, async (there, node) => {
      const { page } = there;
      await page.getByRole("button", { name: "New agents" }).click();
      const dialog = page.getByRole("dialog");
      // The programs of the project are a click away.
      await dialog.getByRole("button", { name: "contractor.asl" }).click();
      assert.equal(await dialog.getByLabel("Program of the project").inputValue(), "contractor.asl");
      await dialog.getByLabel("Name").fill("aaclerk");
      await dialog.getByLabel("Program of the project").fill("clerk.jar");
      await page.keyboard.press("Enter");
      await dialog.getByRole("alert").getByText("there is no program clerk.jar").waitFor();
      // The form keeps its values.
      assert.equal(await dialog.getByLabel("Name").inputValue(), "aaclerk");
      await dialog.getByLabel("Program of the project").fill("clerk.asl");
      await dialog.getByLabel("Number of agents").fill("3");
      await dialog.getByLabel("Initial goals").fill("serve(amy)");
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByText("3 agents were created").waitFor();
      await option(page, "aaclerk3").waitFor();
      const asked = node.orders.map(({ request }) => request);
      assert.deepEqual(asked, ["spawn", "spawn"]);
      assert.deepEqual(node.orders[1], { request: "spawn", name: "aaclerk", program: "clerk.asl", count: 3, beliefs: null, goals: "serve(amy)" });
    }));

  test("map shows traffic and chooses agents", () =>
    visit(browser, { messagesPerS: 100 }, async (there) => {
      const { page } = there;
      await page.getByRole("img", { name: /Map of [1-9]\d* agents/ }).waitFor();
      const canvas = page.locator(".map canvas");
      const tip = page.locator(".map-tip");
      const pane = page.getByRole("complementary", { name: "Agent" });
      // By keys: the busiest agent first, then the next one in some direction.
      await canvas.focus();
      await page.keyboard.press("ArrowRight");
      await tip.waitFor();
      const chosen = async () => (await tip.textContent())?.split(" · ")[0] ?? "";
      const first = await chosen();
      const drawn = () => page.evaluate(() => new Promise(requestAnimationFrame));
      // The layout decides in which of the four directions there is another agent.
      for (const key of ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"]) {
        await page.keyboard.press(key);
        await drawn();
        if ((await chosen()) !== first) break;
      }
      assert.notEqual(await chosen(), first);
      // By pointer: the tooltip is above the agent, and the map stands still once the pointer is on it.
      const cursor = () => canvas.evaluate((element) => (element as HTMLElement).style.cursor);
      do {
        const [box, spot] = [await canvas.boundingBox(), await tip.boundingBox()];
        assert.ok(box && spot);
        const part = await tip.evaluate((element) => parseFloat((element as HTMLElement).style.left) / 100);
        await page.mouse.move(box.x + part * box.width, spot.y + spot.height + 4);
        await drawn();
      } while ((await cursor()) !== "pointer");
      const name = await chosen();
      await page.mouse.down();
      await page.mouse.up();
      await pane.getByRole("heading", { name, exact: true }).waitFor();
      await page.keyboard.press("Escape");
      await pane.waitFor({ state: "detached" });
      // A report of a pointer that rests, as after a change of the layout, does not undo the choice by keys.
      const box = await canvas.boundingBox();
      assert.ok(box);
      const corner = [box.x + 2, box.y + 2] as const;
      await page.mouse.move(...corner);
      await canvas.focus();
      await page.keyboard.press("ArrowRight");
      await tip.waitFor();
      await page.mouse.move(...corner);
      await drawn();
      await page.keyboard.press("Enter");
      await pane.waitFor();
    }));

  test("output shows prints and failures", () =>
    visit(browser, { messagesPerS: 60 }, async (there, node) => {
      const { page } = there;
      await there.go("p", "Output");
      const lines = page.locator(".output-row.virtual-row");
      await lines.filter({ hasText: "initiator1" }).filter({ hasText: " did done(" }).first().waitFor();
      node.society.print("contractor3", "failure", "Error in internal action '.send(X)' (file:contractor.asl:4): X is unbound");
      const failure = lines.filter({ hasText: "X is unbound" });
      await failure.locator(".is-fault").waitFor();
      await page.getByRole("banner").getByText(/[1-9]\d* failed/).click();
      await page.getByRole("button", pressed(/^Failures/)).waitFor();
      await page.waitForFunction(() => [...document.querySelectorAll(".output-row.virtual-row")].every((row) => row.querySelector(".is-fault")));
      await failure.click();
      const pane = page.getByRole("complementary", { name: "Line" });
      await pane.getByRole("link", { name: "contractor.asl:4" }).waitFor();
      await page.getByRole("button", { name: "Live" }).waitFor();
      node.society.print("contractor3", "printed", "<b>later</b>");
      await pane.getByRole("button", { name: "Only this agent" }).click();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await lines.filter({ hasText: "<b>later</b>" }).waitFor();
      await page.getByLabel("Search the text").fill("LATER");
      await page.waitForFunction(() => document.querySelectorAll(".output-row.virtual-row").length === 1);
      // The same lines are in the agent's pane, and the list shows who failed.
      await there.open("society/contractor3");
      const agent = page.getByRole("complementary", { name: "Agent" });
      await agent.getByRole("list", { name: "Output of contractor3" }).getByText("<b>later</b>").waitFor();
      await agent.locator(".agent-output .is-fault").waitFor();
      await option(page, "contractor3").locator(".failed-mark").waitFor();
      await page.locator(".mood").getByText("faults").waitFor();
    }));

  test("ended society says what remained", () =>
    visit(browser, { nodes: 1, agents: 20 }, async (there, node) => {
      const { page } = there;
      await option(page, "contractor1").waitFor();
      node.society.end(3);
      await page.getByRole("status").getByText(/The society has ended with exit code 3: 20 agents still lived/).waitFor();
      await page.locator(".mood").getByText("ended").waitFor();
      await option(page, "contractor1").waitFor();
      assert.ok(await page.getByText("20", { exact: true }).first().isVisible(), "the agents stay listed");
      node.stop();
      await page.getByText(/The node has stopped/).waitFor();
      await page.getByText(/The node has stopped/).waitFor({ state: "detached" });
    }));

  test("society that stands still is not well", () =>
    visit(browser, { nodes: 1, agents: 20, still: true }, async (there, node) => {
      const { page } = there;
      await there.go("h", "Health");
      const verdict = page.locator(".verdict");
      await verdict.getByRole("heading", { name: "The society stands still" }).waitFor();
      await verdict.getByText(/2 agents wait for messages that nobody sends: initiator1, initiator2/).waitFor();
      assert.equal(await page.locator(".verdict.is-good").count(), 0);
      for (const agent of node.society.agents.values()) {
        agent.activity = "idle";
        node.society.changed.add(agent.name);
      }
      await verdict.getByRole("heading", { name: "At rest" }).waitFor();
      await there.open("society");
      await page.getByLabel("Filter by state").selectOption("idle");
      await page.locator(".mood").getByText("at rest").waitFor();
      // The map shows the agents of a still society, too.
      await page.getByRole("img", { name: "Map of 20 agents and their traffic" }).waitFor();
    }));

  test("health is good only while nothing is wrong", () =>
    visit(browser, { nodes: 1, agents: 20, messagesPerS: 1 }, async (there, node) => {
      const { page } = there;
      await there.go("h", "Health");
      await page.locator(".verdict.is-good").getByText("All is well").waitFor();
      node.society.print("contractor1", "warning", "No failure event was generated for +!go");
      await page.locator(".verdict.is-warns").getByText("1 agent failed in the last minute: contractor1.").waitFor();
      await page.locator(".verdict").getByRole("link", { name: "look" }).click();
      await page.getByRole("heading", { name: "Output", level: 1 }).waitFor();
      node.wrong = ["a quota ended contractor7 3 s ago: it grew"];
      await there.go("h", "Health");
      await page.locator(".verdict.is-wrong").getByText("a quota ended contractor7 3 s ago: it grew").waitFor();
    }));

  test("map stays beside a chosen agent and clusters many", () =>
    visit(browser, { agents: 1_000, messagesPerS: 400 }, async (there) => {
      const { page } = there;
      await page.getByText(/agents in clusters$/).waitFor();
      const canvas = page.locator(".map canvas");
      await page.getByRole("img", { name: /^Map of \d{1,2} agents/ }).waitFor();
      await option(page, "contractor1").click();
      await page.getByRole("complementary", { name: "Agent" }).waitFor();
      assert.ok(await canvas.isVisible(), "the map stays");
      await page.keyboard.press("Escape");
      await canvas.focus();
      await page.keyboard.press("ArrowRight");
      // The first spot by keys is the busiest: a cluster.
      await page.locator(".map-tip").getByText(/\d agents · click to open/).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Cluster" }).waitFor();
      assert.match(await page.getByLabel("Search agents").inputValue(), /\*$/);
      await page.waitForFunction(() => Number(/of (\d+) agents/.exec(document.querySelector(".map canvas")?.getAttribute("aria-label") ?? "")?.[1]) > 30);
      await page.getByRole("button", { name: "Cluster" }).click();
      await page.getByRole("img", { name: /^Map of \d{1,2} agents/ }).waitFor();
    }));

  test("life lines are pinned and moved, multicasts are one row", () =>
    visit(browser, { agents: 1_000, messagesPerS: 200 }, async (there) => {
      const { page } = there;
      await there.go("c", "Conversations");
      const heads = page.getByRole("group", { name: "Life lines" }).getByRole("button");
      await heads.nth(3).waitFor();
      await page.keyboard.press("Space");
      await page.getByRole("button", { name: /^Live/ }).waitFor();
      const names = async () => heads.allTextContents();
      const [first, , third] = await names();
      await heads.nth(2).press("ArrowLeft");
      await heads.nth(1).press("ArrowLeft");
      assert.deepEqual((await names()).slice(0, 2), [third, first]);
      assert.equal(await heads.first().getAttribute("aria-pressed"), "true");
      // Among others, the pinned line stays when other messages are visible.
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Pause" }).waitFor();
      await page.waitForFunction((first) => document.querySelectorAll(".heads button").length > 1 && document.querySelector(".heads button")?.textContent === first, third);
      const pinned = page.locator(".heads .is-pinned");
      for (let left = await pinned.count(); left > 0; left--) {
        await pinned.first().click();
        await page.waitForFunction((left) => document.querySelectorAll(".heads .is-pinned").length < left, left);
      }
    }));

  test("messages are drawn, paused, stepped, filtered and detailed", () =>
    visit(browser, { messagesPerS: 100 }, async (there) => {
      const { page } = there;
      await there.go("c", "Conversations");
      await page.getByLabel("Node", { exact: true }).selectOption("n1");
      await page.locator(".tools-note").getByText(/^[1-9]\d* recorded/).waitFor();
      await page.keyboard.press("Space");
      await page.getByRole("button", { name: /^Live/ }).waitFor();
      await page.keyboard.press("j");
      await page.keyboard.press("j");
      const pane = page.getByRole("complementary", { name: "Message" });
      await pane.getByText("fipa-contract-net").waitFor();
      const conversation = await pane.locator("code").first().textContent();
      await pane.getByRole("button", { name: "Only this conversation" }).click();
      await page.waitForFunction((wanted) => (document.querySelector<HTMLInputElement>('input[aria-label="Conversation"]')?.value ?? "") === wanted, conversation);
      await page.getByRole("button", pressed("From the log")).waitFor();
      await page.getByRole("button", { name: "Lines" }).click();
      // From the first message, the call, though nobody listened when it was sent.
      await page.locator(".line-row").first().getByText("cfp").waitFor();
      // Messages from other nodes appear at their time, and silent nodes are named.
      await page.locator(".line-row").nth(1).getByText("heard(n2)").waitFor();
      await page.getByText(/^n3 did not answer/).waitFor();
      await page.locator(".line-row").first().click();
      await pane.getByText(/^task\(/).waitFor();
      // Rarely used parameters are shown, too.
      for (const said of ["fipa-sl", "harbour", "X-shift"]) await pane.getByText(said, { exact: true }).waitFor();
      await page.getByRole("button", { name: "Show all" }).click();
      await page.getByRole("button", { name: "Performatives" }).click();
      await page.getByRole("group", { name: "Performatives" }).getByRole("button", { name: /^cfp/ }).click();
      await page.waitForFunction(() => {
        const words = [...document.querySelectorAll(".line-row .performative")].map((word) => word.textContent);
        return words.length > 3 && words.every((word) => word === "cfp");
      });
    }));

  test("timeline scrubs back, conversations are exported", () =>
    visit(browser, { messagesPerS: 200 }, async (there) => {
      const { page } = there;
      await page.goto(`${page.url().split("#")[0]}#/conversations`);
      await page.waitForFunction(() => parseInt((document.querySelector(".tools-note")?.textContent ?? "").replaceAll(/\s/g, "")) > 100);
      const line = page.getByRole("slider", { name: "Time" });
      const latest = await line.getAttribute("aria-valuetext");
      await line.click({ position: { x: 40, y: 20 } });
      await page.getByRole("button", { name: /^Live/ }).waitFor();
      await page.waitForFunction((latest) => (document.querySelector("[role=slider]")?.getAttribute("aria-valuetext") ?? "") < (latest ?? ""), latest);
      const take = async (what: string) => {
        await page.getByRole("button", { name: "Export" }).click();
        const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: what }).click()]);
        return textOf(download);
      };
      const events = JSON.parse(await take("JSON")) as { from: string }[];
      assert.ok(events.length > 100);
      const svg = await take("SVG");
      assert.ok(svg.startsWith("<svg") && svg.includes("propose"));
      assert.ok((await take("Mermaid")).startsWith("sequenceDiagram\n  participant a1 as "));
      // The page's own policy forbids the style.
      const bare = svg.replaceAll(/<style>.*?<\/style>| style="[^"]*"/gs, "");
      const rendered = await page.evaluate((svg) => new DOMParser().parseFromString(svg, "image/svg+xml").querySelector("parsererror")?.textContent ?? "fine", bare);
      assert.equal(rendered, "fine");
    }));

  test("mind is read, paused, stepped and changed", () =>
    visit(browser, { messagesPerS: 60 }, async (there, node) => {
      const { page } = there;
      await there.go("m", "Mind");
      await page.keyboard.press("/");
      await page.keyboard.type("initiator1");
      await option(page, "initiator1").click();
      await page.getByText("budget(1200)").waitFor();
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("button", { name: "Continue" }).waitFor();
      const cycle = async () => Number((await page.locator(".cycle b").textContent())?.replaceAll(/\D/g, ""));
      const was = await cycle();
      await page.getByRole("button", { name: "Step" }).click();
      await page.waitForFunction((was) => Number((document.querySelector(".cycle b")?.textContent ?? "").replaceAll(/\D/g, "")) === was + 1, was);
      await page.getByLabel("Add a belief").fill("likes(tea)");
      await page.keyboard.press("Enter");
      const row = page.locator(".beliefs li").filter({ hasText: "likes(tea)" });
      await row.waitFor();
      await page.getByLabel("Add a belief").fill("9(tea)");
      await page.keyboard.press("Enter");
      await page.getByText(/no belief/).waitFor();
      assert.equal(await page.getByLabel("Add a belief").inputValue(), "9(tea)", "a refused text stays in its field");
      await row.hover();
      await row.getByRole("button", { name: /^Change/ }).click();
      assert.equal(await page.getByLabel("Add a belief").inputValue(), "likes(tea)");
      await page.getByLabel("Add a belief").fill("likes(coffee)");
      await page.getByRole("button", { name: "Change", exact: true }).click();
      const changed = page.locator(".beliefs li:not(.is-lost)").filter({ hasText: "likes(coffee)" });
      await changed.waitFor();
      await page.locator(".beliefs li:not(.is-lost)").filter({ hasText: "likes(tea)" }).waitFor({ state: "detached" });
      await changed.hover();
      await changed.getByRole("button", { name: /^Forget/ }).click();
      await changed.waitFor({ state: "detached" });
      await page.getByLabel("Post a goal").fill("serve(amy)");
      await page.keyboard.press("Enter");
      await page.getByText("!serve(amy)").waitFor();
      await page.getByRole("button", { name: "Breakpoint at award" }).click();
      await page.locator('.breakpoint[aria-pressed="true"]').waitFor();
      await page.getByRole("button", { name: "Continue" }).click();
      // The agent reaches the breakpoint by itself.
      await page.getByRole("button", { name: "Continue" }).waitFor();
      await page.locator(".steps .is-now").first().waitFor();
      assert.deepEqual(node.orders.map((order) => ("order" in order ? order.order : order.request)), ["pause", "step", "believe", "believe", "believe", "believe", "believe", "pursue", "breakpoint", "continue"]);
    }));

  test("source has breakpoints, history steps back", () =>
    visit(browser, { messagesPerS: 60 }, async (there, node) => {
      const { page } = there;
      await there.open("mind/initiator1?tab=source&file=initiator.asl&line=18");
      const source = page.getByRole("list", { name: "Source of initiator.asl" });
      await source.locator(".is-it").getByText("!award(N);").waitFor();
      await source.getByRole("button", { name: "Breakpoint in line 18" }).click();
      await source.locator('.gutter[aria-pressed="true"]').waitFor();
      // The agent pauses before the step of that line.
      await page.getByRole("button", { name: "Continue" }).waitFor();
      await source.locator(".is-now").first().waitFor();
      const cycle = async () => Number((await page.locator(".cycle b").textContent())?.replaceAll(/\D/g, ""));
      const now = await cycle();
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      await page.keyboard.press("[");
      await page.locator(".history.is-past").waitFor();
      await page.getByRole("slider", { name: "Report" }).fill("0");
      await page.waitForFunction((now) => Number((document.querySelector(".cycle b")?.textContent ?? "").replaceAll(/\D/g, "")) < now, now);
      assert.equal(await page.getByLabel("Add a belief").count(), 0, "the past cannot be changed");
      await page.getByRole("button", { name: "Now" }).click();
      assert.equal(await cycle(), now);
      await source.getByRole("button", { name: "Breakpoint in line 18" }).click();
      await source.locator('.gutter[aria-pressed="true"]').waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Continue" }).click();
      // Similar beliefs are one row until it is opened.
      const alike = page.locator(".alike").getByRole("button", { name: /offer\/3/ });
      await alike.waitFor();
      await alike.click();
      await page.waitForFunction(() => document.querySelectorAll(".beliefs .terms li:not(.is-lost)").length > 8);
      const separator = page.getByRole("separator", { name: "Width of column 1" });
      const wider = (than: number) => page.waitForFunction((than) => (document.querySelector(".beliefs")?.getBoundingClientRect().width ?? 0) > than + 10, than);
      const before = (await page.locator(".beliefs").boundingBox())?.width ?? 0;
      await separator.press("ArrowRight");
      await wider(before);
      // The browser keeps it.
      await page.reload();
      await wider(before);
      const breakpoint = { request: "line_breakpoint", agent: "initiator1", file: "initiator.asl", line: 18 };
      assert.deepEqual(node.orders.filter(({ request }) => request === "line_breakpoint"), [{ ...breakpoint, on: true }, { ...breakpoint, on: false }]);
    }));

  test("nodes without logs are live", () =>
    visit(browser, { messagesPerS: 20 }, async (there, node) => {
      const { page } = there;
      node.hasNoLogs = true;
      await there.go("c", "Conversations");
      await page.getByRole("button", { name: "Lines" }).click();
      const lines = page.locator(".line-row.virtual-row");
      await page.getByLabel("Agents", { exact: true }).fill("pilot-n2");
      await lines.filter({ hasText: "depth(" }).nth(2).waitFor();
      assert.equal(await page.getByText(/keeps no log/).count(), 0);
    }));

  test("messages before the view was open are there", () =>
    visit(
      browser,
      { nodes: 1, messagesPerS: 40 },
      async (there, node) => {
        const { page } = there;
        await page.getByRole("banner").getByText(/^[1-9]\d* printed/).waitFor();
        node.society.end();
        await page.getByText(/The society has ended/).waitFor();
        await there.go("c", "Conversations");
        await page.getByRole("button", { name: "Lines" }).click();
        await page.locator(".line-row.virtual-row").filter({ hasText: "cfp" }).nth(1).waitFor();
      },
      {},
      ["mind", "output"],
    ));

  test("directory is searched, entry is registered, modified, deregistered", () =>
    visit(browser, {}, async (there, node) => {
      const { page } = there;
      await there.go("d", "Directory");
      await option(page, "contractor1").waitFor();
      const names = await page.getByRole("option").locator(".name").allTextContents();
      assert.deepEqual(names, [...names].sort((one, other) => one.localeCompare(other, "en", { numeric: true })));
      await page.keyboard.press("/");
      await page.keyboard.type("price=23");
      await page.waitForFunction(() => [...document.querySelectorAll(".entry-row.virtual-row")].every((row) => row.textContent?.includes("price=23")));
      await page.getByRole("button", { name: "Topics and groups" }).click();
      await page.getByLabel("Search", { exact: true }).fill("");
      await option(page, "topic:weather").waitFor();
      await page.getByRole("button", { name: "Subscriptions" }).click();
      const searches = page.locator(".subscription-row[role=option]");
      await searches.filter({ hasText: "initiator1" }).filter({ hasText: "of type contractor with price=2" }).first().waitFor();
      await searches.filter({ hasText: "courier1" }).filter({ hasText: "all entries" }).filter({ hasText: "c-42" }).filter({ hasText: "n2" }).waitFor();
      await page.getByText(/^n3 did not answer/).waitFor();
      await page.getByRole("button", { name: "Agents (AMS)" }).click();
      await option(page, "sensor1").waitFor();
      await page.getByRole("button", { name: "Register" }).click();
      const pane = page.getByRole("complementary", { name: "Register" });
      await pane.getByLabel("Agent").fill("sensor1");
      await pane.getByLabel("Service").fill("tea");
      await pane.getByLabel("Type").fill("shop");
      await pane.getByRole("button", { name: "Register", exact: true }).click();
      await pane.waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Services (DF)" }).click();
      await option(page, "contractor1").click();
      const entry = page.getByRole("complementary", { name: "Entry" });
      await entry.getByRole("button", { name: /^Modify / }).click();
      assert.equal(await pane.getByLabel("Type").inputValue(), "contractor");
      await pane.getByLabel("Type").fill("painter");
      await pane.getByRole("button", { name: "Modify", exact: true }).click();
      await pane.waitFor({ state: "detached" });
      await option(page, "contractor1").click();
      await entry.getByRole("button", { name: "Deregister" }).click();
      await entry.waitFor({ state: "detached" });
      const told = node.orders.map((order) => (order.request === "register" || order.request === "modify" ? [order.request, order.agent, order.services[0]?.kind] : [order.request, "agent" in order && order.agent]));
      assert.deepEqual(told, [["register", "sensor1", "shop"], ["modify", "contractor1", "painter"], ["deregister", "contractor1"]]);
    }));

  test("keys move in lists, Enter opens", () =>
    visit(browser, { messagesPerS: 100 }, async (there) => {
      const { page } = there;
      const view = (): string => new URL(page.url()).hash.split("?")[0] ?? "";
      await there.go("d", "Directory");
      await page.getByRole("button", { name: "Agents (AMS)" }).click();
      await option(page, "sensor1").waitFor();
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      for (const key of ["ArrowDown", "ArrowDown", "PageDown", "Home"]) await page.keyboard.press(key);
      await page.locator("[role=option][aria-selected=true]").waitFor();
      assert.equal(view(), "#/directory");
      const name = await page.locator("[role=option][aria-selected=true] .name").getAttribute("title");
      await page.keyboard.press("Enter");
      await page.getByRole("complementary", { name: "Agent" }).getByRole("heading", { name: name ?? "", exact: true }).waitFor();

      await there.go("h", "Health");
      await page.locator(".dead-row.virtual-row").first().waitFor();
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      await page.keyboard.press("ArrowDown");
      assert.deepEqual([view(), await page.locator("[role=option][aria-selected=true]").count()], ["#/health", 0], "arrows scroll the page");
      await page.keyboard.press("j");
      await page.locator("[role=option][aria-selected=true]").waitFor();
      await page.keyboard.press("ArrowDown");
      assert.equal(view(), "#/health");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Conversations", level: 1 }).waitFor();
    }));

  test("diagram binds its keys after lines, gap is marked", () =>
    visit(browser, { messagesPerS: 60 }, async (there, node) => {
      const { page } = there;
      await there.go("c", "Conversations");
      await page.getByRole("button", { name: "Lines" }).click();
      await page.locator(".line-row.virtual-row").nth(3).waitFor();
      node.cut();
      await page.getByText(/Connection to the node lost/).waitFor();
      await page.getByText(/Connection to the node lost/).waitFor({ state: "detached" });
      await page.waitForFunction(() => document.querySelectorAll(".line-row.virtual-row").length > 0);
      await page.getByLabel("Content").fill("nobody says this");
      await page.getByText(/messages of this time are missing/).waitFor();
      await page.getByRole("button", { name: "Show all" }).click();
      await page.getByRole("button", { name: "Diagram" }).click();
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      await page.keyboard.press("k");
      await page.getByRole("complementary").waitFor();
    // A log would continue without a gap: this node keeps none.
    }, {}, ["mind"]));

  test("message is written, stored, sent, answered, saved, loaded", () =>
    visit(browser, {}, async (there) => {
      const { page } = there;
      const folder = mkdtempSync(join(tmpdir(), "whimbrel-console-"));
      try {
        await there.go("w", "Compose");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByRole("alert").getByText("Enter a receiver").waitFor();
        await page.getByLabel("Receivers").fill("sensor1");
        await page.getByLabel("Content", { exact: true }).fill("price(tea, 5");
        await page.getByText(/\) expected at the end/).waitFor();
        await page.getByLabel("Content", { exact: true }).fill("price(tea, 5)");
        await page.keyboard.press("Control+Enter");
        await page.getByText("heard(price(tea,5))").waitFor();
        await page.getByRole("button", { name: "Store" }).click();
        await page.getByRole("dialog").getByRole("textbox").fill("ask for tea");
        await page.keyboard.press("Enter");
        const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save file" }).click()]);
        assert.deepEqual(JSON.parse(await textOf(download)), { performative: "inform", receivers: ["sensor1"], content: { term: "price", args: [{ atom: "tea" }, 5] } });
        await page.getByRole("button", { name: "Clear" }).click();
        await page.getByLabel("Stored messages").selectOption("ask for tea");
        assert.equal(await page.getByLabel("Receivers").inputValue(), "sensor1");
        const file = join(folder, "message.json");
        writeFileSync(file, JSON.stringify({ performative: "cfp", receivers: ["nobody"], content: { atom: "tea" }, conversation_id: "c9" }));
        await page.locator("input[type=file]").setInputFiles(file);
        await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>("textarea")?.value === "tea");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByText("undelivered(nobody,unknown_agent)").waitFor();
        writeFileSync(file, "no message");
        await page.locator("input[type=file]").setInputFiles(file);
        await page.getByText(/Cannot load message\.json/).waitFor();
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }));

  test("code and quotas of all nodes are listed", () =>
    visit(browser, {}, async (there) => {
      const { page } = there;
      await there.go("o", "Mobility");
      await page.getByText("courier1 came from n2").waitFor();
      await page.getByRole("button", { name: "Code", exact: true }).click();
      const rows = page.locator(".code-row[role=option]");
      await rows.filter({ hasText: "sensor.wasm" }).filter({ hasText: "arrived" }).filter({ hasText: "compiled" }).filter({ hasText: "n2" }).waitFor();
      await page.getByText("n3 did not answer: it is busy with something else").waitFor();
      await page.getByText(/n1: 1.2.MB of 268.MB on disk/).waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("contractor");
      await page.waitForFunction(() => document.querySelectorAll(".code-row[role=option]").length === 2);
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Quotas", exact: true }).click();
      await page.locator(".quota-row").filter({ hasText: "sensor1" }).filter({ hasText: "96 ms of 100 ms" }).first().waitFor();
      await page.locator(".quota-row").filter({ hasText: "all agents of initiator1 of node n2" }).filter({ hasText: "no limit" }).first().waitFor();
    }));

  test("refusals, reasons and certificates are listed", () =>
    visit(browser, {}, async (there) => {
      const { page } = there;
      await there.go("e", "Security");
      const notices = page.locator(".notice-row[role=option]");
      await notices.filter({ hasText: "agent:tab1" }).waitFor();
      await notices.filter({ hasText: "its certificate is over" }).filter({ hasText: "n2" }).waitFor();
      await page.getByText(/^n3 did not answer/).waitFor();
      await page.getByRole("button", { name: "Audit log" }).click();
      const before = page.locator(".notice-row[role=option]");
      await before.filter({ hasText: "agent:visitor1" }).first().waitFor();
      await before.filter({ hasText: "agent visitor2 may not send to vault" }).waitFor();
      await page.getByText("200 lines").waitFor();
      await page.getByRole("button", { name: "Earlier" }).click();
      await page.getByText("400 lines").waitFor();
      await page.getByRole("button", { name: "Earlier" }).click();
      await page.getByText("450 lines, complete").waitFor();
      await page.keyboard.press("j");
      await page.keyboard.press("End");
      await page.getByRole("complementary", { name: "Details" }).getByText("agent:visitor450").first().waitFor();
      await page.keyboard.press("Escape");
      await page.getByLabel("Node of the audit log").selectOption("n3");
      await page.getByText("it is busy with something else").waitFor();
      await page.getByRole("button", { name: "By reason" }).click();
      await page.locator(".reason-row").filter({ hasText: "bad token" }).filter({ hasText: "3" }).first().waitFor();
      await page.getByText("n1: recorded in /var/log/whimbrel/audit.jsonl").waitFor();
      await page.getByRole("button", { name: "Certificates" }).click();
      const rows = page.locator(".certificate-row[role=option]");
      await rows.first().getByText(/^expired 1d/).waitFor();
      await rows.filter({ hasText: "sensor1" }).getByText("revoked").first().waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("n1.node");
      await page.waitForFunction(() => document.querySelectorAll(".certificate-row[role=option]").length === 2);
      await page.keyboard.press("Escape");
      await page.keyboard.press("j");
      const pane = page.getByRole("complementary", { name: "Certificate" });
      await pane.getByText("CN=estuary authority").waitFor();
      await pane.getByText("Serial number").waitFor();
      await page.keyboard.press("Escape");
      await pane.waitFor({ state: "detached" });
    }));

  test("messages of other nodes appear, silent nodes are named", () =>
    visit(browser, { messagesPerS: 20 }, async (there) => {
      const { page } = there;
      await there.go("c", "Conversations");
      await page.getByRole("button", { name: "Lines" }).click();
      await page.getByLabel("Agents", { exact: true }).fill("pilot-n2");
      const lines = page.locator(".line-row.virtual-row");
      await lines.filter({ hasText: "depth(" }).first().waitFor();
      const before = await lines.count();
      await page.waitForFunction((before) => document.querySelectorAll(".line-row.virtual-row").length > before, before);
      await page.getByText("n3 did not answer: it is busy with something else").waitFor();
      // The choice acts at once, whatever else is changed meanwhile.
      const recorded = async () => parseInt((await page.locator(".tools-note").textContent()) ?? "", 10);
      const all = await recorded();
      await page.getByRole("button", { name: "From now" }).evaluate(async (button) => {
        (button as HTMLButtonElement).click();
        for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
      });
      assert.ok((await recorded()) < all, "the log is shown no more");
      await page.getByRole("button", { name: "Clear" }).click();
      await lines.filter({ hasText: "ferry-n2" }).first().waitFor();
      await page.getByLabel("Node", { exact: true }).selectOption("n1");
      await page.getByText("No message from the nodes that answer matches the filter").waitFor();
      await page.getByLabel("Node", { exact: true }).selectOption("n2");
      await page.getByLabel("Agents", { exact: true }).fill("");
      await lines.nth(3).waitFor();
      const names = new Set(await lines.locator(".name").allTextContents());
      assert.ok(!names.has("initiator1"), "the agent is on n1");
      await page.getByRole("button", { name: "Show all" }).click();
      await lines.filter({ hasText: "initiator" }).first().waitFor();
    }));

  test("mind in a tab is explained and can be moved", () =>
    visit(browser, {}, async (there, node) => {
      const { page } = there;
      await option(page, "contractor1").dragTo(page.locator('[data-device="tab1"]'));
      await page.getByText("contractor1 moved to tab1").waitFor();
      await page.evaluate(() => (location.hash = "#/mind/contractor1"));
      await page.getByText("The mind is in a web page").waitFor();
      await page.getByText(/runs in a tab on the device tab1/).waitFor();
      await page.getByRole("button", { name: "Move to n2" }).click();
      await page.getByText("Goals", { exact: true }).or(page.getByText(/has no readable mind/)).first().waitFor();
      assert.deepEqual(node.orders.flatMap((order) => ("to" in order ? [`${order.agent} ${order.to}`] : [])), ["contractor1 tab1", "contractor1 n2"]);
      await page.evaluate(() => (location.hash = "#/mind/tab1"));
      await page.getByText("The mind is in a client program").waitFor();
    }));

  test("health shows charts, faults and dead letters", () =>
    visit(browser, { messagesPerS: 200 }, async (there) => {
      const { page } = there;
      await there.go("h", "Health");
      await page.locator(".plot canvas").nth(3).waitFor();
      await page.getByRole("alert", { name: "Verdict" }).getByText("Node n3 does not answer: its agents are not counted.").waitFor();
      await page.locator(".plot").filter({ hasText: "Messages a second all nodes" }).waitFor();
      await page.locator(".plot").filter({ hasText: "Time in mailboxes n1" }).waitFor();
      await page.locator(".nodes-health").getByRole("button", { name: "n2" }).click();
      await page.locator(".plot").filter({ hasText: "Messages a second n2" }).waitFor();
      await page.getByText("The time in mailboxes is available only in the console of n2.").waitFor();
      await page.locator(".nodes-health").getByRole("button", { name: "all nodes" }).click();
      await page.getByText("no such agent").first().waitFor();
      await page.getByText(/^Messages wait for suspended agents: /).waitFor();
    }));

  test("ninety nodes are all asked", () =>
    visit(browser, { nodes: 90 }, async (there) => {
      const { page } = there;
      await there.go("h", "Health");
      // The sum, and each node but the one that never answers.
      await page.waitForFunction(() => document.querySelectorAll(".nodes-health tbody tr").length === 90);
      await page.getByText("Node n3 does not answer: its agents are not counted.").waitFor();
      await there.go("o", "Mobility");
      await page.getByRole("button", { name: "Code", exact: true }).click();
      await page.getByText("n3 did not answer: it is busy with something else", { exact: true }).waitFor();
      await page.waitForFunction(() => (document.querySelector("[role=listbox][aria-label=Code]")?.querySelector("[role=option]")?.getAttribute("aria-setsize") ?? "") === String(3 * 89));
    }));

  test("views without their feature are hidden", () =>
    visit(
      browser,
      {},
      async (there) => {
      const { page } = there;
        await page.getByRole("link", { name: "Conversations" }).waitFor();
        for (const name of ["Mind", "Mobility", "Security"]) assert.equal(await page.getByRole("link", { name }).count(), 0, name);
        await page.goto(`${page.url().split("#")[0]}#/mind`);
        await page.getByText("This node does not offer that view").waitFor();
      },
      {},
      [],
    ));

  test("quiet node is reported before it is given up", () =>
    visit(browser, {}, async ({ page }, node) => {
      const quiet = page.getByText(/^No data from the node for \d+ s$/);
      await option(page, "contractor1").waitFor();
      await page.waitForTimeout(7_000);
      assert.equal(await quiet.count(), 0, "the node sends frames all the time");
      node.isMute = true;
      await quiet.waitFor({ timeout: 12_000 });
      assert.equal(await page.getByText(/Connection to the node lost/).count(), 0);
      node.isMute = false;
      await quiet.waitFor({ state: "detached" });
      assert.equal(await page.getByText(/Connection to the node lost/).count(), 0);
    }));

  test("broken connection is reported and restored", () =>
    visit(browser, {}, async (there, node) => {
      const { page } = there;
      await option(page, "contractor1").waitFor();
      node.cut();
      await page.getByText(/Connection to the node lost/).waitFor();
      await page.getByText(/Connection to the node lost/).waitFor({ state: "detached" });
      await option(page, "contractor1").waitFor();
      // After the break, the last verdict no longer applies.
      await there.go("h", "Health");
      const [known, unknown] = [page.locator(".verdict:not(.is-unknown)"), page.getByText("Health unknown")];
      await known.waitFor();
      node.cut();
      await unknown.waitFor();
      assert.equal(await known.count(), 0);
      await unknown.waitFor({ state: "detached" });
    }));

  test("unknown token is asked for again", () =>
    visit(
      browser,
      {},
      async (there) => {
      const { page } = there;
        await page.getByText("this token is not known here").waitFor();
        await page.getByLabel("Token").fill("mock");
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Society" }).waitFor();
      },
      { token: "wrong" },
    ));

  test("hostile names and contents stay text", () =>
    visit(browser, { hostile: true, agents: 40, messagesPerS: 150 }, async (there) => {
      const { page } = there;
      const nothingHappened = async (where: string) => {
        assert.equal(await page.evaluate(() => (window as { pwned?: unknown }).pwned), undefined, where);
        assert.equal(await page.locator("#console img, #console script, #console iframe, #console [onload], #console [onerror], #console a[href^='javascript']").count(), 0, where);
        const hidden = await page.evaluate(() => /[\u0000-\u0008\u001b\u202a-\u202e]/.test(document.body.innerText));
        assert.ok(!hidden, `hidden characters in ${where}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        assert.ok(!wide, `${where} is wider than the window`);
      };
      for (const path of ["society", "conversations", "output", "mind", "directory", "compose", "health", "mobility", "security"]) {
        await there.open(path);
        await nothingHappened(path);
      }
      for (const name of HOSTILE) {
        await there.open(`society/${encodeURIComponent(name)}`);
        await page.getByRole("complementary", { name: "Agent" }).getByRole("heading", { name: visible(name, 120), exact: true }).waitFor();
        await nothingHappened(`society/${name.slice(0, 40)}`);
      }
      await there.open(`mind/${encodeURIComponent(HOSTILE[1] ?? "")}`);
      await nothingHappened("mind");
      await there.open("conversations");
      await page.getByRole("button", { name: "Lines" }).click();
      const line = page.locator(".line-row").filter({ hasText: "<script>" }).first();
      const live = page.getByRole("button", { name: /^Live/ });
      // A moving target is hard to press, and may be gone once everything is paused.
      do {
        if (await live.isVisible()) await live.click();
        await line.waitFor();
        await page.getByRole("button", { name: "Pause" }).click();
        await live.waitFor();
      } while (!(await line.isVisible()));
      await line.click();
      await page.getByRole("complementary", { name: "Message" }).waitFor();
      await nothingHappened("a message's details");
    }));

  test("all views fit a phone", () =>
    visit(
      browser,
      {},
      async (there) => {
      const { page } = there;
        for (const path of ["society", "society/contractor1", "conversations", "output", "mind", "mind/initiator1", "directory", "compose", "health", "mobility", "security"]) {
          await there.open(path);
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is wider than a phone`);
        }
        await there.open("conversations");
        const list = page.getByRole("listbox", { name: "Messages" });
        await list.waitFor();
        const top = async (): Promise<number> => (await list.boundingBox())?.y ?? Infinity;
        assert.ok((await top()) < 170, `messages begin at ${await top()} of 844`);
        // Lines have their time and content.
        await page.waitForFunction(() => [...document.querySelectorAll(".line-row.virtual-row")].some((row) => row.querySelector(".performative") && ["time", ".mono"].every((part) => (row.querySelector(part)?.getBoundingClientRect().height ?? 0) > 8)));
        assert.equal(await page.getByLabel("Content", { exact: true }).isVisible(), false);
        await page.getByRole("button", { name: "Filters" }).click();
        await page.getByLabel("Content", { exact: true }).fill("job");
        await page.getByRole("button", { name: "Export" }).waitFor();
        await page.getByRole("button", { name: "Filters" }).click();
        await page.locator('button[aria-pressed="true"]', { hasText: "Filters" }).waitFor();
        assert.ok((await top()) < 170);
        // The theme and the help are at hand.
        await page.getByRole("button", { name: "Light or dark" }).click();
        await page.waitForFunction(() => document.documentElement.dataset["theme"] === "dark");
        await page.getByRole("button", { name: "Help" }).click();
        await page.getByRole("dialog", { name: "Keys" }).getByText("--http 0.0.0.0:8420").waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("link", { name: "Society" }).click();
        await option(page, "contractor3").click();
        await page.getByRole("button", { name: "Suspend" }).click();
        await page.getByText("contractor3 suspended").waitFor();
      },
      { width: 390, height: 844 },
    ));
});
