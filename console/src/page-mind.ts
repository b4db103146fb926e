/** Minds of agents in tabs: their pages are asked, as agents are, and answer if they let the console look. */
import { useEffect } from "preact/hooks";
import type { MindInfo } from "./live/vocabulary.js";
import { agents, live, mind } from "./session.js";

const EVERY_MS = 1_000;
const PATIENCE_MS = 3_000;

interface Reply {
  readonly performative?: string;
  readonly content?: unknown;
}

/** What the page of a device tells of an agent there; null if it does not. */
async function ask(device: string, agent: string): Promise<MindInfo | null> {
  const message = { performative: "query-ref", receivers: [device], ontology: "whimbrel-mind", content: { term: "mind", args: [agent] } };
  const answer = await live.ask({ request: "send", message, wait_ms: PATIENCE_MS });
  const { performative, content } = (answer.answer === "reply" ? answer.message : {}) as Reply;
  if (performative !== "inform" || typeof content !== "string") return null;
  return { ...(JSON.parse(content) as MindInfo), agent, kind: "agentspeak", page: device };
}

/** Hears what is in the mind of an agent that is in a tab, as long as it is there. */
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
      // What was seen there is not what is seen elsewhere.
      if (mind.info.value?.page === device) mind.forget();
    };
  }, [of, device, asks]);
}
