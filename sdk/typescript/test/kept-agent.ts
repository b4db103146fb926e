/** An agent of the tests of kept agents: it counts what it is asked, and never comes back if it is asked to. */
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
