/** Colours for AgentSpeak: comments, strings, triggers, internal actions and variables. No parser: only tokens. */

export type Kind = "" | "comment" | "string" | "trigger" | "action" | "variable" | "label";
export type Part = readonly [Kind, string];

const TOKEN = /(\/\/.*$)|(\/\*)|("(?:[^"\\]|\\.)*"?)|(@[\w.]+)|([+\-^]!!?|[+\-^]\?|!!|(?<![\w)\]])[!?](?=[a-z]))|((?<![\w)])\.[a-z]\w*)|((?<!\w)[A-Z_]\w*)/g;
const KINDS: readonly Kind[] = ["comment", "comment", "string", "label", "trigger", "action", "variable"];

/** Splits lines into parts with kinds. */
export function highlighted(lines: readonly string[]): Part[][] {
  let isComment = false;
  return lines.map((line) => {
    const parts: Part[] = [];
    let from = 0;
    const take = (kind: Kind, to: number) => {
      if (to > from) parts.push([kind, line.slice(from, to)]);
      from = to;
    };
    while (from < line.length) {
      if (isComment) {
        const end = line.indexOf("*/", from);
        isComment = end < 0;
        take("comment", end < 0 ? line.length : end + 2);
        continue;
      }
      TOKEN.lastIndex = from;
      const found = TOKEN.exec(line);
      if (!found) {
        take("", line.length);
        break;
      }
      take("", found.index);
      const kind = KINDS[found.slice(1).findIndex((group) => group !== undefined)] ?? "";
      isComment = found[2] !== undefined;
      take(kind, found.index + found[0].length);
    }
    return parts;
  });
}
