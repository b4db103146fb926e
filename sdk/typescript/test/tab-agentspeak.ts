/** Worker program for the AgentSpeak corpus in a browser. The page only starts it. */
import { compileEngine } from "../src/agentspeak/engine.js";
import { difference, type Case } from "./agentspeak-cases.js";

const isPage = typeof document !== "undefined";

async function run(): Promise<unknown> {
  const [module, { all, deviating }] = await Promise.all([
    compileEngine("/agentspeak.wasm"),
    fetch("/cases.json").then((response) => response.json() as Promise<{ all: Case[]; deviating: string[] }>),
  ]);
  const since = performance.now();
  const wrong: string[] = [];
  for (const one of all) {
    const why = await difference(module, one);
    if ((why !== undefined) !== deviating.includes(one.name)) wrong.push(`${one.name}: ${why ?? "no deviation any more"}`);
  }
  return { programs: all.length, wrong, ms: Math.round(performance.now() - since) };
}

if (isPage) new Worker("/tab-agentspeak.js", { type: "module" });
else {
  const result = await run().catch((error: unknown) => ({ programs: 0, wrong: [String(error)], ms: 0 }));
  await fetch("/result", { method: "POST", body: JSON.stringify(result) });
}
