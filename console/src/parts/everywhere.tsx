/** What is asked of all nodes again and again, and which of them did not answer. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Answer, Request } from "../live/vocabulary.js";
import { visible } from "../model/format.js";
import { live, society } from "../session.js";

export interface Everywhere {
  /** By node, in the order of the nodes. */
  readonly told: readonly (readonly [string, Answer])[];
  /** Which node did not answer, and why. */
  readonly silent: readonly (readonly [string, string])[];
}

/** Asks all nodes while the view is there. */
export function useEverywhere(request: Request, every_ms: number): Everywhere {
  return useAnswers(request, every_ms, live.welcome.value?.node.node ?? "");
}

/** Asks all nodes but the one that this page is of, if it is to be. */
export function useElsewhere(request: Request, every_ms: number, isToBe: boolean): Everywhere {
  return useAnswers(request, every_ms, "", isToBe);
}

function useAnswers(request: Request, every_ms: number, here: string, isToBe = true): Everywhere {
  const answers = useSignal<ReadonlyMap<string, Answer>>(new Map());
  const others = isToBe && live.offers("at") ? society.others.value : "";
  useEffect(() => {
    answers.value = new Map();
    const watch = (node: string, asked: Request) =>
      live.watch(
        { what: "answer", request: asked, every_ms },
        (frame) => {
          if (frame.type === "answer") answers.value = new Map(answers.value).set(node, frame.answer);
        },
        ({ reason, text }) => (answers.value = new Map(answers.value).set(node, { answer: "error", reason, text })),
      );
    const names = others === "" ? [] : others.split("\n");
    const watches = names.map((node) => watch(node, { request: "at", node, ask: request }));
    if (here !== "") watches.push(watch(here, request));
    return () => watches.forEach((end) => end());
  }, [here, others, request.request]);
  const all = [...answers.value].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    told: all.filter(([, answer]) => answer.answer !== "error"),
    silent: all.flatMap(([node, answer]) => (answer.answer === "error" ? [[node, answer.text] as const] : [])),
  };
}

export function WhoIsSilent({ of }: { readonly of: Everywhere["silent"] }) {
  if (of.length === 0) return null;
  return (
    <p class="remark is-fault" role="status">
      {of.map(([node, why]) => `${visible(node, 40)} did not answer: ${visible(why, 160)}`).join(" · ")}
    </p>
  );
}
