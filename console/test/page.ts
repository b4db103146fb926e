/** Driver of the console in a real browser, on a mock node. */
import { execFileSync, spawnSync, type ChildProcessByStdio } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { MockNode, TOKEN } from "../mock/server.js";
import type { SocietyOptions } from "../mock/society.js";

export const console_ = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const dist = join(console_, "dist");

/** Path of the browser. `CHROMIUM` overrides it. */
export const CHROMIUM = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => path !== undefined && existsSync(path));

/** Reason to skip tests with a browser; false to run them. */
export function withoutBrowser(): string | false {
  if (!existsSync(join(dist, "index.html"))) throw new Error("the console is not built: make console");
  if (CHROMIUM === undefined) return "there is no Chromium here";
  try {
    execFileSync(CHROMIUM, ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return `${CHROMIUM} does not run here`;
  }
}

/** Path of the binary: WHIMBREL, or the release build. */
export const WHIMBREL = process.env["WHIMBREL"] ?? join(console_, "../target/release/whimbrel");

/** Reason to skip tests with a node; false to run them. With WHIMBREL_REQUIRED, a node is required. */
export function withoutNode(): string | false {
  if (process.env["WHIMBREL_REQUIRED"]) return withoutBrowser();
  if (!existsSync(WHIMBREL)) return `there is no ${WHIMBREL}: make build, or set WHIMBREL`;
  if (!spawnSync(WHIMBREL, ["run", "--help"], { encoding: "utf8" }).stdout.includes("--http ")) return `${WHIMBREL} knows of no console`;
  return withoutBrowser();
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
}

/** Time limit for quick actions, on a busy machine. */
export const PATIENCE_MS = 30_000;

/** A page with the console, and its errors. */
export class Visit {
  private constructor(
    readonly page: Page,
    readonly faults: readonly string[],
  ) {}

  static async to(browser: Browser, url: string, { width = 1280, height = 800, dark = false, token = TOKEN } = {}): Promise<Visit> {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
      // A missing node is not the page's fault.
      if (message.type() === "error" && !message.text().includes("WebSocket connection")) faults.push(message.text());
    });
    page.on("dialog", (dialog) => {
      faults.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(`${url}#token=${token}`);
    return new Visit(page, faults);
  }

  /** Opens a view by its keys, and waits for it. */
  async go(key: string, title: string): Promise<void> {
    await this.page.getByRole("navigation").waitFor();
    // Keys are text in a text field.
    await this.page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    const heading = this.page.getByRole("heading", { name: title, level: 1 });
    const until = Date.now() + PATIENCE_MS;
    // On a busy machine the second key may come too late.
    for (;;) {
      await this.page.keyboard.press("g");
      await this.page.keyboard.press(key);
      try {
        return await heading.waitFor({ timeout: PATIENCE_MS / 6 });
      } catch (error) {
        if (Date.now() > until) throw error;
      }
    }
  }

  /** Opens a view by its address, and waits until it is drawn. */
  async open(path: string): Promise<void> {
    const [view = ""] = path.split("/");
    await this.page.evaluate((path) => (location.hash = `#/${path}`), path);
    await this.page.getByRole("heading", { name: `${view.charAt(0).toUpperCase()}${view.slice(1)}`, level: 1 }).waitFor();
    await this.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

/** Opens a page on a mock society, and fails on errors in the page. */
export async function visit(browser: Browser, options: Partial<SocietyOptions>, does: (visit: Visit, node: MockNode) => Promise<void>, how: Parameters<typeof Visit.to>[2] = {}, features?: readonly string[]): Promise<void> {
  const node = new MockNode(dist, options, features);
  let there: Visit | undefined;
  try {
    there = await Visit.to(browser, await node.listen(), how);
    await does(there, node);
    if (there.faults.length > 0) throw new Error(`in the page: ${there.faults.join("; ")}`);
  } finally {
    await there?.close();
    await node.close();
  }
}

/** Returns the address that a starting node prints for its console; its output, if it ends first. */
export function addressOf(node: ChildProcessByStdio<null, Readable, Readable>): Promise<string> {
  let noted = "";
  return new Promise((resolve, reject) => {
    node.once("exit", () => reject(new Error(`it ended: ${noted}`)));
    node.stderr.on("data", (data: Uint8Array) => {
      noted += String(data);
      const found = /the console is at (http:\/\/[^/]+)/.exec(noted)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
}
