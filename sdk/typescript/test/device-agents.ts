/** Agent for tests of devices: on request it greets, asks others, fails, or never returns. */
import { atom, isTerm, term, textOf, type Agent } from "../src/index.js";

export default function greeter(agent: Agent, data: unknown): void {
  agent.onMessage({ performative: "request" }, async (message) => {
    const { content } = message;
    if (isTerm(content, "ask", 1)) {
      const to = textOf(content.args[0]) ?? "";
      const answer = await agent.ask({ performative: "request", receivers: to, content: term("greet", agent.name) }, { timeoutMs: 10_000 });
      return agent.reply(message, "inform", [String(answer.sender), answer.content]);
    }
    if (isTerm(content, "fail", 0) || textOf(content) === "fail") throw new Error("as it was asked to");
    if (textOf(content) === "fail later") {
      setTimeout(() => {
        throw new Error("later, when nobody listens");
      });
      void Promise.reject(new Error("and that later, too"));
    }
    if (textOf(content) === "spin") for (;;);
    return agent.reply(message, "inform", [atom("hello"), isTerm(content, "greet", 1) ? (content.args[0] ?? null) : null, String(data ?? "")]);
  });
}
