/** Society on one or several real nodes. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConsoleProxy } from "./console-proxy.js";
import { console_, dist, WHIMBREL } from "./page.js";

export const TOKEN = "a-token-for-tests";
export const VIEWER = "a-token-to-look";

/** A running society, behind a proxy with the latest console. */
export class Market {
  private constructor(
    readonly folder: string,
    readonly process: ChildProcess,
    readonly door: ConsoleProxy,
    readonly url: string,
  ) {}

  /** Starts programs, given by file name, with options of `whimbrel run`. */
  static async open(programs: Readonly<Record<string, string>>, options: readonly string[] = ["--log"]): Promise<Market> {
    const folder = mkdtempSync(join(tmpdir(), "whimbrel-console-"));
    for (const [name, program] of Object.entries(programs)) writeFileSync(join(folder, name), program);
    const process_ = spawn(WHIMBREL, ["run", folder, "--http", "127.0.0.1:0", "--http-token", TOKEN, "--http-viewer-token", VIEWER, ...options], {
      env: { ...process.env, WHIMBREL_RUN_DIR: join(folder, "run"), PYTHONPATH: join(console_, "../sdk/python/src") },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const port = await new Promise<number>((resolve, reject) => {
      let said = "";
      process_.once("error", reject);
      process_.once("exit", (code) => reject(new Error(`the society ended (${code}): ${said}`)));
      process_.stderr?.on("data", (data: Uint8Array) => {
        said += String(data);
        const found = /the console is at https?:\/\/[^\s:]+:(\d+)/.exec(said)?.[1];
        if (found !== undefined) resolve(Number(found));
      });
    });
    const door = new ConsoleProxy(dist, { host: "127.0.0.1", port });
    return new Market(folder, process_, door, await door.listen());
  }

  async close(): Promise<void> {
    await this.door.close();
    const ended = new Promise((resolve) => this.process.once("close", resolve));
    this.process.removeAllListeners("exit");
    this.process.kill("SIGKILL");
    await ended;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}
