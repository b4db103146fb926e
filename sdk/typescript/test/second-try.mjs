// Runs files of tests, and those that failed once more, one at a time: they start browsers and servers beside each
// other, and on a busy machine one may run out of patience. What fails then as well is broken; what passed only alone
// is named, so that it gets mended.
//
//   node second-try.mjs FILE ...
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { resolve } from "node:path";

/** If tests of more files fail, it is not for want of patience. */
const MOST = 4;

/** The files in which something failed. */
async function failedIn(files, concurrency) {
  const failed = new Set();
  const events = run({ files: files.map((file) => resolve(file)), concurrency });
  events.on("test:fail", ({ file, name, todo }) => {
    if (todo === undefined) failed.add(file ?? name);
  });
  for await (const text of events.compose(new spec())) process.stdout.write(text);
  return [...failed];
}

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error("usage: node second-try.mjs FILE ...");
  process.exit(2);
}
const failed = await failedIn(files, true);
if (failed.length === 0) process.exit(0);
if (failed.length > MOST) process.exit(1);
console.log(`\nsecond try, one at a time: ${failed.join(", ")}\n`);
if ((await failedIn(failed, false)).length > 0) process.exit(1);
console.log(`\nunsteady: passed alone only: ${failed.join(", ")}`);
process.exit(0);
