// Checks the extension in a real Visual Studio Code: code-server, in Chromium. `vscode.mjs URL SHOP FOLDER`: the
// server's address, a folder with `bob.asl`, and where pictures go.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// Of the folder in which it runs: the console's.
const { chromium } = createRequire(`${process.cwd()}/`)("playwright-core");

const [url, shop, pictures] = process.argv.slice(2);
let failed = false;

/** Prints what was found. */
function check(what, isSo, seen = "") {
  failed ||= !isSo;
  console.log(isSo ? `ok   VS Code: ${what}` : `FAIL VS Code: ${what}: ${seen}`);
}

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
page.setDefaultTimeout(90_000);

/** Runs a command of the palette. */
async function command(name) {
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget input").first().fill(`>${name}`);
  await page.locator(".quick-input-list .monaco-list-row").first().waitFor();
  await page.keyboard.press("Enter");
}

/** Puts the cursor at a line and column. */
async function go(line, column) {
  await page.keyboard.press("Control+g");
  await page.locator(".quick-input-widget input").first().fill(`:${line}:${column}`);
  await page.keyboard.press("Enter");
}

/** Returns the text of the editor's lines, as it shows them. */
async function lines() {
  const all = await page.locator(".editor-instance .view-line").evaluateAll((found) =>
    found.map((line) => ({ top: parseFloat(line.style.top), text: line.textContent })));
  return all.sort((one, other) => one.top - other.top).map((line) => line.text.replaceAll("\u00a0", " "));
}

/** Waits until something is so. Returns whether it became so. */
async function until(isSo) {
  for (const end = Date.now() + 90_000; Date.now() < end; await page.waitForTimeout(200)) {
    if (await isSo()) return true;
  }
  return false;
}

try {
  await page.goto(`${url}/?folder=${shop}`);
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: "bob.asl" }).dblclick();
  await page.locator(".editor-instance .view-line").first().waitFor();
  const word = (text) => page.locator(".view-line span span", { hasText: text }).first();
  const colour = (found) => found.evaluate((it) => getComputedStyle(it).color);
  const plain = await colour(page.locator(".editor-instance .view-lines"));
  check("comments have their colour", await until(async () => (await colour(word("// Has"))) !== plain), plain);
  check("the language is known", await page.locator(".statusbar-item", { hasText: "AgentSpeak" }).count() > 0);
  const lenses = page.locator(".codelens-decoration", { hasText: "agent" });
  check("lenses run and debug", await until(async () => (await lenses.count()) > 0));
  check("diagnostics", await until(async () => (await page.locator(".squiggly-warning").count()) > 0));
  await word(".print").hover();
  const hover = page.locator(".monaco-hover:not(.hidden)", { hasText: ".print(" }).first();
  check("hover shows the reference", await hover.waitFor().then(() => true, () => false));
  await page.keyboard.press("Escape");
  await go(5, 10);
  await page.keyboard.press("F12");
  const position = page.locator(".statusbar-item", { hasText: "Ln 8" });
  check("definition is the plan", await until(async () => (await position.count()) > 0));
  await page.keyboard.press("F2");
  await page.locator(".rename-box input").fill("attend");
  await page.keyboard.press("Enter");
  const has = async (text) => (await lines()).join("\n").includes(text);
  const isRenamed = await until(async () => (await has("!attend(ann)")) && (await has("+!attend(Who)")));
  check("rename changes plan and goal", isRenamed, await lines());
  await command("Format Document");
  check("formatting", await until(() => has("?stock(tea, N)")), await lines());
  await page.keyboard.press("Control+s");
  const written = () => readFileSync(`${shop}/bob.asl`, "utf8");
  check("writes the file", await until(() => written().includes("+!attend(Who)\n   <- ?stock(tea, N)")), written());
  await page.screenshot({ path: `${pictures}/edited.png` });
  await go(10, 10);
  await page.keyboard.press("F9");
  await command("Whimbrel: Debug");
  const here = page.locator(".debug-top-stack-frame-line").first();
  check("the debugger stops at a breakpoint", await here.waitFor().then(() => true, () => false));
  const frames = page.locator(".debug-call-stack .monaco-list-row", { hasText: "+!attend(ann)" });
  check("the stack has the goal", await until(async () => (await frames.count()) > 0));
  await page.screenshot({ path: `${pictures}/debugged.png` });
  await page.keyboard.press("Shift+F5");
  check("the debugger ends", await until(async () => (await here.count()) === 0));
} catch (error) {
  check("no error", false, error);
  await page.screenshot({ path: `${pictures}/failed.png` });
}
await browser.close();
process.exit(failed ? 1 : 0);
