/** A button that opens a short list of things to do. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface Choice {
  readonly label: string;
  readonly run: () => void;
}

export function Menu({ label, title, choices, disabled }: { readonly label: ComponentChildren; readonly title: string; readonly choices: readonly Choice[]; readonly disabled?: boolean }) {
  const isOpen = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen.value) return undefined;
    box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const close = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) isOpen.value = false;
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
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
        <div class="menu-list" role="menu">
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
            </button>
          ))}
        </div>
      ) : null}
    </div>
  );
}
