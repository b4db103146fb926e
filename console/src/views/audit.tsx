/** A node's audit log from its end, including the time before this page was opened and before the node started. */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { LiveError } from "../live/client.js";
import type { Event, Request } from "../live/vocabulary.js";
import { count, visible } from "../model/format.js";
import { Empty } from "../parts/text.js";
import { live, society } from "../session.js";
import { NoticeList } from "./notice-list.js";

const PAGE = 200;

/** Name of the node whose log is shown; empty for the asked node. */
const whose = signal("");

interface Read {
  readonly lines: readonly Event[];
  /** Position to continue from; null at the start of the log. */
  readonly next: string | null;
  readonly fault: string;
}

const NOTHING: Read = { lines: [], next: null, fault: "" };

async function page(node: string, before: string | null): Promise<Read> {
  const ask: Request = { request: "audit", before, limit: PAGE };
  try {
    const answer = await live.ask(node === "" ? ask : { request: "at", node, ask });
    return answer.answer === "audit" ? { lines: answer.refusals, next: answer.next, fault: "" } : { ...NOTHING, fault: "unexpected answer from the node" };
  } catch (error) {
    return { ...NOTHING, fault: error instanceof LiveError ? error.message : String(error) };
  }
}

export function AuditLog({ tools }: { readonly tools: ComponentChildren }) {
  const read = useSignal<Read | null>(null);
  const reads = useSignal(false);
  const node = whose.value;
  const more = async (before: string | null): Promise<void> => {
    if (reads.value) return;
    reads.value = true;
    const { lines, next, fault } = await page(node, before);
    reads.value = false;
    // The user may have chosen another node meanwhile.
    if (whose.value !== node) return;
    const known = before === null ? [] : (read.value?.lines ?? []);
    read.value = { lines: [...known, ...lines], next: fault === "" ? next : before, fault };
  };
  useEffect(() => {
    read.value = null;
    reads.value = false;
    void more(null);
  }, [node]);
  const others = society.others.value === "" ? [] : society.others.value.split("\n");
  const here = live.welcome.value?.node.node ?? "";
  const { lines, next, fault } = read.value ?? NOTHING;
  return (
    <NoticeList
      items={lines}
      label="audit log"
      empty={read.value === null ? <Empty title="Loading…" /> : <Empty title={fault ? "The audit log cannot be read" : "The audit log is empty"}>{fault ? visible(fault, 200) : "It records refusals, and actions on agents and nodes."}</Empty>}
      above={
        <>
          {tools}
          <div class="tools">
            <select class="field" aria-label="Node of the audit log" value={node} onChange={(event) => (whose.value = event.currentTarget.value)}>
              <option value="">{visible(here, 40)}</option>
              {others.map((name) => (
                <option value={name}>{visible(name, 40)}</option>
              ))}
            </select>
            <button type="button" class="button" disabled={reads.value} onClick={() => void more(null)}>
              Newest
            </button>
            <button type="button" class="button" disabled={reads.value || next === null} onClick={() => void more(next)}>
              Earlier
            </button>
            <span class="is-quiet" role="status">
              {count(lines.length)} lines{next === null && read.value !== null ? ", complete" : ""}
            </span>
          </div>
          {fault !== "" && lines.length > 0 ? <p class="remark is-fault">{visible(fault, 200)}</p> : null}
        </>
      }
    />
  );
}
