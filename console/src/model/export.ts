/** Export of conversations as SVG, Mermaid and JSON. */
import type { Event } from "../live/vocabulary.js";
import { clock, visible } from "./format.js";
import { family, type Family } from "./performative.js";
import { isMessage } from "./recording.js";

/** Maximum events of a picture. */
export const PICTURE_EVENTS_MAX = 2_000;

export function toJson(events: readonly Event[]): string {
  return `[\n${events.map((event) => JSON.stringify(event)).join(",\n")}\n]\n`;
}

// ---- Mermaid

/** Escapes text for Mermaid. `;` and `#` have a meaning there, and a line is a statement. */
function mermaidText(text: string): string {
  return visible(text, 120).replaceAll(/[#;<>&"\\%{}:]/g, (c) => `#${c.codePointAt(0)};`);
}

export function toMermaid(events: readonly Event[]): string {
  const numbers = new Map<string, string>();
  const participant = (name: string) => {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    const id = `a${numbers.size + 1}`;
    numbers.set(name, id);
    return id;
  };
  const lines: string[] = [];
  for (const event of events.slice(0, PICTURE_EVENTS_MAX)) {
    if (isMessage(event)) {
      const arrow = event.event === "died" ? "-x" : "->>";
      lines.push(`  ${participant(event.from)}${arrow}${participant(event.to)}: ${mermaidText(`${event.performative} ${event.content}`.trim())}`);
    } else if (event.event === "skipped" || event.event === "dropped") {
      const [first] = numbers.values();
      if (first !== undefined) lines.push(`  Note over ${first}: ${event.count} more not shown`);
    } else if (event.event === "missed") {
      const [first] = numbers.values();
      if (first !== undefined) lines.push(`  Note over ${first}: messages are missing here`);
    }
  }
  const participants = [...numbers].map(([name, id]) => `  participant ${id} as ${mermaidText(name)}`);
  return ["sequenceDiagram", ...participants, ...lines, ""].join("\n");
}

// ---- SVG

const LANE = 150;
const ROW = 28;
const LEFT = 110;
const TOP = 48;
const CONTENT = 360;

/** Colours on white, independent of the console's theme, because pictures go into documents. */
const COLOURS: Readonly<Record<Family, string>> = { ask: "#2563a8", offer: "#7a4bb0", tell: "#12736a", refuse: "#a2630b", fail: "#bf3030", other: "#5c6a70" };

export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (c) => `&#${c.codePointAt(0)};`);
}

function shown(text: string, most: number): string {
  const line = visible(text, most * 2);
  return escapeXml(line.length > most ? `${line.slice(0, most - 1)}…` : line);
}

/** Draws a sequence diagram with these lanes. Other agents share the last one. */
export function toSvg(events: readonly Event[], lanes: readonly string[]): string {
  const drawn = events.slice(0, PICTURE_EVENTS_MAX);
  const laneOf = (name: string) => (lanes.includes(name) ? lanes.indexOf(name) : lanes.length);
  const hasOthers = drawn.some((event) => isMessage(event) && (laneOf(event.from) === lanes.length || laneOf(event.to) === lanes.length));
  const titles = hasOthers ? [...lanes, "others"] : [...lanes];
  const x = (lane: number) => LEFT + LANE / 2 + lane * LANE;
  const right = x(titles.length - 1) + LANE / 2;
  const width = right + CONTENT;
  const height = TOP + drawn.length * ROW + 24;
  const heads = titles.map(
    (title, lane) =>
      `<line x1="${x(lane)}" y1="${TOP - 14}" x2="${x(lane)}" y2="${height - 12}" class="life"/><text x="${x(lane)}" y="${TOP - 22}" class="name">${shown(title, 20)}</text>`,
  );
  const rows = drawn.map((event, index) => svgRow(event, TOP + index * ROW + ROW / 2, { x, laneOf, right }));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<style>text{font:12px "IBM Plex Sans",system-ui,sans-serif;fill:#1b2629}.name{font-weight:600;text-anchor:middle}.life{stroke:#c9d3d1;stroke-dasharray:3 3}.at{fill:#6a7a7d;font-size:11px}.word{font-weight:600;text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:4px}.gap{fill:#a2630b}</style>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...heads,
    ...rows,
    "</svg>",
    "",
  ].join("\n");
}

interface Frame {
  readonly x: (lane: number) => number;
  readonly laneOf: (name: string) => number;
  readonly right: number;
}

function svgRow(event: Event, y: number, { x, laneOf, right }: Frame): string {
  const at = `<text x="8" y="${y + 4}" class="at">${clock(event.at_us)}</text>`;
  if (!isMessage(event)) {
    const text = "text" in event ? event.text : "count" in event ? `${event.count} more not shown` : "node stopped abruptly";
    return `${at}<text x="${right + 8}" y="${y + 4}" class="gap">${shown(text, 60)}</text>`;
  }
  const colour = COLOURS[family(event.performative)];
  const from = x(laneOf(event.from));
  const to = x(laneOf(event.to));
  const dash = event.event === "died" ? ' stroke-dasharray="5 3"' : "";
  const tip = to > from ? -7 : 7;
  const arrow =
    from === to
      ? `<path d="M${from} ${y - 5}h22v10h-18" fill="none" stroke="${colour}"${dash}/>`
      : `<path d="M${from} ${y}H${to}" stroke="${colour}" stroke-width="1.5"${dash}/><path d="M${to + tip} ${y - 4}L${to} ${y}L${to + tip} ${y + 4}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
  const word = `<text x="${from === to ? from + 60 : (from + to) / 2}" y="${y + 4}" class="word" style="fill:${colour}">${shown(event.performative, 20)}</text>`;
  const why = event.event === "died" ? ` (undeliverable: ${event.why})` : "";
  return `${at}${arrow}${word}<text x="${right + 8}" y="${y + 4}">${shown(event.content + why, 56)}</text>`;
}
