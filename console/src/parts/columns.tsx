/** Columns with separators between them, which can be dragged. The shares are kept in the browser. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { readStored, writeStored } from "../storage.js";

interface Props {
  /** Name under which the shares are kept. */
  readonly store: string;
  /** Initial shares of the width. */
  readonly shares: readonly number[];
  readonly of: readonly ComponentChildren[];
}

/** Smallest share of a column, and the change by an arrow key. */
const SHARE_MIN = 0.25;
const KEY_STEP = 0.1;

function stored(store: string, shares: readonly number[]): readonly number[] {
  const known = (readStored("browser", store) ?? "").split(" ").map(Number);
  return known.length === shares.length && known.every((share) => share >= SHARE_MIN) ? known : shares;
}

export function Columns({ store, shares, of }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const now = useSignal(stored(store, shares));
  const shift = (at: number, by: number) => {
    const [left = 1, right = 1] = [now.value[at], now.value[at + 1]];
    const moved = Math.max(SHARE_MIN - left, Math.min(right - SHARE_MIN, by));
    now.value = now.value.map((share, index) => (index === at ? share + moved : index === at + 1 ? share - moved : share));
  };
  const keep = () => writeStored("browser", store, now.value.map((share) => share.toFixed(3)).join(" "));
  const drag = (at: number) => (event: PointerEvent) => {
    const handle = event.currentTarget as HTMLElement;
    const whole = now.value.reduce((sum, share) => sum + share, 0) / (box.current?.clientWidth ?? 1);
    handle.setPointerCapture(event.pointerId);
    const move = ({ movementX }: PointerEvent) => shift(at, movementX * whole);
    const end = () => {
      handle.removeEventListener("pointermove", move);
      keep();
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", end, { once: true });
  };
  const template = now.value.map((share) => `minmax(0, ${share}fr)`).join(" var(--gap) ");
  return (
    <div class="mind-columns" ref={box} style={{ gridTemplateColumns: template }}>
      {of.flatMap((column, at) => [
        column,
        at === of.length - 1 ? null : (
          <div
            key={`separator ${at}`}
            class="separator"
            role="separator"
            aria-orientation="vertical"
            aria-label={`Width of column ${at + 1}`}
            aria-valuenow={Math.round((now.value[at] ?? 1) * 100)}
            tabIndex={0}
            onPointerDown={drag(at)}
            onDblClick={() => ((now.value = shares), keep())}
            onKeyDown={(event) => {
              const by = event.key === "ArrowLeft" ? -KEY_STEP : event.key === "ArrowRight" ? KEY_STEP : 0;
              if (by === 0) return;
              event.preventDefault();
              event.stopPropagation();
              shift(at, by);
              keep();
            }}
          />
        ),
      ])}
    </div>
  );
}
