/** Repeated queries to all nodes, and the nodes that did not answer. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LiveError } from "../live/client.js";
import { pollAll, QueryLimit } from "../live/polling.js";
import { browserClock } from "../live/socket.js";
import type { Answer, Refusal, Request } from "../live/vocabulary.js";
import { visible } from "../model/format.js";
import { live, society } from "../session.js";

/** Queries of all views at a time: half of what a node permits one console. */
export const queryLimit = new QueryLimit(8);

/** Reasons that mean the node was not asked: overload, or no connection. */
const UNASKED = ["busy", "lost", "closed"];

export interface AllNodes {
  /** Answers by node, in order. */
  readonly told: readonly (readonly [string, Answer])[];
  /** Texts for nodes that did not answer or were not asked yet. */
  readonly silent: readonly string[];
}

/** Asks all nodes while the view is shown. */
export function useAllNodes(request: Request, everyMs: number): AllNodes {
  return useAnswers(request, everyMs, live.welcome.value?.node.node ?? "");
}

/** Asks all nodes but the connected one, if `isToBe`. */
export function useOtherNodes(request: Request, everyMs: number, isToBe: boolean): AllNodes {
  return useAnswers(request, everyMs, "", isToBe);
}

function useAnswers(request: Request, everyMs: number, here: string, isToBe = true): AllNodes {
  const answers = useSignal<ReadonlyMap<string, Answer>>(new Map());
  const others = isToBe && live.offers("at") ? society.others.value : "";
  useEffect(() => {
    answers.value = new Map();
    const told = (node: string, answer: Answer): void => void (answers.value = new Map(answers.value).set(node, answer));
    const nodes = [...(others === "" ? [] : others.split("\n")), ...(here === "" ? [] : [here])];
    return pollAll(nodes, {
      everyMs,
      queryLimit,
      clock: browserClock,
      ask: (node) => live.ask(node === here ? request : { request: "at", node, ask: request }),
      told,
      failed: (node, error) => {
        const { reason, message } = error as LiveError;
        // The node was not asked, so its last answer stays.
        if (UNASKED.includes(reason) && answers.value.has(node)) return;
        told(node, { answer: "error", reason, text: message });
      },
    });
  }, [here, others, request.request]);
  const all = [...answers.value].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    told: all.filter(([, answer]) => answer.answer !== "error"),
    silent: all.flatMap(([node, answer]) => (answer.answer === "error" ? [silenceReason(node, answer)] : [])),
  };
}

/** Returns the reason why a node's answer is missing, as text. */
export function silenceReason(node: string, { reason, text }: Refusal): string {
  return `${visible(node, 40)} ${UNASKED.includes(reason) ? "was not asked yet" : "did not answer"}: ${visible(text, 160)}`;
}

export function SilentNodes({ of }: { readonly of: AllNodes["silent"] }) {
  if (of.length === 0) return null;
  return (
    <p class="remark is-fault" role="status">
      {of.join(" · ")}
    </p>
  );
}
