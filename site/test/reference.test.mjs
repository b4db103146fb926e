/** Test of reference pages and of the navigation: they name what there is. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./serve.mjs";

const text = (path) => readFileSync(join(root, path), "utf8");

test("metrics page has each metric", () => {
  const page = text("docs/reference/metrics.md");
  const kinds = { counter: "counter", gauge: "gauge", level: "gauge" };
  const metrics = [...text("crates/gateway/src/metrics.rs").split("#[cfg(test)]")[0].matchAll(/text\.(gauge|counter|level)\(\s*"(\w+)",\s*"([^"]+)"/g)];
  assert.ok(metrics.length >= 15, `${metrics.length} metrics`);
  for (const [, kind, name, help] of metrics) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`whimbrel_${name}\` |`));
    assert.ok(row, `no row for whimbrel_${name}`);
    assert.ok(row.includes(`| ${kinds[kind]} |`) && row.endsWith(`| ${help} |`), `${name}: ${kinds[kind]}, ${help}`);
  }
  assert.equal(page.match(/^\| `whimbrel_/gm).length, metrics.length);
});

test("configuration page has each environment variable", () => {
  const page = text("docs/reference/configuration.md");
  const sources = execFileSync("git", ["ls-files", "crates/cli/src", "crates/store/src", "crates/whimbrel/src", "crates/gateway/src"], { cwd: root, encoding: "utf8" }).split("\n").filter((path) => path.endsWith(".rs"));
  const found = new Set(sources.flatMap((path) => [...text(path).matchAll(/(?:env = |: &str = )"(WHIMBREL_\w+|JASON_HOME)"/g)].map(([, name]) => name)));
  assert.ok(found.size >= 8, [...found].join());
  for (const name of found) assert.ok(page.includes(`| \`${name}\` |`), `no row for ${name}`);
});

test("navigation has each guide", () => {
  const navigation = text("site/astro.config.mjs");
  const guides = readdirSync(join(root, "docs/guide")).filter((name) => name.endsWith(".md"));
  const missing = guides.map((name) => name.slice(0, -3)).filter((name) => !new RegExp(`"(guide/)?${name}"`).test(navigation));
  assert.deepEqual(missing, []);
});
