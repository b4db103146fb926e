/** Examples of WebAssembly agents, which `make guests` builds. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GuestModule } from "../src/guest.js";
import { repository } from "./vectors.js";

/** Folder of the examples. WHIMBREL_GUESTS overrides it. */
export const EXAMPLES = process.env["WHIMBREL_GUESTS"] ?? join(repository(), "guest/examples");

/** Names such as `counter-rust`. */
export const GUESTS = readdirSync(EXAMPLES).flatMap((file) => (file.endsWith(".wasm") ? [file.slice(0, -5)] : []));

export const LANGUAGES = ["rust", "assemblyscript", "c"];

/** Names that tests use. */
const NEEDED = [...["counter", "keeper", "traveller", "worker"].flatMap((what) => LANGUAGES.map((language) => `${what}-${language}`)), "../test/villain-c"];

/** Returns the command that builds missing modules; false if none is missing. */
export function lacking(folder: string): string | false {
  const missing = NEEDED.filter((name) => !existsSync(join(folder, `${name}.wasm`)));
  return missing.length === 0 ? false : `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not built: make guests`;
}

/** Reason to skip tests with guests; false to run them. With WHIMBREL_REQUIRED, guests are required. */
export const WITHOUT_GUESTS = lacking(EXAMPLES);

// At once, before anything was started that would have to be ended.
if (WITHOUT_GUESTS && process.env["WHIMBREL_REQUIRED"]) throw new Error(WITHOUT_GUESTS);

export const guestBytes = (name: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(join(EXAMPLES, `${name}.wasm`)));

export const guestModule = (name: string): Promise<GuestModule> => GuestModule.compile(guestBytes(name));
