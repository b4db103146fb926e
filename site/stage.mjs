/**
 * Makes the pages of the site from the Markdown files of the repository: `node stage.mjs`. The files stay readable
 * where they are; here they get a title, links between pages, and AgentSpeak that runs.
 *
 * WHIMBREL names the program whose `--help` becomes the reference of commands; without one that page says so.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { pieces } from "../examples/classroom/page/colours.js";
import { helpPages } from "./help.mjs";
import { blockOf, codeBlocks } from "./snippets.mjs";

const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, "..");
const pages = join(here, "src/content/docs");
const assets = join(here, "public");
/** Folders whose Markdown becomes pages. */
const FOLDERS = ["docs/", "examples/", "bench/", "sdk/", "guest/", "conformance/", "deploy/", "editors/"];
/** Files that stand elsewhere on the site. */
const PLACES = new Map([
  ["README.md", "readme"],
  ["ARCHITECTURE.md", "design/architecture"],
  ["CONTRIBUTING.md", "contributing"],
  ["CHANGELOG.md", "changelog"],
  ["sdk/typescript/README.md", "reference/typescript-sdk"],
  ["guest/README.md", "reference/guest-sdks"],
]);
/** Languages of code by the ends of file names. */
const LANGUAGES = { rs: "rust", ts: "ts", js: "js", mjs: "js", py: "python", c: "c", h: "c", toml: "toml", json: "json", sh: "sh", html: "html", css: "css", yml: "yaml", yaml: "yaml" };

/** Languages of code blocks that the site colours. */
const CODE = new Set(["agentspeak", "text", ...Object.values(LANGUAGES), "xml"]);

/** Files that git knows, or would take. */
export const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8" }).split("\n").filter((path) => path && existsSync(join(root, path)));
const known = new Set(files);
const text = (path) => readFileSync(join(root, path), "utf8");

/** Returns the address of a Markdown file's page, without slashes at its ends; undefined if it has none. */
function addressOf(path) {
  if (!path.endsWith(".md")) return undefined;
  if (PLACES.has(path)) return PLACES.get(path);
  if (!FOLDERS.some((folder) => path.startsWith(folder))) return undefined;
  const inside = path.startsWith("docs/") ? path.slice("docs/".length) : path;
  return inside.replace(/(^|\/)README\.md$/, "").replace(/\.md$/, "").toLowerCase();
}

export const addresses = new Map(files.map((path) => [path, addressOf(path)]).filter(([, address]) => address !== undefined));
const sources = new Set();

/** Returns where a link in `path` leads on the site: to a page, to a picture, or to the text of a file. */
function linkOf(path, target) {
  if (/^(?:[a-z]+:|#)/.test(target)) return target;
  const [file = "", anchor] = target.split("#");
  const found = posix.normalize(posix.join(posix.dirname(path), file)).replace(/\/$/, "");
  const up = upFrom(addresses.get(path) ?? "");
  const end = anchor === undefined ? "" : `#${anchor}`;
  const page = [found, `${found}/README.md`].find((one) => addresses.has(one));
  if (page !== undefined) return `${up}${addresses.get(page) === "" ? "" : `${addresses.get(page)}/`}${end}` || "./";
  if (/\.(?:png|svg|webp|gif)$/.test(found)) {
    const copy = join(assets, "pictures", found.replaceAll("/", "-"));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(join(root, found), copy);
    return `${up}pictures/${basename(copy)}`;
  }
  if (known.has(found)) {
    sources.add(found);
    return `${up}source/${slug(found)}/`;
  }
  if (files.some((one) => one.startsWith(`${found}/`))) {
    sources.add(`${found}/`);
    return `${up}source/${slug(found)}/`;
  }
  throw new Error(`${path}: link to ${target} leads nowhere`);
}

/** Address of a file's text: a page's address has no dots. */
const slug = (path) => path.toLowerCase().replaceAll(".", "-").replace(/\/$/, "");
/** Path from a page to the root of the site. */
const upFrom = (address) => "../".repeat(address === "" ? 0 : address.split("/").length);

/** Rewrites the links and pictures of a document outside its code. */
function withLinks(path, body) {
  let isCode = false;
  const lines = body.split("\n").map((line) => {
    if (/^\s*```/.test(line)) {
      isCode = !isCode;
      return line.replace(/^(\s*`{3,})(\S*)/, (_, ticks, language) => ticks + (CODE.has(language.split(",")[0]) || language === "" ? language.split(",")[0] : "text"));
    }
    if (isCode) return line;
    const pictured = line.replace(/!\[([^\]]*)\]\(([^)\s]+)\)/g, (_, alt, target) => `<img src="${linkOf(path, target)}" alt="${escaped(alt)}" loading="lazy" />`);
    if (pictured !== line) return pictured;
    const places = [/(\]\()([^)\s]+)/g, /^(\[[^\]]+\]: )(\S+)/g, /((?:src|srcset)=")([^"]+)/g];
    return places.reduce((said, place) => said.replace(place, (_, open, target) => open + linkOf(path, target)), line);
  });
  return lines.join("\n");
}

const escaped = (part) => part.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Returns a block of AgentSpeak as one line of HTML: code with its colours, which a script makes an editor. */
function runnable({ indent, code, file, project }) {
  const coloured = [...pieces(code)].map(([kind, said]) => (kind ? `<span class="asl-${kind}">${escaped(said)}</span>` : escaped(said))).join("");
  const attributes = [["file", file], ["project", project]].filter(([, value]) => value !== undefined).map(([name, value]) => ` data-${name}="${escaped(value)}"`).join("");
  return `${indent}<div class="not-content asl-block"><agent-speak${attributes}><pre tabindex="0"><code>${coloured.replaceAll("\n", "&#10;")}</code></pre></agent-speak></div>`;
}

/** Makes AgentSpeak of a document runnable. */
function withPrograms(path, body) {
  const lines = body.split("\n");
  for (const block of codeBlocks(body).reverse()) {
    const program = blockOf(block);
    if (program) lines.splice(block.line - 1, block.height, "", runnable(program), "");
  }
  return lines.join("\n");
}

/** Returns a document's title, and its text without it. */
function titled(path, body) {
  const found = /^# (.+)\n+/m.exec(body);
  if (!found) throw new Error(`${path} has no title`);
  return { title: found[1].replaceAll("`", ""), rest: body.slice(0, found.index) + body.slice(found.index + found[0].length) };
}

/** First words of a document, for search engines and links. */
function firstWords(rest) {
  const paragraph = rest.split(/\n{2,}/).find((part) => /^[A-Z*]/.test(part.trim())) ?? "";
  return paragraph.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "").replace(/\s+/g, " ").trim().slice(0, 200);
}

function write(address, { title, description = "", body, more = {} }) {
  const front = Object.entries({ title, ...(description && { description }), ...more }).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  const place = join(pages, `${address === "" ? "index" : address}.md`);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, `---\n${front.join("\n")}\n---\n\n${body}`);
}

/** Examples that run in a page: their agents are AgentSpeak alone. A test compares what they print. */
export const RUNNABLE = ["contract-net", "auction", "blocks", "domestic-robot", "sensors"];

/** Files of an example: its project first. */
export function filesOf(example) {
  const own = files.filter((path) => path.startsWith(`examples/${example}/`) && /\.(?:asl|mas2j)$/.test(path));
  return own.sort((one, other) => Number(other.endsWith(".mas2j")) - Number(one.endsWith(".mas2j"))).map((path) => ({ name: posix.basename(path), code: text(path).trimEnd() }));
}

/** An example's programs, to edit and to run in its page. */
function withFiles(path, body) {
  const [, example] = /^examples\/([^/]+)\/README\.md$/.exec(path) ?? [];
  if (!RUNNABLE.includes(example)) return body;
  const blocks = filesOf(example).map(({ name, code }) => `\`\`\`${name.endsWith(".asl") ? "agentspeak" : "text"} file=${name} project=${example}\n${code}\n\`\`\`\n`);
  return `${body.trimEnd()}\n\n## Run it here\n\nEach Run begins the whole society.\n\n${blocks.join("\n")}`;
}

/** Examples show what they print. */
function withOutput(path, body) {
  const output = path.startsWith("examples/") ? `${posix.dirname(path)}/expected.txt` : "";
  return known.has(output) ? `${body.trimEnd()}\n\n## Output\n\nThe lines of each agent come in this order; the order between agents is open.\n\n\`\`\`text\n${text(output).trimEnd()}\n\`\`\`\n` : body;
}

function stage() {
  rmSync(pages, { recursive: true, force: true });
  for (const folder of ["pictures", "playground"]) rmSync(join(assets, folder), { recursive: true, force: true });
  for (const [path, address] of addresses) {
    const { title, rest } = titled(path, text(path));
    const body = withPrograms(path, withLinks(path, withOutput(path, withFiles(path, rest))));
    write(address, { title, description: firstWords(rest), body });
  }
  for (const path of sources) {
    const isFolder = path.endsWith("/");
    const inside = isFolder ? files.filter((one) => one.startsWith(path)) : [];
    const body = isFolder ? inside.map((one) => `- \`${one}\``).join("\n") : `\`\`\`\`${LANGUAGES[path.split(".").at(-1)] ?? "text"}\n${text(path).trimEnd()}\n\`\`\`\`\n`;
    write(`source/${slug(path)}`, { title: path, body, more: { pagefind: false, tableOfContents: false } });
  }
  const help = helpPages(process.env.WHIMBREL);
  write("reference/commands", { title: "Commands", description: "Every command of whimbrel, and its options", body: help });
  // The classroom is the playground, and its parts are the editor, the Worker and the view of minds of each example.
  cpSync(join(root, "examples/classroom/page"), join(assets, "playground"), { recursive: true });
  return { pages: addresses.size, sources: sources.size };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const engine = join(root, "examples/classroom/page/lib/agentspeak.wasm");
  if (!existsSync(engine)) throw new Error("the engine for pages is not built: make classroom");
  const { pages, sources } = stage();
  console.log(`${pages} pages, ${sources} texts of files`);
}
