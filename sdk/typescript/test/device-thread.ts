/** Imitation of a device's Worker in Node: a thread. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import WebSocket from "ws";
import { WorkerHost } from "../src/device/worker-host.js";
import type { WorkerLike } from "../src/device.js";

type Listener = (event: { readonly data: unknown; readonly message?: string }) => void;

const own = fileURLToPath(import.meta.url);
/** Modules of work for threads. */
export const SQUARES = new URL("./device-squares.js", import.meta.url);
/** An agent that counts. */
export const KEPT = new URL("./kept-agent.js", import.meta.url);
export const NAPS = new URL("./device-naps.js", import.meta.url);

// Browsers have one, and Node from version 22 on.
(globalThis as { WebSocket?: unknown }).WebSocket ??= WebSocket;

/** The page's side of such a Worker. */
export class Thread implements WorkerLike {
  /** Reports of the Worker until its end, and orders to it. */
  readonly told: string[] = [];
  readonly asked: string[] = [];
  toldAtItsEnd: readonly string[] | undefined;
  readonly #thread = new Worker(join(dirname(own), "device-thread.js"));
  readonly #failed: Listener[] = [];
  #held: unknown[] | undefined;

  constructor() {
    this.#thread.on("message", ({ type }: { readonly type: string }) => this.told.push(type));
  }

  addEventListener(type: "message" | "error", listener: Listener): void {
    if (type === "message") this.#thread.on("message", (data: unknown) => listener({ data }));
    else this.#failed.push(listener);
  }

  postMessage(order: unknown): void {
    this.asked.push((order as { readonly type: string }).type);
    if (this.#held) this.#held.push(order);
    else this.#thread.postMessage(order);
  }

  /** Withholds orders until the test releases them. */
  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const order of held) this.#thread.postMessage(order);
  }

  /** Makes the Worker fail. */
  fail(message: string): void {
    for (const listener of this.#failed) listener({ data: undefined, message });
  }

  terminate(): unknown {
    this.toldAtItsEnd ??= [...this.told];
    return this.#thread.terminate();
  }
}

if (!isMainThread) {
  new WorkerHost({
    postMessage: (news) => parentPort?.postMessage(news),
    addEventListener: (_, listener) => void parentPort?.on("message", (data) => listener({ data })),
  });
}
