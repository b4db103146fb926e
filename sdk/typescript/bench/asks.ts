/**
 * `node asks.js [ask|window|oneway]... [--rounds N] [--encoding json|compact]`: one agent asks another one, each in a
 * process of its own, beside a real node. WHIMBREL names the node's program.
 */
import { fork } from "node:child_process";
import { argv, version } from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compact } from "../src/compact.js";
import { connect, type Agent, type Platform } from "../src/node.js";
import { Society, TOKEN, WHIMBREL } from "../test/society.js";

type Encoding = "json" | "compact";

const join = (address: string, encoding: string): Promise<Platform> => connect(`tcp://${address}`, { token: TOKEN, ...(encoding === "compact" && { encoding: compact }) });

/** The other process: an echo, and a sink that answers when all messages have come. */
async function serve(address: string, encoding: string): Promise<void> {
  const platform = await join(address, encoding);
  const echo = await platform.create("echo");
  echo.onMessage({ performative: "request" }, (message) => void echo.reply(message, "inform", message.content));
  const sink = await platform.create("sink");
  let [seen, wanted] = [0, -1];
  let answer: (() => void) | undefined;
  const look = (): void => {
    if (seen !== wanted) return;
    answer?.();
    [seen, wanted, answer] = [0, -1, undefined];
  };
  sink.onMessage({ performative: "inform" }, () => {
    seen++;
    look();
  });
  sink.onMessage({ performative: "query-ref" }, (message) => {
    [wanted, answer] = [Number(message.content), () => void sink.reply(message, "inform", message.content)];
    look();
  });
  process.send?.("ready");
}

async function askInTurn(agent: Agent, count: number): Promise<void> {
  for (let number = 0; number < count; number++) await agent.ask({ performative: "request", receivers: ["echo"], content: BigInt(number) });
}

async function askWindowed(agent: Agent, count: number): Promise<void> {
  await Promise.all(Array.from({ length: 100 }, () => askInTurn(agent, count / 100)));
}

/** Sends messages of 64 characters, and waits until all have come. */
async function sendOneWay(agent: Agent, count: number): Promise<void> {
  const content = "x".repeat(64);
  for (let number = 0; number < count; number++) await agent.send({ performative: "inform", receivers: ["sink"], content });
  await agent.ask({ performative: "query-ref", receivers: ["sink"], content: BigInt(count) }, { timeoutMs: 120_000 });
}

const PARTS: Readonly<Record<string, readonly [count: number, run: (agent: Agent, count: number) => Promise<void>]>> = {
  ask: [3_000, askInTurn],
  window: [20_000, askWindowed],
  oneway: [50_000, sendOneWay],
};

async function measure(names: readonly string[], encoding: Encoding, rounds: number): Promise<void> {
  const society = await Society.of({ idle: "!s. +!s <- .wait(600000)." }, "--session-messages-per-s", "10000000");
  const other = fork(fileURLToPath(import.meta.url), ["--serve", society.address, "--encoding", encoding]);
  await new Promise((ready) => other.once("message", ready));
  const platform = await join(society.address, encoding);
  try {
    const agent = await platform.create("bench");
    await askInTurn(agent, 500);
    for (const name of names) {
      const [count, run] = PARTS[name] as (typeof PARTS)[string];
      const rates: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const begun = performance.now();
        await run(agent, count);
        rates.push((count / (performance.now() - begun)) * 1000);
      }
      rates.sort((one, more) => one - more);
      const [median = 0, best = 0] = [rates[Math.floor(rounds / 2)], rates.at(-1)];
      console.log(`${name.padEnd(8)} ${encoding.padEnd(8)} median ${Math.round(median).toLocaleString("en").padStart(9)}/s  best ${Math.round(best).toLocaleString("en").padStart(9)}/s`);
    }
  } finally {
    other.kill();
    await platform.close();
    society.stop();
  }
}

const { values, positionals } = parseArgs({
  args: argv.slice(2),
  allowPositionals: true,
  options: { serve: { type: "string" }, encoding: { type: "string", default: "json" }, rounds: { type: "string", default: "5" } },
});
const unknown = positionals.find((name) => !(name in PARTS));
if (unknown !== undefined) throw new Error(`no part ${unknown}: there are ${Object.keys(PARTS).join(", ")}`);
if (values.serve !== undefined) {
  await serve(values.serve, values.encoding);
} else {
  console.log(`Node.js ${version}, node ${WHIMBREL}`);
  await measure(positionals.length > 0 ? positionals : Object.keys(PARTS), values.encoding as Encoding, Number(values.rounds));
}
