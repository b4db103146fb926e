/** A real browser, and the pages that it loads. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** The browser: what CHROMIUM says, or the one in the path. */
export const CHROMIUM = process.env["CHROMIUM"] ?? "chromium";

/** Why tests with a browser are skipped; false if they are not. */
export function withoutBrowser(): string | false {
  try {
    execFileSync(CHROMIUM, ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return `there is no ${CHROMIUM} here`;
  }
}

/** A file of the tests with all that it imports, as a page loads it. */
export async function bundle(name: string): Promise<Uint8Array> {
  const entry = join(dirname(fileURLToPath(import.meta.url)), name);
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, minify: true, format: "esm", platform: "browser", write: false });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

const TYPES: Readonly<Record<string, string>> = { js: "text/javascript", wasm: "application/wasm", json: "application/json", asl: "text/plain" };

/** Serves these files; everything else is an empty page that loads the script that its query names. What pages post is collected. */
export class Pages {
  readonly posted: string[] = [];
  #heard: (() => void) | undefined;

  private constructor(
    readonly server: Server,
    readonly url: string,
  ) {}

  static async of(files: Readonly<Record<string, Uint8Array | string>>): Promise<Pages> {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://here");
      if (request.method === "POST") {
        let text = "";
        request.on("data", (data: Uint8Array) => (text += String(data)));
        request.on("end", () => {
          pages.posted.push(text);
          response.end();
          pages.#heard?.();
        });
        return;
      }
      const found = files[pathname.slice(1)];
      response.setHeader("content-type", found === undefined ? "text/html" : (TYPES[pathname.split(".").at(-1) ?? ""] ?? "text/plain"));
      response.end(found ?? `<!doctype html><title>agents</title><script type="module" src="/${searchParams.get("script") ?? "tab.js"}"></script>`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const pages: Pages = new Pages(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return pages;
  }

  /** What pages posted, once it is so many. */
  async heard(count: number): Promise<readonly string[]> {
    while (this.posted.length < count) await new Promise<void>((resolve) => (this.#heard = resolve));
    return this.posted;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Opens a page in a browser of its own. */
export class Browser {
  readonly #profile = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  readonly #process: ChildProcess;

  constructor(url: string, ...more: readonly string[]) {
    const options = [...more, "--headless=new", "--no-sandbox", "--disable-gpu", `--user-data-dir=${this.#profile}`];
    this.#process = spawn(CHROMIUM, [...options, url], { stdio: "ignore" });
  }

  async close(): Promise<void> {
    const left = new Promise((resolve) => this.#process.once("close", resolve));
    this.#process.kill("SIGKILL");
    await left;
    // Its processes may still write to it: what they wrote meanwhile is to be removed, too.
    for (let attempt = 1; ; attempt++) {
      try {
        return rmSync(this.#profile, { recursive: true, force: true });
      } catch (error) {
        if (attempt === 50) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }
}
