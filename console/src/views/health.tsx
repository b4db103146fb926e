/** Health: how much is said, how fast, what waits, what died; and in words what is wrong. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { quote } from "../model/pattern.js";
import { bytes, clock, count, micros, short, visible } from "../model/format.js";
import type { Column } from "../model/health.js";
import { isMessage } from "../model/talk.js";
import { useEverywhere, WhoIsSilent } from "../parts/everywhere.js";
import { useSize, useWatch } from "../parts/hooks.js";
import { Empty, Name, Performative } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";
import { go, health, society } from "../session.js";
import { palette, type Palette } from "../theme.js";
import { HealthOfNodes } from "./health-nodes.js";

const LETTERS_MAX = 500;
const LETTERS_MS = 2_000;

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
const PLOTS: readonly Plot[] = [
  { title: "Messages a second", format: short, series: [{ column: "sent", label: "sent", colour: "ask" }, { column: "handled", label: "handled", colour: "tell" }, { column: "dead", label: "dead", colour: "fail" }] },
  { title: "Time in mailboxes until handled", format: micros, series: [{ column: "p50", label: "half", colour: "tell" }, { column: "p90", label: "90 %", colour: "refuse" }, { column: "p99", label: "99 %", colour: "fail" }] },
  { title: "Messages that wait", format: short, series: [{ column: "queued", label: "waiting", colour: "offer" }] },
  { title: "Memory", format: bytes, series: [{ column: "memory", label: "in use", colour: "other" }] },
];

export function HealthView() {
  useWatch("health", { what: "health", every_ms: 1000 }, (frame) => {
    if (frame.type === "health") health.hear(frame);
  });
  const { value: now } = health.now;
  // What the node does not measure has no chart.
  const plots = PLOTS.filter(({ series }) => series.some(({ column }) => health.column(column).some((value) => value !== null)));
  return (
    <div class="health">
      <Verdict />
      <HealthOfNodes />
      <div class="plots">
        {(plots.length > 0 ? plots : PLOTS.slice(0, 1)).map((plot) => (
          <PlotPanel key={plot.title} plot={plot} />
        ))}
      </div>
      <div class="health-lists">
        <section class="panel">
          <div class="tools">
            <h2>Fullest mailboxes</h2>
          </div>
          {(now?.mailboxes ?? []).length === 0 ? <Empty title="No mailbox has messages that wait" /> : <Bars of={now?.mailboxes ?? []} />}
        </section>
        <DeadLetters />
      </div>
    </div>
  );
}

function Verdict() {
  const { value: now } = health.now;
  if (!now) return <p class="verdict is-quiet">Asking the node…</p>;
  if (now.wrong.length === 0) {
    return (
      <p class="verdict is-well">
        <i /> All is well{society.node.value ? `: ${count(society.node.value.handled)} messages handled, ${count(now.queued)} waiting` : ""}.
      </p>
    );
  }
  return (
    <ul class="verdict is-wrong" role="alert">
      {now.wrong.map((reason) => (
        <li>{visible(reason, 400)}</li>
      ))}
    </ul>
  );
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

function PlotPanel({ plot }: { readonly plot: Plot }) {
  const [box, size] = useSize<HTMLDivElement>();
  const chart = useRef<uPlot | null>(null);
  const { width, height } = size.value;
  const colours = palette.value;
  useEffect(() => {
    if (!box.current || width < 40) return undefined;
    chart.current = new uPlot(options(plot, colours, width, height), dataOf(plot), box.current);
    return () => {
      chart.current?.destroy();
      chart.current = null;
    };
  }, [colours, width > 40]);
  useEffect(() => {
    if (width > 40) chart.current?.setSize({ width, height });
  }, [width, height]);
  const version = health.version.value;
  useEffect(() => chart.current?.setData(dataOf(plot)), [version]);
  return (
    <section class="panel plot">
      <header class="part-head">
        <h2>{plot.title}</h2>
        <ul>
          {plot.series.map(({ column, label, colour }) => {
            const last = health.column(column).at(-1);
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

function dataOf(plot: Plot): uPlot.AlignedData {
  return [health.times, ...plot.series.map(({ column }) => health.column(column))] as uPlot.AlignedData;
}

function options(plot: Plot, colours: Palette, width: number, height: number): uPlot.Options {
  const axis = { stroke: colours["ink-3"], grid: { stroke: colours.line, width: 1 }, ticks: { show: false }, font: '11px "IBM Plex Sans", system-ui' } as const;
  return {
    width,
    height,
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(high * 1.1, 1)] } },
    axes: [
      { ...axis, space: 90, size: 26, values: (_, ticks) => ticks.map((at) => clock(at * 1e6).slice(0, 8)) },
      { ...axis, size: 62, values: (_, ticks) => ticks.map(plot.format) },
    ],
    series: [{}, ...plot.series.map(({ label, colour }, index) => ({ label, stroke: colours[colour], width: 1.6, points: { show: false }, ...(index === 0 && { fill: `${colours[colour]}1f` }) }))],
  };
}

function DeadLetters() {
  const { told, silent } = useEverywhere({ request: "dead_letters", limit: LETTERS_MAX }, LETTERS_MS);
  const found = told.flatMap(([, answer]) => (answer.answer === "dead_letters" ? [answer] : []));
  const total = found.reduce((sum, answer) => sum + answer.total, 0);
  const newestFirst = found.flatMap(({ letters }) => letters.filter(isMessage)).sort((a, b) => b.at_us - a.at_us);
  return (
    <section class="panel is-fill">
      <div class="tools">
        <h2>Dead letters</h2>
        <span class="tools-note">{found.length === 0 ? "" : `${count(total)} since the ${found.length === 1 ? "node" : "nodes"} started`}</span>
      </div>
      <WhoIsSilent of={silent} />
      <VirtualList
        items={newestFirst}
        rowHeight={28}
        label="Dead letters"
        keyOf={(event) => `${event.node} ${event.at_us} ${event.from} ${event.to} ${event.content}`}
        isAside
        onOpen={(event) => go("conversations", "", { agents: `${quote(event.from)} ${quote(event.to)}` })}
        rowClass="dead-row"
        empty={found.length === 0 ? <Empty title="Asking…" /> : <Empty title="Every message reached its receiver" />}
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
