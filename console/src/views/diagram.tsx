/**
 * Sequence diagram: a life line for each agent, a row for each event. Only visible rows are drawn, on a canvas, once a
 * frame.
 */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Event, MessageEvent } from "../live/vocabulary.js";
import { CLUSTERED_FROM, clusterOf } from "../model/clusters.js";
import { rowAt, rowsOf, type DiagramRow } from "../model/diagram-rows.js";
import { eventText } from "../model/event-text.js";
import { clock, visible } from "../model/format.js";
import { hashOf } from "../model/layout.js";
import type { Lanes } from "../model/lanes.js";
import { family } from "../model/performative.js";
import { isMessage, type EventFilter } from "../model/recording.js";
import { prepare, useSize, type Size } from "../parts/hooks.js";
import { Name } from "../parts/text.js";
import { agents } from "../session.js";
import { palette, type Palette } from "../theme.js";
import { NoMessages } from "./conversations.js";
import { inSight } from "./timeline.js";

const ROW = 26;
const TIME = 92;
const LANE_MIN = 100;
/** Relative width of the lane for other agents. */
const OTHERS_PART = 0.8;
/** Minimum width of the contents beside the lanes. */
const CONTENT_MIN = 190;
const LANES_MAX = 9;
/** Interval of new lane assignments, in milliseconds. A picture that jumps cannot be read. */
const LANES_MS = 700;
/** Interval of new lane assignments while a user scrolls, in milliseconds. */
const SCROLL_MS = 150;

interface Props {
  readonly events: readonly Event[];
  readonly lanes: Lanes;
  readonly filter: EventFilter;
  readonly chosen: Event | null;
  readonly goal: { readonly index: number } | null;
  readonly isStill: boolean;
  readonly onChoose: (event: Event) => void;
  readonly onStop: () => void;
}

/** Horizontal positions in a row. */
interface Columns {
  readonly names: readonly string[];
  /** True if there is a lane for other agents. */
  readonly hasOthers: boolean;
  readonly lane: number;
  readonly time: number;
  readonly right: number;
}

/** Returns the middle of a lane. The last one belongs to other agents. */
function middleOf({ names, lane, time }: Columns, index: number): number {
  return time + lane * (index < names.length ? index + 0.5 : names.length + OTHERS_PART / 2);
}

function columnsOf(width: number, lanes: Lanes): Columns {
  const time = width < 560 ? 8 : TIME;
  const content = Math.max(Math.min(CONTENT_MIN, width * 0.3), width * 0.26);
  const tracks = Math.max(1, lanes.names.length + (lanes.hasOthers ? OTHERS_PART : 0));
  const lane = Math.min(170, Math.max(60, (width - time - content) / tracks));
  return { names: lanes.names, hasOthers: lanes.hasOthers, lane, time, right: time + lane * tracks };
}

/** Returns the number of lanes that fit. */
function lanesIn(width: number): number {
  return Math.max(2, Math.min(LANES_MAX, Math.floor((Math.min(width * 0.74, width - CONTENT_MIN) - (width < 560 ? 8 : TIME)) / LANE_MIN - OTHERS_PART + 0.15)));
}

export function Diagram(props: Props) {
  const { events, lanes, filter, goal, isStill } = props;
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const newest = useRef(props);
  newest.current = props;
  const lanesAt = useRef(-Infinity);
  const names = useSignal<readonly string[]>(lanes.names);
  const top = useRef(0);
  const rows = useMemo(() => rowsOf(events), [events]);
  const drawn = useRef(rows);
  drawn.current = rows;

  const [, lookAgain] = useState(0);
  const now = performance.now();
  const wait = isStill ? 0 : lanesAt.current + LANES_MS - now;
  if (size.value.width > 0 && wait <= 0) {
    lanesAt.current = now;
    const inView = Math.ceil(size.value.height / ROW) + 1;
    const first = isStill ? Math.floor(top.current / ROW) : Math.max(0, rows.length - inView);
    const seen = rows.slice(first, isStill ? first + inView : rows.length).flatMap(({ event, copies }) => [event, ...copies]);
    const also = props.chosen && isMessage(props.chosen) ? [props.chosen.from, props.chosen.to] : [];
    // The messages of many agents pass too quickly for a line each.
    const isClustered = !isStill && filter.agents === "" && agents.known > CLUSTERED_FROM;
    lanes.update(filter.agents, seen, lanesIn(size.value.width), also, isClustered ? clusterOf : undefined);
    names.value = lanes.names;
  }
  const scrolled = useRef(0);
  const onScrolled = () => {
    draw();
    if (scrolled.current !== 0) return;
    scrolled.current = window.setTimeout(() => {
      scrolled.current = 0;
      lookAgain((times) => times + 1);
    }, SCROLL_MS);
  };
  useEffect(() => () => clearTimeout(scrolled.current), []);
  // Assign lanes later even if no further event arrives.
  useEffect(() => {
    if (wait <= 0) return;
    const timer = setTimeout(() => lookAgain((times) => times + 1), wait + 1);
    return () => clearTimeout(timer);
  });
  const draw = () => {
    const { chosen, isStill } = newest.current;
    const rows = drawn.current;
    const element = box.current;
    if (!element || !canvas.current) return;
    const height = size.value.height;
    if (!isStill) element.scrollTop = rows.length * ROW;
    top.current = isStill ? element.scrollTop : Math.max(0, rows.length * ROW - height);
    paint(canvas.current, size.value, { rows, chosen, top: top.current, columns: columnsOf(size.value.width, lanes), colours: palette.value });
    const first = rows[Math.floor(top.current / ROW)]?.event;
    const last = rows[Math.min(rows.length - 1, Math.floor((top.current + height) / ROW))]?.event;
    const sight = inSight.peek();
    if (first && last && (sight?.fromUs !== first.at_us || sight.toUs !== last.at_us)) inSight.value = { fromUs: first.at_us, toUs: last.at_us };
  };
  useEffect(() => {
    const frame = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(frame);
  });
  useEffect(() => {
    if (!goal || !box.current) return;
    const y = rowAt(drawn.current, goal.index) * ROW;
    const element = box.current;
    if (y < element.scrollTop + ROW || y > element.scrollTop + element.clientHeight - 2 * ROW) element.scrollTop = y - element.clientHeight / 3;
    draw();
  }, [goal]);
  useEffect(() => {
    const undo = [size, palette].map((signal) => signal.subscribe(() => requestAnimationFrame(draw)));
    return () => undo.forEach((unsubscribe) => unsubscribe());
  }, []);
  const columns = columnsOf(size.value.width, lanes);
  return (
    <div class="diagram">
      <Heads
        columns={columns}
        lanes={lanes}
        onChange={() => {
          names.value = lanes.names;
          lanesAt.current = -Infinity;
          lookAgain((times) => times + 1);
        }}
      />
      <div
        class="diagram-box"
        ref={box}
        tabIndex={0}
        role="figure"
        aria-label={`Sequence diagram of ${events.length} events; j and k step through them`}
        onScroll={() => {
          if (newest.current.isStill) onScrolled();
        }}
        onWheel={(event) => {
          if (!newest.current.isStill && event.deltaY < 0 && drawn.current.length * ROW > size.value.height) newest.current.onStop();
        }}
        onPointerDown={(event) => {
          const y = event.clientY - (box.current?.getBoundingClientRect().top ?? 0) + top.current;
          const picked = drawn.current[Math.floor(y / ROW)]?.event;
          if (picked && isMessage(picked)) newest.current.onChoose(picked);
        }}
      >
        {events.length === 0 ? <NoMessages /> : null}
        <canvas ref={canvas} aria-hidden="true" style={{ marginBottom: `${-size.value.height}px` }} />
        <div style={{ height: `${rows.length * ROW}px` }} />
      </div>
    </div>
  );
}

interface HeadsProps {
  readonly columns: Columns;
  readonly lanes: Lanes;
  readonly onChange: () => void;
}

/** Names above the lanes. A click pins a lane, dragging or arrow keys move it. */
function Heads({ columns, lanes, onChange }: HeadsProps) {
  const move = (name: string, lane: number) => {
    if (lane < 0 || lane >= lanes.names.length) return;
    lanes.moveTo(name, lane);
    onChange();
  };
  return (
    <div class="heads" role="group" aria-label="Life lines">
      {lanes.names.map((name, index) => {
        const isPinned = lanes.pinned.includes(name);
        return (
          <button
            type="button"
            key={name}
            class={isPinned ? "is-pinned" : ""}
            aria-pressed={isPinned}
            title={`${visible(name, 200)}: click to ${isPinned ? "free" : "pin"}, drag or press arrow keys to move`}
            style={{ left: `${columns.time + columns.lane * index}px`, width: `${columns.lane}px` }}
            draggable
            onClick={() => (lanes.pin(name), onChange())}
            onKeyDown={(event) => {
              const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
              if (by === 0) return;
              event.stopPropagation();
              event.preventDefault();
              move(name, index + by);
            }}
            onDragStart={(event) => event.dataTransfer?.setData("text/x-lane", name)}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault();
              const dropped = event.dataTransfer?.getData("text/x-lane") ?? "";
              if (dropped !== "") move(dropped, index);
            }}
          >
            <Name of={name} />
          </button>
        );
      })}
      {lanes.hasOthers ? (
        <span style={{ left: `${columns.time + columns.lane * lanes.names.length}px`, width: `${columns.lane * OTHERS_PART}px` }} class="is-quiet">
          others
        </span>
      ) : null}
    </div>
  );
}

interface Scene {
  readonly rows: readonly DiagramRow[];
  readonly chosen: Event | null;
  readonly top: number;
  readonly columns: Columns;
  readonly colours: Palette;
}

const SANS = '"IBM Plex Sans", system-ui, sans-serif';
const MONO = '"IBM Plex Mono", monospace';

function paint(canvas: HTMLCanvasElement, size: Size, scene: Scene): void {
  const context = prepare(canvas, size);
  if (!context) return;
  const { columns, colours, rows, top } = scene;
  context.clearRect(0, 0, size.width, size.height);
  const first = Math.floor(top / ROW);
  const last = Math.min(rows.length, Math.ceil((top + size.height) / ROW));
  const y = (index: number) => index * ROW - top + ROW / 2;
  const lanes = new Map(columns.names.map((name, index) => [name, index]));
  const laneOf = (name: string) => lanes.get(name) ?? lanes.get(clusterOf(name)) ?? columns.names.length;
  const chosenConversation = scene.chosen && isMessage(scene.chosen) ? scene.chosen.conversation : null;
  for (let index = first; index < last; index++) {
    const row = rows[index];
    if (!row) continue;
    const { event } = row;
    if (event === scene.chosen || row.copies.some((copy) => copy === scene.chosen)) {
      context.fillStyle = colours["accent-soft"];
      context.fillRect(0, y(index) - ROW / 2, size.width, ROW);
    } else if (chosenConversation !== null && isMessage(event) && event.conversation === chosenConversation) {
      context.fillStyle = colours.sunken;
      context.fillRect(0, y(index) - ROW / 2, size.width, ROW);
    }
  }
  context.strokeStyle = colours["line-2"];
  context.lineWidth = 1;
  context.setLineDash([2, 4]);
  context.beginPath();
  for (let lane = 0; lane < columns.names.length + Number(columns.hasOthers); lane++) {
    const x = Math.round(middleOf(columns, lane)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, size.height);
  }
  context.stroke();
  context.setLineDash([]);
  context.textBaseline = "middle";
  for (let index = first; index < last; index++) {
    const row = rows[index];
    if (row) paintRow(context, row, y(index), size.width, scene, laneOf);
  }
}

function paintRow(context: CanvasRenderingContext2D, { event, copies }: DiagramRow, y: number, width: number, { columns, colours }: Scene, laneOf: (name: string) => number): void {
  context.textAlign = "left";
  if (columns.time >= TIME) {
    context.font = `11px ${MONO}`;
    context.fillStyle = colours["ink-3"];
    context.fillText(clock(event.at_us), 10, y);
  }
  if (!isMessage(event)) {
    const isGap = "count" in event || event.event === "cut_short" || event.event === "missed";
    context.font = `12px ${SANS}`;
    context.fillStyle = isGap ? colours.refuse : colours["ink-3"];
    clipped(context, visible(eventText(event), 200), columns.right + 10, y, width - columns.right - 16);
    return;
  }
  const others = columns.names.length;
  const [from, to] = [laneOf(event.from), laneOf(event.to)];
  const isNamed = columns.names[from] === event.from && columns.names[to] === event.to;
  if (copies.length === 0) paintArrow(context, event, y, from, to, columns, colours);
  else paintMulticast(context, event, y, from, [event, ...copies].map((copy) => laneOf(copy.to)), columns, colours);
  if (event.conversation !== null) {
    context.fillStyle = `hsl(${hashOf(event.conversation) % 360} 55% 55%)`;
    context.fillRect(columns.right, y - 8, 3, 16);
  }
  const who = copies.length > 0 ? `${from === others ? `${event.from} ` : ""}to ${copies.length + 1} agents: ` : (from === others && to === others) || (!isNamed && from !== others && to !== others) ? `${event.from} → ${event.to}: ` : from === others ? `from ${event.from}: ` : to === others ? `to ${event.to}: ` : "";
  const why = event.event === "died" ? `undeliverable: ${event.why} · ` : "";
  context.textAlign = "left";
  context.font = `11.5px ${MONO}`;
  context.fillStyle = event.event === "died" ? colours.fail : colours["ink-2"];
  clipped(context, visible(`${why}${who}${event.content}`, 160), columns.right + 10, y, width - columns.right - 16);
}

function paintArrow(context: CanvasRenderingContext2D, event: MessageEvent, y: number, from: number, to: number, columns: Columns, colours: Palette): void {
  const isDead = event.event === "died";
  const colour = isDead ? colours.fail : colours[family(event.performative)];
  const [x1, x2] = [middleOf(columns, from), middleOf(columns, to)];
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash(isDead ? [5, 3] : []);
  context.font = `600 11.5px ${SANS}`;
  const word = visible(event.performative, 20);
  if (from === to && from === columns.names.length) {
    // Neither agent has a lane, so an arrow would have no meaning.
    context.textAlign = "center";
    label(context, word, x1, y, columns.lane * OTHERS_PART - 8, colours.surface, colour);
    return;
  }
  context.beginPath();
  if (from === to) {
    context.moveTo(x1, y - 5);
    context.bezierCurveTo(x1 + 26, y - 9, x1 + 26, y + 9, x1 + 3, y + 5);
    context.stroke();
    context.setLineDash([]);
    head(context, x1 + 1, y + 5, -1, isDead);
    context.textAlign = "left";
    context.fillText(word, x1 + 26, y, columns.lane - 30);
    return;
  }
  const way = x2 > x1 ? 1 : -1;
  context.moveTo(x1, y);
  context.lineTo(x2 - way * 3, y);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.arc(x1, y, 2.5, 0, 2 * Math.PI);
  context.fill();
  head(context, x2, y, way, isDead);
  // The performative stands near its sender, where no other life line crosses it.
  const near = Math.min(columns.lane, Math.abs(x2 - x1));
  context.textAlign = "center";
  label(context, word, x1 + (way * near) / 2, y, near - 22, colours.surface, colour);
}

/** Draws one message to several receivers: a line over their lanes, with a head at each. */
function paintMulticast(context: CanvasRenderingContext2D, event: MessageEvent, y: number, from: number, to: readonly number[], columns: Columns, colours: Palette): void {
  const colour = event.event === "died" ? colours.fail : colours[family(event.performative)];
  const lanes = [...new Set(to)].sort((a, b) => a - b);
  const xs = lanes.map((lane) => middleOf(columns, lane));
  const x1 = middleOf(columns, from);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash(event.event === "died" ? [5, 3] : []);
  context.beginPath();
  context.moveTo(Math.min(x1, ...xs), y);
  context.lineTo(Math.max(x1, ...xs), y);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.arc(x1, y, 2.5, 0, 2 * Math.PI);
  context.fill();
  xs.forEach((x, at) => {
    if (lanes[at] !== from) head(context, x, y, x > x1 ? 1 : -1, event.event === "died");
  });
  context.font = `600 11.5px ${SANS}`;
  context.textAlign = "center";
  const nearest = Math.min(...xs.filter((x) => x !== x1).map((x) => Math.abs(x - x1)), columns.lane);
  const way = xs.some((x) => x > x1) ? 1 : -1;
  label(context, `${visible(event.performative, 14)} ×${to.length}`, x1 + (way * nearest) / 2, y, nearest - 22, colours.surface, colour);
}

function label(context: CanvasRenderingContext2D, word: string, x: number, y: number, room: number, behind: string, colour: string): void {
  const wide = Math.min(context.measureText(word).width, room);
  context.fillStyle = behind;
  context.fillRect(x - wide / 2 - 4, y - 8, wide + 8, 16);
  context.fillStyle = colour;
  context.fillText(word, x, y + 0.5, room);
}

function head(context: CanvasRenderingContext2D, x: number, y: number, way: number, isDead: boolean): void {
  context.beginPath();
  if (isDead) {
    const at = x - way * 6;
    context.moveTo(at - 4, y - 4);
    context.lineTo(at + 4, y + 4);
    context.moveTo(at + 4, y - 4);
    context.lineTo(at - 4, y + 4);
    context.stroke();
    return;
  }
  context.moveTo(x - way, y);
  context.lineTo(x - way * 9, y - 4);
  context.lineTo(x - way * 9, y + 4);
  context.closePath();
  context.fill();
}

/** Draws a text, cut to the width. Measuring is slow, so the width of a monospaced letter is assumed. */
function clipped(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number): void {
  const most = Math.floor(room / 6.9);
  if (most < 3) return;
  context.fillText(text.length > most ? `${text.slice(0, most - 1)}…` : text, x, y);
}
