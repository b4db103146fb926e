/** Set-up of a benchmark: a node, and a browser with pages that are devices. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { bundle, CHROMIUM, Pages } from "../test/chromium.js";
import { ENGINE } from "../test/engine.js";
import { guestBytes } from "../test/guests.js";
import { Society, TOKEN } from "../test/society.js";
import { connect, RefusedError } from "../src/node.js";
import type { Closers } from "./closers.js";
import { sleep } from "./measure.js";
import type { Tab } from "./pages/tab.js";

/** Arguments of a part. */
export interface Bench {
  readonly closers: Closers;
  /** Length of a measured interval. */
  readonly seconds: number;
  /** True to test only that the part works. */
  readonly isSmall: boolean;
  /** Reports progress. */
  readonly progress: (text: string) => void;
}

/** Creates a folder that is removed in the end. */
export function folder(closers: Closers): string {
  closers.goOn();
  const path = mkdtempSync(join(tmpdir(), "whimbrel-bench-"));
  closers.add(() => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  return path;
}

/** Starts a node. `files` are its project, with `society.mas2j`. */
export async function node(closers: Closers, files: Readonly<Record<string, string>>, ...options: string[]): Promise<Society> {
  const project = folder(closers);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  const starting = Society.run(project, undefined, ...options);
  closers.add(async () => {
    const society = await starting;
    society.process.kill("SIGKILL");
    await society.finished();
  });
  return starting;
}

/** Finds a program in the shell's path. */
function found(program: string): string {
  if (program.includes("/")) return program;
  const paths = (process.env["PATH"] ?? "").split(delimiter).map((path) => join(path, program));
  return paths.find((path) => existsSync(path)) ?? program;
}

/** Starts a browser. */
export async function browser(closers: Closers): Promise<Browser> {
  closers.goOn();
  const options = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  const starting = chromium.launch({ executablePath: found(CHROMIUM), args, ...options });
  closers.add(async () => (await starting).close());
  return starting;
}

/** Waits until agents can be created. A node with a store reports all names as taken until it knows better. */
async function isOpen({ address }: Society): Promise<void> {
  const platform = await connect(`tcp://${address}`, { token: TOKEN });
  for (let isIn = false; !isIn; ) {
    isIn = await platform.create("probe").then(
      () => true,
      (error: unknown) => {
        if (error instanceof RefusedError && error.code === "name-taken") return sleep(20).then(() => false);
        throw error;
      },
    );
  }
  await platform.close();
}

/** A society without messages of its own. */
const QUIET = { "society.mas2j": "MAS bench { agents: fern; }", "fern.asl": "" };

/** Program of AgentSpeak agents. */
const MIND = "price(3). +!sell(X) : price(P) & P > X <- -+price(X).";

/** A node, and a browser whose pages join it. */
export class Stage {
  #tabs = 0;

  private constructor(
    readonly browser: Browser,
    readonly society: Society,
    readonly pages: Pages,
  ) {}

  static async set(closers: Closers, ...options: string[]): Promise<Stage> {
    const scripts = ["tab", "echo", "pinger", "saver"].map(async (name) => [`${name}.js`, await bundle(`../bench/pages/${name}.js`)] as const);
    const files = Object.fromEntries(await Promise.all([...scripts, bundle("../src/device/worker.js").then((bytes) => ["worker.js", bytes] as const)]));
    const pages = await Pages.of({ ...files, "agentspeak.wasm": readFileSync(ENGINE), "mind.asl": MIND, "counter.wasm": guestBytes("counter-rust") });
    closers.add(() => pages.close());
    const [society, chrome] = await Promise.all([node(closers, QUIET, ...options), browser(closers)]);
    await isOpen(society);
    return new Stage(chrome, society, pages);
  }

  /** Opens a page without a cache. `query` is described in `pages/tab.ts`. */
  async tab(query: Readonly<Record<string, string>> = {}): Promise<Page> {
    const page = await (await this.browser.newContext()).newPage();
    const asked = { script: "tab.js", gateway: `http://${this.society.gateway}`, token: TOKEN, name: `tab${++this.#tabs}`, ...query };
    await page.goto(`${this.pages.url}?${new URLSearchParams(asked)}`);
    await page.waitForFunction(() => "tab" in globalThis);
    return page;
  }

  /** Returns the proportional memory of all page processes in bytes; 0 if it cannot be read. */
  async pagesMemory(): Promise<number> {
    const session = await this.browser.newBrowserCDPSession();
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    await session.detach();
    return processInfo.filter(({ type }) => type === "renderer").reduce((sum, { id }) => sum + bytesOf(id), 0);
  }
}

function bytesOf(pid: number): number {
  try {
    return 1024 * Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

declare global {
  /** Interface of `pages/tab.ts`. */
  var tab: Tab;
}
