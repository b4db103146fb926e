/**
 * What a device's Workers run. A page that is bundled has a file of its own that imports it, and says so by `createWorker`.
 *
 * @packageDocumentation
 */
import type { News, Order, Port } from "./protocol.js";
import { WorkBench } from "./work-bench.js";

const bench = new WorkBench(globalThis as unknown as Port<News, Order>);

// What nobody catches would end the Worker with all its agents.
globalThis.addEventListener?.("error", (event) => {
  event.preventDefault();
  bench.trouble(event.error ?? event.message);
});
globalThis.addEventListener?.("unhandledrejection", (event) => {
  event.preventDefault();
  bench.trouble(event.reason);
});
