/** Work module for tests of devices: takes as long as requested. */
import { setTimeout as pause } from "node:timers/promises";
import type { Value } from "../src/index.js";

export default async function nap(ms: Value): Promise<Value> {
  await pause(Number(ms));
  return ms;
}
