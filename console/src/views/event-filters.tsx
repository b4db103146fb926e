/** Filters of the Conversations view. */
import { useSignal } from "@preact/signals";
import { short, visible } from "../model/format.js";
import { family, FAMILY_ORDER } from "../model/performative.js";
import { ALL_EVENTS, type EventFilter } from "../model/recording.js";
import { AgentSuggestions } from "../parts/agent-suggestions.js";
import { Icon } from "../parts/icons.js";
import { recording } from "../session.js";

/** Returns true if the filter is empty. */
export const isAny = (filter: EventFilter): boolean => Object.values(filter).every((part) => part.length === 0);

export function Filters() {
  const filter = recording.filter.value;
  const shows = useSignal(false);
  const set = (part: Partial<EventFilter>) => recording.want({ ...filter, ...part });
  return (
    <>
      <div class="tools filters">
        <label class="search">
          <Icon of="search" />
          <input data-search aria-label="Agents" placeholder="Agents: buyer seller*" list="agents-known" value={filter.agents} onInput={(event) => set({ agents: event.currentTarget.value })} />
          <kbd>/</kbd>
        </label>
        <AgentSuggestions typed={filter.agents} />
        <input class="field" aria-label="Conversation" placeholder="Conversation: job-*" value={filter.conversation} onInput={(event) => set({ conversation: event.currentTarget.value.trim() })} />
        <input class="field" aria-label="Content" placeholder="Content has…" value={filter.content} onInput={(event) => set({ content: event.currentTarget.value })} />
        <button type="button" class="button" aria-expanded={shows.value} aria-pressed={filter.performatives.length > 0} onClick={() => (shows.value = !shows.value)}>
          <Icon of="filter" /> Performatives{filter.performatives.length > 0 ? ` (${filter.performatives.length})` : ""}
        </button>
        {isAny(filter) ? null : (
          <button type="button" class="button" onClick={() => recording.want(ALL_EVENTS)}>
            Show all
          </button>
        )}
      </div>
      {shows.value ? <Performatives chosen={filter.performatives} onChoose={(performatives) => set({ performatives })} /> : null}
    </>
  );
}

function Performatives({ chosen, onChoose }: { readonly chosen: readonly string[]; readonly onChoose: (performatives: readonly string[]) => void }) {
  recording.pulse.version.value;
  const seen = new Map(recording.performatives);
  for (const one of chosen) if (!seen.has(one)) seen.set(one, 0);
  const order = [...seen].sort(([a], [b]) => FAMILY_ORDER.indexOf(family(a)) - FAMILY_ORDER.indexOf(family(b)) || (a < b ? -1 : 1));
  return (
    <div class="chips" role="group" aria-label="Performatives">
      {order.length === 0 ? <span class="is-quiet">No performatives yet.</span> : null}
      {order.slice(0, 60).map(([performative, many]) => {
        const isOn = chosen.includes(performative);
        return (
          <button type="button" key={performative} class={`chip is-${family(performative)}`} aria-pressed={isOn} onClick={() => onChoose(isOn ? chosen.filter((one) => one !== performative) : [...chosen, performative])}>
            <i class="dot" /> {visible(performative, 30)} <small>{short(many)}</small>
          </button>
        );
      })}
    </div>
  );
}
