/** Test of the contrast of all text colours on all backgrounds, in both themes (WCAG 2: 4.5). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { console_ } from "./page.js";

const CONTRAST_MIN = 4.5;
const TEXTS = ["ink", "ink-2", "ink-3", "accent", "ask", "offer", "tell", "refuse", "fail", "other"];
const GROUNDS = ["bg", "surface", "sunken", "accent-soft"];

type Colours = ReadonlyMap<string, string>;

/** Returns the colours of both themes. */
function themes(): readonly Colours[] {
  const css = readFileSync(join(console_, "src/style/tokens.css"), "utf8");
  const [light = "", dark = ""] = css.split(':root[data-theme="dark"]');
  const read = (text: string) => new Map([...text.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name = "", colour = ""]) => [name, colour]));
  return [read(light), read(dark)];
}

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

test("all texts have enough contrast", () => {
  assert.ok(Math.abs(contrast("#777777", "#ffffff") - 4.48) < 0.01);
  for (const [theme, colours] of themes().entries()) {
    assert.ok(colours.size >= 18);
    const pairs = [...TEXTS.flatMap((text) => GROUNDS.map((ground) => [text, ground])), ["on-accent", "accent"], ["bg", "ink"], ["surface", "fail"], ["ink", "flash"]];
    const weak = pairs.flatMap(([text = "", ground = ""]) => {
      const found = contrast(colours.get(text) ?? "", colours.get(ground) ?? "");
      return found < CONTRAST_MIN ? [`${text} on ${ground}: ${found.toFixed(2)}`] : [];
    });
    assert.deepEqual(weak, [], theme === 0 ? "light" : "dark");
  }
});
