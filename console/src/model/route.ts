/** Where in the console one is: a view and what it shows, as the address's hash says. */

export const VIEWS = ["society", "conversations", "mind", "directory", "compose", "health", "mobility", "security"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /** What is chosen there: an agent. */
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

/** `#/mind/bob?tab=plans`; what is no view leads to the first one. */
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

/** The token in the fragment that the node prints, if there is one. */
export function tokenIn(hash: string): string | null {
  return /^#token=(.+)$/.test(hash) ? decode(hash.slice("#token=".length)) : null;
}
