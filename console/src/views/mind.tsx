/** Mind view: an agent's beliefs, goals, intentions and plans, with controls to pause, step and change it. */
import { signal, useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { AgentInfo, IntentionInfo, MindInfo, PlanInfo } from "../live/vocabulary.js";
import { searchFits } from "../model/pattern.js";
import { clock, count, visible } from "../model/format.js";
import { beliefKey, currentStep, goalKey, groupsOf, intentionKey, steps, type Belief } from "../model/mind.js";
import { Columns } from "../parts/columns.js";
import { useKeys, useWatch } from "../parts/hooks.js";
import { Icon } from "../parts/icons.js";
import { Facts } from "../parts/pane.js";
import { Empty, Name, Performative, State } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";
import { agents, go, agentMoves, live, mind, order, route } from "../session.js";
import { usePageMind } from "../page-mind.js";
import { Grid } from "./grid.js";
import { AgentOutput } from "./output.js";
import { LastMove, move, nodesExcept } from "./places.js";
import { fileName, Source } from "./source.js";

const search = signal("");

export function MindView() {
  const { of } = route.value;
  useKeys({ Escape: () => (search.value === "" ? undefined : (search.value = "")) });
  useWatch(
    of,
    of === "" ? null : { what: "mind", agent: of, every_ms: 200 },
    (frame) => {
      // For an agent in a tab, the page reports more than the node.
      if (frame.type === "mind" && (isReadable(frame.mind) || mind.info.value?.page === undefined)) mind.hear(frame.mind);
    },
    ({ text }) => (mind.refusal.value = text),
  );
  useEffect(() => mind.forget(), [of]);
  usePageMind(of);
  const info = mind.shown;
  return (
    <div class={`split mind ${of === "" ? "" : "has-agent"}`}>
      <Chooser chosen={of} />
      <div class="mind-body">
        {of === "" ? (
          <Empty title="No agent chosen">
            Choose an AgentSpeak agent to see its beliefs, goals, intentions and plans, and its program beside them. Pause it with Space, take one reasoning cycle with n, and step back through the last ones with [.
          </Empty>
        ) : mind.refusal.value !== null ? (
          <Empty title="Cannot show this mind">{visible(mind.refusal.value, 300)}</Empty>
        ) : info === null ? (
          <Empty title={`Loading the mind of ${visible(of, 60)}…`} />
        ) : !isReadable(info) ? (
          <Opaque info={info} />
        ) : (
          <MindPanels info={info} />
        )}
      </div>
    </div>
  );
}

/**
 * Returns true if the mind can be shown. Agents of clients that continued at a node have a mind there, whatever their
 * kind.
 */
function isReadable(info: MindInfo): boolean {
  return info.kind === "agentspeak" || (info.plans ?? []).length > 0;
}

/** Returns the name for requests, as the platform knows the agent. */
function localName(agent: string): string {
  return route.value.of || agent;
}

function Chooser({ chosen }: { readonly chosen: string }) {
  const version = agents.pulse.version.value;
  const list = useMemo(() => {
    const all = agents.list({ search: search.value, kind: "", state: "", node: "" }, { by: "name", descending: false });
    // Agents with readable minds come first; otherwise the order is kept.
    return [...all.filter(({ kind }) => kind === "agentspeak"), ...all.filter(({ kind }) => kind !== "agentspeak")];
  }, [Math.floor(version / 3), agents.known, search.value]);
  return (
    <section class="panel chooser">
      <div class="tools">
        <label class="search">
          <Icon of="search" />
          <input data-search aria-label="Search agents" placeholder="Agent" value={search.value} onInput={(event) => (search.value = event.currentTarget.value)} />
          <kbd>/</kbd>
        </label>
      </div>
      <VirtualList
        items={list}
        rowHeight={28}
        label="Agents"
        keyOf={(agent: AgentInfo) => agent.name}
        selected={chosen === "" ? null : chosen}
        onSelect={(agent) => go("mind", agent.name)}
        rowClass="chooser-row"
        empty={<Empty title="No agent matches the search" />}
        row={(agent) => (
          <>
            <Name of={agent.name} />
            {agent.kind === "agentspeak" ? null : <span class="is-quiet">{visible(agent.kind, 12)}</span>}
          </>
        )}
      />
    </section>
  );
}

function Opaque({ info }: { readonly info: MindInfo }) {
  const grid = (info.details ?? []).find(({ name }) => name === "grid");
  return (
    <section class="panel is-fill">
      <MindHead info={info} />
      {(info.details ?? []).length > 0 ? (
        <div class="part-body details">
          {grid === undefined ? null : <Grid rows={grid.value} />}
          <Facts of={(info.details ?? []).filter((detail) => detail !== grid).map(({ name, value }) => [visible(name, 60), visible(value, 400)] as const)} />
        </div>
      ) : null}
      {info.kind === "session" ? (
        <Outside name={localName(info.agent)} />
      ) : (info.details ?? []).length > 0 ? null : (
        <Empty title={`A ${visible(info.kind, 20)} agent has no readable mind`}>Only AgentSpeak agents have beliefs, goals and plans. Its messages are in Conversations.</Empty>
      )}
    </section>
  );
}

/** Placeholder for an agent whose code runs outside of nodes. */
function Outside({ name }: { readonly name: string }) {
  agents.pulse.version.value;
  const agent = agents.named(name);
  const isMoving = agentMoves.of(name)?.is === "under way";
  if (agent?.device === undefined) {
    return (
      <Empty title="The mind is in a client program">
        {visible(name, 60)} belongs to a client, so only that program knows its beliefs and goals. Its messages are in Conversations.
      </Empty>
    );
  }
  const device = visible(agent.device, 40);
  return (
    <div class="empty outside">
      <strong>The mind is in a web page</strong>
      <span>
        {visible(name, 60)} runs in a tab on the device {device}, so no node has its mind. The page shows the mind of an AgentSpeak agent to permitted consoles (option lookers). On a node the mind is
        visible: a durable agent moves there within its plans.
      </span>
      {live.mayAct ? (
        <span class="links">
          {nodesExcept("").map((node) => (
            <button type="button" key={node} class="button" disabled={isMoving} onClick={() => void move(name, node)}>
              <Icon of="move" /> Move to {visible(node, 30)}
            </button>
          ))}
        </span>
      ) : null}
      <LastMove agent={name} />
    </div>
  );
}

/** Returns true if the mind may be changed. Minds in tabs and of the past are read-only. */
export function maySteer(info: MindInfo): boolean {
  return live.mayAct && info.page === undefined && mind.at.value === null;
}

function MindPanels({ info }: { readonly info: MindInfo }) {
  const isPaused = info.paused === true;
  const debug = (what: "pause" | "continue" | "step" | "end") => void order({ request: "debug", agent: localName(info.agent), order: what }, null);
  useKeys({
    "[": () => mind.step(-1),
    "]": () => mind.step(1),
    ...(maySteer(info) && { " ": () => debug(isPaused ? "continue" : "pause"), n: () => (isPaused ? debug("step") : undefined) }),
  });
  return (
    <>
      <section class="panel">
        <MindHead info={info}>
          <History info={info} />
          {maySteer(info) ? (
            <div class="links">
              <button type="button" class={`button ${isPaused ? "is-main" : ""}`} title="Space" onClick={() => debug(isPaused ? "continue" : "pause")}>
                <Icon of={isPaused ? "play" : "pause"} /> {isPaused ? "Continue" : "Pause"}
              </button>
              {(info.plans ?? []).some((plan) => plan.breakpoint) || (info.line_breakpoints ?? []).length > 0 ? (
                <button type="button" class="button" title="Remove all breakpoints and continue" onClick={() => debug("end")}>
                  Remove breakpoints
                </button>
              ) : null}
              <button type="button" class="button" title="One reasoning cycle (n)" disabled={!isPaused} onClick={() => debug("step")}>
                <Icon of="step" /> Step
              </button>
            </div>
          ) : null}
        </MindHead>
        {info.page === undefined ? null : <p class="remark">Reported by the page of {visible(info.page, 40)}, and read-only. Move the agent to a node to pause or change its mind.</p>}
      </section>
      <Columns
        key="columns"
        store="whimbrel.mind-columns"
        shares={[1, 1.15, 1.1]}
        of={[
          <Beliefs key={info.agent} info={info} />,
          <div class="mind-column">
            <Goals info={info} />
            <Intentions info={info} />
          </div>,
          <div class="mind-column">
            <Program key={info.agent} info={info} />
            <Recent info={info} />
          </div>,
        ]}
      />
    </>
  );
}

/** Number of the shown cycle, and steps to earlier reports. */
function History({ info }: { readonly info: MindInfo }) {
  const { value: all } = mind.history;
  const at = mind.at.value ?? all.length - 1;
  const report = all[at];
  const isPast = mind.at.value !== null;
  return (
    <div class={`history ${isPast ? "is-past" : ""}`} role="group" aria-label="History">
      <button type="button" class="button is-bare" aria-label="Earlier report" title="Earlier ([)" disabled={at <= 0} onClick={() => mind.step(-1)}>
        <Icon of="back" />
      </button>
      <input
        type="range"
        aria-label="Report"
        min={0}
        max={Math.max(0, all.length - 1)}
        value={at}
        disabled={all.length < 2}
        onInput={(event) => mind.show(Number(event.currentTarget.value))}
      />
      <button type="button" class="button is-bare" aria-label="Later report" title="Later (])" disabled={!isPast} onClick={() => mind.step(1)}>
        <Icon of="on" />
      </button>
      <span class="cycle">
        cycle <b>{count(info.cycle ?? 0)}</b>
        {isPast && report ? <time> {clock(report.atMs * 1000).slice(0, 8)}</time> : null}
      </span>
      {isPast ? (
        <button type="button" class="button is-main" onClick={() => (mind.at.value = null)}>
          Now
        </button>
      ) : null}
    </div>
  );
}

/** The agent's plans, or the text of its program. */
function Program({ info }: { readonly info: MindInfo }) {
  const { query } = route.value;
  const tab = useSignal<"plans" | "source" | "output">(query.get("tab") === "source" ? "source" : "plans");
  useEffect(() => {
    if (query.get("tab") === "source") tab.value = "source";
  }, [query]);
  const tabs = (["plans", "source", "output"] as const).filter((one) => (one === "source" ? live.offers("programs") && info.page === undefined : one === "output" ? live.offers("output") : true));
  return (
    <section class="panel part program">
      <header class="part-head">
        <div class="choice" role="group" aria-label="Program">
          {tabs.map((one) => (
            <button type="button" class="button" key={one} aria-pressed={tab.value === one} onClick={() => (tab.value = one)}>
              {one === "plans" ? `Plans ${count((info.plans ?? []).length)}` : one === "source" ? "Source" : "Output"}
            </button>
          ))}
        </div>
        {(info.cut?.["plans"] ?? 0) > 0 && tab.value === "plans" ? <span class="is-quiet">and {count(info.cut?.["plans"] ?? 0)} more not shown</span> : null}
      </header>
      <div class="part-body">
        {tab.value === "plans" ? <Plans info={info} /> : tab.value === "source" ? <Source info={info} name={localName(info.agent)} mayBreak={maySteer(info)} /> : <AgentOutput of={localName(info.agent)} />}
      </div>
    </section>
  );
}

function MindHead({ info, children }: { readonly info: MindInfo; readonly children?: preact.ComponentChildren }) {
  return (
    <div class="tools mind-head">
      <button type="button" class="button is-bare only-phone" aria-label="Other agents" onClick={() => go("mind")}>
        <Icon of="reply" />
      </button>
      <h2>
        <Name of={localName(info.agent)} />
      </h2>
      {info.state ? <State of={info.paused ? "paused" : info.state} /> : null}
      <span class="is-quiet cut">{info.paused && info.paused_by ? visible(info.paused_by, 120) : visible(fileName(info.source_file) || info.kind, 80)}</span>
      {children}
    </div>
  );
}

function Part({ title, many, cut, children }: { readonly title: string; readonly many: number; readonly cut?: number | undefined; readonly children: preact.ComponentChildren }) {
  return (
    <section class="panel part">
      <header class="part-head">
        <h2>{title}</h2>
        <span class="is-quiet">{count(many)}</span>
        {cut !== undefined && cut > 0 ? <span class="is-quiet">and {count(cut)} more not shown</span> : null}
      </header>
      <div class="part-body">{children}</div>
    </section>
  );
}

/** Number of beliefs of one predicate from which they are one group, and of its new ones that are shown. */
const ALIKE_MIN = 6;
const FRESH_MAX = 3;

function Beliefs({ info }: { readonly info: MindInfo }) {
  const wanted = useSignal("");
  const beliefs = (info.beliefs ?? []).filter((belief) => searchFits(wanted.value, belief.text));
  const { beliefs: fresh, lost } = mind.changes;
  const open = useSignal<ReadonlySet<string>>(new Set());
  const groups = groupsOf(beliefs);
  const toggle = (predicate: string) => {
    const now = new Set(open.value);
    if (!now.delete(predicate)) now.add(predicate);
    open.value = now;
  };
  const line = useSignal("");
  const changing = useSignal<Belief | null>(null);
  const believe = (belief: string, add: boolean) => order({ request: "believe", agent: localName(info.agent), belief, add }, add ? "Belief added" : "Belief removed");
  const change = (belief: Belief) => {
    changing.value = belief;
    line.value = writtenOut(belief);
    document.querySelector<HTMLInputElement>(".beliefs .line input")?.focus();
  };
  const take = async (text: string) => {
    const { value: old } = changing;
    const done = await believe(text, true);
    if (done === null) return null;
    changing.value = null;
    // For a belief with new annotations, only these are added.
    if (old && text !== old.text && !text.startsWith(`${old.text}[`)) await believe(old.text, false);
    return done;
  };
  return (
    <section class="panel part beliefs">
      <header class="part-head">
        <h2>Beliefs</h2>
        <span class="is-quiet">{count((info.beliefs ?? []).length)}</span>
        {(info.cut?.["beliefs"] ?? 0) > 0 ? <span class="is-quiet">and {count(info.cut?.["beliefs"] ?? 0)} more</span> : null}
        <input class="field" aria-label="Filter beliefs" placeholder="Filter" value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value)} />
      </header>
      <div class="part-body">
        <ul class="terms">
          {groups.flatMap(({ predicate, beliefs: alike }) => {
            // A filter and a click open a group.
            const isGroup = alike.length >= ALIKE_MIN;
            const isOpen = !isGroup || wanted.value !== "" || open.value.has(predicate);
            const shown = isOpen ? alike : alike.filter((belief) => fresh.has(beliefKey(belief))).slice(-FRESH_MAX);
            return [
              isGroup && wanted.value === "" ? (
                <li key={predicate} class="alike">
                  <button type="button" aria-expanded={isOpen} onClick={() => toggle(predicate)}>
                    <Icon of={isOpen ? "down" : "on"} />
                    <code>{visible(predicate, 80)}</code>
                    <span class="is-quiet">
                      {count(alike.length)} beliefs{isOpen ? "" : `, last ${visible(alike.at(-1)?.text ?? "", 60)}`}
                    </span>
                  </button>
                </li>
              ) : null,
              ...shown.map((belief) => (
                <BeliefRow key={beliefKey(belief)} belief={belief} isFresh={fresh.has(beliefKey(belief))} onForget={maySteer(info) && !belief.rule ? () => void believe(belief.text, false) : null} onChange={() => change(belief)} />
              )),
            ];
          })}
          {lost.map((text) => (
            <li key={`lost ${text}`} class="is-lost">
              <code>{visible(text, 300)}</code>
            </li>
          ))}
        </ul>
      </div>
      {maySteer(info) ? <Line of={line} label="Add a belief" placeholder="likes(tea)" does={changing.value && line.value !== "" ? "Change" : "Believe"} onDone={take} onEmpty={() => (changing.value = null)} /> : null}
    </section>
  );
}

/** Formats a belief with its sources and annotations. */
function writtenOut({ text, sources, annotations }: Belief): string {
  const notes = [...sources.filter((source) => source !== "self").map((source) => `source(${source})`), ...annotations];
  return notes.length === 0 ? text : `${text}[${notes.join(",")}]`;
}

interface BeliefProps {
  readonly belief: Belief;
  readonly isFresh: boolean;
  readonly onForget: (() => void) | null;
  readonly onChange: () => void;
}

function BeliefRow({ belief, isFresh, onForget, onChange }: BeliefProps) {
  const sources = belief.sources.filter((source) => source !== "self");
  return (
    <li class={isFresh ? "is-fresh" : ""}>
      <code>{visible(belief.text, 600)}</code>
      <span class="notes">
        {belief.namespace === "default" || belief.namespace === "" ? null : <i>{visible(belief.namespace, 30)}</i>}
        {belief.rule ? <i>rule</i> : null}
        {sources.map((source) => (
          <i title="source">by {visible(source, 40)}</i>
        ))}
        {belief.annotations.map((annotation) => (
          <i title="annotation">{visible(annotation, 60)}</i>
        ))}
      </span>
      {onForget ? (
        <span class="deeds">
          <button type="button" class="button is-bare" aria-label={`Change ${belief.text.slice(0, 80)}`} title="Change" onClick={onChange}>
            <Icon of="compose" />
          </button>
          <button type="button" class="button is-bare" aria-label={`Forget ${belief.text.slice(0, 80)}`} title="Forget" onClick={onForget}>
            <Icon of="close" />
          </button>
        </span>
      ) : null}
    </li>
  );
}

interface LineProps {
  /** Shared text of the field, if others set it. */
  readonly of?: Signal<string>;
  readonly label: string;
  readonly placeholder: string;
  readonly does: string;
  readonly onDone: (text: string) => Promise<unknown>;
  readonly onEmpty?: () => void;
}

/** A text field for changes to the mind. */
function Line({ of, label, placeholder, does, onDone, onEmpty }: LineProps) {
  const own = useSignal("");
  const text = of ?? own;
  return (
    <form
      class="line"
      onSubmit={(event) => {
        event.preventDefault();
        const line = text.value.trim();
        if (line !== "") void onDone(line).then((done) => (done === null ? undefined : (text.value = "")));
      }}
    >
      <input
        class="field mono"
        aria-label={label}
        placeholder={placeholder}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          if (text.value === "") onEmpty?.();
        }}
      />
      <button type="submit" class="button" disabled={text.value.trim() === ""}>
        {does}
      </button>
    </form>
  );
}

function Goals({ info }: { readonly info: MindInfo }) {
  const goals = info.goals ?? [];
  const { goals: fresh } = mind.changes;
  return (
    <section class="panel part">
      <header class="part-head">
        <h2>Goals</h2>
        <span class="is-quiet">{goals.length}</span>
      </header>
      <div class="part-body is-short">
        <ul class="terms">
          {goals.map((goal) => (
            <li key={goalKey(goal)} class={fresh.has(goalKey(goal)) ? "is-fresh" : ""}>
              <code>{visible(goal.text, 300)}</code>
              <span class="notes">
                {goal.reason ? <i>{visible(goal.reason, 60)}</i> : null}
                <State of={goal.state} />
              </span>
            </li>
          ))}
          {(info.events ?? []).map((event) => (
            <li key={`event ${event.text}`}>
              <code>{visible(event.text, 300)}</code>
              <span class="notes">
                <i>pending event</i>
              </span>
            </li>
          ))}
        </ul>
      </div>
      {maySteer(info) ? <Line label="Post a goal" placeholder="serve(amy)" does="Pursue" onDone={(text) => order({ request: "pursue", agent: localName(info.agent), goal: text.replace(/^!/, "") }, "Goal added")} /> : null}
    </section>
  );
}

function Intentions({ info }: { readonly info: MindInfo }) {
  const intentions = info.intentions ?? [];
  const { intentions: fresh } = mind.changes;
  const plans = new Map((info.plans ?? []).map((plan) => [plan.label, plan]));
  return (
    <Part title="Intentions" many={intentions.length} cut={info.cut?.["intentions"]}>
      {intentions.length === 0 ? <p class="none">No intentions.</p> : null}
      {intentions.map((intention) => (
        <Intention key={intention.id} intention={intention} plans={plans} isFresh={fresh.has(intentionKey(intention))} />
      ))}
    </Part>
  );
}

function Intention({ intention, plans, isFresh }: { readonly intention: IntentionInfo; readonly plans: ReadonlyMap<string, PlanInfo>; readonly isFresh: boolean }) {
  return (
    <article class={`intention ${isFresh ? "is-fresh" : ""}`}>
      <header>
        <b>#{intention.id}</b> <State of={intention.state} />
        {intention.waits_for ? <span class="is-quiet cut">{visible(intention.waits_for, 80)}</span> : null}
      </header>
      <ol>
        {intention.frames.map((frame, level) => {
          const plan = plans.get(frame.plan.replace(/^@/, ""));
          const body = plan ? steps(plan.body) : [];
          const at = currentStep(body, frame.step);
          return (
            <li key={level}>
              <div class="frame-head">
                <code>{visible(frame.trigger, 200)}</code>
                <span class="is-quiet">
                  {visible(frame.plan, 40)}
                  {frame.file ? ` · ${visible(fileName(frame.file), 60)}:${frame.step_line ?? frame.line ?? ""}` : ""}
                </span>
              </div>
              {at >= 0 && level === 0 ? (
                <pre class="steps">
                  {body.map((step, index) => (
                    <span class={index === at ? "is-now" : index < at ? "is-past" : ""}>{visible(step, 300)}</span>
                  ))}
                </pre>
              ) : frame.step === null ? null : (
                <pre class="steps">
                  <span class="is-now">{visible(frame.step, 300)}</span>
                </pre>
              )}
              {frame.unifier.length > 0 ? (
                <p class="unifier">
                  {frame.unifier.map(([name, value]) => (
                    <span>
                      {visible(name, 40)} = <code>{visible(value, 80)}</code>
                    </span>
                  ))}
                </p>
              ) : null}
            </li>
          );
        })}
      </ol>
    </article>
  );
}

function Plans({ info }: { readonly info: MindInfo }) {
  const plans = info.plans ?? [];
  const running = new Set((info.intentions ?? []).flatMap((intention) => intention.frames.map((frame) => frame.plan.replace(/^@/, ""))));
  return (
    <>
      {plans.map((plan) => (
        <details key={plan.label} class={`plan ${running.has(plan.label) ? "is-running" : ""}`}>
          <summary>
            <button
              type="button"
              class="breakpoint"
              aria-pressed={plan.breakpoint}
              aria-label={`Breakpoint at ${plan.label}`}
              title={plan.breakpoint ? "Remove the breakpoint" : "Pause the agent when it chooses this plan"}
              disabled={!maySteer(info)}
              onClick={(event) => {
                event.preventDefault();
                void order({ request: "breakpoint", agent: localName(info.agent), plan: plan.label, on: !plan.breakpoint }, null);
              }}
            />
            <code class="cut">{visible(plan.trigger, 200)}</code>
            <span class="is-quiet">{plan.source ? `from ${visible(plan.source, 40)}` : plan.line ? `line ${plan.line}` : ""}</span>
          </summary>
          <pre class="plan-text">{`@${visible(plan.label, 60)}\n${visible(plan.trigger, 300)}${plan.context && plan.context !== "true" ? `\n   : ${visible(plan.context, 600)}` : ""}${plan.body === "" ? "" : "\n   <- "}${steps(plan.body).map((step) => visible(step, 600)).join("\n      ")}`}</pre>
        </details>
      ))}
    </>
  );
}

function Recent({ info }: { readonly info: MindInfo }) {
  const recent = [...(info.recent ?? [])].reverse();
  const mailbox = info.mailbox ?? [];
  return (
    <>
      <Part title="Mailbox" many={info.mailbox_total ?? mailbox.length}>
        {mailbox.length === 0 ? <p class="none">Empty.</p> : null}
        <ul class="terms">
          {mailbox.map((message) => (
            <li>
              <Performative of={message.performative} /> <Name of={message.from} /> <code class="cut">{visible(message.content, 120)}</code>
            </li>
          ))}
        </ul>
      </Part>
      <Part title="Recent cycles" many={recent.length}>
        {recent.length === 0 ? <p class="none">Cycles are recorded while this view is open.</p> : null}
        <ul class="terms">
          {recent.map((cycle) => (
            <li key={`${cycle.cycle} ${cycle.text}`}>
              <span class="mono is-quiet">{cycle.cycle}</span> <code class="cut" title={visible(cycle.text, 400)}>{visible(cycle.text, 200)}</code>
            </li>
          ))}
        </ul>
      </Part>
    </>
  );
}
