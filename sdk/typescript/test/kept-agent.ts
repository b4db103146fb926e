/** Agent for tests of durability: counts requests, and on request never returns. */
import { isAtom, type Agent } from "../src/index.js";

export default function counter(agent: Agent): void {
  let asked = 0n;
  agent.state(
    () => asked,
    (value) => (asked = value as bigint),
  );
  agent.onMessage({ performative: "request" }, (message) => {
    if (isAtom(message.content, "spin")) for (;;);
    agent.reply(message, "inform", ++asked);
  });
}
