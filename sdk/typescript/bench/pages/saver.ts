/** An agent that saves its state for a given time, and then reports its measurements. */
import type { Agent } from "../../src/index.js";
import { median, quantile } from "../measure.js";

const STATES = 16;
const WARM_UP = 20;

export default function saver(agent: Agent): void {
  let states = [""];
  let at = 0;
  agent.state(
    () => states[at % states.length] ?? "",
    () => undefined,
  );
  agent.onMessage({ performative: "request" }, async (message) => {
    const [bytes, ms] = message.content as [number, number];
    states = Array.from({ length: STATES }, () => textOf(bytes));
    const save = async (): Promise<void> => {
      at++;
      await agent.save();
    };
    for (let saved = 0; saved < WARM_UP; saved++) await save();
    const took: number[] = [];
    const began = performance.now();
    for (let now = began; now - began < ms; ) {
      await save();
      const then = performance.now();
      took.push(then - now);
      now = then;
    }
    agent.reply(message, "inform", [(1000 * took.length) / (performance.now() - began), median(took), quantile(took, 0.99)]);
  });
}

/** Returns random text, which hardly compresses. */
function textOf(bytes: number): string {
  return Array.from({ length: bytes }, () => String.fromCharCode(97 + Math.floor(Math.random() * 26))).join("");
}
