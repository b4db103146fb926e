/** Test of the console's size and policy. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { dist } from "./page.js";

/**
 * Maximum bytes of the console, gzipped, fonts included. It was 150 kB before output, the verdict about the society,
 * source text with breakpoints, the history of minds and clusters on the map.
 */
const BYTES_MAX = 165_000;

/** The SDK next to the console has a test of its own. */
const sdk = join(dist, "sdk");

const files = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.parentPath !== sdk)
  .map((entry) => join(entry.parentPath, entry.name));

test("console is small", (context) => {
  let all = 0;
  for (const file of files) {
    const bytes = gzipSync(readFileSync(file), { level: 9 }).length;
    all += bytes;
    context.diagnostic(`${file.slice(dist.length + 1)}: ${bytes} bytes, gzipped`);
  }
  context.diagnostic(`all: ${all} bytes`);
  assert.ok(all > 10_000 && all <= BYTES_MAX, `${all} bytes`);
});

test("page has nothing inline, evaluated or external", () => {
  const page = readFileSync(join(dist, "index.html"), "utf8");
  assert.ok(!/<script(?![^>]*src=)/.test(page) && !/<style|style=|onload=/.test(page), page);
  for (const file of files.filter((file) => /\.(js|css|html)$/.test(file))) {
    const text = readFileSync(file, "utf8");
    assert.ok(!/\beval\(|new Function\(/.test(text), file);
    assert.ok(!/url\(["']?(data:|https?:)/.test(text), file);
    assert.ok(!/(src|href)=["']https?:/.test(text), file);
    assert.ok(!text.includes("dangerouslySetInnerHTML:") || !/dangerouslySetInnerHTML:\{/.test(text), file);
  }
});
