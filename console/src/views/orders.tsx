/** Orders to an agent in its own language: a question, a plan body to perform, and a program to load. */
import { signal, useSignal } from "@preact/signals";
import type { ProgramChange, VariableValue } from "../live/vocabulary.js";
import { count, visible } from "../model/format.js";
import { ask } from "../parts/dialog.js";
import { live, programsOf, say } from "../session.js";

/** Maximum number of answers to a question. */
const ANSWERS_MAX = 100;
/** Time to wait for the end of a plan body, which continues without the wait. */
const PERFORM_MS = 30_000;
/** Maximum number of outcomes that are kept for each agent. */
const OUTCOMES_MAX = 20;

/** A line as it was typed, with its outcome. */
interface Outcome {
  readonly typed: string;
  readonly lines: readonly string[];
  readonly isFault: boolean;
}

/** Outcomes by agent, the newest last. */
const outcomes = signal<ReadonlyMap<string, readonly Outcome[]>>(new Map());

function keep(agent: string, outcome: Outcome): void {
  outcomes.value = new Map(outcomes.value).set(agent, [...(outcomes.value.get(agent) ?? []), outcome].slice(-OUTCOMES_MAX));
}

const shown = (values: readonly VariableValue[]) => values.map(({ name, value }) => `${name} = ${value}`).join(", ");

/** Asks the mind of the agent. */
async function query(agent: string, formula: string): Promise<readonly string[]> {
  const answer = await live.ask({ request: "query", agent, formula, limit: ANSWERS_MAX });
  if (answer.answer !== "answers") return ["unexpected answer from the node"];
  if (answer.answers.length === 0) return ["no"];
  const lines = answer.answers.map((values) => shown(values) || "yes");
  return answer.more === true ? [...lines, `and more: these are the first ${ANSWERS_MAX}`] : lines;
}

/** Has the agent perform a plan body, and waits for its end. Throws the failure of the body. */
async function perform(agent: string, body: string): Promise<readonly string[]> {
  const answer = await live.ask({ request: "perform", agent, body, wait_ms: PERFORM_MS });
  if (answer.answer !== "performed") return ["unexpected answer from the node"];
  const { failure, values } = answer;
  if (failure) throw new Error(`failed: ${failure.text}${failure.file === undefined ? "" : ` (${failure.file}:${failure.line ?? 0})`}`);
  return [values.length === 0 ? "done" : shown(values)];
}

/** Performs a typed line: a question begins with `?`, everything else is a plan body. Returns false after a failure. */
async function carryOut(agent: string, typed: string): Promise<boolean> {
  const isQuestion = typed.startsWith("?") && live.offers("query");
  try {
    const lines = isQuestion ? await query(agent, typed.slice(1).trim()) : await perform(agent, typed);
    keep(agent, { typed, lines, isFault: false });
    return true;
  } catch (error) {
    keep(agent, { typed, lines: [error instanceof Error ? error.message : String(error)], isFault: true });
    return false;
  }
}

/** Describes what a loaded program has changed. */
function changeText({ removed, added, rules, beliefs }: ProgramChange): string {
  const parts = [`${count(added)} ${added === 1 ? "plan" : "plans"} instead of ${count(removed)}`, rules > 0 ? `${count(rules)} ${rules === 1 ? "rule" : "rules"}` : "", beliefs > 0 ? `${count(beliefs)} new ${beliefs === 1 ? "belief" : "beliefs"}` : ""];
  return parts.filter((part) => part !== "").join(", ");
}

/** Asks for a program, and loads it into the agent. After a failure the form keeps its values. */
export async function load(agent: string, present: string | undefined): Promise<void> {
  const programs = await programsOf();
  let program = present ?? programs[0] ?? "";
  let fault = "";
  for (;;) {
    const lines = await ask(
      "Load a program",
      `Plans and rules of ${visible(agent, 60)} are exchanged. Its beliefs, goals and running intentions stay.`,
      "Load",
      [{ label: "Program of the project", placeholder: "bidder.asl", suggestions: programs, value: program }],
      fault,
    );
    if (!lines) return;
    [program = ""] = lines;
    try {
      const answer = await live.ask({ request: "load", agent, program, goals: false });
      if (answer.answer === "loaded") say(`${visible(agent, 60)} runs ${visible(program, 60)}: ${changeText(answer)}`);
      return;
    } catch (error) {
      fault = visible(error instanceof Error ? error.message : String(error), 400);
    }
  }
}

/** A prompt that talks to the agent in AgentSpeak, with the last outcomes. */
export function Prompt({ agent }: { readonly agent: string }) {
  const typed = useSignal("");
  const isBusy = useSignal(false);
  const all = outcomes.value.get(agent) ?? [];
  const submit = async () => {
    const line = typed.value.trim();
    if (line === "" || isBusy.value) return;
    isBusy.value = true;
    const isDone = await carryOut(agent, line);
    isBusy.value = false;
    // A line that failed stays, to be corrected.
    if (isDone && typed.value.trim() === line) typed.value = "";
  };
  return (
    <section class="prompt" aria-label="Prompt">
      <h3>Talk to its mind</h3>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <input
          class="field mono"
          aria-label="Question or plan body"
          placeholder="?stock(X, N) & N > 3    or    !sell(tea)"
          spellcheck={false}
          value={typed.value}
          onInput={(event) => (typed.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            // Brings the last line back.
            const last = all.at(-1);
            if (event.key === "ArrowUp" && typed.value === "" && last) typed.value = last.typed;
          }}
        />
        <button type="submit" class="button" disabled={isBusy.value || typed.value.trim() === ""}>
          {typed.value.trim().startsWith("?") ? "Ask" : "Perform"}
        </button>
      </form>
      <ol class="outcomes" aria-live="polite" aria-label="Outcomes">
        {[...all].reverse().map(({ typed: line, lines, isFault }, index) => (
          <li key={all.length - index} class={isFault ? "is-fault" : ""}>
            <code>{visible(line, 300)}</code>
            {lines.map((text) => (
              <code class="outcome">{visible(text, 1000)}</code>
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}
