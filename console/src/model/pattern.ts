/** Patterns for names: `*` stands for any text, `?` for any one character. The same as on the command line. */
export function patternFits(pattern: string, name: string): boolean {
  let at = 0;
  let in_ = 0;
  let star = -1;
  let resume = 0;
  while (in_ < name.length) {
    const wanted = pattern[at];
    if (wanted === "*") {
      star = at++;
      resume = in_;
    } else if (wanted !== undefined && (wanted === "?" || wanted === name[in_])) {
      at++;
      in_++;
    } else if (star >= 0) {
      at = star + 1;
      in_ = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}

export function isPattern(text: string): boolean {
  return /[*?]/.test(text);
}

/** What was typed to search: a pattern, or any part of a name, in any case. */
export function searchFits(search: string, name: string): boolean {
  if (search === "") return true;
  return isPattern(search) ? patternFits(search.toLowerCase(), name.toLowerCase()) : name.toLowerCase().includes(search.toLowerCase());
}

/** A name or a pattern, as it was written. */
export interface Word {
  readonly text: string;
  /** A name, whatever is in it: it stood in quotation marks. */
  readonly isQuoted: boolean;
}

/** `a, b*  "c, d"` as three: what stands in quotation marks is one, with its commas, spaces and stars. */
export function wordsOf(text: string): Word[] {
  return [...text.matchAll(/"((?:\\.|[^"\\])*)(?:"|$)|[^\s,]+/g)].flatMap(([whole, quoted]) => {
    const word = quoted === undefined ? { text: whole, isQuoted: false } : { text: quoted.replace(/\\(.)/g, "$1"), isQuoted: true };
    return word.text === "" ? [] : [word];
  });
}

/** Names alone, for who is to be written to. */
export function namesOf(text: string): string[] {
  return wordsOf(text).map(({ text }) => text);
}

/** A name as {@link wordsOf} reads it: in quotation marks if it would be taken for several, or for a pattern. */
export function quote(name: string): string {
  return /[\s,*?"]/.test(name) ? `"${name.replace(/["\\]/g, "\\$&")}"` : name;
}

/** What was asked for, name by name: made once, asked for each. */
export function named(text: string): (name: string) => boolean {
  const words = wordsOf(text);
  const isWild = ({ text, isQuoted }: Word) => !isQuoted && isPattern(text);
  const names = new Set(words.filter((word) => !isWild(word)).map(({ text }) => text));
  const wild = words.filter(isWild);
  return (name) => names.has(name) || wild.some(({ text }) => patternFits(text, name));
}

/** Those of them that are names. */
export function plainNames(text: string): string[] {
  return wordsOf(text).flatMap(({ text, isQuoted }) => (isQuoted || !isPattern(text) ? [text] : []));
}
