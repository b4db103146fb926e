/** The repository's vectors, read as its README says. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root: the first folder above this one that has `conformance`. */
export function repository(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "conformance"))) folder = dirname(folder);
  return folder;
}

/** `JSON.parse` makes 3.0 a whole number: doubles that are whole are written otherwise before it sees them. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?\d+\.0+(?![\d.eE])/g, (found) => (found.startsWith('"') ? found : `{"num":${parseInt(found, 10)}}`)));
}

export function vectors<T>(path: string): T {
  return parseExactly(readFileSync(join(repository(), "conformance", path), "utf8")) as T;
}

export function vectorFiles(folder: string): string[] {
  return readdirSync(join(repository(), "conformance", folder)).filter((name) => name.endsWith(".json"));
}

export function vectorText(path: string): string {
  return readFileSync(join(repository(), "conformance", path), "utf8");
}
