/** A list that renders only its visible rows. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useKeys, useSize } from "./hooks.js";

/** Rows rendered above and below the visible ones. */
const MARGIN = 6;

interface Props<T> {
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly label: string;
  readonly keyOf: (item: T, index: number) => string | number;
  readonly selected?: string | number | null;
  /** Without it, the list manages its selection: a click opens at once, keys select, Enter opens. */
  readonly onSelect?: (item: T, index: number) => void;
  readonly onOpen?: (item: T, index: number) => void;
  /** True to bind arrows only while the list has the focus, because other parts of the view scroll, too. */
  readonly isAside?: boolean;
  readonly row: (item: T, index: number) => ComponentChildren;
  readonly rowClass?: string;
  readonly empty: ComponentChildren;
  readonly draggable?: (item: T) => string;
  /** True to stay at the end as the list grows. */
  readonly follows?: boolean;
  readonly onScrollUp?: () => void;
}

export function VirtualList<T>(props: Props<T>) {
  const { items, rowHeight, label, keyOf, onOpen, row, empty, follows, onScrollUp } = props;
  const own = useSignal<string | number | null>(null);
  const selected = props.onSelect ? (props.selected ?? null) : own.value;
  const onSelect = props.onSelect ?? ((item: T, index: number) => (own.value = keyOf(item, index)));
  const [box, size] = useSize<HTMLDivElement>();
  const top = useSignal(0);
  const at = selected === null ? -1 : items.findIndex((item, index) => keyOf(item, index) === selected);
  const follow = useRef(false);
  const move = (by: number) => {
    const index = Math.max(0, Math.min(items.length - 1, at < 0 ? (by > 0 ? Math.ceil(top.value / rowHeight) : items.length - 1) : at + by));
    const item = items[index];
    if (item === undefined) return;
    onSelect(item, index);
    reveal(index);
  };
  const reveal = (index: number) => {
    const element = box.current;
    if (!element) return;
    if (index * rowHeight < element.scrollTop) element.scrollTop = index * rowHeight;
    else if ((index + 1) * rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = (index + 1) * rowHeight - element.clientHeight;
  };
  const open = () => {
    const item = items[at];
    if (item !== undefined) (onOpen ?? onSelect)(item, at);
  };
  const page = Math.max(1, Math.floor(size.value.height / rowHeight) - 1);
  const arrows: Readonly<Record<string, () => void>> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    PageDown: () => move(page),
    PageUp: () => move(-page),
    Home: () => move(-items.length),
    End: () => move(items.length),
  };
  /** Focuses the list, so that Enter opens the selection. */
  const here = (run: () => void) => () => {
    box.current?.focus({ preventScroll: true });
    run();
  };
  const everywhere = props.isAside ? [] : Object.entries(arrows);
  useKeys({ j: here(() => move(1)), k: here(() => move(-1)), ...Object.fromEntries(everywhere.map(([key, run]) => [key, here(run)])) });
  // Reveals a selection from elsewhere, such as a map or an address.
  useEffect(() => {
    if (at >= 0) reveal(at);
  }, [selected, at >= 0]);
  useEffect(() => {
    follow.current = follows ?? false;
    if (follows && box.current) box.current.scrollTop = items.length * rowHeight;
  });
  const first = Math.max(0, Math.min(Math.floor(top.value / rowHeight) - MARGIN, items.length - 1));
  const seen = items.slice(first, first + Math.ceil(size.value.height / rowHeight) + 2 * MARGIN);
  return (
    <div
      class="virtual"
      ref={box}
      role="listbox"
      aria-label={label}
      tabIndex={0}
      onScroll={(event) => {
        const element = event.currentTarget;
        const isUp = element.scrollTop < top.value;
        top.value = element.scrollTop;
        if (follow.current && isUp && element.scrollTop + element.clientHeight < element.scrollHeight - 2 * rowHeight) onScrollUp?.();
      }}
      onKeyDown={(event) => {
        const run = event.key === "Enter" ? open : props.isAside ? arrows[event.key] : undefined;
        if (!run) return;
        event.preventDefault();
        event.stopPropagation();
        run();
      }}
    >
      {items.length === 0 ? <div class="empty">{empty}</div> : null}
      <div class="virtual-space" style={{ height: `${items.length * rowHeight}px` }}>
        {seen.map((item, offset) => {
          const index = first + offset;
          const key = keyOf(item, index);
          return (
            <div
              key={key}
              class={`virtual-row ${props.rowClass ?? ""}`}
              role="option"
              aria-selected={key === selected}
              aria-posinset={index + 1}
              aria-setsize={items.length}
              style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
              draggable={props.draggable !== undefined}
              onDragStart={(event) => {
                event.dataTransfer?.setData("text/plain", props.draggable?.(item) ?? "");
                document.documentElement.dataset["dragging"] = "agent";
              }}
              onDragEnd={() => delete document.documentElement.dataset["dragging"]}
              onClick={() => {
                onSelect(item, index);
                if (!props.onSelect) onOpen?.(item, index);
              }}
              onDblClick={() => onOpen?.(item, index)}
            >
              {row(item, index)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
