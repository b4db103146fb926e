/** Test of the grid of an environment in Python, in a real browser on a real node. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Market, TOKEN } from "./market.js";
import { console_, launch, Visit, withoutNode } from "./page.js";

const read = (name: string): string => readFileSync(join(console_, "../examples/gridworld", name), "utf8");

const PROGRAMS = {
  "gridworld.mas2j": read("gridworld.mas2j"),
  "env.py": read("env.py"),
  "actions.py": read("actions.py"),
  // It goes where it is told, and cleans no floor by itself.
  "robot.asl": "+go(Direction) <- move(Direction).",
};

test("grid follows its environment", { skip: withoutNode(), timeout: 120_000 }, async () => {
  const [browser, market] = [await launch(), await Market.open(PROGRAMS)];
  const there = await Visit.to(browser, market.url, { token: TOKEN });
  try {
    await there.open("mind/environment");
    const grid = there.page.getByRole("img", { name: "Grid of 7 columns and 5 rows" });
    const cell = (x: number, y: number) => grid.getByTitle(`${x}, ${y}`, { exact: true });
    await cell(0, 0).filter({ hasText: "R" }).waitFor();
    assert.equal(await grid.locator(".is-wall").count(), 4);
    assert.equal(await grid.locator(".is-object").count(), 3);
    assert.equal(await cell(1, 3).textContent(), "g");
    const answer = await fetch(new URL("api/v1/messages", market.url), {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ message: { performative: "tell", receivers: ["robot"], content: { term: "go", args: [{ atom: "right" }] } } }),
    });
    assert.ok(answer.ok, `${answer.status}: ${await answer.text()}`);
    await cell(1, 0).filter({ hasText: "R" }).waitFor();
    assert.equal(await cell(0, 0).textContent(), "");
    assert.deepEqual(there.faults, []);
  } finally {
    await there.close();
    await browser.close();
    await market.close();
  }
});
