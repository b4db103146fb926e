/** Location in the console: a view and its selection, as the address's hash. */

export const VIEWS = ["society", "conversations", "output", "mind", "directory", "compose", "health", "mobility", "security"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /** The chosen agent. */
  readonly of: string;
  readonly query: ReadonlyMap<string, string>;
}

export const HOME: Route = { view: "society", of: "", query: new Map() };

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Parses a hash such as `#/mind/bob?tab=plans`. An unknown view leads to the first one. */
export function readRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [name = "", ...rest] = path.split("/");
  const view = VIEWS.find((view) => view === name);
  if (view === undefined) return HOME;
  return { view, of: decode(rest.join("/")), query: new Map(new URLSearchParams(search)) };
}

export function writeRoute(view: View, of = "", query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return `#/${view}${of === "" ? "" : `/${encodeURIComponent(of)}`}${search === "" ? "" : `?${search}`}`;
}

/** Returns the token in a fragment that the node printed; null if there is none. */
export function tokenIn(hash: string): string | null {
  return /^#token=(.+)$/.test(hash) ? decode(hash.slice("#token=".length)) : null;
}
