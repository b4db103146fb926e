/**
 * A page as a device of a platform: agents in its Web Workers.
 *
 * ```ts
 * import { Device } from "whimbrel/device";
 *
 * const device = await Device.join("wss://node.example/session", { token: "open-sesame", workers: 2 });
 * ```
 *
 * @packageDocumentation
 */
export { Device, type DeviceOptions, type Trouble } from "./device/device.js";
export type { Mind } from "./agentspeak/engine.js";
export { DeviceAgent } from "./device/agent.js";
export { StayedError } from "./agents/errors.js";
export { weigh } from "./device/weigh.js";
export type { AgentModule, WorkModule } from "./device/worker-host.js";
export type { WorkerLike } from "./device/worker-channel.js";
