/** The examples of WebAssembly agents: `make guests` builds them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GuestModule } from "../src/guest.js";
import { repository } from "./vectors.js";

/** Where they are; WHIMBREL_GUESTS says another place. */
export const EXAMPLES = process.env["WHIMBREL_GUESTS"] ?? join(repository(), "guest/examples");

/** Their names, `counter-rust`. */
export const GUESTS = readdirSync(EXAMPLES).flatMap((file) => (file.endsWith(".wasm") ? [file.slice(0, -5)] : []));

export const LANGUAGES = ["rust", "assemblyscript", "c"];

/** Those that tests ask for by name. */
const NEEDED = [...["counter", "keeper", "traveller", "worker"].flatMap((what) => LANGUAGES.map((language) => `${what}-${language}`)), "../test/villain-c"];

/** What is to be done if some of them are not in this folder; false if they all are. */
export function lacking(folder: string): string | false {
  const missing = NEEDED.filter((name) => !existsSync(join(folder, `${name}.wasm`)));
  return missing.length === 0 ? false : `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not built: make guests`;
}

/** Why tests with them are skipped; false if they are not. Where WHIMBREL_REQUIRED is set they never are. */
export const WITHOUT_GUESTS = lacking(EXAMPLES);

// At once, before anything was started that would have to be ended.
if (WITHOUT_GUESTS && process.env["WHIMBREL_REQUIRED"]) throw new Error(WITHOUT_GUESTS);

export const guestBytes = (name: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(join(EXAMPLES, `${name}.wasm`)));

export const guestModule = (name: string): Promise<GuestModule> => GuestModule.compile(guestBytes(name));
