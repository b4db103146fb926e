/** Real node in a process of its own. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repository } from "./vectors.js";

/** Path of the binary: WHIMBREL, or the release build. */
export const WHIMBREL = process.env["WHIMBREL"] ?? join(repository(), "target/release/whimbrel");

/** Reason to skip tests with a real node; false to run them. With WHIMBREL_REQUIRED, a node is required. */
export const WITHOUT_NODE = !existsSync(WHIMBREL) && !process.env["WHIMBREL_REQUIRED"] ? `there is no ${WHIMBREL}: make build, or set WHIMBREL` : false;

export const TOKEN = "a token for tests";

/** A running society. */
export class Society {
  output = "";

  private constructor(
    readonly process: ChildProcess,
    /** `127.0.0.1:PORT` of its agent port. */
    readonly address: string,
    /** `127.0.0.1:PORT` of its gateway: HTTP and WebSockets. */
    readonly gateway: string,
    readonly folder: string | undefined,
  ) {}

  /** Starts AgentSpeak programs by name, with options of `whimbrel run`. */
  static async of(programs: Readonly<Record<string, string>>, ...options: string[]): Promise<Society> {
    const folder = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
    const names = Object.keys(programs);
    for (const [name, program] of Object.entries(programs)) writeFileSync(join(folder, `${name}.asl`), program);
    writeFileSync(join(folder, "society.mas2j"), `MAS home { agents: ${names.map((name) => `${name};`).join(" ")} }`);
    return Society.run(folder, folder, ...options);
  }

  /** Starts an existing project. */
  static run(project: string, folder?: string, ...options: string[]): Promise<Society> {
    const process_ = spawn(WHIMBREL, ["run", project, "--agent-port", "0", "--http", "0", "--http-origin", "*", ...options], {
      env: { ...process.env, WHIMBREL_AGENT_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", "pipe"],
    });
    return new Promise((resolve, reject) => {
      let noted = "";
      let society: Society | undefined;
      process_.once("error", reject);
      process_.once("exit", (code) => reject(new Error(`the society ended (${code}) before it listened: ${noted}`)));
      process_.stderr.on("data", (data: Uint8Array) => {
        noted += String(data);
        const address = /connect at (\S+)/.exec(noted)?.[1];
        const gateway = /console is at https?:\/\/([^/]+)/.exec(noted)?.[1];
        if (address === undefined || gateway === undefined || society) return;
        society = new Society(process_, address, gateway, folder);
        const { stdout } = process_;
        stdout.on("data", (more: Uint8Array) => society && (society.output += String(more)));
        resolve(society);
      });
    });
  }

  /** Waits for its end, and returns its output. */
  async finished(): Promise<string> {
    if (this.process.exitCode === null) await new Promise((resolve) => this.process.once("close", resolve));
    return this.output;
  }

  stop(): void {
    this.process.kill("SIGKILL");
    if (this.folder) rmSync(this.folder, { recursive: true, force: true });
  }
}
