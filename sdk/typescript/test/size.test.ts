/** What a page loads. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Bytes that each part may take, gzipped. */
const BYTES_MAX: Readonly<Record<string, number>> = { "index.js": 25_000, "compact.js": 25_000, "sl.js": 25_000, "agentspeak.js": 15_000, "guest.js": 26_000, "device.js": 30_000 };

const source = join(dirname(fileURLToPath(import.meta.url)), "../src");

async function bundled(entry: string): Promise<number> {
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

test("the SDK is small, and so is what a page need not load", async (context) => {
  for (const [entry, most] of Object.entries(BYTES_MAX)) {
    const bytes = await bundled(entry);
    context.diagnostic(`${entry}: ${bytes} bytes, minified and gzipped`);
    assert.ok(bytes <= most, `${entry} takes ${bytes} bytes`);
  }
});

test("nothing that a browser loads needs Node", async () => {
  await assert.rejects(bundled("node.js"), /node:net/, "this is how it would show");
  await bundled("index.js");
});
