/** Directory view: agents (AMS), services (DF), subscriptions, topics and groups; and registration by hand. */
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AgentInfo, EntryInfo, EntryWanted, ServiceInfo, TopicInfo } from "../live/vocabulary.js";
import { LiveError } from "../live/client.js";
import { compareNames } from "../model/agents.js";
import { count, duration, short, visible } from "../model/format.js";
import { entryOf, registrationOf, type Registration } from "../model/registration.js";
import { quote, searchFits } from "../model/pattern.js";
import { useKeys } from "../parts/hooks.js";
import { Icon } from "../parts/icons.js";
import { Facts, Pane } from "../parts/pane.js";
import { Empty, Name, State } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";
import { go, live, order, say } from "../session.js";
import { Subscriptions } from "./subscriptions.js";

type Tab = "df" | "ams" | "subscriptions" | "topics";
const tab = signal<Tab>("df");
const entries = signal<readonly EntryInfo[] | null>(null);
const amsAgents = signal<{ readonly agents: readonly AgentInfo[]; readonly total: number } | null>(null);
const topics = signal<readonly TopicInfo[] | null>(null);
const wanted = signal("");

/** Form for a registration: a new entry, a new service of an entry, or an existing service. */
interface Registering {
  readonly entry?: EntryInfo;
  readonly service?: ServiceInfo;
}

/** Interval of queries while the directory is shown, in milliseconds. */
const AGAIN_MS = 2_000;
const AMS_MAX = 5_000;

async function ask(): Promise<void> {
  if (!live.isLive) return;
  try {
    if (tab.value === "df") {
      const answer = await live.ask({ request: "services", elsewhere_but: [] });
      if (answer.answer === "services") entries.value = [...answer.entries].sort((one, other) => compareNames(one.agent, other.agent));
    } else if (tab.value === "ams") {
      const answer = await live.ask({ request: "agents", services: true, limit: AMS_MAX, elsewhere_but: [] });
      if (answer.answer === "agents") amsAgents.value = answer;
    } else if (tab.value === "topics") {
      const answer = await live.ask({ request: "topics" });
      if (answer.answer === "topics") topics.value = answer.topics;
    }
  } catch (error) {
    // Requests lost with the connection are repeated anyway.
    if (error instanceof LiveError && error.reason !== "lost") say(error.message, true);
  }
}

const TABS: readonly (readonly [Tab, string])[] = [
  ["df", "Services (DF)"],
  ["ams", "Agents (AMS)"],
  ["subscriptions", "Subscriptions"],
  ["topics", "Topics and groups"],
];

export function DirectoryView() {
  const chosen = useSignal<EntryInfo | null>(null);
  const registers = useSignal<Registering | null>(null);
  useEffect(() => {
    void ask();
    const timer = setInterval(() => void ask(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [tab.value, live.phase.value.is]);
  useKeys({ Escape: () => (registers.value ? (registers.value = null) : chosen.value ? (chosen.value = null) : (wanted.value = "")) });
  const pick = (one: Tab) => {
    tab.value = one;
    chosen.value = null;
  };
  return (
    <div class="split">
      <section class="panel is-fill">
        <div class="tools">
          <div class="choice" role="group" aria-label="Part of the directory">
            {TABS.filter(([one]) => one !== "subscriptions" || live.offers("subscriptions")).map(([one, label]) => (
              <button type="button" class="button" aria-pressed={tab.value === one} onClick={() => pick(one)}>
                {label}
              </button>
            ))}
          </div>
          <label class="search">
            <Icon of="search" />
            <input data-search aria-label="Search" placeholder={tab.value === "df" ? "Service, type, agent or property: shop, price=5" : "Search"} value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value)} />
            <kbd>/</kbd>
          </label>
          {live.mayAct ? (
            <button type="button" class="button" onClick={() => ((registers.value = {}), (chosen.value = null))}>
              <Icon of="plus" /> Register
            </button>
          ) : null}
        </div>
        {tab.value === "df" ? <Entries chosen={chosen.value} onChoose={(entry) => ((chosen.value = entry), (registers.value = null))} /> : tab.value === "ams" ? <AmsAgents /> : tab.value === "topics" ? <Topics /> : <Subscriptions wanted={wanted.value.trim()} />}
      </section>
      {registers.value ? <Register of={registers.value} onClose={() => (registers.value = null)} /> : chosen.value ? <EntryPane entry={chosen.value} onChange={(of) => ((registers.value = of), (chosen.value = null))} onClose={() => (chosen.value = null)} /> : null}
    </div>
  );
}

/** Returns true if any text of the entry matches. */
function entryFits(entry: EntryInfo, text: string): boolean {
  const all = [entry.agent, ...entry.services.flatMap((service) => [service.name, service.kind, ...service.properties.map(([name, value]) => `${name}=${value}`), ...service.protocols, ...service.ontologies])];
  return all.some((one) => searchFits(text, one));
}

function Entries({ chosen, onChoose }: { readonly chosen: EntryInfo | null; readonly onChoose: (entry: EntryInfo) => void }) {
  const all = entries.value;
  const list = (all ?? []).filter((entry) => entryFits(entry, wanted.value.trim()));
  const words = (values: readonly string[]) => [...new Set(values)].map((value) => visible(value, 40)).join(", ");
  return (
    <>
      <div class="table-head entry-row">
        <span>Agent</span>
        <span>Services</span>
        <span>Type</span>
        <span class="is-wide">Properties</span>
        <span class="is-wide">Lease</span>
      </div>
      <VirtualList
        items={list}
        rowHeight={30}
        label="Entries of the directory facilitator"
        keyOf={(entry) => `${entry.agent} ${entry.node}`}
        selected={chosen ? `${chosen.agent} ${chosen.node}` : null}
        onSelect={onChoose}
        rowClass="entry-row"
        empty={all === null ? <Empty title="Loading…" /> : all.length === 0 ? <Empty title="No registered services">Agents register with .df_register or a request to df. The button Register adds an entry.</Empty> : <Empty title="No entry matches the search" />}
        row={(entry) => (
          <>
            <Name of={entry.agent} />
            <span class="cut">{words(entry.services.map(({ name }) => name))}</span>
            <span class="cut is-quiet">{words(entry.services.map(({ kind }) => kind))}</span>
            <span class="cut is-wide is-quiet mono">{words(entry.services.flatMap(({ properties }) => properties.map(([name, value]) => `${name}=${value}`)))}</span>
            <span class="is-wide is-quiet">{entry.lease_left_ms === null ? "" : duration(entry.lease_left_ms)}</span>
          </>
        )}
      />
    </>
  );
}

function EntryPane({ entry, onChange, onClose }: { readonly entry: EntryInfo; readonly onChange: (of: Registering) => void; readonly onClose: () => void }) {
  const list = (values: readonly string[]) => (values.length === 0 ? null : values.map((value) => visible(value, 80)).join(", "));
  // Only the agent's own node knows the lease.
  const change = async (at?: number) => {
    const answer = await order({ request: "at", node: entry.node, ask: { request: "services", agent: entry.agent } }, null);
    const now = answer?.answer === "services" ? answer.entries.find(({ agent }) => agent === entry.agent) : undefined;
    if (now) onChange({ entry: now, ...(at !== undefined && now.services[at] && { service: now.services[at] }) });
  };
  const deregister = async () => {
    if (await order({ request: "deregister", agent: entry.agent }, "Deregistered")) onClose();
    void ask();
  };
  return (
    <Pane title={<Name of={entry.agent} />} label="Entry" onClose={onClose}>
      <div class="links">
        <button type="button" class="button" onClick={() => go("society", entry.agent)}>
          <Icon of="society" /> Agent
        </button>
        <button type="button" class="button" onClick={() => go("compose", "", { to: quote(entry.agent) })}>
          <Icon of="send" /> Write
        </button>
        {live.mayAct ? (
          <>
            <button type="button" class="button" onClick={() => void change()}>
              Add a service
            </button>
            <button type="button" class="button" onClick={() => void deregister()}>
              Deregister
            </button>
          </>
        ) : null}
      </div>
      <Facts of={[["Node", visible(entry.node, 60)], ["Lease", entry.lease_left_ms === null ? "until the agent ends" : duration(entry.lease_left_ms)], ["Protocols", list(entry.protocols)], ["Ontologies", list(entry.ontologies)], ["Languages", list(entry.languages)]]} />
      {entry.services.map((service, at) => (
        <section class="service">
          <h3>{visible(service.name, 80)}</h3>
          <Facts
            of={[
              ["Type", visible(service.kind, 80)],
              ["Owner", service.owner === null ? null : visible(service.owner, 80)],
              ["Protocols", list(service.protocols)],
              ["Ontologies", list(service.ontologies)],
              ["Languages", list(service.languages)],
              ...service.properties.map(([name, value]) => [visible(name, 40), <code>{visible(value, 200)}</code>] as const),
            ]}
          />
          {live.mayAct ? (
            <button type="button" class="button" aria-label={`Modify ${visible(service.name, 80)}`} onClick={() => void change(at)}>
              Modify
            </button>
          ) : null}
        </section>
      ))}
    </Pane>
  );
}

function AmsAgents() {
  const found = amsAgents.value;
  const list = (found?.agents ?? []).filter((agent) => searchFits(wanted.value.trim(), agent.name));
  return (
    <>
      <div class="table-head ams-row">
        <span>Agent</span>
        <span>State</span>
        <span>Kind</span>
        <span class="is-wide">Owner</span>
        <span class="is-wide">Node</span>
      </div>
      <VirtualList
        items={list}
        rowHeight={28}
        label="Agents in the AMS"
        keyOf={(agent) => agent.name}
        onOpen={(agent) => go("society", agent.name)}
        rowClass="ams-row"
        empty={found === null ? <Empty title="Loading…" /> : <Empty title="No agent matches the search" />}
        row={(agent) => (
          <>
            <Name of={agent.name} />
            <State of={agent.state} />
            <span class="is-quiet">{visible(agent.kind, 14)}</span>
            <span class="is-wide is-quiet cut">{agent.owner === null ? "" : visible(agent.owner, 60)}</span>
            <span class="is-wide is-quiet cut">{visible(agent.node, 30)}</span>
          </>
        )}
      />
      {found && found.total > found.agents.length ? <p class="foot is-quiet">The first {count(found.agents.length)} of {count(found.total)}.</p> : null}
    </>
  );
}

function Topics() {
  const all = topics.value;
  const list = (all ?? []).filter((topic) => searchFits(wanted.value.trim(), topic.name));
  return (
    <>
      <div class="table-head topic-row">
        <span>Topic or group</span>
        <span class="is-number">Here</span>
        <span class="is-number">Other nodes</span>
      </div>
      <VirtualList
        items={list}
        rowHeight={28}
        label="Topics and groups"
        keyOf={(topic) => topic.name}
        onOpen={(topic) => go("compose", "", { to: quote(topic.name) })}
        rowClass="topic-row"
        empty={all === null ? <Empty title="Loading…" /> : all.length === 0 ? <Empty title="No topics or groups">Agents join with .subscribe and .join_group.</Empty> : <Empty title="No topic or group matches the search" />}
        row={(topic) => (
          <>
            <Name of={topic.name} />
            <span class="is-number">{short(topic.members)}</span>
            <span class="is-number">{short(topic.other_nodes)}</span>
          </>
        )}
      />
    </>
  );
}

/** Form that registers an agent, or changes its entry. */
function Register({ of: { entry, service }, onClose }: { readonly of: Registering; readonly onClose: () => void }) {
  const form = useSignal(registrationOf(entry, service));
  const field = (member: keyof Registration, label: string, placeholder = "", required = false, disabled = false) => (
    <label>
      {label}
      <input class="field" placeholder={placeholder} required={required} disabled={disabled} value={form.value[member]} onInput={(event) => (form.value = { ...form.value, [member]: event.currentTarget.value })} />
    </label>
  );
  const send = async (wanted: EntryWanted) => {
    if (await order({ request: entry ? "modify" : "register", ...wanted }, entry ? "Modified" : "Registered")) onClose();
    void ask();
  };
  return (
    <Pane title={entry ? (service ? "Modify a service" : "Add a service") : "Register a service"} label="Register" onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void send(entryOf(form.value, entry, service));
        }}
      >
        {field("agent", "Agent", "seller", true, entry !== undefined)}
        {field("name", "Service", "tea", true)}
        {field("kind", "Type", "shop", true)}
        {field("protocols", "Protocols", "fipa-request")}
        {field("ontologies", "Ontologies")}
        {field("properties", "Properties", "price=5 colour=green")}
        {field("lease", "Lease, in seconds", "until the agent ends")}
        <div class="links">
          <button type="submit" class="button is-main">
            {entry ? "Modify" : "Register"}
          </button>
          {service && entry && entry.services.length > 1 ? (
            <button type="button" class="button" onClick={() => void send({ ...entryOf(form.value, entry, service), services: entry.services.filter((one) => one !== service) })}>
              Remove
            </button>
          ) : null}
        </div>
      </form>
    </Pane>
  );
}
