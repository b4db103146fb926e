/** Modal dialogs: confirmations and forms. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ChoiceLine, type Option } from "./choice-line.js";

/** A field of a form. */
export interface Line {
  readonly label: string;
  /** Initial value. */
  readonly value?: string;
  readonly placeholder?: string;
  readonly isOptional?: boolean;
  /** Maximum of a number field; the minimum is 1. */
  readonly max?: number;
  /** Values that the field proposes. */
  readonly suggestions?: readonly string[];
  /** Choices below the field, for clicks and keys. */
  readonly choices?: readonly Option[];
}

interface Question {
  readonly title: string;
  readonly text: string;
  readonly does: string;
  readonly isGrave: boolean;
  readonly lines: readonly Line[];
  /** Fault of the previous input. */
  readonly fault?: string;
  readonly answered: (lines: readonly string[] | null) => void;
}
const question = signal<Question | null>(null);

/** Asks for a confirmation. */
export function confirm(title: string, text: string, does: string): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = { title, text, does, isGrave: true, lines: [], answered: (lines) => resolve(lines !== null) };
  });
}

/** Asks for a text; null if cancelled. */
export function prompt(title: string, text: string, does: string, line = ""): Promise<string | null> {
  return ask(title, text, does, [{ label: title, value: line }]).then((lines) => lines?.[0] ?? null);
}

/** Asks for several texts, in order; null if cancelled. */
export function ask(title: string, text: string, does: string, lines: readonly Line[], fault = ""): Promise<readonly string[] | null> {
  return new Promise((answered) => {
    question.value = { title, text, does, isGrave: false, lines, fault, answered };
  });
}

/** Values that fill the field before them. */
function Suggestions({ of }: { readonly of: readonly string[] }) {
  return (
    <span class="suggestions">
      {of.map((one) => (
        <button
          type="button"
          key={one}
          class="chip"
          onClick={(event) => {
            const field = event.currentTarget.closest("label")?.querySelector("input");
            if (!field) return;
            field.value = one;
            field.focus();
          }}
        >
          {one}
        </button>
      ))}
    </span>
  );
}

export function Dialogs() {
  const asked = question.value;
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (asked && dialog.current && !dialog.current.open) dialog.current.showModal();
    if (asked) dialog.current?.querySelector("input")?.select();
  }, [asked]);
  if (!asked) return null;
  const answer = (lines: readonly string[] | null) => {
    dialog.current?.close();
    question.value = null;
    asked.answered(lines);
  };
  const isOne = asked.lines.length === 1;
  return (
    <dialog
      ref={dialog}
      class="dialog"
      onCancel={(event) => {
        event.preventDefault();
        answer(null);
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          answer([...event.currentTarget.querySelectorAll("input")].map((input) => input.value.trim()));
        }}
      >
        <h2>{asked.title}</h2>
        <p>{asked.text}</p>
        {asked.lines.map(({ label, value, placeholder, isOptional, max, suggestions, choices }) => choices ? <ChoiceLine key={label} label={label} choices={choices} /> : (
          <label key={label} class="dialog-line">
            {isOne ? null : <span>{label}</span>}
            <input class="field" aria-label={label} value={value ?? ""} placeholder={placeholder ?? ""} required={!isOptional} {...(max === undefined ? {} : { type: "number", min: 1, max })} />
            {suggestions && suggestions.length > 0 ? <Suggestions of={suggestions} /> : null}
          </label>
        ))}
        {asked.fault ? (
          <p class="is-fault" role="alert">
            {asked.fault}
          </p>
        ) : null}
        <div class="dialog-end">
          <button type="button" class="button" onClick={() => answer(null)}>
            Cancel
          </button>
          <button type="submit" class={`button ${asked.isGrave ? "is-grave" : "is-main"}`}>
            {asked.does}
          </button>
        </div>
      </form>
    </dialog>
  );
}
