/** Text of an agent's program, with the present steps of its intentions, and breakpoints on lines. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { MindInfo } from "../live/vocabulary.js";
import { visible } from "../model/format.js";
import { highlighted } from "../model/highlight.js";
import { Empty } from "../parts/text.js";
import { live, order, route } from "../session.js";

/** Maximum number of lines that are shown. */
const LINES_MAX = 5_000;

/** Returns a file's name for people: without the folders of an absolute path. */
export function fileName(file: string | null | undefined): string {
  return (file ?? "").replace(/^\.\//, "").replace(/^\/.*\//, "");
}

/** Returns true if two paths name one file: plans may name it with its folder, the project without. */
export function isSameFile(one: string, other: string): boolean {
  const [a = "", b = ""] = [one, other].map((file) => file.replace(/^\.\//, ""));
  return a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
}

interface Props {
  readonly info: MindInfo;
  readonly name: string;
  /** True if breakpoints may be set. */
  readonly mayBreak: boolean;
}

interface Text {
  readonly file: string;
  readonly lines: readonly string[];
}

export function Source({ info, name, mayBreak }: Props) {
  const { query } = route.value;
  const files = useMemo(() => [...new Set([info.source_file ?? "", ...(info.plans ?? []).flatMap(({ file }) => file ?? [])])].filter((file) => file !== ""), [info.source_file, (info.plans ?? []).length]);
  const wanted = useSignal("");
  const text = useSignal<Text | null>(null);
  const fault = useSignal("");
  const list = useRef<HTMLOListElement>(null);
  const asked = query.get("file") ?? "";
  useEffect(() => {
    const known = files.find((file) => isSameFile(file, asked));
    if (asked !== "" && known !== undefined) wanted.value = known;
  }, [asked, files.join()]);
  useEffect(() => {
    let isOver = false;
    const file = wanted.value;
    live
      .ask({ request: "program_text", agent: name, ...(file !== "" && { file }) })
      .then((answer) => {
        if (isOver || answer.answer !== "program_text") return;
        text.value = { file: answer.file, lines: answer.text.split(/\r?\n/).slice(0, LINES_MAX) };
        fault.value = "";
      })
      .catch((error: unknown) => (isOver ? undefined : ((text.value = null), (fault.value = error instanceof Error ? error.message : String(error)))));
    return () => void (isOver = true);
  }, [name, wanted.value]);
  const line = Number(query.get("line") ?? 0);
  useEffect(() => {
    if (line > 0) list.current?.children[line - 1]?.scrollIntoView({ block: "center" });
  }, [line, text.value]);
  const marked = useMemo(() => highlighted(text.value?.lines ?? []), [text.value]);
  if (fault.value !== "") return <Empty title="No source text">{visible(fault.value, 300)}</Empty>;
  if (!text.value) return <p class="none">Loading…</p>;
  const { file } = text.value;
  // Requests name the file as plans do.
  const planFile = files.find((one) => isSameFile(one, file)) ?? file;
  const now = new Set((info.intentions ?? []).flatMap(({ frames }) => frames.slice(0, 1).flatMap((frame) => (frame.file && isSameFile(frame.file, file) && frame.step_line ? [frame.step_line] : []))));
  const breaks = new Set((info.line_breakpoints ?? []).flatMap((at) => (isSameFile(at.file, file) ? [at.line] : [])));
  return (
    <>
      {files.length > 1 ? (
        <select class="field source-file" aria-label="File" value={wanted.value || files[0]} onChange={(event) => (wanted.value = event.currentTarget.value)}>
          {files.map((one) => (
            <option key={one} value={one}>
              {visible(fileName(one), 80)}
            </option>
          ))}
        </select>
      ) : null}
      <ol class="source" ref={list} aria-label={`Source of ${visible(file, 120)}`}>
        {marked.map((parts, index) => {
          const number = index + 1;
          const isSet = breaks.has(number);
          return (
            <li key={number} class={`${now.has(number) ? "is-now" : ""} ${number === line ? "is-it" : ""}`}>
              <button
                type="button"
                class="gutter"
                aria-pressed={isSet}
                aria-label={`Breakpoint in line ${number}`}
                title={isSet ? "Remove the breakpoint" : "Pause before the steps of this line"}
                disabled={!mayBreak || !live.offers("line_breakpoints")}
                onClick={() => void order({ request: "line_breakpoint", agent: name, file: planFile, line: number, on: !isSet }, null)}
              >
                {number}
              </button>
              <code>
                {parts.map(([kind, part]) => (kind === "" ? visible(part, 2_000) : <span class={`is-${kind}`}>{visible(part, 2_000)}</span>))}
              </code>
            </li>
          );
        })}
      </ol>
    </>
  );
}
