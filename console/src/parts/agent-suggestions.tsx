/** Suggestions for agent names. */
import { quote } from "../model/pattern.js";
import { agents } from "../session.js";

const OFFERED_MAX = 40;

/** Agents whose names begin with the last typed word, for inputs with `list="agents-known"`. */
export function AgentSuggestions({ typed }: { readonly typed: string }) {
  const last = /[^\s,]*$/.exec(typed)?.[0] ?? "";
  const before = typed.slice(0, typed.length - last.length);
  const offered: string[] = [];
  for (const name of agents.names) {
    if (offered.length === OFFERED_MAX) break;
    if (name.startsWith(last) && name !== last) offered.push(before + quote(name));
  }
  return (
    <datalist id="agents-known">
      {offered.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
