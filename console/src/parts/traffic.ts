/** Traffic between agents on all nodes, at a steady rate for charts. */
import { useEffect } from "preact/hooks";
import type { TrafficFrame } from "../live/vocabulary.js";
import { Pairs } from "../model/totals.js";
import { live } from "../session.js";

const EVERY_MS = 1_000;
/** Maximum number of pairs; the busiest. */
const PAIRS_MAX = 1_000;

export function useTraffic(key: string, on: (frame: TrafficFrame) => void): void {
  useEffect(() => {
    const pairs = new Pairs();
    const stop = live.watch({ what: "answer", request: { request: "traffic", limit: PAIRS_MAX, elsewhere: true }, every_ms: EVERY_MS }, (frame) => {
      if (frame.type === "answer" && frame.answer.answer === "traffic") pairs.hear(frame.answer.pairs, frame.answer.unseen);
    });
    // Without traffic there are no frames, so a timer reports the silence.
    const timer = setInterval(() => on(pairs.take(performance.now())), EVERY_MS);
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [key]);
}
