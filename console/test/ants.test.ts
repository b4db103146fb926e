/** Test of the example `ants`: tabs of a browser search for the shortest round trip while half of them are closed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { addressOf, console_, launch, WHIMBREL, withoutNode } from "./page.js";

const TOKEN = "a token for tests";

interface Run {
  readonly address: string;
  readonly finished: Promise<string>;
  kill(): void;
}

/** Starts the colony with a problem and a minimum number of searches. */
async function colony(problem: string, searches: number): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-ants-"));
  const example = join(console_, "../examples/ants");
  cpSync(example, folder, { recursive: true });
  writeFileSync(join(folder, "ants.mas2j"), `MAS ants { agents: colony [beliefs="solve(${problem}), at_least(${searches})"]; }`);
  const options = ["--http", "0", "--agent-token", TOKEN, "--pages", join(example, "page")];
  const node = spawn(WHIMBREL, ["run", folder, ...options], { env: { ...process.env, WHIMBREL_RUN_DIR: join(folder, "run") }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  node.stdout.on("data", (data: Uint8Array) => (said += String(data)));
  const finished = new Promise<string>((resolve) => {
    node.once("close", () => {
      rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
      resolve(said);
    });
  });
  const address = await addressOf(node);
  return { address, finished, kill: () => node.kill("SIGKILL") };
}

test("tabs find shortest tour though half close", { skip: withoutNode(), timeout: 300_000 }, async () => {
  const run = await colony("berlin52", 60);
  const chromium = await launch();
  try {
    const context = await chromium.newContext();
    const pages = await Promise.all(
      Array.from({ length: 4 }, async (_, at) => {
        const page = await context.newPage();
        await page.goto(`${run.address}/pages/#token=${encodeURIComponent(TOKEN)}&join&workers=1&name=tab-${at}`);
        return page;
      }),
    );
    const [stays] = pages;
    assert.ok(stays);
    assert.equal(new URL(stays.url()).hash, "", "the token is not left in the address bar");
    // A page that has not joined says what to do; the hint makes room for the map.
    const guest = await context.newPage();
    await guest.goto(`${run.address}/pages/#token=${encodeURIComponent(TOKEN)}&name=guest`);
    await guest.locator("#hint", { hasText: "Press Join" }).waitFor();
    await guest.close();
    await stays.locator("#hint").waitFor({ state: "hidden" });
    // A page with a taken name can choose another, and nothing of the first attempt remains.
    const twin = await context.newPage();
    await twin.goto(`${run.address}/pages/#token=${encodeURIComponent(TOKEN)}&join&workers=1&name=tab-0`);
    await twin.waitForFunction(() => /name-taken|taken|exists/.test(document.querySelector("#state")?.textContent ?? ""), undefined, { timeout: 60_000 });
    await twin.waitForFunction(() => !(document.querySelector("#join button") as HTMLButtonElement).disabled);
    // The browser tells of their end later than the page.
    await Promise.all(twin.workers().map((worker) => worker.waitForEvent("close")));
    await twin.close();
    await stays.waitForFunction(() => Number(document.querySelector("#searched")?.textContent) >= 8, undefined, { timeout: 120_000 });
    for (const page of pages.slice(2)) await page.close();
    await stays.waitForFunction(() => document.querySelector("#length")?.textContent === "7542", undefined, { timeout: 120_000 });
    assert.match((await stays.textContent("#devices")) ?? "", /tab-0/);
    const said = await run.finished;
    assert.ok(said.startsWith("[colony] who finds a round trip through the 52 places of berlin52? The shortest is 7542 long\n"), said);
    assert.match(said, /that is the shortest: \d+ searches by [1-4] devices/);
  } finally {
    run.kill();
    await chromium.close();
    await run.finished;
  }
});

test("reloaded tab is the same device", { skip: withoutNode(), timeout: 300_000 }, async () => {
  // More searches than are done meanwhile.
  const run = await colony("a280", 1_000_000);
  const chromium = await launch();
  try {
    const page = await chromium.newPage();
    await page.goto(`${run.address}/pages/#token=${encodeURIComponent(TOKEN)}&workers=1&name=tab-0`);
    await page.getByRole("button", { name: "Join" }).click();
    const works = (): Promise<unknown> => page.waitForFunction(() => /^[1-9]\d* searches done here/.test(document.querySelector("#state")?.textContent ?? ""), undefined, { timeout: 60_000 });
    await works();
    await page.reload();
    await page.getByText(/^joining, once/).waitFor();
    await works();
    assert.deepEqual([await page.inputValue("#name"), await page.inputValue("#workers"), page.workers().length], ["tab-0", "1", 1]);
  } finally {
    await chromium.close();
    run.kill();
    await run.finished;
  }
});
