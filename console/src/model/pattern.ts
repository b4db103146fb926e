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

/** `a, b*  c` as three patterns. */
export function patternsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== "");
}
