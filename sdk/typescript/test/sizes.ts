/** How long each part of the SDK is that a page loads. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Bytes that each part may take, gzipped. */
export const BYTES_MAX: Readonly<Record<string, number>> = { "index.js": 25_000, "compact.js": 25_000, "sl.js": 25_000, "agentspeak.js": 15_500, "guest.js": 27_000, "device.js": 30_000 };

const source = join(dirname(fileURLToPath(import.meta.url)), "../src");

/** Bytes of a module with all that it imports, minified and gzipped. */
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
