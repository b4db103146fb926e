/**
 * Entry point of a device's Workers. A bundled page imports this module from a file of its own and names that in
 * `createWorker`.
 *
 * @packageDocumentation
 */
import type { WorkerReport, Order, Port } from "./protocol.js";
import { WorkerHost } from "./worker-host.js";

const host = new WorkerHost(globalThis as unknown as Port<WorkerReport, Order>);

// An uncaught error would end the Worker with all its agents.
globalThis.addEventListener?.("error", (event) => {
  event.preventDefault();
  host.trouble(event.error ?? event.message);
});
globalThis.addEventListener?.("unhandledrejection", (event) => {
  event.preventDefault();
  host.trouble(event.reason);
});
