/** Pane of an agent: facts, partners, and actions. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AgentInfo, LifecycleStep } from "../live/vocabulary.js";
import { placeOf, stateOf } from "../model/agents.js";
import { quote } from "../model/pattern.js";
import { count, duration, visible } from "../model/format.js";
import { confirm, prompt } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { Facts, Pane } from "../parts/pane.js";
import { Name, State } from "../parts/text.js";
import { traffic, useSharedTraffic } from "../parts/traffic.js";
import { agents, go, live, order } from "../session.js";
import { AgentOutput } from "./output.js";
import { load, Prompt } from "./orders.js";
import { LastMove, movesOf } from "./places.js";

export function AgentPane({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  agents.pulse.version.value;
  const agent = agents.named(name);
  return (
    <Pane title={<Name of={name} />} label="Agent" onClose={onClose}>
      {agent ? <Living agent={agent} /> : <p class="is-quiet">No agent has this name.</p>}
    </Pane>
  );
}

function Living({ agent }: { readonly agent: AgentInfo }) {
  const age = agents.age(agent.name);
  return (
    <>
      <div class="links">
        {live.offers("mind") ? (
          <button type="button" class="button is-main" onClick={() => go("mind", agent.name)}>
            <Icon of="mind" /> Mind
          </button>
        ) : null}
        <button type="button" class="button" onClick={() => go("conversations", "", { agents: quote(agent.name) })}>
          <Icon of="conversations" /> Conversations
        </button>
        <button type="button" class="button" onClick={() => go("compose", "", { to: quote(agent.name) })}>
          <Icon of="send" /> Write
        </button>
      </div>
      <Facts
        of={[
          ["State", <State of={stateOf(agent)} />],
          ["Kind", visible(agent.kind, 30)],
          ["Program", agent.program === undefined ? null : <code>{visible(agent.program, 120)}</code>],
          ["Device", agent.device === undefined ? null : <Name of={agent.device} />],
          ["Node", visible(agent.node, 60)],
          ["Owner", agent.owner === null ? null : <Name of={agent.owner} />],
          ["Mailbox", agent.mailbox === null ? null : `${count(agent.mailbox)} waiting`],
          ["Handled", agent.handled === null ? null : count(agent.handled)],
          ["Age", age === null ? null : duration(age)],
          ["Memory", agent.passive ? "passive: its next message restores it" : null],
        ]}
      />
      {agent.state === null ? (
        <p class="is-quiet">The agent's node does not report its state, so the agent cannot be controlled from here.</p>
      ) : live.mayAct && agent.kind !== "service" ? (
        <Actions agent={agent} />
      ) : null}
      <LastMove agent={agent.name} />
      {mayTalk(agent) ? <Prompt key={agent.name} agent={agent.name} /> : null}
      <AgentOutput of={agent.name} />
      <Partners of={agent.name} />
    </>
  );
}

/** Returns true for an agent whose mind is at a node, and answers and obeys this console. */
function mayTalk(agent: AgentInfo): boolean {
  return live.mayAct && live.offers("query") && agent.kind === "agentspeak" && agent.device === undefined && agent.state !== null;
}

/** Lifecycle steps of each state (FIPA00023 5.1). */
const STEPS: Readonly<Record<string, readonly (readonly [LifecycleStep, string, string])[]>> = {
  initiated: [["start", "Start", "started"]],
  active: [["suspend", "Suspend", "suspended"], ["wait", "Wait", "waits"]],
  suspended: [["resume", "Resume", "resumed"]],
  waiting: [["wake", "Wake", "woken"]],
};

function Actions({ agent }: { readonly agent: AgentInfo }) {
  const { name } = agent;
  const step = ([step, , done]: readonly [LifecycleStep, string, string]) => void order({ request: "step", agent: name, step }, `${name} ${done}`);
  const kill = async () => {
    if (await confirm("Kill this agent?", `${visible(name, 60)} ends. The messages in its mailbox become dead letters.`, "Kill")) await order({ request: "kill", agent: name }, `${name} ended`);
  };
  const clone = async () => {
    const other = await prompt("Clone", `Name of the new agent, which continues from the state of ${visible(name, 60)}:`, "Clone", `${name}_1`);
    if (other !== null && other !== "") await order({ request: "clone", agent: name, name: other }, `${other} is a clone of ${name}`);
  };
  const places = movesOf(name, placeOf(agent));
  return (
    <div class="actions" role="group" aria-label="Actions">
      {(STEPS[agent.state ?? ""] ?? []).map((one) => (
        <button type="button" class="button" onClick={() => step(one)}>
          {one[1]}
        </button>
      ))}
      {places.length > 0 ? <Menu label="Move to" title="Move to another node or device (v)" choices={places} /> : null}
      {live.offers("clone") ? (
        <button type="button" class="button" onClick={() => void clone()}>
          Clone
        </button>
      ) : null}
      {mayTalk(agent) ? (
        <button type="button" class="button" title="Exchange its program while it runs" onClick={() => void load(name, agent.program)}>
          Load
        </button>
      ) : null}
      <button type="button" class="button is-grave" onClick={() => void kill()}>
        Kill
      </button>
    </div>
  );
}

/** Agents that it has talked with, as far as this console was open. */
function Partners({ of }: { readonly of: string }) {
  const found = useSignal<readonly (readonly [string, number, number])[]>([]);
  const look = () => {
    const partners = new Map<string, [number, number]>();
    for (const { from, to, total } of traffic.of(of)) {
      const other = from === of ? to : from;
      const both = partners.get(other) ?? [0, 0];
      both[from === of ? 0 : 1] += Math.round(total);
      partners.set(other, both);
    }
    found.value = [...partners].map(([name, [to, by]]) => [name, to, by] as const).slice(0, 12);
  };
  useSharedTraffic(look);
  useEffect(look, [of]);
  if (found.value.length === 0) return null;
  const most = Math.max(...found.value.map(([, to, by]) => to + by), 0.001);
  return (
    <section class="partners">
      <h3>Talks with</h3>
      <ul>
        {found.value.map(([name, to, by]) => (
          <li key={name}>
            <button type="button" onClick={() => go("society", name)}>
              <Name of={name} />
              <span class="pair" title={`to it ${count(to)}, from it ${count(by)} messages`}>
                <i class="is-to" style={{ width: `${(to / most) * 100}%` }} />
                <i class="is-by" style={{ width: `${(by / most) * 100}%` }} />
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
