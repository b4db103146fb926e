/** State that a tab keeps while it is open: reloaded, it is the same tab. Tabs do not see each other's state; but a tab
 * that was made as a copy of another begins with that one's. */
const KEY = "roaming";

export function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

export function keep(what) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ ...kept(), ...what }));
  } catch {
    // The browser keeps nothing.
  }
}
