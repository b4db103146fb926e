/**
 * Writer of `src/protocols/tables.ts`, from `conformance/protocols`: `node .build/test/protocol-tables.js >
 * src/protocols/tables.ts`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { PROTOCOLS } from "./protocol-scripts.js";

interface ProtocolFile {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly document: string;
  readonly roles: Readonly<Record<string, string>>;
  readonly states: Readonly<Record<string, { readonly deadline?: unknown }>>;
  readonly ends: Readonly<Record<string, { readonly good: boolean }>>;
  readonly moves: readonly { readonly from: readonly string[]; readonly by: string; readonly say: readonly string[]; readonly to: string }[];
}

const HEAD = `/** FIPA's interaction protocols. Made from conformance/protocols by test/protocol-tables.ts: edit those. */
import type { Protocol } from "./machine.js";
`;

/** Files that are no protocols. */
const OTHERS: readonly string[] = ["exceptions.json", "languages.json"];

/** Returns the text of the module with all tables. */
export function tablesText(): string {
  const files = readdirSync(PROTOCOLS).filter((name) => name.endsWith(".json") && !OTHERS.includes(name)).sort();
  return HEAD + files.map((name) => tableText(name.slice(0, -5), JSON.parse(readFileSync(join(PROTOCOLS, name), "utf8")) as ProtocolFile)).join("");
}

function tableText(file: string, { name, title, about, document, roles, states, ends, moves }: ProtocolFile): string {
  const deadlines = Object.fromEntries(Object.entries(states).flatMap(([state, { deadline }]) => (deadline === undefined ? [] : [[state, deadline]])));
  const goods = Object.fromEntries(Object.entries(ends).map(([end, { good }]) => [end, good]));
  const parts = { name, title, document, roles, deadlines, ends: goods };
  const lines = Object.entries(parts).map(([part, value]) => `  ${part}: ${JSON.stringify(value)},\n`);
  const rules = moves.map(({ from, by, say, to }) => `    ${JSON.stringify([from, by, say, to])},\n`);
  return `
${commentOf(about)}
export const ${file.toUpperCase().replaceAll("-", "_")}: Protocol = {
${lines.join("")}  moves: [
${rules.join("")}  ],
};
`;
}

/** Returns a comment with lines of 120 characters at most. */
function commentOf(about: string): string {
  if (about.length < 110) return `/** ${about} */`;
  const lines = [""];
  for (const word of about.split(" ")) {
    if (`${lines.at(-1)} ${word}`.length > 114) lines.push("");
    lines.push(`${lines.pop()} ${word}`);
  }
  return `/**\n${lines.map((line) => ` *${line}\n`).join("")} */`;
}

if (argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(tablesText());
