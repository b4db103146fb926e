/** An agent that echoes requests. */
import type { Agent } from "../../src/index.js";

export default function echo(agent: Agent): void {
  agent.onMessage({ performative: "query-ref" }, (message) => agent.reply(message, "inform", message.content));
}
