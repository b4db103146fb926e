/** Real browser with the pages that it loads. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Browser: CHROMIUM, or the one in the path. */
export const CHROMIUM = process.env["CHROMIUM"] ?? "chromium";

/** Reason to skip tests with a browser; false to run them. */
export function withoutBrowser(): string | false {
  try {
    execFileSync(CHROMIUM, ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return `there is no ${CHROMIUM} here`;
  }
}

/** Bundles a test file with its imports for a page. */
export async function bundle(name: string): Promise<Uint8Array> {
  const entry = join(dirname(fileURLToPath(import.meta.url)), name);
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, minify: true, format: "esm", platform: "browser", write: false });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

const TYPES: Readonly<Record<string, string>> = { js: "text/javascript", wasm: "application/wasm", json: "application/json", asl: "text/plain" };

/** Serves files. Any other path is an empty page that loads the script in its query. Collects what pages post. */
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

  /** Waits until pages have posted `count` texts, and returns them. */
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
    // The browser may still write to its profile. Remove those files, too.
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
