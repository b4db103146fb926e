/** Timeline of messages, with the visible part marked. A click goes to that time. */
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import type { Event } from "../live/vocabulary.js";
import { clock } from "../model/format.js";
import { density } from "../model/recording.js";
import { prepare, useSize } from "../parts/hooks.js";
import { recording } from "../session.js";
import { palette } from "../theme.js";

/** Time span of the visible rows, set by the view that draws them. */
export const inSight = signal<{ readonly fromUs: number; readonly toUs: number } | null>(null);

/** Minimum interval of drawing, in milliseconds. */
const REDRAW_MS = 200;
const BAR = 4;

export function Timeline({ still, onScrub }: { readonly still: readonly Event[] | null; readonly onScrub: (atUs: number) => void }) {
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const span = useRef({ fromUs: 0, toUs: 1 });
  useEffect(() => {
    let last = 0;
    let due = 0;
    const draw = () => {
      due = 0;
      last = performance.now();
      if (canvas.current) paint(canvas.current);
    };
    const soon = () => {
      if (due === 0) due = window.setTimeout(draw, Math.max(0, last + REDRAW_MS - performance.now()));
    };
    const paint = (element: HTMLCanvasElement) => {
      const context = prepare(element, size.value);
      if (!context) return;
      const { width, height } = size.value;
      const told = density(recording.shown, Math.max(1, Math.floor(width / BAR)));
      span.current = told;
      const colours = palette.value;
      context.clearRect(0, 0, width, height);
      const most = Math.max(1, ...told.counts);
      told.counts.forEach((many, part) => {
        if (many === 0) return;
        const tall = Math.max(2, (many / most) * (height - 14));
        context.fillStyle = (told.dead[part] ?? 0) > 0 ? colours.fail : colours["line-2"];
        context.fillRect(part * BAR, height - tall, BAR - 1, tall);
      });
      const sight = inSight.value;
      if (sight && recording.shown.size > 0) {
        const x = (atUs: number) => ((atUs - told.fromUs) / (told.toUs - told.fromUs)) * width;
        const [from, to] = [Math.max(0, x(sight.fromUs)), Math.min(width, x(sight.toUs))];
        context.fillStyle = colours.accent;
        context.globalAlpha = 0.22;
        context.fillRect(from, 0, Math.max(3, to - from), height);
        context.globalAlpha = 1;
        context.fillRect(from, 0, Math.max(3, to - from), 2);
      }
      if (recording.shown.size === 0) return;
      context.fillStyle = colours["ink-3"];
      context.font = '10.5px "IBM Plex Mono", monospace';
      context.textBaseline = "top";
      context.textAlign = "left";
      context.fillText(clock(told.fromUs), 4, 3);
      context.textAlign = "right";
      context.fillText(clock(told.toUs), width - 4, 3);
    };
    const undo = [recording.pulse.version, size, inSight, palette].map((signal) => signal.subscribe(soon));
    return () => {
      clearTimeout(due);
      undo.forEach((unsubscribe) => unsubscribe());
    };
  }, []);
  const scrub = (event: PointerEvent) => {
    if (event.buttons === 0 && event.type === "pointermove") return;
    const { fromUs, toUs } = span.current;
    const part = Math.max(0, Math.min(1, event.offsetX / Math.max(1, size.value.width)));
    if (recording.shown.size > 0) onScrub(fromUs + part * (toUs - fromUs));
  };
  const nudge = (by: number) => {
    const { fromUs, toUs } = span.current;
    const at = inSight.value?.fromUs ?? toUs;
    onScrub(Math.max(fromUs, Math.min(toUs, at + by * (toUs - fromUs))));
  };
  return (
    <div
      class="timeline"
      ref={box}
      role="slider"
      tabIndex={0}
      aria-label="Time"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={still ? 50 : 100}
      aria-valuetext={inSight.value ? clock(inSight.value.fromUs) : "no messages"}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        scrub(event);
      }}
      onPointerMove={scrub}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -0.02, ArrowRight: 0.02, Home: -1, End: 1 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        nudge(by);
      }}
    >
      <canvas ref={canvas} aria-hidden="true" />
    </div>
  );
}
