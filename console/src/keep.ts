/** Lifetime of a page's stored texts. Some browsers store nothing, or have no room, and throw. */

export type Lasting = "tab" | "browser";

/** Returns the browser's storage for a tab or for good; null where the browser refuses storage. */
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
