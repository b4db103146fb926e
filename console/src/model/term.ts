/** Formatter of long contents: breaks terms, lists and JSON into lines at their brackets. */

const OPEN = "([{";
const CLOSE = ")]}";

/** Splits a content into tokens: quoted texts, words, brackets, commas. */
function pieces(text: string): string[] {
  return text.match(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[()[\]{},]|\s+|[^\s()[\]{},"']+|["']/g) ?? [];
}

/** Returns true if all brackets match. Other texts are not terms, and stay unchanged. */
function isBalanced(parts: readonly string[]): boolean {
  const open: string[] = [];
  for (const part of parts) {
    if (part.length === 1 && OPEN.includes(part)) open.push(part);
    else if (part.length === 1 && CLOSE.includes(part) && open.pop() !== OPEN[CLOSE.indexOf(part)]) return false;
  }
  return open.length === 0;
}

interface Group {
  readonly open: string;
  readonly close: string;
  readonly items: Item[][];
}
type Item = string | Group;

function parse(parts: readonly string[]): Item[] {
  const root: Group = { open: "", close: "", items: [[]] };
  const open: Group[] = [root];
  for (const part of parts) {
    const group = open.at(-1) ?? root;
    if (part.length === 1 && OPEN.includes(part)) {
      const inner: Group = { open: part, close: CLOSE[OPEN.indexOf(part)] ?? "", items: [[]] };
      group.items.at(-1)?.push(inner);
      open.push(inner);
    } else if (part.length === 1 && CLOSE.includes(part)) {
      open.pop();
    } else if (part === "," && open.length > 1) {
      group.items.push([]);
    } else {
      group.items.at(-1)?.push(/^\s+$/.test(part) ? " " : part);
    }
  }
  return root.items[0] ?? [];
}

function flat(items: readonly Item[]): string {
  return items.map((item) => (typeof item === "string" ? item : `${item.open}${item.items.map((inner) => flat(inner).trim()).join(", ")}${item.close}`)).join("");
}

function write(items: readonly Item[], indent: number, width: number): string {
  const line = flat(items);
  if (line.length + indent <= width) return line;
  return items
    .map((item) => {
      if (typeof item === "string") return item;
      const inner = item.items.map((part) => " ".repeat(indent + 2) + write(trimmed(part), indent + 2, width));
      return `${item.open}\n${inner.join(",\n")}\n${" ".repeat(indent)}${item.close}`;
    })
    .join("");
}

function trimmed(items: readonly Item[]): Item[] {
  const from = items[0] === " " ? 1 : 0;
  const to = items.at(-1) === " " ? items.length - 1 : items.length;
  return items.slice(from, Math.max(from, to));
}

/** Maximum nesting that is broken into lines. Deeper recursion could exhaust the stack. */
const LEVELS_MAX = 200;

function levels(parts: readonly string[]): number {
  let level = 0;
  let most = 0;
  for (const part of parts) {
    if (part.length === 1 && OPEN.includes(part)) most = Math.max(most, ++level);
    else if (part.length === 1 && CLOSE.includes(part)) level--;
  }
  return most;
}

/** Formats a content on as many lines as needed. Returns other texts unchanged. */
export function pretty(content: string, width = 44): string {
  if (content.length <= width || content.length > 50_000) return content;
  const parts = pieces(content);
  if (!isBalanced(parts) || levels(parts) > LEVELS_MAX) return content;
  return write(trimmed(parse(parts)), 0, width);
}
