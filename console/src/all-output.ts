/** Output of agents on all nodes: watched on the connected node, asked of the others. */
import { pollAll } from "./live/polling.js";
import { browserClock } from "./live/socket.js";
import { queryLimit } from "./parts/all-nodes.js";
import { live, output, society } from "./session.js";

const EVERY_MS = 200;
const OTHERS_EVERY_MS = 1_000;
/** Lines of one answer. */
const LINES_MAX = 1_000;

/** Begins to listen, for as long as the page lives. */
export function listenToOutput(): void {
  let stop = (): void => {};
  live.welcome.subscribe((welcome) => {
    stop();
    stop = () => {};
    if (!welcome?.features.includes("output")) return;
    const { node } = welcome.node;
    stop = live.watch(
      () => ({ what: "output", wanted: { since: output.since(node) }, every_ms: EVERY_MS }),
      (frame) => {
        if (frame.type === "output") output.hear(node, frame);
      },
    );
  });
  let stopOthers = (): void => {};
  society.others.subscribe((others) => {
    stopOthers();
    const nodes = others === "" || !live.offers("output") ? [] : others.split("\n");
    stopOthers = pollAll(nodes, {
      everyMs: OTHERS_EVERY_MS,
      queryLimit,
      clock: browserClock,
      ask: (node) => live.ask({ request: "at", node, ask: { request: "output", wanted: { since: output.since(node) }, limit: LINES_MAX } }),
      told: (node, answer) => {
        if (answer.answer === "output") output.hear(node, answer);
      },
      // Nodes that do not answer are named by the verdict.
      failed: () => {},
    });
  });
}
