/** The nodes as cards. Dropping an agent on a card moves it there. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { bytes, micros, short, visible } from "../model/format.js";
import type { NodeCard } from "../model/society.js";
import { confirm } from "../parts/dialog.js";
import { Menu } from "../parts/menu.js";
import { Spark } from "../parts/spark.js";
import { agents, health, live, order, society, totals } from "../session.js";
import { AgentCount, dropsOn } from "./places.js";

export function Nodes() {
  const { value: cards } = society.cards;
  const version = agents.pulse.version.value;
  // If a node does not report its number of agents, count them occasionally.
  const counts = useMemo(() => new Map(cards.some((card) => card.agents === null) ? agents.counts("node") : []), [Math.floor(version / 5), agents.known, cards.length]);
  return (
    <ul class="nodes" aria-label="Nodes">
      {cards.map((card) => (
        <Card key={card.name} card={card.agents === null ? { ...card, agents: counts.get(card.name) ?? 0 } : card} />
      ))}
    </ul>
  );
}

function Card({ card }: { readonly card: NodeCard }) {
  const isOver = useSignal(false);
  const told = totals.nodes.value.find(({ info }) => info.node === card.name);
  const { memory_bytes = null } = told?.info ?? {};
  const rates = told?.rates;
  const isCluster = card.load !== null || card.state === "draining";
  const drain = async (drains: boolean) => {
    const isMeant = !drains || (await confirm(`Drain ${card.name}?`, "It hands over its partitions to other nodes, and accepts no new ones.", "Drain"));
    if (isMeant) await order({ request: "drain", node: card.name, drains }, drains ? `Draining ${card.name}` : `${card.name} serves its share again`);
  };
  return (
    <li
      class={`node is-${card.state} ${isOver.value ? "is-over" : ""}`}
      data-node={card.name}
      {...dropsOn(card.name, isOver)}
    >
      <header>
        <i class="node-light" title={card.state} />
        <b>{visible(card.name, 24)}</b>
        {card.isHere ? <small>this node</small> : card.roundTripUs === null ? null : <small title="Round trip">{micros(card.roundTripUs)}</small>}
        {card.isPlacer ? <small title="Assigns partitions to nodes">placer</small> : null}
        {card.state === "running" ? null : <small class="is-fault">{visible(card.state, 20)}</small>}
        {isCluster && live.mayAct ? (
          <Menu label="···" title={`Actions on ${card.name}`} choices={[card.state === "draining" ? { label: "Undo drain", run: () => void drain(false) } : { label: "Drain", run: () => void drain(true) }]} />
        ) : null}
      </header>
      <div class="node-figures">
        <AgentCount place={card.name} agents={card.agents} />
        {memory_bytes === null ? null : (
          <span>
            <b>{bytes(memory_bytes)}</b>
          </span>
        )}
        {rates ? (
          <span>
            <b>{short(rates.sent)}</b> msg/s
          </span>
        ) : null}
      </div>
      <Spark of={health.of(card.name).column("sent").map((sent) => sent ?? 0)} label="Messages a second" />
      {card.load === null ? null : (
        <div class="load" title="Load by its agents">
          <span style={{ width: `${(card.load * 100).toFixed(0)}%` }} />
          <em>{(card.load * 100).toFixed(0)} %</em>
        </div>
      )}
      {card.troubles.map((trouble) => (
        <p class="is-fault">{visible(trouble, 200)}</p>
      ))}
    </li>
  );
}
