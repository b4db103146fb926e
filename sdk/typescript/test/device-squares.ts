/** Work of the tests of devices. */
import type { Value } from "../src/index.js";

export default function square(part: Value): Value {
  if (typeof part !== "bigint") throw new Error("that is no whole number");
  return part * part;
}
