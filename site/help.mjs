/** The reference of commands, as `whimbrel help` prints it. */
import { execFileSync } from "node:child_process";

/** Returns the help text of a command. */
function help(program, command) {
  return execFileSync(program, ["help", ...command], { encoding: "utf8", env: { ...process.env, COLUMNS: "76", NO_COLOR: "1" } });
}

/** Returns the commands below a command: the names in the lists between its usage and its options. */
export function below(text, command) {
  const usage = /^Usage: .*<COMMAND>$([^]*?)(?:^Options:|$(?![^]))/m.exec(text);
  const names = [...(usage?.[1] ?? "").matchAll(/^ {2}([a-z][a-z-]+)(?: {2,}\S|$)/gm)].map(([, name]) => name);
  return names.filter((name) => name !== "help").map((name) => [...command, name]);
}

/** Returns a page of all commands; each has a heading, to which links can lead. */
export function helpPages(program) {
  if (!program) return "This site was built without the program. `whimbrel --help` prints what this page would show.\n";
  const out = ["`whimbrel help COMMAND` prints these texts.", ""];
  const add = (command) => {
    const text = help(program, command);
    out.push(`${"#".repeat(Math.min(Math.max(command.length + 1, 2), 4))} ${command.length === 0 ? "All commands" : `whimbrel ${command.join(" ")}`}`, "", "```text", text.trimEnd(), "```", "");
    for (const one of below(text, command)) add(one);
  };
  add([]);
  return `${out.join("\n")}\n`;
}
