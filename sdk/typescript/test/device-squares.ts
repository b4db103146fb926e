/** Work module for tests of devices: squares numbers. */
import type { Value } from "../src/index.js";

export default function square(part: Value): Value {
  if (typeof part !== "bigint") throw new Error("that is no whole number");
  return part * part;
}
