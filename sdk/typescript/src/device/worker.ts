/**
 * Entry point of a device's Workers. A bundled page imports this module from a file of its own and names that in
 * `createWorker`.
 *
 * @packageDocumentation
 */
import type { News, Order, Port } from "./protocol.js";
import { WorkBench } from "./worker-host.js";

const bench = new WorkBench(globalThis as unknown as Port<News, Order>);

// An uncaught error would end the Worker with all its agents.
globalThis.addEventListener?.("error", (event) => {
  event.preventDefault();
  bench.trouble(event.error ?? event.message);
});
globalThis.addEventListener?.("unhandledrejection", (event) => {
  event.preventDefault();
  bench.trouble(event.reason);
});
