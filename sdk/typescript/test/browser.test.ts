/** Agents in a page and in its Web Worker, in a real browser. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { connect, term, type Agent } from "../src/node.js";
import { Gateway } from "./proxy.js";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";

const CHROMIUM = process.env["CHROMIUM"] ?? "chromium";

function withoutBrowser(): string | false {
  try {
    execFileSync(CHROMIUM, ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return `there is no ${CHROMIUM} here`;
  }
}

/** Serves the bundled tab, and an empty page that loads it. */
async function serve(): Promise<{ readonly url: string; close(): void }> {
  const tab = join(dirname(fileURLToPath(import.meta.url)), "tab.js");
  const { outputFiles } = await build({ entryPoints: [tab], bundle: true, minify: true, format: "esm", platform: "browser", write: false });
  const code = outputFiles[0]?.contents ?? "";
  const server = createServer((request, response) => {
    const isCode = request.url?.startsWith("/tab.js");
    response.setHeader("content-type", isCode ? "text/javascript" : "text/html");
    response.end(isCode ? code : `<!doctype html><title>agents</title><script type="module" src="/tab.js"></script>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => void server.close() };
}

/** Asks again until the agent is there. */
async function reach(agent: Agent, name: string): Promise<string> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      const answer = await agent.ask({ performative: "request", receivers: name, content: term("greet", name) }, { timeoutMs: 5000 });
      return `${answer.sender} ${JSON.stringify(answer.content)}`;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Removes a folder that processes of the browser may still write to: what they wrote meanwhile is to be removed, too. */
async function remove(folder: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (attempt === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

test("agents in a page and in its Worker talk to one elsewhere, also when the network broke", { skip: WITHOUT_NODE || withoutBrowser(), timeout: 120_000 }, async () => {
  const profile = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  const society = await Society.of({ fern: "" });
  const gateway = await Gateway.to(society.address);
  const pages = await serve();
  const query = new URLSearchParams({ gateway: gateway.url, token: TOKEN });
  const options = ["--headless=new", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`];
  const browser = spawn(CHROMIUM, [...options, `${pages.url}?${query}`], { stdio: "ignore" });
  const platform = await connect(`tcp://${society.address}`, { token: TOKEN });
  try {
    const bob = await platform.create("bob");
    for (const _ of [1, 2]) {
      for (const name of ["page", "tab-worker"]) {
        assert.equal(await reach(bob, name), `${name} {"term":"greet","args":["${name}"]}`);
      }
      gateway.cut();
    }
    assert.ok(gateway.protocols.length >= 3, "they came again");
  } finally {
    await platform.close();
    const left = new Promise((resolve) => browser.once("close", resolve));
    browser.kill("SIGKILL");
    await left;
    pages.close();
    await gateway.close();
    society.stop();
    await remove(profile);
  }
});
