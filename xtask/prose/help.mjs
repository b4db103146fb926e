/** Writes the help texts of all commands as Markdown, one file each: `node help.mjs WHIMBREL FOLDER`. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { below } from "../../site/help.mjs";

const [program, folder] = process.argv.slice(2);

/** Returns the help text of a command. */
function help(command) {
  return execFileSync(program, ["help", ...command], { encoding: "utf8", env: { ...process.env, COLUMNS: "100" } });
}

/** Returns a help text as Markdown: names of options and commands are code, and each description is a paragraph. */
function markdown(text) {
  const out = [];
  for (const line of text.split("\n")) {
    const name = /^ {2,6}(?:-[^ ].*?|<[A-Z].*?>|\[[A-Z].*?\])(?= {2,}\S|$)|^ {2}[a-z][a-z-]+(?= {2,}\S|$)|^ {8,}- \S+|^ {2}whimbrel .*/.exec(line);
    const isHeading = /^[A-Z][^.]*:$/.test(line) || line.startsWith("Usage:");
    if (isHeading) out.push("", `# \`${line}\``, "");
    else if (name) out.push("", `\`${name[0].trim()}\``, "", line.slice(name[0].length).trim());
    else out.push(line.trim());
  }
  return `${out.join("\n").replace(/\n{3,}/g, "\n\n")}\n`;
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const seen = new Set();
for (const commands = [[]]; commands.length > 0; ) {
  const command = commands.pop();
  const name = ["whimbrel", ...command].join("-");
  if (seen.has(name)) continue;
  seen.add(name);
  const text = help(command);
  writeFileSync(join(folder, `${name}.md`), markdown(text));
  commands.push(...below(text, command));
}
