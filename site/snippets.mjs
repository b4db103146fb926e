/**
 * Code blocks of Markdown, and what their first lines say.
 *
 * AgentSpeak stands in blocks of the language `agentspeak`. Words after the language are for the site and for tests:
 *
 * - `file=buyer.asl`: name of the program; without it, `agent.asl`
 * - `project=market`: blocks of one project run together. A block runs with all blocks of its project above it, and
 *   with the first block of each file that has none above it. Blocks of one file follow each other in it. A block of
 *   a project file (`.mas2j`) has the same words.
 * - a block `text output` after a program is what its society prints, each agent's lines in their order
 */

/** Returns the fenced blocks of a document: first line (from 1), lines, indentation, language, words, code. */
export function codeBlocks(body) {
  const blocks = [];
  let open;
  body.split("\n").forEach((line, at) => {
    const fence = /^(\s*)(`{3,})(.*)$/.exec(line);
    if (!open && fence) {
      const [language = "", ...words] = fence[3].trim().split(/\s+/);
      open = { line: at + 1, indent: fence[1], ticks: fence[2], language, words, lines: [] };
    } else if (open && fence && fence[2] === open.ticks && fence[3].trim() === "") {
      const { lines, ...rest } = open;
      blocks.push({ ...rest, height: at + 2 - open.line, code: lines.map((one) => (one.startsWith(open.indent) ? one.slice(open.indent.length) : one.trimStart())).join("\n") });
      open = undefined;
    } else open?.lines.push(line);
  });
  if (open) throw new Error(`line ${open.line}: the block of code has no end`);
  return blocks;
}

/** Returns the value of a word `name=value`; undefined if there is none. */
export const wordOf = ({ words }, name) => words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);

/** Returns the program of a block; undefined if it is not one that runs in pages. */
export function blockOf(block) {
  const [file, project] = [wordOf(block, "file"), wordOf(block, "project")];
  const isProgram = block.language === "agentspeak" || (file?.endsWith(".mas2j") && project !== undefined);
  return isProgram ? { ...block, file: file ?? "agent.asl", project } : undefined;
}

/** Blocks that run together with `one`: those up to it, and the first of each other file. */
export function partsOf(blocks, one) {
  const above = blocks.slice(0, blocks.indexOf(one) + 1);
  const below = blocks.slice(above.length);
  const isFirst = ({ file }, at) => above.every((other) => other.file !== file) && below.findIndex((other) => other.file === file) === at;
  return [...above, ...below.filter(isFirst)];
}

/**
 * Returns the files that a program runs with, and the path to open: those of the blocks of its project up to it, or
 * its own. A project without a project file has an agent for each program.
 */
export function societyOf(blocks, at) {
  const one = blocks[at];
  const parts = one.project === undefined ? [one] : partsOf(blocks.filter(({ project }) => project === one.project), one);
  const files = {};
  for (const { file, code } of parts) files[file] = file in files && !file.endsWith(".mas2j") ? `${files[file]}\n\n${code}` : code;
  const names = Object.keys(files);
  const project = names.find((name) => name.endsWith(".mas2j"));
  if (project) return { files, path: project };
  if (names.length === 1) return { files, path: names[0] };
  const agents = names.map((name) => `${name.replace(/\.asl$/, "")};`).join(" ");
  return { files: { ...files, "all.mas2j": `MAS all { agents: ${agents} }` }, path: "all.mas2j" };
}
