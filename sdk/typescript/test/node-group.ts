/** Real nodes of one platform, as processes that share an HTTP port. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TOKEN, WHIMBREL } from "./society.js";

const SHARED = ["--http-reuse-port", "--http-origin", "*", "--agent-port", "0", "--listen", "127.0.0.1:0", "--token", "secret of the nodes"];

/** A node's process. */
interface Process {
  readonly child: ChildProcess;
  /** Addresses for joining nodes, for agents, and for HTTP. */
  readonly joinAt: string;
  readonly agents: string;
  readonly http: string;
}

/** Nodes of one platform as a group. The first node has these AgentSpeak programs. End it by {@link NodeGroup.stop}. */
export class NodeGroup {
  readonly #folder = mkdtempSync(join(tmpdir(), "whimbrel-group-"));
  readonly nodes: Process[] = [];

  static async of(count: number, programs: Readonly<Record<string, string>>): Promise<NodeGroup> {
    const group = new NodeGroup();
    for (const [name, program] of Object.entries(programs)) writeFileSync(join(group.#folder, `${name}.asl`), program);
    writeFileSync(join(group.#folder, "society.mas2j"), `MAS home { agents: ${Object.keys(programs).map((name) => `${name};`).join(" ")} }`);
    try {
      const first = await group.#start("run", group.#folder, "--http", "0");
      for (let at = 1; at < count; at++) await group.#start("join", first.joinAt, "--http", first.http);
    } catch (error) {
      group.stop();
      throw error;
    }
    return group;
  }

  /** The shared HTTP address. */
  get http(): string {
    return this.nodes[0]?.http ?? "";
  }

  #start(...options: string[]): Promise<Process> {
    const child = spawn(WHIMBREL, [...options, ...SHARED], {
      env: { ...process.env, WHIMBREL_AGENT_TOKEN: TOKEN, WHIMBREL_RUN_DIR: join(this.#folder, "run") },
      stdio: ["ignore", "ignore", "pipe"],
    });
    return new Promise((resolve, reject) => {
      let noted = "";
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`a node ended (${code}) before it listened: ${noted}`)));
      child.stderr.on("data", (data: Uint8Array) => {
        noted += String(data);
        const [agents, http] = [/connect at (\S+)/.exec(noted)?.[1], /console is at https?:\/\/([^/]+)/.exec(noted)?.[1]];
        const joinAt = /others can join at (\S+)/.exec(noted)?.[1] ?? "";
        if (agents === undefined || http === undefined || (this.nodes.length === 0 && joinAt === "")) return;
        const node = { child, joinAt, agents, http };
        this.nodes.push(node);
        child.stderr.removeAllListeners("data").resume();
        resolve(node);
      });
    });
  }

  stop(): void {
    for (const { child } of this.nodes) child.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
