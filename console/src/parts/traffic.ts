/** Traffic between agents on all nodes, shared by all views that show it. */
import { useEffect, useRef } from "preact/hooks";
import { Pairs } from "../model/totals.js";
import { Traffic } from "../model/traffic.js";
import { live } from "../session.js";

const EVERY_MS = 1_000;
/** Maximum number of pairs; the busiest. */
const PAIRS_MAX = 1_000;

/** Traffic since the first look. It outlives the views. */
export const traffic = new Traffic();

const readers = new Set<{ readonly current: () => void }>();
let stop: (() => void) | undefined;

/** Watches while any view shows traffic. */
function begin(): () => void {
  const pairs = new Pairs();
  const unwatch = live.watch({ what: "answer", request: { request: "traffic", limit: PAIRS_MAX, elsewhere: true }, every_ms: EVERY_MS }, (frame) => {
    if (frame.type === "answer" && frame.answer.answer === "traffic") pairs.hear(frame.answer.pairs, frame.answer.unseen);
  });
  // Without traffic there are no frames, so a timer reports the silence.
  const timer = setInterval(() => {
    traffic.hear(pairs.take(performance.now()));
    for (const reader of readers) reader.current();
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
    unwatch();
  };
}

/** Keeps the traffic up to date while the view is shown, and calls `on` after each report. */
export function useSharedTraffic(on: () => void): void {
  const newest = useRef(on);
  newest.current = on;
  useEffect(() => {
    readers.add(newest);
    stop ??= begin();
    return () => {
      readers.delete(newest);
      if (readers.size > 0) return;
      stop?.();
      stop = undefined;
    };
  }, []);
}
