/** An agent of the tests of kept agents: it counts what it is asked. */
import type { Agent } from "../src/index.js";

export default function counter(agent: Agent): void {
  let asked = 0n;
  agent.state(
    () => asked,
    (value) => (asked = value as bigint),
  );
  agent.onMessage({ performative: "request" }, (message) => agent.reply(message, "inform", ++asked));
}
