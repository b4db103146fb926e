/** Test of the site in a real browser: links, search, AgentSpeak that runs, phones, and pages without JavaScript. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { test } from "node:test";
import { PATIENCE_MS, dist, launch, root, serve, visit, without } from "./serve.mjs";

const pictures = process.env.WHIMBREL_PICTURES;

/** All files below a folder, by their paths in it. */
function below(folder) {
  return readdirSync(folder, { recursive: true }).filter((path) => statSync(join(folder, path)).isFile());
}

const pages = existsSync(dist) ? below(dist).filter((path) => path.endsWith(".html") && !/^(?:playground|api)\//.test(path)) : [];
const html = (path) => readFileSync(join(dist, path), "utf8");
const anchors = new Map();
function hasAnchor(path, id) {
  if (!anchors.has(path)) anchors.set(path, new Set([...html(path).matchAll(/ id="([^"]+)"/g)].map(([, found]) => found)));
  return anchors.get(path).has(id);
}

test("links of every page lead somewhere", { skip: without() }, () => {
  const dead = [];
  for (const path of pages.filter((one) => one !== "404.html")) {
    for (const [, quoted] of html(path).matchAll(/ (?:href|src)="([^"]+)"/g)) {
      const link = quoted.replaceAll("&amp;", "&");
      if (/^[a-z]+:/.test(link)) continue;
      const [file, anchor] = link.split("#");
      const target = file.startsWith("/") ? file.slice(1) : posix.join(posix.dirname(path), file);
      const found = file === "" ? path : [target, posix.join(target, "index.html")].find((one) => existsSync(join(dist, one)) && statSync(join(dist, one)).isFile());
      // API documentation is made by tools of its own: make site.
      if (!found && target.startsWith("api/") && !existsSync(join(dist, "api"))) continue;
      if (!found) dead.push(`${path}: ${link}`);
      else if (anchor && found.endsWith(".html") && !/^(?:playground|api)\//.test(found) && !hasAnchor(found, decodeURIComponent(anchor))) dead.push(`${path}: ${link} has no such heading`);
    }
  }
  assert.deepEqual(dead, []);
  assert.ok(pages.length > 60, `${pages.length} pages`);
});

test("programs run in the page, with their minds", { skip: without(), timeout: 6 * PATIENCE_MS }, async () => {
  const [{ url, close }, browser] = [await serve(), await launch()];
  try {
    await visit(browser, `${url}guide/first-society/`, async (page) => {
      const shop = page.locator("agent-speak[data-file='shop.asl'][data-ready]");
      await shop.locator(".asl-run").click();
      await shop.locator(".asl-output li", { hasText: "sold out" }).waitFor();
      assert.deepEqual(await shop.locator(".asl-output li").allTextContents(), ["[shop] one apple sold", "[shop] one apple sold", "[shop] note: order apples", "[shop] sold out"]);
      await shop.locator(".asl-mind .beliefs code", { hasText: "stock(apples,0)" }).waitFor();

      // A changed program runs as changed, and its errors are shown.
      await shop.locator("textarea").fill("!go. +!go <- .print(changed).");
      await page.keyboard.press("Control+Enter");
      await shop.locator(".asl-output li", { hasText: "[shop] changed" }).waitFor();
      await shop.locator("textarea").fill("!go. +!go <- .print(changed)");
      await shop.locator(".asl-run").click();
      await shop.locator(".asl-output li.error", { hasText: "shop.asl:1" }).waitFor();
      assert.equal(await shop.locator(".gutter .error").count(), 1);
      await shop.locator("button", { hasText: "Undo" }).click();
      await shop.locator(".asl-run").click();
      await shop.locator(".asl-output li", { hasText: "sold out" }).waitFor();

      // A project runs whole from any of its blocks, and only one society runs at a time.
      const buyer = page.locator("agent-speak[data-file='buyer.asl'][data-ready]");
      await buyer.locator(".asl-run").click();
      await buyer.locator(".asl-output li", { hasText: "[buyer] thanks, seller" }).waitFor();
      assert.deepEqual(await buyer.locator(".asl-agents button").allTextContents(), ["buyer", "seller"]);
      await buyer.locator(".asl-state", { hasText: "ended" }).waitFor();
      assert.equal(await shop.locator(".asl-state").textContent(), "stopped");
      if (pictures) await page.screenshot({ path: join(pictures, "site-run.png") });
    });
  } finally {
    await browser.close();
    close();
  }
});

test("every program of every page becomes an editor that runs", { skip: without(), timeout: 20 * PATIENCE_MS }, async () => {
  const [{ url, close }, browser] = [await serve(), await launch()];
  let count = 0;
  try {
    for (const path of pages.filter((one) => html(one).includes("<agent-speak"))) {
      await visit(browser, url + path.replace(/index\.html$/, ""), async (page) => {
        const blocks = page.locator("agent-speak");
        for (let at = 0; at < (await blocks.count()); at++) {
          const block = blocks.nth(at);
          await block.locator(".asl-run").click();
          // It runs, or has ended by itself; a program with errors says so.
          await page.waitForFunction((one) => ["runs", "ended", "all agents ended", "has errors", "cannot run"].includes(one.querySelector(".asl-state")?.textContent), await block.elementHandle());
          const errors = await block.locator(".asl-output .error").allTextContents();
          assert.deepEqual(errors, [], `${path}, program ${at + 1}`);
          count++;
        }
      });
    }
  } finally {
    await browser.close();
    close();
  }
  assert.ok(count > 20, `${count} programs`);
});

test("search finds a page without a server of its own", { skip: without(), timeout: 4 * PATIENCE_MS }, async () => {
  const [{ url, close }, browser] = [await serve(), await launch()];
  try {
    await visit(browser, url, async (page) => {
      await page.locator("site-search button").first().click();
      await page.locator("dialog input").fill("df_subscribe");
      const found = page.locator("dialog a[href]").first();
      await found.waitFor();
      const { pathname } = new URL(await found.getAttribute("href"), page.url());
      assert.match(html(join(pathname, "index.html")), /df_subscribe/);
      if (pictures) await page.screenshot({ path: join(pictures, "site-search.png") });
    });
  } finally {
    await browser.close();
    close();
  }
});

test("pages fit a phone, in both themes", { skip: without(), timeout: 20 * PATIENCE_MS }, async () => {
  const [{ url, close }, browser] = [await serve(), await launch()];
  try {
    const wide = [];
    for (const dark of [false, true]) {
      const all = pages.filter((one, at) => !one.startsWith("source/") && (at % 2 === 1) === dark);
      const look = async (page) => {
        for (const path of all) {
          await page.goto(url + path.replace(/index\.html$/, ""));
          const [width, theme] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.dataset.theme]);
          assert.equal(theme, dark ? "dark" : "light");
          if (width > 390) wide.push(`${path}: ${width}`);
          if (pictures && /contract-net|^index/.test(path)) await page.screenshot({ path: join(pictures, `site-phone-${path.replaceAll("/", "-")}.png`) });
        }
      };
      await visit(browser, url, look, { width: 390, height: 844, dark });
    }
    assert.deepEqual(wide, []);
  } finally {
    await browser.close();
    close();
  }
});

test("programs are readable without JavaScript", { skip: without(), timeout: 2 * PATIENCE_MS }, async () => {
  const [{ url, close }, browser] = [await serve(), await launch()];
  try {
    await visit(
      browser,
      `${url}guide/first-society/`,
      async (page) => {
        const code = page.locator("agent-speak pre").first();
        assert.ok(await code.isVisible());
        assert.match(await code.innerText(), /^!greet\..*\n\n\+!greet/);
        assert.equal(await page.locator("agent-speak button").count(), 0);
      },
      { javaScriptEnabled: false },
    );
  } finally {
    await browser.close();
    close();
  }
});

test("the playground of the site runs a society", { skip: without(), timeout: 4 * PATIENCE_MS }, async () => {
  const [{ url, close }, browser] = [await serve(), await launch()];
  try {
    await visit(browser, `${url}playground/`, async (page) => {
      await page.locator("#run:enabled").click();
      await page.locator("#output li:not(.note)").first().waitFor();
    });
  } finally {
    await browser.close();
    close();
  }
});

/** Texts of an SVG that lose white space, or that stand outside of the picture, as the browser draws them. */
function faultsOfPicture() {
  const svg = document.querySelector("svg");
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  // A picture stands in the middle of the window: places are taken back into its own units.
  const toPicture = svg.getScreenCTM().inverse();
  const faults = [];
  for (const text of svg.querySelectorAll("text")) {
    const box = text.getBoundingClientRect();
    const seen = text.textContent.trimEnd();
    if (box.width === 0 || seen === "") continue;
    const [{ x, y }, { x: right, y: bottom }] = [new DOMPoint(box.left, box.top), new DOMPoint(box.right, box.bottom)].map((point) => point.matrixTransform(toPicture));
    const isClipped = x < -1 || y < -1 || right > width + 1 || bottom > height + 1;
    if (isClipped && !text.closest("[clip-path]")) faults.push(`outside: ${text.textContent.slice(0, 40)}`);
    // Spaces in a row are as wide as letters only if white space is kept.
    const found = / {2,}/.exec(text.textContent);
    if (found && text.getSubStringLength(found.index, found[0].length) < text.getSubStringLength(found.index, 1) * found[0].length * 0.9) faults.push(`lost white space: ${text.textContent.slice(0, 40)}`);
  }
  return faults;
}

test("pictures keep their white space and are not clipped", { skip: without(), timeout: 4 * PATIENCE_MS }, async () => {
  const folders = ["docs/images", "bench/results"].map((folder) => join(root, folder)).filter(existsSync);
  const drawn = folders.flatMap((folder) => below(folder).filter((path) => path.endsWith(".svg")).map((path) => join(folder, path)));
  const browser = await launch();
  try {
    const faults = [];
    for (const file of drawn) {
      await visit(browser, `file://${file}`, async (page) => {
        for (const fault of await page.evaluate(faultsOfPicture)) faults.push(`${relative(root, file)}: ${fault}`);
        if (pictures) {
          mkdirSync(pictures, { recursive: true });
          await page.screenshot({ path: join(pictures, `${relative(root, file).replaceAll("/", "-")}.png`) });
        }
      });
    }
    assert.deepEqual(faults, []);
    assert.ok(drawn.length >= 2, `${drawn.length} pictures`);
  } finally {
    await browser.close();
  }
});
