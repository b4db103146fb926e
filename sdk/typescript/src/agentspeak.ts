/**
 * AgentSpeak agents in this thread, by the engine of nodes compiled to WebAssembly.
 *
 * ```ts
 * import { Society } from "whimbrel/agentspeak";
 *
 * const society = await Society.load("/agentspeak.wasm");
 * ```
 *
 * @packageDocumentation
 */
export { clock, type Clock } from "./agentspeak/clock.js";
export { EngineError, type Counters, type Diagnostic, type EngineSource, type Instruction, type Mind } from "./agentspeak/engine.js";
export { attachSociety, type AttachOptions } from "./agentspeak/slots.js";
export {
  ProgramError,
  Society,
  type Checked,
  type Member,
  type ProgramFiles,
  type SocietyEvents,
  type SocietyOptions,
} from "./agentspeak/society.js";
