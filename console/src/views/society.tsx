/** Society view: nodes, agents as a list and as a map, and actions. */
import { signal, useComputed, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { AgentInfo } from "../live/vocabulary.js";
import { ALL_AGENTS, placeOf, stateOf, type AgentColumn, type AgentSort } from "../model/agents.js";
import { clock, count, short, visible } from "../model/format.js";
import { RECENT_MS } from "../model/verdict.js";
import { ask } from "../parts/dialog.js";
import { useKeys } from "../parts/hooks.js";
import { Icon } from "../parts/icons.js";
import { Empty, Name, State } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";
import { agents, agentMoves, devices, go, live, output, programsOf, route, say, society } from "../session.js";
import { AgentPane } from "./agent.js";
import { Devices } from "./devices.js";
import { SocietyMap } from "./map.js";
import { Nodes } from "./nodes.js";
import { filter, moveByName } from "./places.js";

type Layout = "list" | "both" | "map";
const sort = signal<AgentSort>({ by: "name", descending: false });
const layout = signal<Layout>("both");

const COLUMNS: readonly (readonly [AgentColumn, string, string])[] = [
  ["name", "Agent", ""],
  ["program", "Program", "is-wide"],
  ["state", "State", ""],
  ["node", "Node", "is-wide of-node"],
  ["mailbox", "Mailbox", "is-number"],
  ["rate", "Msg/s", "is-number"],
  ["handled", "Handled", "is-number is-wide of-list"],
  ["failed", "Failed", "is-wide of-list"],
];
/** Columns whose greatest values come first. */
const GREATEST_FIRST: readonly AgentColumn[] = ["mailbox", "rate", "handled", "failed"];

export function choose(agent: string): void {
  go("society", agent);
}

export function SocietyView() {
  const chosen = route.value.of;
  useKeys({
    Escape: () => (chosen === "" ? (filter.value = ALL_AGENTS) : go("society")),
    n: () => void (live.mayAct && live.offers("spawn") && spawn()),
    v: () => void (live.mayAct && chosen !== "" && moveByName(chosen)),
    m: () => (layout.value = layout.value === "both" ? "map" : layout.value === "map" ? "list" : "both"),
  });
  const showsMap = layout.value !== "list";
  return (
    <div class="society">
      <Nodes />
      <Devices />
      <div class={`split is-${layout.value} ${chosen === "" ? "" : "has-pane"}`}>
        {layout.value === "map" ? null : <AgentList chosen={chosen} />}
        {showsMap ? <SocietyMap chosen={chosen} onChoose={choose} onLayout={() => (layout.value = layout.value === "map" ? "both" : "map")} isWhole={layout.value === "map"} /> : null}
        {chosen === "" ? null : <AgentPane name={chosen} onClose={() => go("society")} />}
      </div>
    </div>
  );
}

/** Maximum agents that a node creates at once. */
const SPAWNED_MAX = 10_000;

/** Asks for a program and a number, and creates the agents. After a failure the form keeps its values. */
async function spawn(): Promise<void> {
  let written = ["", "", "1", "", ""];
  let fault = "";
  const programs = await programsOf();
  if (programs.length === 1 && programs[0] !== undefined) written[1] = programs[0];
  for (;;) {
    const lines = await ask(
      "New agents",
      "Several agents are numbered: bidder1, bidder2.",
      "Create",
      [
        { label: "Name", placeholder: "bidder" },
        { label: "Program of the project", placeholder: "bidder.asl", suggestions: programs },
        { label: "Number of agents", max: SPAWNED_MAX },
        { label: "Initial beliefs", placeholder: "price(tea, 5), rich", isOptional: true },
        { label: "Initial goals", placeholder: "serve(amy)", isOptional: true },
      ].map((line, index) => ({ ...line, value: written[index] ?? "" })),
      fault,
    );
    if (!lines) return;
    const [name = "", program = "", many = "1", beliefs = "", goals = ""] = (written = [...lines]);
    const count = Number(many);
    try {
      const answer = await live.ask({ request: "spawn", name, program, count: count === 1 ? null : count, beliefs: beliefs || null, goals: goals || null });
      if (answer.answer === "spawned") say(answer.agents.length === 1 ? `${answer.agents[0]} was created` : `${answer.agents.length} agents were created`);
      return;
    } catch (error) {
      fault = visible(error instanceof Error ? error.message : String(error), 400);
    }
  }
}

function AgentList({ chosen }: { readonly chosen: string }) {
  const version = agents.pulse.version.value;
  const list = useMemo(() => agents.list(filter.value, sort.value), [version, filter.value, sort.value]);
  return (
    <section class="panel is-fill">
      <Head />
      <Filters shown={list.length} />
      {agents.silent.value.length > 0 ? (
        <p class="remark is-fault" role="status">
          {visible(agents.silent.value.join(", "), 200)} {agents.silent.value.length === 1 ? "does" : "do"} not answer: only the names of agents there are known.
        </p>
      ) : null}
      <div class={`table-head ${rowClass()}`} role="row">
        {COLUMNS.map(([by, title, kind]) => {
          const isIt = sort.value.by === by;
          return (
            <button type="button" class={kind} aria-pressed={isIt} onClick={() => (sort.value = { by, descending: isIt ? !sort.value.descending : GREATEST_FIRST.includes(by) })}>
              {title}
              {isIt ? <Icon of={sort.value.descending ? "down" : "up"} /> : null}
            </button>
          );
        })}
      </div>
      <VirtualList
        items={list}
        rowHeight={28}
        label="Agents"
        keyOf={(agent) => agent.name}
        selected={chosen === "" ? null : chosen}
        onSelect={(agent) => choose(agent.name)}
        onOpen={(agent) => (live.offers("mind") ? go("mind", agent.name) : choose(agent.name))}
        rowClass={rowClass()}
        draggable={(agent) => agent.name}
        empty={agents.known === 0 ? <Empty title="No agents yet">Agents appear here as soon as the node has some. New agents (n) creates some from a program of the project.</Empty> : <Empty title="No agent matches the filter">Press Esc to clear the filters.</Empty>}
        row={(agent) => <AgentRow agent={agent} />}
      />
    </section>
  );
}

/** Columns of nodes are shown only if there are several places. */
function rowClass(): string {
  return `agent-row ${society.cards.value.length + devices.all.value.length > 1 ? "has-node" : ""}`;
}

function AgentRow({ agent }: { readonly agent: AgentInfo }) {
  const isMoving = agentMoves.of(agent.name)?.is === "under way";
  const fault = output.lastFault(agent.name);
  const rate = agents.rate(agent.name);
  return (
    <>
      <Name of={agent.name} />
      <span class="is-wide is-quiet cut" title={visible(agent.kind, 20)}>
        {visible(agent.program ?? agent.kind, 40)}
      </span>
      <State of={isMoving ? "transit" : stateOf(agent)} />
      <span class="is-wide of-node is-quiet cut">{visible(isMoving ? `to ${agentMoves.of(agent.name)?.to}` : placeOf(agent), 24)}</span>
      <span class={`is-number ${(agent.mailbox ?? 0) > 0 ? "" : "is-quiet"}`}>{agent.mailbox === null ? "–" : short(agent.mailbox)}</span>
      <span class={`is-number ${rate > 0 ? "" : "is-quiet"}`}>{agent.handled === null ? "–" : short(rate < 9.95 ? Math.round(rate * 10) / 10 : rate)}</span>
      <span class="is-number is-wide of-list">{agent.handled === null ? "–" : short(agent.handled)}</span>
      <span class="is-wide of-list is-fault" title={fault === undefined ? "" : visible(fault.text, 400)}>
        {fault === undefined ? "" : clock(fault.at_us).slice(0, 8)}
      </span>
      {fault !== undefined && fault.at_us > (Date.now() - RECENT_MS) * 1000 ? <i class="failed-mark" title={visible(fault.text, 400)} /> : null}
    </>
  );
}

function Head() {
  agents.pulse.version.value;
  return (
    <div class="tools list-head">
      <h2>Agents</h2>
      <span class="is-quiet">{count(agents.total)}</span>
      <button type="button" class={`button ${layout.value === "list" ? "" : "only-phone"}`} onClick={() => (layout.value = layout.value === "list" ? "both" : "map")}>
        Map
      </button>
      {live.mayAct && live.offers("spawn") ? (
        <button type="button" class="button" title="Create agents from a program (n)" onClick={() => void spawn()}>
          <Icon of="plus" /> New agents
        </button>
      ) : null}
    </div>
  );
}

function Filters({ shown }: { readonly shown: number }) {
  const { value } = filter;
  const version = agents.pulse.version.value;
  // Counting ten thousand agents three times is too slow for each frame.
  const options = useMemo(() => (["kind", "state", "node"] as const).map((by) => [by, agents.counts(by)] as const), [Math.floor(version / 5), agents.known]);
  const isAll = useComputed(() => filter.value === ALL_AGENTS);
  const total = useSignal(0);
  total.value = agents.total;
  return (
    <div class="tools">
      <label class="search">
        <Icon of="search" />
        <input data-search placeholder="Search: bob, seller*" aria-label="Search agents" value={value.search} onInput={(event) => (filter.value = { ...value, search: event.currentTarget.value })} />
        <span class="search-note" aria-live="polite">
          {isAll.value ? "" : `${count(shown)} of ${count(total.value)}`}
          {agents.total > agents.known ? ` (only the first ${count(agents.known)} are loaded)` : ""}
        </span>
        <kbd>/</kbd>
      </label>
      {options.map(([by, counts]) => (
        <select class="field" aria-label={`Filter by ${by}`} value={value[by]} onChange={(event) => (filter.value = { ...value, [by]: event.currentTarget.value })}>
          <option value="">any {by}</option>
          {counts.map(([name, many]) => (
            <option value={name}>
              {visible(name, 24)} ({short(many)})
            </option>
          ))}
        </select>
      ))}
    </div>
  );
}
