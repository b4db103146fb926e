/** An agent that is kept, for tests of where it goes on. */
import type { Agent, Keep } from "../src/node.js";

export const KEPT: Keep = { onLeave: "wait", code: "ts:counter" };

/** An agent that adds up what it is told. */
export function counter(agent: Agent): void {
  let sum = 0n;
  agent.state(
    () => sum,
    (value) => (sum = value as bigint),
  );
  agent.onMessage({ performative: "request" }, (message) => {
    sum += message.content as bigint;
    agent.reply(message, "inform", sum);
  });
}
