/** Questions that hold everything else up: are you sure, and which. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

interface Question {
  readonly title: string;
  readonly text: string;
  readonly does: string;
  readonly isGrave: boolean;
  /** If a line is to be written: what stands there at first. */
  readonly line: string | null;
  readonly answered: (line: string | null) => void;
}
const question = signal<Question | null>(null);

/** Whether it is to be done. */
export function confirm(title: string, text: string, does: string): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = { title, text, does, isGrave: true, line: null, answered: (line) => resolve(line !== null) };
  });
}

/** A line of text; null if nothing was to be done. */
export function prompt(title: string, text: string, does: string, line = ""): Promise<string | null> {
  return new Promise((answered) => {
    question.value = { title, text, does, isGrave: false, line, answered };
  });
}

export function Dialogs() {
  const asked = question.value;
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (asked && dialog.current && !dialog.current.open) dialog.current.showModal();
    if (asked) input.current?.select();
  }, [asked]);
  if (!asked) return null;
  const answer = (line: string | null) => {
    dialog.current?.close();
    question.value = null;
    asked.answered(line);
  };
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
          answer(input.current?.value.trim() ?? "");
        }}
      >
        <h2>{asked.title}</h2>
        <p>{asked.text}</p>
        {asked.line === null ? null : <input ref={input} class="field" aria-label={asked.title} value={asked.line} required />}
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
