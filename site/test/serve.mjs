/** A server of the site's files, as any server of files, and a browser to look at them. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const site = join(dirname(fileURLToPath(import.meta.url)), "..");
export const root = join(site, "..");
export const dist = join(site, "dist");
/** Time limit for quick actions, on a busy machine. */
export const PATIENCE_MS = 60_000;
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp" };
/** Path of the browser. `CHROMIUM` overrides it. */
export const CHROMIUM = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => path !== undefined && existsSync(path));

/** Reason to skip tests of pages; false to run them. */
export function without() {
  const isBuilt = existsSync(join(dist, "index.html"));
  if (!isBuilt) throw new Error("the site is not built: make site-pages");
  if (CHROMIUM !== undefined) return false;
  return "there is no Chromium here";
}

/** Serves a folder's files under `/`. */
export async function serve(folder = dist) {
  const server = createServer(({ url }, response) => {
    const path = join(folder, normalize(decodeURIComponent(new URL(url ?? "/", "http://here").pathname)));
    const file = existsSync(path) && statSync(path).isDirectory() ? join(path, "index.html") : path;
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.setHeader("content-type", TYPES[extname(file)] ?? "text/plain").end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

export const launch = () => chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"] });

/** Opens a page, and fails on errors in it. */
export async function visit(browser, url, does, { width = 1280, height = 900, dark = false, javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", javaScriptEnabled });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const faults = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  try {
    await page.goto(url);
    await does(page);
    if (faults.length > 0) throw new Error(`in the page: ${faults.join("; ")}`);
  } finally {
    await context.close();
  }
}
