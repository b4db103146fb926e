/** What a browser keeps for a page, if it does: some keep nothing, or have no room, and throw. */

export type Lasting = "tab" | "browser";

/** Where texts are kept for as long as the tab is open, or the browser has them; null where the browser refuses that. */
function storage(lasting: Lasting): Storage | null {
  try {
    return lasting === "tab" ? sessionStorage : localStorage;
  } catch {
    return null;
  }
}

/** The text that is kept under a key; null if none is. */
export function kept(lasting: Lasting, key: string): string | null {
  try {
    return storage(lasting)?.getItem(key) ?? null;
  } catch {
    return null;
  }
}

/** Keeps a text under a key, or nothing any more; false if that cannot be. */
export function keep(lasting: Lasting, key: string, text: string | null): boolean {
  try {
    const where = storage(lasting);
    if (where === null) return false;
    if (text === null) where.removeItem(key);
    else where.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}
