/** What a tab keeps for as long as it is open: loaded anew it is the same one. Tabs do not see what others keep; but one that is made as a copy of another begins with what that has. */
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
    // A browser that keeps nothing.
  }
}
