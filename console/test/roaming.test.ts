/**
 * Test of the example `roaming`: an agent starts in a tab, moves to a node and to another tab, and continues at the
 * node when its tab is closed.
 */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { ConsoleProxy } from "./console-proxy.js";
import { addressOf, console_, dist, launch, PATIENCE_MS, Visit as Look, WHIMBREL, withoutNode } from "./page.js";
import { BreakableNetwork } from "./breakable-network.js";

const TOKEN = "a token for tests";
const ADMIN = "a-token-for-the-console";
const example = join(console_, "../examples/roaming");
const pictures = process.env["WHIMBREL_PICTURES"];

/** Reason to skip the tests; false to run them. */
function without(): string | false {
  const isBuilt = existsSync(join(example, "page/lib/agentspeak.wasm"));
  if (!isBuilt && process.env["WHIMBREL_REQUIRED"]) throw new Error("the engine is not built: make roaming");
  return isBuilt ? withoutNode() : "the engine is not built: make roaming";
}

/** The example's nodes. */
class Run {
  said = "";

  private constructor(
    readonly process: ChildProcess,
    readonly address: string,
    readonly finished: Promise<void>,
  ) {}

  static async begin(): Promise<Run> {
    const folder = mkdtempSync(join(tmpdir(), "whimbrel-roaming-"));
    const options = ["--nodes", "2", "--http", "0", "--http-token", ADMIN, "--policy", join(example, "policy.toml"), "--agent-token", TOKEN, "--pages", join(example, "page")];
    const node = spawn(WHIMBREL, ["run", example, ...options], { env: { ...process.env, WHIMBREL_RUN_DIR: folder }, stdio: ["ignore", "pipe", "pipe"] });
    const finished = new Promise<void>((resolve) => {
      node.once("close", () => {
        rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
        resolve();
      });
    });
    const address = await addressOf(node);
    const run = new Run(node, address, finished);
    node.stdout.on("data", (data: Uint8Array) => (run.said += String(data)));
    return run;
  }

  /** Ends all processes. The other nodes end with the first. */
  async stop(): Promise<void> {
    this.process.kill("SIGTERM");
    await this.finished;
  }
}

interface Visit {
  readonly place: string;
  readonly steps: number;
  readonly found: string;
}

/** The page in a tab. */
class Tab {
  private constructor(
    readonly page: Page,
    readonly name: string,
    readonly faults: readonly string[],
  ) {}

  static async open(browser: Browser, run: Run, name: string, look: { width?: number; height?: number; dark?: boolean; address?: string } = {}): Promise<Tab> {
    const { width = 1280, height = 800, dark = false, address = run.address } = look;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
    const page = await context.newPage();
    page.setDefaultTimeout(2 * PATIENCE_MS);
    const faults: string[] = [];
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    await page.goto(`${address}/pages/#token=${encodeURIComponent(TOKEN)}&name=${name}`);
    return new Tab(page, name, faults);
  }

  card(place: string): Locator {
    return this.page.locator("#places li", { has: this.page.locator("strong", { hasText: new RegExp(`^${place}$`) }) });
  }

  async press(place: string, what: string): Promise<void> {
    await this.card(place).getByRole("button", { name: what }).click();
  }

  /**
   * Returns the diary, newest first, once it has `visits` entries and the newest is of this place with at least `steps`
   * steps.
   */
  async diary(visits: number, place: string, steps = 1): Promise<readonly Visit[]> {
    await this.page.waitForFunction(
      ([count, at, least]) => {
        const rows = [...document.querySelectorAll("#visits tr")].map((row) => [...row.children].map((cell) => cell.textContent ?? ""));
        return rows.length === count && rows[0]?.[0] === at && Number(rows[0][3]) >= least;
      },
      [visits, place, steps] as const,
    );
    const rows = await this.page.locator("#visits tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
    return rows.map(([at = "", , , count, found = ""]) => ({ place: at, steps: Number(count), found }));
  }

  async picture(name: string): Promise<void> {
    if (pictures === undefined) return;
    mkdirSync(pictures, { recursive: true });
    await this.page.waitForTimeout(1500);
    await this.page.screenshot({ path: join(pictures, `roaming-${name}.png`), fullPage: true });
  }
}

// They wait for much of their time, so two run at once.
describe("agent that roams", { concurrency: 2 }, () => {
  test("scout moves with its diary and survives its tab", { skip: without(), timeout: 300_000 }, async () => {
    const run = await Run.begin();
    const browser = await launch();
    try {
      const [first, second] = [await Tab.open(browser, run, "tab_kite"), await Tab.open(browser, run, "tab_wren")];
      assert.equal(new URL(first.page.url()).hash, "", "the token is not left in the address bar");
      await first.press("tab_kite", "Begin here");
      const [began] = await second.diary(1, "tab_kite", 2);
      assert.ok(began);
      // By itself: to a node, and from there to another tab.
      await second.press("n1", "Send it there");
      const [, before] = await second.diary(2, "n1", 2);
      assert.ok((before?.steps ?? 0) >= began.steps, "the agent has its state");
      assert.match(before?.found ?? "", /^a tab in Chrome \d+, 1280 x /);
      await second.press("tab_wren", "Call it here");
      await second.diary(3, "tab_wren", 2);
      await second.picture("light");
      // To the first tab, which is closed.
      await second.press("tab_kite", "Send it there");
      const walked = await second.diary(4, "tab_kite", 3);
      await first.page.context().close();
      const gone = await second.diary(5, "n1", 2);
      assert.ok((gone[1]?.steps ?? 0) >= (walked[0]?.steps ?? 0), "the agent continued from its last state");
      assert.deepEqual(gone.map(({ place }) => place), ["n1", "tab_kite", "tab_wren", "n1", "tab_kite"]);
      assert.match(gone[3]?.found ?? "", /^node n1, \d+ agents on the platform$/);
      await second.press("tab_wren", "Call it here");
      await second.diary(6, "tab_wren", 1);
      // A late page knows the whole diary.
      const late = await Tab.open(browser, run, "tab_tern", { width: 390, height: 844, dark: true });
      assert.equal((await late.diary(6, "tab_wren")).length, 6);
      await late.picture("phone-dark");
      // After a reload it is the same tab, though its address has no token any more.
      await late.page.reload();
      await late.page.waitForFunction(() => document.body.textContent?.includes("this is tab_tern"));
      assert.equal((await late.diary(6, "tab_wren")).length, 6);
      assert.deepEqual([...first.faults, ...second.faults, ...late.faults], []);
      assert.match(run.said, /\[logbook\] nobody has come by yet: open the page\n/);
      assert.match(run.said, /\[logbook\] the scout is at tab_wren\n/);
    } finally {
      await browser.close();
      await run.stop();
    }
  });

  test("tab rejoins after a long network outage", { skip: without(), timeout: 300_000 }, async () => {
    const run = await Run.begin();
    const browser = await launch();
    const { hostname: host, port } = new URL(run.address);
    const wire = new BreakableNetwork({ host, port: Number(port) });
    try {
      const away = await Tab.open(browser, run, "tab_kite", { address: await wire.listen() });
      const stays = await Tab.open(browser, run, "tab_wren");
      await away.press("tab_kite", "Begin here");
      await stays.diary(1, "tab_kite", 2);
      wire.down();
      await stays.card("tab_kite").waitFor({ state: "detached" });
      await stays.diary(2, "n1", 2);
      await away.page.getByText("tab_kite: no connection, trying again").waitFor();
      wire.up();
      await away.page.getByText("this is tab_kite").waitFor();
      await stays.card("tab_kite").waitFor();
      await stays.diary(3, "tab_kite", 2);
      // It shows the diary, and accepts the agent.
      await away.press("tab_wren", "Send it there");
      await away.diary(4, "tab_wren", 2);
      await away.press("tab_kite", "Call it here");
      await stays.diary(5, "tab_kite", 2);
      // It came from elsewhere: it continues at the node until it is called.
      wire.down();
      await stays.card("tab_kite").waitFor({ state: "detached" });
      await stays.diary(6, "n1", 2);
      wire.up();
      await stays.card("tab_kite").waitFor();
      await stays.diary(6, "n1", 8);
      await away.press("tab_kite", "Call it here");
      await stays.diary(7, "tab_kite", 1);
      assert.deepEqual(stays.faults, []);
      assert.deepEqual(away.faults.filter((fault) => !/WebSocket connection|ERR_/.test(fault)), []);
    } finally {
      await browser.close();
      await wire.close();
      await run.stop();
    }
  });

  test("reloaded tab is the same, copied tab is not", { skip: without(), timeout: 300_000 }, async () => {
    const run = await Run.begin();
    const browser = await launch();
    try {
      const tab = await Tab.open(browser, run, "tab_kite");
      const { page } = tab;
      await tab.press("tab_kite", "Begin here");
      await tab.diary(1, "tab_kite", 2);
      await page.reload();
      // Its session was that of a closed tab.
      await page.getByText("this is tab_kite").waitFor();
      await tab.diary(2, "n1", 1);
      await tab.press("tab_kite", "Call it here");
      await tab.diary(3, "tab_kite", 1);
      const [copy] = await Promise.all([page.context().waitForEvent("page"), page.evaluate(() => void window.open(location.href))]);
      assert.match(await copy.evaluate(() => JSON.stringify({ ...sessionStorage })), /tab_kite/);
      await copy.getByText(/^this is tab_(?!kite)/).waitFor();
      await copy.close();
      // The address decides, even if only its name differs.
      await page.goto(`${run.address}/pages/#token=of+another+node&name=tab_tern`);
      await page.getByText(/^tab_tern: unauthorised/).waitFor();
      await page.goto(`${run.address}/pages/#token=${encodeURIComponent(TOKEN)}`);
      await page.getByText("this is tab_tern").waitFor();
      assert.deepEqual(tab.faults, []);
    } finally {
      await browser.close();
      await run.stop();
    }
  });

  test("console drags an agent between tab and node", { skip: without(), timeout: 300_000 }, async () => {
    const run = await Run.begin();
    const browser = await launch();
    const { hostname: host, port } = new URL(run.address);
    const door = new ConsoleProxy(dist, { host, port: Number(port) });
    try {
      const url = await door.listen();
      const address = url.replace(/\/$/, "");
      // Through the proxy, for the latest SDK.
      const tabs = [await Tab.open(browser, run, "tab_kite", { address }), await Tab.open(browser, run, "tab_wren", { address })];
      await tabs[0]?.press("tab_kite", "Begin here");
      const look = await Look.to(browser, url, { token: ADMIN });
      const { page } = look;
      const device = (name: string) => page.locator(`[data-device="${name}"]`);
      const scout = page.getByRole("option").filter({ has: page.locator(".name").getByText("scout", { exact: true }) });
      await page.getByRole("heading", { name: "2 devices" }).waitFor();
      await device("tab_kite").getByText(/\d units/).waitFor();
      await device("tab_kite").getByRole("button", { name: "1 agent" }).waitFor();
      await scout.getByText("tab_kite").waitFor();
      // Its mind is visible in the tab, and read-only there.
      await page.evaluate(() => (location.hash = "#/mind/scout"));
      await page.getByText(/^Reported by the page of tab_kite/).waitFor();
      await page.locator(".plan").first().waitFor();
      assert.equal(await page.getByRole("button", { name: /Pause|Continue|Believe|Pursue|Forget/ }).count(), 0);
      await page.evaluate(() => (location.hash = "#/society"));
      await scout.dragTo(page.locator('[data-node="n1"]'));
      await page.getByText("scout moved to n1").waitFor();
      await page.evaluate(() => (location.hash = "#/mind/scout"));
      await page.getByRole("button", { name: "Pause" }).waitFor();
      await page.evaluate(() => (location.hash = "#/society"));
      await scout.getByText("n1").waitFor();
      await device("tab_kite").getByRole("button", { name: "0 agents" }).waitFor();
      await scout.dragTo(device("tab_wren"));
      await page.getByText("scout moved to tab_wren").waitFor();
      await scout.getByText("tab_wren").waitFor();
      // By keys, and by choice from the list of places.
      await scout.click();
      await page.getByRole("button", { name: "Move to" }).waitFor();
      await page.keyboard.press("v");
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("option").filter({ hasText: "n2" }).getByText("node").waitFor();
      await dialog.getByRole("option").filter({ hasText: "tab_kite" }).filter({ hasText: "device" }).click();
      await dialog.getByRole("button", { name: "Move" }).click();
      await page.getByText("scout moved to tab_kite").waitFor();
      await page.keyboard.press("Escape");
      await scout.dragTo(device("tab_wren"));
      await scout.getByText("tab_wren").waitFor();
      await page.getByRole("option").filter({ has: page.locator(".name").getByText("tab_wren", { exact: true }) }).dragTo(page.locator('[data-node="n2"]'));
      await page.getByText(/^tab_wren stays: \w/).waitFor();
      await tabs[0]?.page.context().close();
      await page.getByRole("heading", { name: "1 device", exact: true }).waitFor();
      assert.deepEqual(look.faults, []);
    } finally {
      await browser.close();
      await door.close();
      await run.stop();
    }
  });
});
