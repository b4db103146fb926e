/** Matches a name against a pattern: `*` for any text, `?` for any character, as on the command line. */
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

/** Matches a name against a search: a pattern, or any part of the name, ignoring case. */
export function searchFits(search: string, name: string): boolean {
  if (search === "") return true;
  return isPattern(search) ? patternFits(search.toLowerCase(), name.toLowerCase()) : name.toLowerCase().includes(search.toLowerCase());
}

/** A name or a pattern, as typed. */
export interface Word {
  readonly text: string;
  /** True for text in quotation marks. It is a name, never a pattern. */
  readonly isQuoted: boolean;
}

/** Splits `a, b*  "c, d"` into three words. Text in quotation marks is one word, with its commas, spaces and stars. */
export function wordsOf(text: string): Word[] {
  return [...text.matchAll(/"((?:\\.|[^"\\])*)(?:"|$)|[^\s,]+/g)].flatMap(([whole, quoted]) => {
    const word = quoted === undefined ? { text: whole, isQuoted: false } : { text: quoted.replace(/\\(.)/g, "$1"), isQuoted: true };
    return word.text === "" ? [] : [word];
  });
}

/** Splits a list of receivers into names. */
export function namesOf(text: string): string[] {
  return wordsOf(text).map(({ text }) => text);
}

/** Quotes a name for {@link wordsOf} if it would be split, or taken for a pattern. */
export function quote(name: string): string {
  return /[\s,*?"]/.test(name) ? `"${name.replace(/["\\]/g, "\\$&")}"` : name;
}

/** Returns a matcher for a list of names and patterns. */
export function named(text: string): (name: string) => boolean {
  const words = wordsOf(text);
  const isWild = ({ text, isQuoted }: Word) => !isQuoted && isPattern(text);
  const names = new Set(words.filter((word) => !isWild(word)).map(({ text }) => text));
  const wild = words.filter(isWild);
  return (name) => names.has(name) || wild.some(({ text }) => patternFits(text, name));
}

/** Returns the names among the words, without patterns. */
export function plainNames(text: string): string[] {
  return wordsOf(text).flatMap(({ text, isQuoted }) => (isQuoted || !isPattern(text) ? [text] : []));
}
