/** The examples of WebAssembly agents: `make guests` builds them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GuestModule } from "../src/guest.js";
import { repository } from "./vectors.js";

export const EXAMPLES = join(repository(), "guest/examples");

/** Their names, `counter-rust`. */
export const GUESTS = readdirSync(EXAMPLES).flatMap((file) => (file.endsWith(".wasm") ? [file.slice(0, -5)] : []));

/** Why tests with them are skipped; false if they are not. Where WHIMBREL_REQUIRED is set they never are. */
export const WITHOUT_GUESTS = !existsSync(join(EXAMPLES, "counter-rust.wasm")) && !process.env["WHIMBREL_REQUIRED"] ? "no guests are built: make guests" : false;

export const guestBytes = (name: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(join(EXAMPLES, `${name}.wasm`)));

export const guestModule = (name: string): Promise<GuestModule> => GuestModule.compile(guestBytes(name));
