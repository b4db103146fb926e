/** Reader of the repository's vectors, as their README describes. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Returns the repository's root: the first parent folder with `conformance`. */
export function repository(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "conformance"))) folder = dirname(folder);
  return folder;
}

/** Parses JSON so that 3.0 stays a double: `JSON.parse` does not distinguish it from 3. */
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
