/** Map of the society: agents and their traffic, live on a canvas. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { CLUSTERED_FROM, Clusters } from "../model/clusters.js";
import { count, short, visible } from "../model/format.js";
import { Layout, type Edge, type Spot } from "../model/layout.js";
import { searchFits } from "../model/pattern.js";
import { prepare, useSize, type Size } from "../parts/hooks.js";
import { Icon } from "../parts/icons.js";
import { traffic, useSharedTraffic } from "../parts/traffic.js";
import { agents, society } from "../session.js";
import { palette, type Palette } from "../theme.js";
import { filter } from "./places.js";

/** They outlive the view, so that the map is unchanged on return. */
const layout = new Layout();
const clusters = new Clusters();
/** Number of matches of a search above which they stay in their clusters. */
const MATCHES_MAX = 40;
/** Maximum zoom for a map that is kept visible as a whole. */
const AIM_ZOOM_MAX = 2.6;

interface Camera {
  x: number;
  y: number;
  zoom: number;
  /** False until the user moves the map. The whole map is then kept visible. */
  isOwn: boolean;
}
const camera: Camera = { x: 0, y: 0, zoom: 1, isOwn: false };

/** Height of the legend at the bottom. */
const LEGEND_PX = 30;
const LABELS_MAX = 60;
/** Distance between an agent and its tooltip, in pixels. */
const TIP_GAP = 3;
/** Number of edges above which they are drawn straight, for speed. */
const BOWS_MAX = 300;
/** Interval of drawing, in milliseconds: smooth, and leaves time for the rest of the page. */
const DRAW_MS = 33;
const NODE_COLOURS = ["tell", "ask", "refuse", "offer", "other", "fail"] as const;

interface Props {
  readonly chosen: string;
  readonly onChoose: (agent: string) => void;
  readonly onLayout: () => void;
  readonly isWhole: boolean;
}

export function SocietyMap({ chosen, onChoose, onLayout, isWhole }: Props) {
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const hovered = useSignal<string | null>(null);
  const shown = useSignal(layout.size);
  const search = filter.value.search;
  const state = useRef({ chosen, search, dirty: true });
  state.current = { chosen, search, dirty: true };
  const take = () => {
    place(state.current.chosen, state.current.search);
    if (shown.value === 0) layout.settle(120);
    shown.value = layout.size;
    state.current.dirty = true;
  };
  useSharedTraffic(take);
  useEffect(take, [chosen, search, agents.known]);
  useEffect(() => {
    layout.aspect = size.value.width / Math.max(1, size.value.height);
    layout.warm();
  }, [Math.round((size.value.width / Math.max(1, size.value.height)) * 4)]);
  useEffect(() => {
    let frame = 0;
    let drawnAt = -Infinity;
    const draw = (now: number) => {
      frame = requestAnimationFrame(draw);
      if (now - drawnAt < DRAW_MS) return;
      drawnAt = now;
      // Keep the map still under the pointer.
      if (!layout.isAtRest && hovered.value === null) {
        layout.step();
        state.current.dirty = true;
      }
      if (!state.current.dirty || !canvas.current) return;
      state.current.dirty = false;
      const context = prepare(canvas.current, size.value);
      if (context) paint(context, size.value, palette.value, state.current, hovered.value);
    };
    draw(0);
    const undo = [size, palette, hovered].map((signal) => signal.subscribe(() => (state.current.dirty = true)));
    return () => {
      cancelAnimationFrame(frame);
      undo.forEach((unsubscribe) => unsubscribe());
    };
  }, []);
  const pick = (name: string) => {
    if (!clusters.sizes.has(name)) return onChoose(name);
    clusters.toggle(name);
    hovered.value = null;
    filter.value = { ...filter.value, search: name };
    take();
  };
  useGestures(canvas, size.peek.bind(size), hovered, pick, () => (state.current.dirty = true));
  return (
    <section class="panel is-fill map">
      <div class="tools">
        <h2>Traffic</h2>
        <span class="tools-note">{noteOf(shown.value)}</span>
        {clusters.hasOpen ? (
          <button type="button" class="button" onClick={() => (clusters.closeAll(), (filter.value = { ...filter.value, search: "" }), take())}>
            Cluster
          </button>
        ) : null}
        <button type="button" class="button is-bare" title="Show the whole map" aria-label="Show the whole map" onClick={() => ((camera.isOwn = false), (state.current.dirty = true))}>
          <Icon of="target" />
        </button>
        <button type="button" class="button" onClick={onLayout}>
          {isWhole ? "List" : "Whole map"}
        </button>
      </div>
      <div class="map-box" ref={box}>
        <canvas ref={canvas} tabIndex={0} role="img" aria-label={`Map of ${shown.value} agents and their traffic`} aria-description="Arrow keys go from agent to agent, Enter chooses one" />
        {hovered.value === null ? null : (
          <p class="map-tip" role="status" style={tipPlace(hovered.value, size.value)}>
            {tip(hovered.value)}
          </p>
        )}
        <ul class="legend">
          {society.cards.value.slice(0, 6).map((card, index) => (
            <li>
              <i class={`dot is-${NODE_COLOURS[index]}`} /> {visible(card.name, 16)}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/** Places the agents and their traffic on the map. */
function place(chosen: string, search: string): void {
  const names = agents.names;
  clusters.update(names);
  const matches = search === "" || !clusters.isOn ? [] : names.filter((name) => searchFits(search, name));
  const apart = new Set(matches.length <= MATCHES_MAX ? matches : []);
  if (chosen !== "") apart.add(chosen);
  const isApart = (name: string) => apart.has(name);
  const also = clusters.isOn ? [...clusters.closed(), ...apart] : names.length <= CLUSTERED_FROM ? names.filter((name) => agents.named(name)?.kind !== "service") : [];
  layout.take(clusters.pairs(traffic.pairs(), isApart), also, (name) => clusters.sizes.get(name) ?? 1);
}

function noteOf(shown: number): string {
  if (shown === 0) return "no agents yet";
  return clusters.isOn ? `${count(agents.known)} agents in clusters` : agents.known > shown ? `${shown} busiest agents` : `${shown} agents`;
}

function tip(name: string): string {
  const size = clusters.sizes.get(name);
  if (size !== undefined) return `${visible(name, 60)} · ${count(size)} agents · click to open`;
  const agent = agents.named(name);
  const parts = [visible(name, 60), ...(agent ? [agent.kind, agent.state ?? "", agent.node] : [])];
  return parts.filter((part) => part !== "").join(" · ");
}

/** Returns a position above the agent, inside the map. */
function tipPlace(name: string, { width }: Size): Record<string, string> {
  const spot = layout.spot(name);
  if (!spot) return {};
  const [x, y] = [(spot.x - camera.x) * camera.zoom, (spot.y - camera.y) * camera.zoom];
  const part = Math.max(0, Math.min(1, 0.5 + x / Math.max(1, width)));
  return { left: `${part * 100}%`, top: `calc(50% + ${y - radius(spot) * camera.zoom - TIP_GAP}px)`, translate: `-${part * 100}% -100%` };
}

/** Returns the radius in units of the layout. On a large scale, spots grow less than the map. */
function radius(spot: Spot): number {
  const plain = 3 + Math.min(7, 1.6 * Math.log1p(spot.weight)) + Math.min(10, 2 * Math.log(spot.size));
  return plain / Math.max(1, camera.zoom ** 0.6);
}

/** Keeps the whole map visible, with soft movements. */
function aim(size: Size): void {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { x, y } of layout.spots) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  if (left > right) return;
  const zoom = Math.min(AIM_ZOOM_MAX, (size.width - 110) / (right - left + 1), (size.height - LEGEND_PX - 50) / (bottom - top + 1));
  const isFar = Math.abs(Math.log(zoom / camera.zoom)) > 0.7;
  const soft = isFar || layout.isAtRest ? 1 : 0.15;
  camera.zoom += (zoom - camera.zoom) * soft;
  camera.x += ((left + right) / 2 - camera.x) * soft;
  // The legend is below the agents.
  camera.y += ((top + bottom) / 2 + LEGEND_PX / 2 / zoom - camera.y) * soft;
}

function paint(context: CanvasRenderingContext2D, size: Size, colours: Palette, { chosen, search }: { readonly chosen: string; readonly search: string }, hovered: string | null): void {
  if (!camera.isOwn && hovered === null) aim(size);
  context.clearRect(0, 0, size.width, size.height);
  context.save();
  context.translate(size.width / 2, size.height / 2);
  context.scale(camera.zoom, camera.zoom);
  context.translate(-camera.x, -camera.y);
  const focus = hovered ?? (chosen === "" ? null : chosen);
  const near = new Set<string>();
  if (focus !== null) for (const { from, to } of layout.edges) if (from.name === focus || to.name === focus) near.add(from.name).add(to.name);
  // Without a focus, a search highlights its matches.
  const isSearched = focus === null && search !== "";
  if (isSearched) for (const { name } of layout.spots) if (searchFits(search, name)) near.add(name);
  // An agent without partners says nothing about the others.
  const dims = isSearched || near.size > 0;
  paintEdges(context, colours, focus, dims);
  paintSpots(context, colours, dims, focus, near, chosen);
  if (isSearched) paintRings(context, colours, near);
  paintLabels(context, colours, dims, focus, near);
  context.restore();
}

function nodeColours(colours: Palette): (name: string) => string {
  const order = society.cards.value.map((card) => card.name);
  return (name) => {
    if (clusters.sizes.has(name)) return colours.other;
    const index = order.indexOf(agents.named(name)?.node ?? "");
    return colours[NODE_COLOURS[Math.max(0, index) % NODE_COLOURS.length] ?? "other"];
  };
}

/** Draws spots of equal colour and brightness as one path, because starting a path is slow. */
function paintSpots(context: CanvasRenderingContext2D, colours: Palette, dims: boolean, focus: string | null, near: ReadonlySet<string>, chosen: string): void {
  const colourOf = nodeColours(colours);
  const groups = new Map<string, { readonly colour: string; readonly alpha: number; readonly spots: Spot[] }>();
  for (const spot of layout.spots) {
    const alpha = !dims || spot.name === focus || near.has(spot.name) ? 1 : 0.3;
    const colour = colourOf(spot.name);
    const group = groups.get(`${colour} ${alpha}`);
    if (group) group.spots.push(spot);
    else groups.set(`${colour} ${alpha}`, { colour, alpha, spots: [spot] });
  }
  context.strokeStyle = colours.surface;
  context.lineWidth = 1.5 / camera.zoom;
  for (const { colour, alpha, spots } of groups.values()) {
    context.globalAlpha = alpha;
    context.fillStyle = colour;
    context.beginPath();
    for (const spot of spots) {
      context.moveTo(spot.x + radius(spot), spot.y);
      context.arc(spot.x, spot.y, radius(spot), 0, 2 * Math.PI);
    }
    context.fill();
    context.stroke();
  }
  const spot = layout.spot(chosen);
  if (!spot) return;
  context.globalAlpha = 1;
  context.strokeStyle = colours.ink;
  context.lineWidth = 2.5 / camera.zoom;
  context.beginPath();
  context.arc(spot.x, spot.y, radius(spot) + 1 / camera.zoom, 0, 2 * Math.PI);
  context.stroke();
}

/** Draws rings around the matches of a search. */
function paintRings(context: CanvasRenderingContext2D, colours: Palette, matches: ReadonlySet<string>): void {
  context.globalAlpha = 1;
  context.strokeStyle = colours.refuse;
  context.lineWidth = 2 / camera.zoom;
  context.beginPath();
  for (const name of matches) {
    const spot = layout.spot(name);
    if (!spot) continue;
    const far = radius(spot) + 3 / camera.zoom;
    context.moveTo(spot.x + far, spot.y);
    context.arc(spot.x, spot.y, far, 0, 2 * Math.PI);
  }
  context.stroke();
}

/** Levels of an edge's strength, the first for traffic of the past. Edges of one level are one path. */
const STRENGTHS = 6;
/** Number of edges of the focus up to which their figures are drawn. */
const FIGURES_MAX = 14;
/** Place of a figure on its edge, from 0 at the sender to 1. */
const NEAR = 0.36;

function strengthOf({ weight, fresh }: Edge): number {
  return weight === 0 ? 0 : Math.min(STRENGTHS - 1, 1 + Math.floor(Math.log2(1 + weight)) + (fresh > 0 && weight < 1 ? 1 : 0));
}

function paintEdges(context: CanvasRenderingContext2D, colours: Palette, focus: string | null, dims: boolean): void {
  const groups = Array.from({ length: STRENGTHS + 1 }, (): Edge[] => []);
  for (const edge of layout.edges) {
    const isNear = focus !== null && (edge.from.name === focus || edge.to.name === focus);
    groups[isNear ? STRENGTHS : strengthOf(edge)]?.push(edge);
  }
  const bows = layout.edges.length <= BOWS_MAX;
  context.lineCap = "round";
  groups.forEach((edges, strength) => {
    const isNear = strength === STRENGTHS;
    context.globalAlpha = isNear ? 0.9 : dims ? 0.12 : 0.3 + 0.11 * strength;
    context.strokeStyle = context.fillStyle = isNear ? colours.accent : strength === 0 ? colours["line-2"] : colours["ink-3"];
    const wide = (isNear ? 1.8 : 0.8 + 0.65 * strength) / Math.sqrt(camera.zoom);
    context.lineWidth = wide;
    context.beginPath();
    for (const { from, to } of edges) {
      context.moveTo(from.x, from.y);
      const [x, y] = bowOf(from, to);
      // A slight bow separates the two directions.
      if (bows) context.quadraticCurveTo(x, y, to.x, to.y);
      else context.lineTo(to.x, to.y);
    }
    context.stroke();
    if (!bows && !isNear) return;
    context.beginPath();
    for (const { from, to } of edges) if (from !== to) arrowHead(context, from, to, 3 / Math.sqrt(camera.zoom) + 1.2 * wide);
    context.fill();
  });
  const near = groups[STRENGTHS] ?? [];
  if (near.length <= FIGURES_MAX) for (const edge of near) paintFigure(context, colours, edge);
}

/** Returns the point that bends an edge. */
function bowOf(from: Spot, to: Spot): readonly [number, number] {
  return [(from.x + to.x) / 2 + (to.y - from.y) * 0.16, (from.y + to.y) / 2 - (to.x - from.x) * 0.16];
}

/** Adds an arrow head at the edge of the receiver. */
function arrowHead(context: CanvasRenderingContext2D, from: Spot, to: Spot, long: number): void {
  const [bx, by] = layout.edges.length <= BOWS_MAX ? bowOf(from, to) : [from.x, from.y];
  const far = Math.hypot(to.x - bx, to.y - by) || 1;
  const [dx, dy] = [(to.x - bx) / far, (to.y - by) / far];
  const gap = radius(to) + 1 / camera.zoom;
  const [x, y] = [to.x - dx * gap, to.y - dy * gap];
  context.moveTo(x, y);
  context.lineTo(x - dx * long * 1.8 - dy * long * 0.8, y - dy * long * 1.8 + dx * long * 0.8);
  context.lineTo(x - dx * long * 1.8 + dy * long * 0.8, y - dy * long * 1.8 - dx * long * 0.8);
  context.closePath();
}

/** Writes the messages a second on an edge; those so far, if there are none now. */
function paintFigure(context: CanvasRenderingContext2D, colours: Palette, { from, to, weight, total }: Edge): void {
  if (from === to) return;
  const [bx, by] = bowOf(from, to);
  // Near the sender, so that the figures of both directions do not overlap.
  const at = (start: number, bend: number, end: number) => (1 - NEAR) ** 2 * start + 2 * NEAR * (1 - NEAR) * bend + NEAR ** 2 * end;
  const [x, y] = [at(from.x, bx, to.x), at(from.y, by, to.y)];
  const font = 10.5 / camera.zoom;
  context.font = `600 ${font}px "IBM Plex Sans", system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.globalAlpha = 1;
  context.lineJoin = "round";
  context.strokeStyle = colours.surface;
  context.lineWidth = font / 3;
  const text = weight >= 0.05 ? `${short(Math.round(weight * 10) / 10)}/s` : short(total);
  context.strokeText(text, x, y);
  context.fillStyle = weight >= 0.05 ? colours.accent : colours["ink-3"];
  context.fillText(text, x, y);
}

function paintLabels(context: CanvasRenderingContext2D, colours: Palette, dims: boolean, focus: string | null, near: ReadonlySet<string>): void {
  const font = 11 / camera.zoom;
  context.font = `${font}px "IBM Plex Sans", system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.lineJoin = "round";
  const spots = [...layout.spots].sort((a, b) => Number(b.name === focus) - Number(a.name === focus) || Number(near.has(b.name)) - Number(near.has(a.name)) || b.weight - a.weight);
  const taken: { readonly x: number; readonly y: number; readonly half: number }[] = [];
  for (const spot of spots.slice(0, 2 * LABELS_MAX)) {
    if (taken.length >= LABELS_MAX) break;
    if (dims && spot.name !== focus && !near.has(spot.name)) continue;
    const text = spot.size > 1 ? `${visible(spot.name, 14)} ${short(spot.size)}` : visible(spot.name, 18);
    const [x, y, half] = [spot.x, spot.y + radius(spot) + 2 / camera.zoom, text.length * font * 0.29];
    // Labels do not overlap. The busier agent keeps its label.
    if (taken.some((other) => Math.abs(other.y - y) < font * 1.2 && Math.abs(other.x - x) < other.half + half)) continue;
    taken.push({ x, y, half });
    context.globalAlpha = 1;
    context.strokeStyle = colours.surface;
    context.lineWidth = font / 3;
    context.strokeText(text, x, y);
    context.fillStyle = spot.name === focus ? colours.ink : colours["ink-2"];
    context.fillText(text, x, y);
  }
  context.globalAlpha = 1;
}

// ---- Gestures

/** Returns the agent at a position of the canvas. */
function spotAt(px: number, py: number, size: Size): Spot | undefined {
  const x = (px - size.width / 2) / camera.zoom + camera.x;
  const y = (py - size.height / 2) / camera.zoom + camera.y;
  let best: Spot | undefined;
  let nearest = 14 / camera.zoom;
  for (const spot of layout.spots) {
    const far = Math.hypot(spot.x - x, spot.y - y) - radius(spot);
    if (far < nearest) [best, nearest] = [spot, far];
  }
  return best;
}

/** Returns the next agent in a direction: near, and little to the side. Without a start, returns the busiest agent. */
function spotBeside(name: string | null, dx: number, dy: number): Spot | undefined {
  const from = name === null ? undefined : layout.spot(name);
  let best: Spot | undefined;
  let least = Infinity;
  for (const spot of layout.spots) {
    const [x, y] = from ? [spot.x - from.x, spot.y - from.y] : [0, 0];
    const ahead = x * dx + y * dy;
    if (from && (spot === from || ahead <= 0)) continue;
    const far = from ? ahead + 3 * Math.abs(x * dy - y * dx) : -spot.weight;
    if (far < least) [best, least] = [spot, far];
  }
  return best ?? from;
}

const ARROWS: Readonly<Record<string, readonly [number, number]>> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function useGestures(ref: { readonly current: HTMLCanvasElement | null }, sizeOf: () => Size, hovered: { value: string | null }, onChoose: (agent: string) => void, changed: () => void): void {
  const choose = useRef(onChoose);
  choose.current = onChoose;
  useEffect(() => {
    const canvas = ref.current;
    if (!canvas) return undefined;
    let held: { spot: Spot | undefined; moved: number } | null = null;
    // After a change of the layout, browsers report a resting pointer again. That does not undo what keys chose.
    let pointer = { x: NaN, y: NaN };
    let isByKeys = false;
    const down = (event: PointerEvent) => {
      canvas.setPointerCapture(event.pointerId);
      held = { spot: spotAt(event.offsetX, event.offsetY, sizeOf()), moved: 0 };
    };
    const movePointer = (event: PointerEvent) => {
      if (event.clientX === pointer.x && event.clientY === pointer.y) return;
      pointer = { x: event.clientX, y: event.clientY };
      isByKeys = false;
      if (!held) {
        hovered.value = spotAt(event.offsetX, event.offsetY, sizeOf())?.name ?? null;
        canvas.style.cursor = hovered.value === null ? "" : "pointer";
        return;
      }
      held.moved += Math.abs(event.movementX) + Math.abs(event.movementY);
      if (held.moved < 4) return;
      const [dx, dy] = [event.movementX / camera.zoom, event.movementY / camera.zoom];
      if (held.spot) {
        held.spot.x += dx;
        held.spot.y += dy;
        layout.warm();
      } else {
        camera.isOwn = true;
        camera.x -= dx;
        camera.y -= dy;
      }
      changed();
    };
    const up = () => {
      if (held && held.moved < 4 && held.spot) choose.current(held.spot.name);
      held = null;
    };
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const { width, height } = sizeOf();
      const factor = Math.exp(-event.deltaY * 0.0015);
      const zoom = Math.max(0.08, Math.min(6, camera.zoom * factor));
      // Keep the point under the pointer in place.
      camera.x += (event.offsetX - width / 2) * (1 / camera.zoom - 1 / zoom);
      camera.y += (event.offsetY - height / 2) * (1 / camera.zoom - 1 / zoom);
      camera.zoom = zoom;
      camera.isOwn = true;
      changed();
    };
    const blur = () => (hovered.value = null);
    const leave = () => {
      if (!isByKeys) hovered.value = null;
    };
    const press = (event: KeyboardEvent) => {
      const arrow = ARROWS[event.key];
      if (arrow) isByKeys = true;
      if (arrow) hovered.value = spotBeside(hovered.value, ...arrow)?.name ?? null;
      else if (event.key === "Enter" && hovered.value !== null) choose.current(hovered.value);
      else if (event.key === "Escape" && hovered.value !== null) hovered.value = null;
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    const listeners = [["pointerdown", down], ["pointermove", movePointer], ["pointerup", up], ["pointerleave", leave]] as const;
    for (const [type, listener] of listeners) canvas.addEventListener(type, listener as EventListener);
    canvas.addEventListener("wheel", wheel, { passive: false });
    canvas.addEventListener("keydown", press);
    canvas.addEventListener("blur", blur);
    return () => {
      for (const [type, listener] of listeners) canvas.removeEventListener(type, listener as EventListener);
      canvas.removeEventListener("wheel", wheel);
      canvas.removeEventListener("keydown", press);
      canvas.removeEventListener("blur", blur);
    };
  }, []);
}
