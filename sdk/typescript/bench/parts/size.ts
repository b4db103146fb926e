/** Benchmark part: bytes of the SDK and the console. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundle } from "../../test/chromium.js";
import { ENGINE } from "../../test/engine.js";
import { bundled, BYTES_MAX } from "../../test/sizes.js";
import { repository } from "../../test/vectors.js";
import type { Row, Target } from "../report.js";
import type { Bench } from "../stage.js";

const CONSOLE = join(repository(), "console/dist");
const CONSOLE_BYTES_MAX = 150_000;

const zipped = (bytes: Uint8Array): number => gzipSync(bytes, { level: 9 }).length;

/** Returns the bytes of the console, without the SDK for other pages. */
function consoleBytes(): number {
  const files = readdirSync(CONSOLE, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile() && entry.parentPath !== join(CONSOLE, "sdk"));
  return files.reduce((sum, { parentPath, name }) => sum + zipped(readFileSync(join(parentPath, name))), 0);
}

const row = (file: string, bytes: number): Row => ({ params: { file }, metrics: { gzipped_bytes: bytes } });

export async function run({ progress }: Bench): Promise<Row[]> {
  progress("size");
  const rows: Row[] = [];
  for (const file of Object.keys(BYTES_MAX)) rows.push(row(file, await bundled(file)));
  rows.push(row("device/worker.js", zipped(await bundle("../src/device/worker.js"))));
  rows.push(row("agentspeak.wasm", zipped(readFileSync(ENGINE))));
  if (existsSync(join(CONSOLE, "index.html"))) rows.push(row("console", consoleBytes()));
  else console.error("the console is not built (make console): left out");
  return rows;
}

export function targets(rows: readonly Row[]): Target[] {
  const most = { ...BYTES_MAX, console: CONSOLE_BYTES_MAX };
  return rows.flatMap(({ params, metrics }) => {
    const bytesMax = most[String(params["file"]) as keyof typeof most];
    return bytesMax === undefined ? [] : [{ what: `${params["file"]}: at most ${bytesMax} bytes`, isMet: (metrics["gzipped_bytes"] ?? Infinity) <= bytesMax }];
  });
}
