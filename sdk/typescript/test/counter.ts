/** Durable agents for tests of moves and restarts. */
import type { Agent, Keep, Value } from "../src/node.js";

export const KEPT: Keep = { onLeave: "wait", code: "ts:counter" };

/** An agent that adds received numbers, and sends a message about each. */
export const counting =
  (says: (told: bigint, sum: bigint) => Value) =>
  (agent: Agent): void => {
    let sum = 0n;
    agent.state(
      () => sum,
      (value) => (sum = value as bigint),
    );
    agent.onMessage({ performative: "request" }, (message) => {
      const told = message.content as bigint;
      sum += told;
      agent.reply(message, "inform", says(told, sum));
    });
  };

/** An agent that sends the sum. */
export const counter = counting((_, sum) => sum);
