/** Test of the SDK's size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bundled, BYTES_MAX } from "./sizes.js";

test("SDK and its optional parts are small", async (context) => {
  for (const [entry, most] of Object.entries(BYTES_MAX)) {
    const bytes = await bundled(entry);
    context.diagnostic(`${entry}: ${bytes} bytes, minified and gzipped`);
    assert.ok(bytes <= most, `${entry} takes ${bytes} bytes`);
  }
});

test("browser bundles need no Node", async () => {
  await assert.rejects(bundled("node.js"), /node:net/, "the check fails for a bundle with Node modules");
  await bundled("index.js");
});
