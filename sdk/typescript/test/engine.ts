/** Where the engine's module is: `make` builds it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./vectors.js";

export const ENGINE = process.env["WHIMBREL_ENGINE"] ?? join(repository(), "sdk/typescript/dist/agentspeak.wasm");

/** Why tests with it are skipped; false if they are not. Where WHIMBREL_REQUIRED is set they never are. */
export const WITHOUT_ENGINE = !existsSync(ENGINE) && !process.env["WHIMBREL_REQUIRED"] ? `there is no ${ENGINE}: make agentspeak-wasm` : false;

/** The mind that the engine writes out where it is no WebAssembly: `make sdk-test` has it written. */
export const MIND = join(repository(), "sdk/typescript/.build/mind.bin");

export const WITHOUT_MIND = !existsSync(MIND) && !process.env["WHIMBREL_REQUIRED"] ? `there is no ${MIND}: make sdk-test` : false;
