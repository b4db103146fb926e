/** Path of the engine's module, which `make` builds. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./vectors.js";

export const ENGINE = process.env["WHIMBREL_ENGINE"] ?? join(repository(), "sdk/typescript/dist/agentspeak.wasm");

/** Reason to skip tests with the engine; false to run them. With WHIMBREL_REQUIRED, the engine is required. */
export const WITHOUT_ENGINE = !existsSync(ENGINE) && !process.env["WHIMBREL_REQUIRED"] ? `there is no ${ENGINE}: make agentspeak-wasm` : false;

/** Mind that the native engine wrote: `make sdk-test` creates it. */
export const MIND = join(repository(), "sdk/typescript/.build/mind.bin");

export const WITHOUT_MIND = !existsSync(MIND) && !process.env["WHIMBREL_REQUIRED"] ? `there is no ${MIND}: make sdk-test` : false;
