/** Who writes to whom, on all nodes, as often as charts want it. */
import { useEffect } from "preact/hooks";
import type { TrafficFrame } from "../live/vocabulary.js";
import { Pairs } from "../model/whole.js";
import { live } from "../session.js";

const EVERY_MS = 1_000;
/** The busiest pairs. */
const PAIRS_MAX = 1_000;

export function useTraffic(key: string, on: (frame: TrafficFrame) => void): void {
  useEffect(() => {
    const pairs = new Pairs();
    const stop = live.watch({ what: "answer", request: { request: "traffic", limit: PAIRS_MAX, elsewhere: true }, every_ms: EVERY_MS }, (frame) => {
      if (frame.type === "answer" && frame.answer.answer === "traffic") pairs.hear(frame.answer.pairs, frame.answer.unseen);
    });
    // Silence is told by nobody, and is to be seen, too.
    const timer = setInterval(() => on(pairs.take(performance.now())), EVERY_MS);
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [key]);
}
