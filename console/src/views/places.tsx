/** Places of agents, nodes and devices, and moves between them. */
import { signal } from "@preact/signals";
import { ALL_AGENTS, placeOf, type AgentFilter } from "../model/agents.js";
import { restriction } from "../model/devices.js";
import { clock, count, short, visible } from "../model/format.js";
import { moveText } from "../model/moves.js";
import { ask } from "../parts/dialog.js";
import type { Option } from "../parts/choice-line.js";
import type { Choice } from "../parts/menu.js";
import { agents, devices, agentMoves, live, say, sayProgress, society } from "../session.js";

/** Filter of the agent list. */
export const filter = signal<AgentFilter>(ALL_AGENTS);

/** Maximum places in a menu. For more, a dialog asks for the name. */
const IN_MENU_MAX = 12;

/** Returns all other places, with their descriptions. */
function placesBut(here: string): Option[] {
  const nodes = society.cards.value.map(({ name, state }) => ({ value: name, note: state === "running" ? "node" : `node, ${state}` }));
  const others = devices.all.value.map((device) => ({ value: device.name, note: restriction(device) === "" ? `device, ${short(device.units)} units` : `device: ${restriction(device)}` }));
  return [...nodes, ...others].filter(({ value }) => value !== here);
}

/** Moves an agent to a node or device. It takes a while if the program travels, too, or a page has to answer. */
export async function move(name: string, to: string): Promise<void> {
  const agent = agents.named(name);
  if (agent && placeOf(agent) === to) return;
  const before = agentMoves.of(name);
  if (before?.is === "under way") return say(`${name} is already moving to ${before.to}`);
  const tell = sayProgress(`Moving ${name} to ${to}…`);
  agentMoves.note(name, to, "under way", Date.now());
  try {
    await live.ask({ request: "move", agent: name, to });
    agentMoves.note(name, to, "done", Date.now());
    tell(`${name} moved to ${to}`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    agentMoves.note(name, to, "refused", Date.now(), why);
    tell(why, true);
  }
}

/** The last move of an agent that this console ordered. */
export function LastMove({ agent }: { readonly agent: string }) {
  const last = agentMoves.of(agent);
  if (!last) return null;
  return (
    <p class={`journey is-${last.is.replace(" ", "-")}`} role="status">
      {visible(moveText(last), 400)} <time>{clock(last.sinceMs * 1000).slice(0, 8)}</time>
    </p>
  );
}

/** Asks for the destination, and moves the agent. */
export async function moveByName(name: string): Promise<void> {
  const agent = agents.named(name);
  if (!agent || agent.kind === "service") return;
  const lines = await ask("Move", `Destination of ${visible(name, 60)}: a node or a device.`, "Move", [{ label: "To", choices: placesBut(placeOf(agent)) }]);
  if (lines?.[0]) await move(name, lines[0]);
}

/** Returns the nodes that an agent could move to. */
export function nodesExcept(here: string): string[] {
  return society.cards.value.filter(({ name, state }) => name !== here && state === "running").map(({ name }) => name);
}

/** Returns the menu of destinations for an agent. */
export function movesOf(name: string, here: string): Choice[] {
  const places = placesBut(here);
  const choices = places.slice(0, IN_MENU_MAX).map(({ value: place, note }) => ({ label: visible(place, 40), note: note.replace(/[,:].*/, ""), run: () => void move(name, place) }));
  return places.length > IN_MENU_MAX ? [...choices, { label: `All ${places.length} places…`, run: () => void moveByName(name) }] : choices;
}

/** Returns event handlers that accept dropped agents. */
export function dropsOn(place: string, over: { value: boolean }) {
  return {
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      over.value = true;
    },
    onDragLeave: () => {
      over.value = false;
    },
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      over.value = false;
      const agent = event.dataTransfer?.getData("text/plain") ?? "";
      if (agent !== "") void move(agent, place);
    },
  };
}

/** Number of agents at a place. A click filters the list by it. */
export function AgentCount({ place, agents: many }: { readonly place: string; readonly agents: number | null }) {
  const isIt = filter.value.node === place;
  return (
    <button type="button" class="there" aria-pressed={isIt} title={isIt ? "List all agents" : "List these agents only"} onClick={() => (filter.value = { ...filter.value, node: isIt ? "" : place })}>
      <b>{many === null ? "–" : count(many)}</b> {many === 1 ? "agent" : "agents"}
    </button>
  );
}
