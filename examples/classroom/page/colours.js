/** Colours of AgentSpeak: tokens of a program, each with its kind. */

/** Tokens of a program, in the order of matching. */
const TOKENS = [
  ["comment", /\/\/[^\n]*|\/\*[\s\S]*?\*\//],
  ["text", /"(?:\\.|[^"\\\n])*"/],
  ["label", /@[a-z]\w*/],
  ["trigger", /[+-]!{1,2}\??|[+-]\?|(?<![\w)\]])[+-](?=[a-z~])|-\+|!!|!(?=[a-z~])|\?(?=[a-z~])|<-/],
  ["action", /\.[a-z]\w*/],
  ["number", /\b\d+(?:\.\d+)?\b/],
  ["word", /\b(?:true|false|not|if|else|for|while|MAS|agents|environment|asl)\b/],
  ["variable", /\b[A-Z_]\w*/],
];
const PATTERN = new RegExp(TOKENS.map(([name, { source }]) => `(?<${name}>${source})`).join("|"), "g");

/** Splits a text into pieces, each with its kind. */
export function* pieces(text) {
  let at = 0;
  for (const match of text.matchAll(PATTERN)) {
    if (match.index > at) yield ["", text.slice(at, match.index)];
    const [kind] = Object.entries(match.groups).find(([, found]) => found !== undefined);
    yield [kind, match[0]];
    at = match.index + match[0].length;
  }
  if (at < text.length) yield ["", text.slice(at)];
}
