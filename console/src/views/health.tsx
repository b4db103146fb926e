/** Health view: traffic, latency, queues and dead letters of each node and of all, with faults as text. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { quote } from "../model/pattern.js";
import { bytes, clock, count, micros, short, visible } from "../model/format.js";
import type { Column, History } from "../model/health.js";
import { isMessage } from "../model/recording.js";
import type { Level, Reason } from "../model/verdict.js";
import { useOtherNodes, useAllNodes, SilentNodes } from "../parts/all-nodes.js";
import { useSize, useWatch } from "../parts/hooks.js";
import { Empty, Name, Performative } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";
import { agents, go, health, society, totals, verdict } from "../session.js";
import { palette, type Palette } from "../theme.js";
import { NodeHealth } from "./health-nodes.js";

const LETTERS_MAX = 500;
const LETTERS_MS = 2_000;
const LINKS_MS = 5_000;
const MAILBOXES_MAX = 10;
/** Minimum time span of a chart. Two points make no meaningful line. */
const CHART_S_MIN = 60;

interface Series {
  readonly column: Column;
  readonly label: string;
  readonly colour: keyof Palette;
}
interface Plot {
  readonly title: string;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}
const LATENCY: Plot = { title: "Time in mailboxes", format: micros, series: [{ column: "p50", label: "median", colour: "tell" }, { column: "p90", label: "90 %", colour: "refuse" }, { column: "p99", label: "99 %", colour: "fail" }] };
const PLOTS: readonly Plot[] = [
  { title: "Messages a second", format: short, series: [{ column: "sent", label: "sent", colour: "ask" }, { column: "handled", label: "handled", colour: "tell" }, { column: "dead", label: "dead", colour: "fail" }] },
  LATENCY,
  { title: "Messages in mailboxes", format: short, series: [{ column: "queued", label: "waiting", colour: "offer" }] },
  { title: "Memory", format: bytes, series: [{ column: "memory", label: "in use", colour: "other" }] },
];

/** Name of the chosen node; empty for all. */
const node = signal("");

export function HealthView() {
  const here = society.node.value?.node ?? "";
  const others = society.others.value;
  useWatch("health", { what: "health", every_ms: 1000 }, (frame) => {
    if (frame.type === "health") health.now.value = frame;
  });
  const at = node.value === here || others.split("\n").includes(node.value) ? node.value : "";
  // Only the asked node reports latencies, so it stands in for all nodes together.
  const latencyOf = at === "" ? here : at;
  health.version.value;
  // Figures that are not measured have no chart.
  const plots = PLOTS.map((plot) => ({ plot, of: health.of(plot === LATENCY ? latencyOf : at) })).filter(({ plot, of }) => plot.series.some(({ column }) => of.column(column).some((value) => value !== null)));
  return (
    <div class="health">
      <Verdict />
      <NodeHealth at={at} onPick={(name) => (node.value = name)} />
      <div class="plots">
        {plots.map(({ plot, of }) => (
          <PlotPanel key={`${plot.title} ${at}`} plot={plot} of={of} whose={others === "" ? "" : plot === LATENCY ? latencyOf : at === "" ? "all nodes" : at} />
        ))}
        {at !== "" && at !== here ? <p class="panel plot-none">The time in mailboxes is available only in the console of {visible(at, 40)}.</p> : null}
      </div>
      <div class="health-lists">
        <section class="panel">
          <div class="tools">
            <h2>Fullest mailboxes</h2>
          </div>
          <Mailboxes at={at} />
        </section>
        <DeadLetters at={at} />
      </div>
    </div>
  );
}

/** Returns lost connections of other nodes, as texts. */
function useCuts(): readonly Reason[] {
  const { told } = useOtherNodes({ request: "links" }, LINKS_MS, true);
  const cuts = told.flatMap(([name, answer]) => (answer.answer === "links" ? answer.links.filter(({ up, left }) => !up && left !== true).map(({ peer, address }) => `${name} has no connection to ${peer ?? address ?? "another node"}`) : []));
  return cuts.map((text) => ({ text, isFault: true }));
}

/** Titles of verdicts. */
const TITLES: Readonly<Record<Level, string>> = {
  good: "All is well",
  rests: "At rest",
  stuck: "The society stands still",
  paused: "Paused",
  warns: "It runs, with warnings",
  wrong: "Faults",
  ended: "Ended",
  unknown: "Health unknown",
};

function Verdict() {
  const { level, reasons } = verdict.value;
  const cuts = useCuts();
  const shown = level === "good" && cuts.length > 0 ? "wrong" : level;
  const figures = totals.sum.value ?? society.node.value;
  return (
    <section class={`verdict is-${shown}`} role={shown === "good" || shown === "rests" ? "status" : "alert"} aria-label="Verdict">
      <h2>
        <i aria-hidden="true" /> {TITLES[shown]}
      </h2>
      {figures ? (
        <span class="is-quiet">
          {count(figures.handled)} messages handled, {count(figures.queued)} waiting{figures.dead > 0 ? `, ${count(figures.dead)} undeliverable` : ""}
          {(figures.faults ?? 0) > 0 ? `, ${count(figures.faults ?? 0)} failures so far` : ""}
        </span>
      ) : null}
      <ul>
        {[...reasons, ...cuts].map(({ text, isFault, to }) => (
          <li key={text} class={isFault ? "is-fault" : ""}>
            {visible(text, 400)} {to === undefined || to === "#/health" ? null : <a href={to}>look</a>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Mailboxes({ at }: { readonly at: string }) {
  const version = agents.pulse.version.value;
  const fullest = useMemo(() => agents.fullest(at, MAILBOXES_MAX), [version, at]);
  return fullest.length === 0 ? <Empty title="All mailboxes are empty">An agent that is slower than its senders appears here.</Empty> : <Bars of={fullest} />;
}

function Bars({ of }: { readonly of: readonly (readonly [string, number])[] }) {
  const most = Math.max(1, ...of.map(([, many]) => many));
  return (
    <ul class="bars">
      {of.map(([name, many]) => (
        <li key={name}>
          <button type="button" onClick={() => go("society", name)}>
            <Name of={name} />
            <i style={{ width: `${(many / most) * 100}%` }} />
            <b>{short(many)}</b>
          </button>
        </li>
      ))}
    </ul>
  );
}

function PlotPanel({ plot, of, whose }: { readonly plot: Plot; readonly of: History; readonly whose: string }) {
  const [box, size] = useSize<HTMLDivElement>();
  const chart = useRef<uPlot | null>(null);
  const { width, height } = size.value;
  const colours = palette.value;
  useEffect(() => {
    if (!box.current || width < 40) return undefined;
    chart.current = new uPlot(options(plot, colours, width, height), dataOf(plot, of), box.current);
    return () => {
      chart.current?.destroy();
      chart.current = null;
    };
  }, [colours, width > 40]);
  useEffect(() => {
    if (width > 40) chart.current?.setSize({ width, height });
  }, [width, height]);
  const version = health.version.value;
  useEffect(() => chart.current?.setData(dataOf(plot, of)), [version]);
  return (
    <section class="panel plot">
      <header class="part-head">
        <h2>
          {plot.title}
          {whose === "" ? null : <small> {visible(whose, 24)}</small>}
        </h2>
        <ul>
          {plot.series.map(({ column, label, colour }) => {
            const last = of.column(column).at(-1);
            return (
              <li key={column}>
                <i class={`dot is-${colour}`} /> {label} <b>{last === null || last === undefined ? "–" : plot.format(last)}</b>
              </li>
            );
          })}
        </ul>
      </header>
      <div class="plot-box" ref={box} />
    </section>
  );
}

function dataOf(plot: Plot, of: History): uPlot.AlignedData {
  return [of.times, ...plot.series.map(({ column }) => of.column(column))] as uPlot.AlignedData;
}

function options(plot: Plot, colours: Palette, width: number, height: number): uPlot.Options {
  const axis = { stroke: colours["ink-3"], grid: { stroke: colours.line, width: 1 }, ticks: { show: false }, font: '11px "IBM Plex Sans", system-ui' } as const;
  return {
    width,
    height,
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: { x: { range: (_, low, high) => [Math.min(low, high - CHART_S_MIN), high] }, y: { range: (_, low, high) => [Math.min(0, low), Math.max(high * 1.1, 1)] } },
    axes: [
      { ...axis, space: 90, size: 26, values: (_, ticks) => ticks.map((at) => clock(at * 1e6).slice(0, 8)) },
      { ...axis, size: 62, values: (_, ticks) => ticks.map(plot.format) },
    ],
    series: [{}, ...plot.series.map(({ label, colour }, index) => ({ label, stroke: colours[colour], width: 1.6, points: { show: false }, ...(index === 0 && { fill: `${colours[colour]}1f` }) }))],
  };
}

function DeadLetters({ at }: { readonly at: string }) {
  const { told: all, silent } = useAllNodes({ request: "dead_letters", limit: LETTERS_MAX }, LETTERS_MS);
  const told = all.filter(([name]) => at === "" || name === at);
  // Silent nodes are reported at the top.
  const isSilent = (line: string) => totals.silent.value.some((name) => line.startsWith(`${visible(name, 40)} `));
  const found = told.flatMap(([, answer]) => (answer.answer === "dead_letters" ? [answer] : []));
  const total = found.reduce((sum, answer) => sum + answer.total, 0);
  const newestFirst = found.flatMap(({ letters }) => letters.filter(isMessage)).sort((a, b) => b.at_us - a.at_us);
  return (
    <section class="panel is-fill">
      <div class="tools">
        <h2>Dead letters</h2>
        <span class="tools-note">{found.length === 0 ? "" : `${count(total)} since the ${found.length === 1 ? "node" : "nodes"} started`}</span>
      </div>
      <SilentNodes of={silent.filter((line) => !isSilent(line))} />
      <VirtualList
        items={newestFirst}
        rowHeight={28}
        label="Dead letters"
        keyOf={(event) => `${event.node} ${event.at_us} ${event.from} ${event.to} ${event.content}`}
        isAside
        onOpen={(event) => go("conversations", "", { agents: `${quote(event.from)} ${quote(event.to)}` })}
        rowClass="dead-row"
        empty={found.length === 0 ? <Empty title="Loading…" /> : <Empty title="No dead letters">Messages that cannot reach their receiver appear here, with the reason. Their senders get failure.</Empty>}
        row={(event) => (
          <>
            <time>{clock(event.at_us).slice(0, 8)}</time>
            <span class="parties">
              <Name of={event.from} />
              <span class="is-quiet">✗</span>
              <Name of={event.to} />
            </span>
            <Performative of={event.performative} />
            <span class="is-fault cut is-wide">{event.event === "died" ? visible(event.why, 80) : ""}</span>
            <span class="mono cut is-wide">{visible(event.content, 160)}</span>
          </>
        )}
      />
    </section>
  );
}
