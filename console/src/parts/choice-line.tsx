/** A text field with a list of choices below it, filtered by the text. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { visible } from "../model/format.js";

/** A choice. */
export interface Option {
  readonly value: string;
  /** Description of the choice. */
  readonly note: string;
}

/** Maximum choices to show. More require typing. */
const SHOWN_MAX = 100;

export function ChoiceLine({ label, choices }: { readonly label: string; readonly choices: readonly Option[] }) {
  const written = useSignal("");
  const list = useRef<HTMLUListElement>(null);
  const isExact = choices.some(({ value }) => value === written.value);
  // After a choice, keep the others visible.
  const fitting = isExact ? choices : choices.filter(({ value }) => value.toLowerCase().includes(written.value.trim().toLowerCase()));
  const shown = fitting.slice(0, SHOWN_MAX);
  const at = shown.findIndex(({ value }) => value === written.value);
  useEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [written.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0 || shown.length === 0) return;
    event.preventDefault();
    written.value = shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : (at + by + shown.length) % shown.length]?.value ?? "";
  };
  return (
    <div class="dialog-line">
      <input class="field" role="combobox" aria-expanded="true" aria-label={label} placeholder={`${label}…`} required value={written.value} onInput={(event) => (written.value = event.currentTarget.value)} onKeyDown={onKeyDown} />
      <ul class="options" role="listbox" aria-label="Choices" ref={list}>
        {shown.map(({ value, note }) => (
          <li key={value} role="option" aria-selected={value === written.value} onClick={() => (written.value = value)} onDblClick={(event) => event.currentTarget.closest("form")?.requestSubmit()}>
            <b>{visible(value, 60)}</b>
            <small>{note}</small>
          </li>
        ))}
        {fitting.length > shown.length ? <li class="is-quiet">and {fitting.length - shown.length} more</li> : null}
        {fitting.length === 0 ? <li class="is-quiet">No place matches.</li> : null}
      </ul>
    </div>
  );
}
