/**
 * What a device's Workers run. A page that is bundled has a file of its own that imports it, and says so by `createWorker`.
 *
 * @packageDocumentation
 */
import type { News, Order, Port } from "./protocol.js";
import { WorkBench } from "./work-bench.js";

new WorkBench(globalThis as unknown as Port<News, Order>);
