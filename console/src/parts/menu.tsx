/** A button with a menu. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { menuPosition } from "../model/menu-position.js";

export interface Choice {
  readonly label: string;
  /** Description, if the label needs one. */
  readonly note?: string;
  readonly run: () => void;
}

export function Menu({ label, title, choices, disabled }: { readonly label: ComponentChildren; readonly title: string; readonly choices: readonly Choice[]; readonly disabled?: boolean }) {
  const isOpen = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  // The list is positioned in the window, because a scrolling parent would clip it.
  useLayoutEffect(() => {
    const button = box.current?.querySelector("button")?.getBoundingClientRect();
    if (!list.current || !button) return;
    const { left, top } = menuPosition(button, list.current.getBoundingClientRect(), { width: innerWidth, height: innerHeight });
    list.current.style.left = `${left}px`;
    list.current.style.top = `${top}px`;
  }, [isOpen.value]);
  useEffect(() => {
    if (!isOpen.value) return undefined;
    list.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus({ preventScroll: true });
    const close = (event: Event) => {
      if (!(event.type === "pointerdown" ? box.current : list.current)?.contains(event.target as Node)) isOpen.value = false;
    };
    // Scrolling or resizing moves the button away from the list.
    const events = [["pointerdown", document], ["scroll", document], ["resize", window]] as const;
    for (const [type, target] of events) target.addEventListener(type, close, true);
    return () => {
      for (const [type, target] of events) target.removeEventListener(type, close, true);
    };
  }, [isOpen.value]);
  const step = (by: number) => {
    const items = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    items[(items.indexOf(document.activeElement as HTMLElement) + by + items.length) % items.length]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen.value) return;
    if (event.key === "ArrowDown") step(1);
    else if (event.key === "ArrowUp") step(-1);
    else if (event.key === "Escape") {
      isOpen.value = false;
      box.current?.querySelector("button")?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" ref={box} onKeyDown={onKeyDown}>
      <button type="button" class="button" title={title} aria-haspopup="menu" aria-expanded={isOpen.value} disabled={disabled || choices.length === 0} onClick={() => (isOpen.value = !isOpen.value)}>
        {label}
      </button>
      {isOpen.value ? (
        <div class="menu-list" role="menu" ref={list}>
          {choices.map((choice) => (
            <button
              type="button"
              role="menuitem"
              onClick={() => {
                isOpen.value = false;
                choice.run();
              }}
            >
              {choice.label}
              {choice.note === undefined ? null : <small>{choice.note}</small>}
            </button>
          ))}
        </div>
      ) : null}
    </div>
  );
}
