/** Work of the tests of devices that takes as long as it is told to. */
import { setTimeout as pause } from "node:timers/promises";
import type { Value } from "../src/index.js";

export default async function nap(ms: Value): Promise<Value> {
  await pause(Number(ms));
  return ms;
}
