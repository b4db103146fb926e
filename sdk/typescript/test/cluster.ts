/** Society on several real nodes with a real store (`whimbrel up`), encrypted. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { TOKEN, WHIMBREL, WITHOUT_NODE } from "./society.js";
import { repository } from "./vectors.js";

const NATS = process.env["WHIMBREL_NATS_SERVER"] ?? join(repository(), ".cache/nats/bin/nats-server");

/** Reason to skip tests with a cluster; false to run them. With WHIMBREL_REQUIRED, a cluster is required. */
export const WITHOUT_CLUSTER = WITHOUT_NODE || (!existsSync(NATS) && !process.env["WHIMBREL_REQUIRED"] ? `there is no ${NATS}: make nats` : false);

/** A node of the cluster. */
export interface Node {
  readonly name: string;
  readonly child: ChildProcess;
  /** `127.0.0.1:PORT` of its agent port and of its gateway. */
  readonly agents: string;
  readonly http: string;
}

/** See the module. End it by {@link Cluster.stop}. */
export class Cluster {
  readonly nodes: Node[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "whimbrel-cluster-"));
  readonly #children: ChildProcess[] = [];
  #store = "";

  /** Starts `count` nodes with AgentSpeak programs by name, and waits until each serves its share. */
  static async of(count: number, programs: Readonly<Record<string, string>>): Promise<Cluster> {
    const cluster = new Cluster();
    try {
      for (const [name, program] of Object.entries(programs)) writeFileSync(join(cluster.#folder, `${name}.asl`), program);
      writeFileSync(join(cluster.#folder, "society.mas2j"), `MAS home { agents: ${Object.keys(programs).map((name) => `${name};`).join(" ")} }`);
      await cluster.#startStore();
      cluster.#run("ca", "init", "authority");
      for (let number = 1; number <= count; number++) {
        cluster.#run("ca", "issue", "authority", `n${number}`, "--out", `n${number}`);
        await cluster.#startNode(`n${number}`);
      }
      await cluster.#settled();
    } catch (error) {
      cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** Certificate of the authority, as PEM. */
  get authority(): string {
    return readFileSync(join(this.#folder, "n1/authority.pem"), "utf8");
  }

  /** Drains a node, or undoes that. */
  drain(node: string, drains: boolean): void {
    this.#run("drain", node, ...(drains ? [] : ["--undo"]));
  }

  #run(...options: string[]): string {
    return execFileSync(WHIMBREL, options, { cwd: this.#folder, encoding: "utf8", stdio: "pipe", env: this.#environment });
  }

  get #environment(): NodeJS.ProcessEnv {
    return { ...process.env, WHIMBREL_CA_PASSPHRASE: "open sesame", WHIMBREL_AGENT_TOKEN: TOKEN, WHIMBREL_RUN_DIR: join(this.#folder, "run") };
  }

  async #startStore(): Promise<void> {
    const port = await freePort();
    const child = spawn(NATS, ["--jetstream", "--store_dir", join(this.#folder, "store"), "--addr", "127.0.0.1", "--port", String(port)], { stdio: ["ignore", "ignore", "pipe"] });
    this.#children.push(child);
    await said(child, (noted) => (noted.includes("Server is ready") ? true : undefined));
    this.#store = `nats://127.0.0.1:${port}/home?replicas=1`;
  }

  async #startNode(name: string): Promise<void> {
    const pair = join(name, "node.pem");
    const doors = ["--agent-port", "0", "--http", "0", "--http-origin", "*", "--http-certificate", pair, "--http-key", pair];
    const child = spawn(WHIMBREL, ["up", "society.mas2j", "--store", this.#store, "--name", name, "--credentials", name, ...doors], { cwd: this.#folder, env: this.#environment, stdio: ["ignore", "ignore", "pipe"] });
    this.#children.push(child);
    const [agents, http] = await said(child, (noted) => {
      const [agents, http] = [/connect at (\S+)/.exec(noted)?.[1], /console is at https:\/\/([^/]+)/.exec(noted)?.[1]];
      return agents === undefined || http === undefined ? undefined : ([agents, http] as const);
    });
    this.nodes.push({ name, child, agents, http });
  }

  /** Waits until each node serves its share. */
  async #settled(): Promise<void> {
    for (;;) {
      const { nodes } = JSON.parse(this.#run("nodes", "--json")) as { readonly nodes: readonly { readonly partitions: number; readonly unserved: readonly unknown[] }[] };
      const shares = nodes.map(({ partitions }) => partitions);
      const settled = nodes.length === this.nodes.length && Math.min(...shares) > 0 && Math.max(...shares) - Math.min(...shares) <= 1;
      if (settled && nodes.every(({ unserved }) => unserved.length === 0)) return;
      await pause(100);
    }
  }

  stop(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Waits until `found` finds a value in the process's standard error. */
function said<T>(child: ChildProcess, found: (noted: string) => T | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    let noted = "";
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`it ended (${code}): ${noted}`)));
    child.stderr?.on("data", (data: Uint8Array) => {
      noted += String(data);
      const it = found(noted);
      if (it === undefined) return;
      child.stderr?.removeAllListeners("data").resume();
      resolve(it);
    });
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
