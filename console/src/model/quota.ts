/** Quotas and their use. */
import type { QuotaInfo } from "../live/vocabulary.js";
import { bytes, count } from "./format.js";

/** Names of quotas for people. */
const WORDS: Readonly<Record<string, string>> = {
  memory_bytes: "memory",
  name_bytes: "new names",
  cpu_ms_per_s: "CPU per second",
  messages_per_s: "messages per second",
  lifetime_s: "lifetime",
  storage_bytes: "storage",
  clones: "clones",
};

export interface Gauge {
  readonly name: string;
  /** Name in policies. */
  readonly quota: string;
  readonly text: string;
  /** Used fraction, 0 to 1; null without a limit. */
  readonly share: number | null;
}

export function gaugeOf({ name, used, max }: QuotaInfo): Gauge {
  const plain = name.replace(/^owner_/, "");
  const write = (n: number) => (plain.endsWith("_bytes") ? bytes(n) : plain.startsWith("cpu_ms") ? `${count(n)} ms` : plain.endsWith("_s") && !plain.endsWith("per_s") ? `${count(n)} s` : count(n));
  const text = [used === null ? "–" : write(used), max === null ? "no limit" : `of ${write(max)}`].join(" ");
  return { name: WORDS[plain] ?? plain.replaceAll("_", " "), quota: name, text, share: max === null || used === null ? null : Math.min(1, used / Math.max(1, max)) };
}
