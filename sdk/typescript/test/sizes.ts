/** Sizes of the SDK's parts as pages load them. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/**
 * Maximum bytes of each part, gzipped. That of `index.js` was 25,000. Three changes added to it, and are worth it:
 * `ams.whenEnded`, a monitor by the AMS (150 bytes); frames of a burst in one write, with messages checked by name (150
 * bytes); and lists that leave no garbage behind each request, by which a program asks 1.6 times as often (500 bytes,
 * as many in `agentspeak.js`, 100 in `guest.js`).
 */
export const BYTES_MAX: Readonly<Record<string, number>> = { "index.js": 25_700, "compact.js": 25_000, "sl.js": 25_000, "protocols.js": 25_000, "testing.js": 31_000, "agentspeak.js": 15_900, "guest.js": 27_400, "device.js": 30_000 };

const source = join(dirname(fileURLToPath(import.meta.url)), "../src");

/** Returns the bytes of a bundled, minified and gzipped module. */
export async function bundled(entry: string): Promise<number> {
  const result = await build({
    entryPoints: [join(source, entry)],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
    logLevel: "silent",
  });
  return gzipSync(result.outputFiles[0]?.contents ?? "", { level: 9 }).length;
}
