/**
 * Test of the example `classroom`: programs are changed, run and inspected in a page of its own, which then joins a
 * node.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { addressOf, console_, launch, PATIENCE_MS, WHIMBREL, withoutBrowser, withoutNode } from "./page.js";

const example = join(console_, "../examples/classroom");
const folder = join(example, "page");
const pictures = process.env["WHIMBREL_PICTURES"];
const TOKEN = "a token for tests";

/** Reason to skip the tests; false to run them. */
function without(): string | false {
  const isBuilt = existsSync(join(folder, "lib/agentspeak.wasm"));
  if (!isBuilt && process.env["WHIMBREL_REQUIRED"]) throw new Error("the classroom is not built: make classroom");
  return isBuilt ? withoutBrowser() : "the classroom is not built: make classroom";
}

const TYPES: Readonly<Record<string, string>> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm" };

/** Serves the example's files. Any file server will do. */
async function serve(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(({ url }, response) => {
    const path = normalize(new URL(url ?? "/", "http://here").pathname);
    const file = join(folder, path === "/" ? "index.html" : path);
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.setHeader("content-type", TYPES[extname(file)] ?? "text/plain").end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

/** Opens a page of the classroom, and fails on errors in it. */
async function inClass(browser: Browser, url: string, does: (page: Page) => Promise<void>, how: { readonly width?: number; readonly height?: number; readonly dark?: boolean; readonly faults?: RegExp } = {}): Promise<void> {
  const { width = 1280, height = 800, dark = false, faults: expected } = how;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  const page = await context.newPage();
  page.setDefaultTimeout(2 * PATIENCE_MS);
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("console", (message) => message.type() === "error" && !expected?.test(message.text()) && faults.push(message.text()));
  try {
    await page.goto(url);
    await does(page);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

async function picture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `classroom-${name}.png`) });
}

/** Groups lines by agent, in their order. */
function byAgent(lines: readonly string[]): Record<string, string[]> {
  const agents: Record<string, string[]> = {};
  for (const line of lines) {
    const [, agent = "", text = ""] = /^\[?(\w+)\]? (.*)$/.exec(line) ?? [];
    (agents[agent] ??= []).push(text);
  }
  return agents;
}

const printed = (page: Page): Promise<string[]> => page.locator("#output li:not(.note)").allTextContents();
const write = (page: Page, text: string): Promise<void> => page.locator("#editor textarea").fill(text);

test("classroom programs print the expected lines", { skip: without(), timeout: 240_000 }, async () => {
  const expected = readFileSync(join(example, "expected.txt"), "utf8").split(/^== /m).slice(1);
  assert.equal(expected.length, (JSON.parse(readFileSync(join(folder, "programs/programs.json"), "utf8")) as unknown[]).length);
  const [{ url, server }, browser] = [await serve(), await launch()];
  try {
    await inClass(browser, url, async (page) => {
      for (const section of expected) {
        const [name = "", ...lines] = section.trim().split("\n");
        await page.selectOption("#program", name);
        await page.locator(`#files [role=tab]`, { hasText: `${name}.mas2j` }).waitFor();
        // Keys have no effect before the engine is loaded.
        await page.locator("#run:enabled").waitFor();
        await page.keyboard.press("Control+Enter");
        await page.waitForFunction((count) => document.querySelectorAll("#output li:not(.note)").length >= count, lines.length);
        assert.deepEqual(byAgent(await printed(page)), byAgent(lines), name);
        await picture(page, name);
      }
      assert.ok((await page.locator("#messages g.message").count()) > 10, "messages are drawn");
    });
  } finally {
    await browser.close();
    server.close();
  }
});

test("errors, minds and controls of the classroom work", { skip: without(), timeout: 240_000 }, async () => {
  const [{ url, server }, browser] = [await serve(), await launch()];
  try {
    await inClass(browser, url, async (page) => {
      await page.locator("#files [role=tab]", { hasText: "amy.asl" }).waitFor();
      await write(page, "!go.\n\n+!go <- .print(\"hello\"\n");
      const problem = page.locator("#problems button.error").first();
      await problem.waitFor();
      assert.match((await problem.textContent()) ?? "", /amy\.asl:[34]/);
      assert.ok((await page.locator(".gutter .error").count()) > 0);
      await picture(page, "error");
      await page.click("#run");
      await page.waitForFunction(() => /amy\.asl:[34]/.test(document.querySelector("#state")?.textContent ?? ""));
      assert.ok(await page.isDisabled("#pause"), "nothing runs");

      const counting = "n(0).\n!count.\n+!count : n(N)\n   <- -+n(N + 1);\n      .wait(100);\n      !count.\n+stop <- .print(stopped); .drop_all_intentions.\n";
      await write(page, counting);
      await page.waitForFunction(() => document.querySelectorAll("#problems button.error").length === 0);
      await page.keyboard.press("Control+Enter");
      const agents = page.locator("#agents [role=tab]");
      await agents.filter({ hasText: "amy" }).click();
      await page.waitForFunction(() => /n\([2-9]/.test(document.querySelector("#mind .beliefs")?.textContent ?? ""));
      assert.match((await page.textContent("#mind .intentions")) ?? "", /count/);

      // Paused, the agent stays at its step. A step advances one cycle, and is marked in the text.
      await page.keyboard.press("F8");
      await page.waitForFunction(() => /paused/.test(document.querySelector("#state")?.textContent ?? ""));
      const before = await page.textContent("#mind .beliefs");
      await page.locator(".gutter .here").first().waitFor();
      await picture(page, "paused");
      await page.waitForTimeout(500);
      assert.equal(await page.textContent("#mind .beliefs"), before);
      for (let steps = 0; (await page.textContent("#mind .beliefs")) === before; steps++) {
        assert.ok(steps < 50);
        await page.keyboard.press("F10");
        await page.waitForTimeout(200);
      }
      await page.click("#pause");

      await page.fill("#wish", "+stop");
      await page.keyboard.press("Enter");
      await page.locator("#output li", { hasText: "stopped" }).waitFor();
      await page.fill("#wish", "likes(tea");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => (document.querySelector("#wish") as HTMLInputElement).validationMessage !== "");

      // The edited text is restored, and can be reset.
      await page.reload();
      await page.locator("#files [role=tab]", { hasText: "amy.asl" }).waitFor();
      await page.waitForFunction((text) => (document.querySelector("#editor textarea") as HTMLTextAreaElement).value === text, counting);
      await page.click("#reset");
      await page.waitForFunction(() => (document.querySelector("#editor textarea") as HTMLTextAreaElement).value.includes("greet"));
    });
    await inClass(
      browser,
      `${url}#program=auction&run`,
      async (page) => {
        await page.click("nav [data-view=messages]");
        await page.locator("#messages g.message").nth(5).waitFor();
        await picture(page, "phone-messages");
        await page.click("nav [data-view=mind]");
        await page.locator("#mind .beliefs").waitFor();
        await picture(page, "phone-mind");
        await page.click("nav [data-view=program]");
        await picture(page, "phone-program");
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
      },
      { width: 390, height: 780, dark: true },
    );
    await inClass(
      browser,
      `${url}#program=vacuum&run`,
      async (page) => {
        await page.locator("#output li").nth(1).waitFor();
        await picture(page, "dark");
      },
      { dark: true },
    );
  } finally {
    await browser.close();
    server.close();
  }
});

/** Clicks slowly: pages redraw often meanwhile. */
async function clickSlowly(page: Page, wanted: Locator): Promise<void> {
  await wanted.hover();
  await page.mouse.down();
  await page.waitForTimeout(300);
  await page.mouse.up();
}

test("changing minds lose no clicks and no focus", { skip: without(), timeout: 240_000 }, async () => {
  const [{ url, server }, browser] = [await serve(), await launch()];
  try {
    await inClass(browser, url, async (page) => {
      await page.locator("#files [role=tab]", { hasText: "amy.asl" }).waitFor();
      // One intention changes all the time; the one above it waits.
      await write(page, "n(0).\n!rest.\n!count.\n+!rest <- .wait({+done}).\n+!count : n(N)\n   <- -+n(N + 1);\n      .wait(20);\n      !count.\n");
      await page.click("#run");
      const agents = page.locator("#agents [role=tab]");
      await agents.filter({ hasText: "bob" }).click();
      await clickSlowly(page, agents.filter({ hasText: "amy" }));
      await page.locator("#agents [aria-selected=true]", { hasText: "amy" }).waitFor();
      await page.locator("#mind .place").first().waitFor();
      await clickSlowly(page, page.locator("#mind .place").first());
      await page.waitForFunction(() => document.activeElement?.matches("#editor textarea"));

      const belief = (): Promise<string | null> => page.textContent("#mind .beliefs li");
      const before = await belief();
      await page.locator("#mind .place").first().focus();
      await page.waitForFunction((text) => document.querySelector("#mind .beliefs li")?.textContent !== text, before);
      await page.waitForTimeout(300);
      assert.ok(await page.evaluate(() => document.activeElement?.matches("#mind .place")), "the focus stays");

      await page.keyboard.press("F8");
      await page.waitForFunction(() => /paused/.test(document.querySelector("#state")?.textContent ?? ""));
      // An unchanged part is not redrawn.
      await page.waitForFunction(async () => {
        let changes = 0;
        const observer = new MutationObserver((all) => (changes += all.length));
        for (const id of ["state", "agents", "mind"]) observer.observe(document.getElementById(id) as Node, { childList: true, characterData: true, subtree: true });
        await new Promise((resolve) => setTimeout(resolve, 600));
        observer.disconnect();
        return changes === 0;
      });
    });
  } finally {
    await browser.close();
    server.close();
  }
});

test("failed load keeps the current program", { skip: without(), timeout: 240_000 }, async () => {
  const [{ url, server }, browser] = [await serve(), await launch()];
  const does = async (page: Page): Promise<void> => {
    const printed = (text: string): Promise<void> => page.locator("#output li", { hasText: text }).first().waitFor();
    await page.locator("#files [role=tab]", { hasText: "amy.asl" }).waitFor();
    await page.route("**/programs/tea/*", (route) => route.fulfill({ status: 404, body: "<p>none</p>" }));
    await page.selectOption("#program", "tea");
    await page.waitForFunction(() => /not to be had \(404\)/.test(document.querySelector("#state")?.textContent ?? ""));
    assert.deepEqual([await page.inputValue("#program"), await page.locator("#files [role=tab]", { hasText: "amy.asl" }).count()], ["hello", 1]);

    // The current program runs while another is fetched.
    let come = (): void => undefined;
    const comes = new Promise<void>((resolve) => (come = resolve));
    const fetched: string[] = [];
    await page.route("**/programs/vacuum/*", async (route) => {
      fetched.push(route.request().url());
      await comes;
      await route.continue();
    });
    await page.selectOption("#program", "vacuum");
    await page.click("#run");
    await page.locator("#agents [role=tab]", { hasText: "amy" }).waitFor();
    await page.locator("#output li").first().waitFor();
    // The same choice again does not fetch it again, which would end the society that runs by then.
    await page.selectOption("#program", "vacuum");
    come();
    await page.locator("#files [role=tab]", { hasText: "cleaner.asl" }).waitFor();
    assert.ok(await page.isDisabled("#pause"), "the previous society has ended");
    assert.ok(fetched.length > 0 && new Set(fetched).size === fetched.length, "each file is fetched once");

    // After `.stopMAS` nothing can be sent to an agent.
    await page.locator("#files [role=tab]", { hasText: "cleaner.asl" }).click();
    await write(page, "+leave <- .print(bye); .stopMAS.\n");
    await page.click("#run");
    await page.locator("#agents [role=tab]", { hasText: "cleaner" }).click();
    await page.fill("#wish", "+leave");
    await page.click("#attach");
    await page.keyboard.press("F8");
    assert.equal(await page.getAttribute("#pause", "aria-pressed"), "false", "keys are the dialog's");
    await page.evaluate(() => (document.querySelector("#tell") as HTMLFormElement).requestSubmit());
    await printed("bye");
    await page.waitForFunction(() => !(document.querySelector("#dialog") as HTMLDialogElement).open);
    assert.ok((await page.isDisabled("#wish")) && (await page.isDisabled("#attach")));
  };
  try {
    await inClass(browser, url, does, { faults: /404/ });
  } finally {
    await browser.close();
    server.close();
  }
});

/** Runs a node with the teacher, and passes the address of its console. */
async function withTeacher(options: readonly string[], does: (address: string) => Promise<void>): Promise<void> {
  const run = mkdtempSync(join(tmpdir(), "whimbrel-classroom-"));
  const node = spawn(WHIMBREL, ["run", example, "--http", "0", "--agent-token", TOKEN, ...options], { env: { ...process.env, WHIMBREL_RUN_DIR: run }, stdio: ["ignore", "pipe", "pipe"] });
  node.stdout.resume();
  const over = new Promise((resolve) => node.once("close", resolve));
  try {
    await does(await addressOf(node));
  } finally {
    node.kill("SIGKILL");
    await over;
    rmSync(run, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}

test("classroom attaches to a permitting node, else explains", { skip: without() || withoutNode(), timeout: 240_000 }, async () => {
  const [{ url, server }, browser] = [await serve(), await launch()];
  const { origin } = new URL(url);
  const attach = async (page: Page, address: string, then: Locator): Promise<void> => {
    await page.locator("#agents [role=tab]", { hasText: "amy" }).waitFor();
    await page.click("#attach");
    assert.equal(await page.inputValue("#address"), "http://127.0.0.1:8420", "the page server is not a node");
    await page.fill("#address", ` ${address}`);
    await page.fill("#token", TOKEN);
    await page.click("#join");
    await then.waitFor();
  };
  try {
    await withTeacher([], (address) =>
      inClass(browser, `${url}#run`, (page) => attach(page, address, page.locator("#refusal", { hasText: new RegExp(`--http-origin ${origin}\\)$`) })), { faults: /WebSocket connection/ }),
    );
    await withTeacher(["--http-origin", origin], (address) =>
      inClass(browser, `${url}#run`, (page) => attach(page, address, page.locator("#output li", { hasText: "amy is amy@" }))),
    );
  } finally {
    await browser.close();
    server.close();
  }
});

test("the classroom attaches to a platform", { skip: without() || withoutNode(), timeout: 240_000 }, async () => {
  const run = mkdtempSync(join(tmpdir(), "whimbrel-classroom-"));
  const options = ["--http", "0", "--agent-token", TOKEN, "--pages", folder];
  const node = spawn(WHIMBREL, ["run", example, ...options], { env: { ...process.env, WHIMBREL_RUN_DIR: run }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  node.stdout.on("data", (data: Uint8Array) => (said += String(data)));
  const over = new Promise((resolve) => node.once("close", resolve));
  const address = await addressOf(node);
  const browser = await launch();
  try {
    await inClass(browser, `${address}/pages/#token=${encodeURIComponent(TOKEN)}`, async (page) => {
      await page.locator("#files [role=tab]", { hasText: "amy.asl" }).waitFor();
      assert.equal(new URL(page.url()).hash, "", "the token is not left in the address bar");
      // A reload does not lose it.
      await page.reload();
      await page.locator("#files [role=tab]", { hasText: "amy.asl" }).waitFor();
      await write(page, "+!go <- .send(teacher, tell, hello); .send(teacher, askOne, capital(japan, X), capital(_, C)); .print(C).\n+welcome[source(Who)] <- .print(\"welcomed by \", Who).\n");
      await page.click("#run");
      await page.locator("#agents [role=tab]", { hasText: "amy" }).click();
      await page.click("#attach");
      await page.click("#join");
      await page.locator("#output li", { hasText: "amy is amy@" }).waitFor();
      await page.fill("#wish", "!go");
      await page.keyboard.press("Enter");
      await page.locator("#output li", { hasText: "welcomed by teacher" }).waitFor();
      await page.locator("#output li", { hasText: "amy tokyo" }).waitFor();
      await picture(page, "attached");
      assert.match(said, /\[teacher\] amy says hello/);

      // A taken name is refused, and a page whose agents are refused is on no platform.
      const other = await page.context().newPage();
      await other.goto(`${address}/pages/#token=${encodeURIComponent(TOKEN)}&run`);
      await other.locator("#agents [role=tab]", { hasText: "amy" }).waitFor();
      await other.click("#attach");
      const refusal = async (where: string): Promise<string> => {
        await other.fill("#address", where);
        await other.click("#join");
        return (await (await other.waitForFunction(() => document.querySelector("#refusal")?.textContent)).jsonValue()) ?? "";
      };
      const [own, nowhere] = [await other.inputValue("#address"), "http://127.0.0.1:9"];
      assert.equal(own, address);
      assert.match(await refusal("nowhere"), /nowhere is no address: .*http:\/\/HOST:PORT/);
      assert.match(await refusal("localhost:8420"), /localhost:8420 is no address: /);
      assert.match(await refusal(nowhere), new RegExp(`--http-origin ${address}\\).*--http-origin ${nowhere}\\)`));
      await other.fill("#address", own);
      await other.click("#join");
      await other.waitForFunction(() => /amy|bob/.test(document.querySelector("#refusal")?.textContent ?? ""));
      assert.equal(await other.textContent("#attach"), "Attach…");
      await other.close();

      // A restart leaves the node and frees the names.
      await page.click("#run");
      await page.locator("#agents [role=tab]", { hasText: "amy" }).click();
      assert.equal(await page.textContent("#attach"), "Attach…");
      await page.click("#attach");
      // A cancelled attempt does not attach.
      await page.evaluate(() => {
        for (const id of ["join", "cancel"]) document.getElementById(id)?.click();
      });
      await page.click("#attach");
      await page.click("#join");
      await page.locator("#output li", { hasText: "amy is amy@" }).waitFor();
      await page.waitForFunction(() => document.querySelector("#attach")?.textContent === "Detach");
      await page.click("#attach");
      await page.waitForFunction(() => document.querySelector("#attach")?.textContent === "Attach…");
    });
  } finally {
    await browser.close();
    node.kill("SIGKILL");
    await over;
    rmSync(run, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
});
