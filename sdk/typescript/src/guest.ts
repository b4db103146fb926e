/**
 * WebAssembly agents in this thread: the modules that nodes run.
 *
 * ```ts
 * import { GuestAgent, GuestModule } from "whimbrel/guest";
 *
 * const counter = new GuestAgent(await GuestModule.compile(bytes));
 * ```
 *
 * @packageDocumentation
 */
export { GuestAgent, type GuestOptions } from "./guest/agent.js";
export { ModuleError } from "./guest/binary.js";
export { GuestError, type Answer, type Hop, type LogLevel, type Question, type Surroundings } from "./guest/call-context.js";
export { Guest, type HopResult, type Outcome } from "./guest/guest.js";
export { GuestModule } from "./guest/module.js";
export { GuestStorage } from "./guest/storage.js";
