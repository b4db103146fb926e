/**
 * Records the console in a browser, as a moving picture: `node docs/images/record.mjs WHIMBREL OUT.webp`.
 *
 * The society is examples/contract-net, which begins anew when its jobs are settled. The picture shows its messages as
 * they are sent, then its map, then a mind. It needs Chromium, `img2webp`, and the packages of the site (make site).
 */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "../../site/test/serve.mjs";

const [program = "", out = ""] = process.argv.slice(2);
const examples = join(dirname(fileURLToPath(import.meta.url)), "../../examples");
/** Size of the page, and milliseconds of a frame. */
const [WIDTH, HEIGHT, FRAME_MS] = [1000, 600, 200];
/** Views, and the frames of each. */
const VIEWS = [
  ["conversations", 26],
  ["society", 12],
  ["mind/initiator", 16],
];
/** Messages that are recorded before the first frame. */
const RECORDED = 40;
/** Maximal size of the picture. */
const BYTES_MAX = 1_000_000;

const folder = mkdtempSync(join(tmpdir(), "whimbrel-record-"));
cpSync(join(examples, "contract-net"), folder, { recursive: true });
const initiator = join(folder, "initiator.asl");
writeFileSync(initiator, readFileSync(initiator, "utf8").replace("      .stopMAS.\n", "      .wait(300);\n      !start.\n"));

const node = spawn(resolve(program), ["run", folder, "--log", "--http", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
const browser = await launch();
try {
  let said = "";
  const address = await new Promise((found, failed) => {
    node.once("exit", () => failed(new Error(said)));
    node.stderr.on("data", (data) => {
      said += String(data);
      const [url] = /http:\/\/\S+/.exec(said) ?? [];
      if (url && said.includes("\n")) found(url);
    });
  });
  const page = await (await browser.newContext({ viewport: { width: WIDTH, height: HEIGHT }, colorScheme: "light" })).newPage();
  await page.goto(address);
  const frames = [];
  for (const [view, count] of VIEWS) {
    await page.evaluate((path) => (location.hash = `#/${path}`), view);
    await page.getByRole("heading", { level: 1 }).waitFor();
    // The first frame is all that some readers see: it shows a job that was awarded and done.
    if (frames.length === 0) await page.waitForFunction((least) => Number(/(\d+) recorded/.exec(document.body.textContent)?.[1]) >= least, RECORDED);
    let next = Date.now();
    for (let at = 0; at < count; at++) {
      const path = join(folder, `${String(frames.length).padStart(3, "0")}.png`);
      await page.screenshot({ path });
      frames.push(path);
      next += FRAME_MS;
      await new Promise((done) => setTimeout(done, Math.max(0, next - Date.now())));
    }
  }
  execFileSync("img2webp", ["-loop", "0", "-mixed", "-min_size", "-d", String(FRAME_MS), "-q", "60", "-m", "6", ...frames, "-o", out], { stdio: "ignore" });
  const size = readFileSync(out).length;
  if (size > BYTES_MAX) throw new Error(`${out} has ${size} bytes: at most ${BYTES_MAX}`);
  console.log(`${out}: ${frames.length} frames, ${size} bytes`);
} finally {
  await browser.close();
  node.kill("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
}
