import type { Draft } from "../acl/message.js";
import type { Agent } from "./agent.js";
import { ANSWER_MS } from "./limits.js";

/** Cancels a conversation, and drops its later messages. */
export function cancel(agent: Agent, conversationId: string, draft: Omit<Draft, "performative" | "conversationId">): void {
  if (agent.signal.aborted) return;
  const inbox = agent.listen({ conversationId });
  agent.send({ ...draft, conversationId, performative: "cancel" });
  const drain = async (): Promise<void> => {
    for (;;) await inbox.next({ timeoutMs: ANSWER_MS });
  };
  // The loop ends after a silence, or with the agent.
  drain().catch(() => inbox.close());
}
