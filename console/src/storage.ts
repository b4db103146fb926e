/** Lifetime of a page's stored texts. Some browsers store nothing, or have no room, and throw. */

export type StorageLifetime = "tab" | "browser";

/** Returns the browser's storage for a tab or for good; null where the browser refuses storage. */
function storage(lasting: StorageLifetime): Storage | null {
  try {
    return lasting === "tab" ? sessionStorage : localStorage;
  } catch {
    return null;
  }
}

/** Returns the stored text of a key; null if there is none. */
export function readStored(lasting: StorageLifetime, key: string): string | null {
  try {
    return storage(lasting)?.getItem(key) ?? null;
  } catch {
    return null;
  }
}

/** Stores or (null) removes the text of a key. Returns false if the browser refuses. */
export function writeStored(lasting: StorageLifetime, key: string, text: string | null): boolean {
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
