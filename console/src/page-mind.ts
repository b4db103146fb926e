/** Minds of agents in tabs. Their pages are asked by message, and answer if they permit it. */
import { useEffect } from "preact/hooks";
import type { MindInfo } from "./live/vocabulary.js";
import { agents, live, mind } from "./session.js";

const EVERY_MS = 1_000;
const PATIENCE_MS = 3_000;

interface Reply {
  readonly performative?: string;
  readonly content?: unknown;
}

/** Asks a device's page for the mind of an agent; null if it does not answer. */
async function ask(device: string, agent: string): Promise<MindInfo | null> {
  const message = { performative: "query-ref", receivers: [device], ontology: "whimbrel-mind", content: { term: "mind", args: [agent] } };
  const answer = await live.ask({ request: "send", message, wait_ms: PATIENCE_MS });
  const { performative, content } = (answer.answer === "reply" ? answer.message : {}) as Reply;
  if (performative !== "inform" || typeof content !== "string") return null;
  return { ...(JSON.parse(content) as MindInfo), agent, kind: "agentspeak", page: device };
}

/** Watches the mind of an agent while it is in a tab. */
export function usePageMind(of: string): void {
  agents.pulse.version.value;
  const device = agents.named(of)?.device;
  const asks = device !== undefined && live.mayAct;
  useEffect(() => {
    if (device === undefined || !asks) return undefined;
    let isOver = false;
    let timer = 0;
    const look = async () => {
      const told = await ask(device, of).catch(() => null);
      if (isOver) return;
      if (told) mind.hear(told);
      timer = window.setTimeout(() => void look(), told ? EVERY_MS : 5 * EVERY_MS);
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
      // The page's report does not apply to another place.
      if (mind.info.value?.page === device) mind.forget();
    };
  }, [of, device, asks]);
}
