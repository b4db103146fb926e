/** An agent that sends requests for a given time, and then reports its measurements. */
import type { Agent } from "../../src/index.js";
import { median, quantile } from "../measure.js";

/** Content of a request: 64 bytes. */
const TEXT = "0123456789abcdef".repeat(4);
/** Requests before the measurement. */
const WARM_UP = 200;

export default function pinger(agent: Agent): void {
  agent.onMessage({ performative: "request" }, async (message) => {
    const [to, atOnce, ms] = message.content as [string, number, number];
    const ask = (): Promise<unknown> => agent.ask({ performative: "query-ref", receivers: to, content: TEXT }, { timeoutMs: 60_000 });
    for (let asked = 0; asked < WARM_UP; asked++) await ask();
    const took: number[] = [];
    const began = performance.now();
    const askOn = async (): Promise<void> => {
      for (let now = began; now - began < ms; ) {
        await ask();
        const then = performance.now();
        took.push(then - now);
        now = then;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, askOn));
    const tookMs = performance.now() - began;
    agent.reply(message, "inform", [took.length / tookMs, median(took), quantile(took, 0.99)]);
  });
}
