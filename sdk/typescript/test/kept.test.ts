/** Test of durable agents: a program ends, and another one continues. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect, type Agent, type Keep, type Message, type Platform } from "../src/node.js";
import { counting } from "./counter.js";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";

const LEASE_MS = 1000;

/** An agent that counts, and reports each number and the sum. */
const counter = counting((told, sum) => [told, sum]);

let society: Society;
before(async () => {
  if (!WITHOUT_NODE) society = await Society.of({ fern: "" });
});
after(() => society?.stop());

const begin = (): Promise<Platform> => connect(`tcp://${society.address}`, { token: TOKEN, leaseMs: LEASE_MS });

/** An agent that sends numbers to the counter, and collects its reports. */
class CounterClient {
  private constructor(
    readonly platform: Platform,
    readonly agent: Agent,
    readonly counter: string,
    readonly heard: unknown[],
  ) {}

  static async of(name: string, counterName: string): Promise<CounterClient> {
    const platform = await begin();
    const heard: unknown[] = [];
    const agent = await platform.create(name);
    agent.onMessage((message: Message) => void heard.push(message.content));
    return new CounterClient(platform, agent, counterName, heard);
  }

  tell(...numbers: bigint[]): void {
    for (const content of numbers) this.agent.send({ performative: "request", receivers: this.counter, content });
  }

  /** Waits until it has `count` reports. */
  async hears(count: number): Promise<readonly unknown[]> {
    while (this.heard.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
    return this.heard;
  }
}

test("durable agent continues and handles waiting messages", { skip: WITHOUT_NODE }, async () => {
  const boss = await CounterClient.of("boss-one", "kept-one");
  const keep: Keep = { onLeave: "wait", code: "ts:counter" };
  const first = await begin();
  await first.create("kept-one", counter, keep);
  boss.tell(1n, 2n);
  assert.deepEqual(await boss.hears(2), [[1n, 1n], [2n, 3n]]);
  await first.close();
  boss.tell(3n, 4n);
  const second = await begin();
  const agent = await second.create("kept-one", counter, keep);
  assert.equal(agent.restored?.code, "ts:counter");
  boss.tell(5n);
  assert.deepEqual((await boss.hears(5)).slice(2), [[3n, 6n], [4n, 10n], [5n, 15n]]);
  await agent.end();
  await Promise.all([second.close(), boss.platform.close()]);
});

test("messages leave with the state, waiting handler repeats", { skip: WITHOUT_NODE }, async () => {
  const boss = await CounterClient.of("boss-two", "kept-two");
  let begun = 0;
  const slow = (agent: Agent): void => {
    const seen: bigint[] = [];
    agent.state(
      () => [...seen],
      (value) => void seen.push(...(value as bigint[])),
    );
    agent.onMessage(async (message) => {
      begun++;
      // The answer comes from elsewhere, so the handler waits in its middle.
      if (begun === 2) await new Promise(() => undefined);
      seen.push(message.content as bigint);
      agent.reply(message, "inform", [...seen]);
    });
  };
  const first = await begin();
  await first.create("kept-two", slow, {});
  boss.tell(1n, 2n, 3n);
  assert.deepEqual(await boss.hears(2), [[1n], [1n, 3n]]);
  await first.close();
  const second = await begin();
  const agent = await second.create("kept-two", slow, {});
  boss.tell(4n);
  assert.deepEqual((await boss.hears(4)).slice(2), [[1n, 3n, 2n], [1n, 3n, 2n, 4n]], "only the unhandled message is delivered again");
  await agent.end();
  await Promise.all([second.close(), boss.platform.close()]);
});

test("checkpoints, manual saves and ended agents", { skip: WITHOUT_NODE }, async () => {
  const boss = await CounterClient.of("boss-three", "kept-three");
  const first = await begin();
  const agent = await first.create("kept-three", counter, { save: "no" });
  boss.tell(1n);
  await boss.hears(1);
  await agent.save();
  boss.tell(2n);
  assert.deepEqual(await boss.hears(2), [[1n, 1n], [2n, 3n]]);
  await first.close();
  const second = await begin();
  const again = await second.create("kept-three", counter, { save: "checkpoint", checkpointMs: 5 });
  assert.deepEqual((await boss.hears(3)).slice(2), [[2n, 3n]], "messages after the save are handled again");
  await again.end();
  const anew = await second.create("kept-three", counter, {});
  assert.equal(anew.restored, undefined);
  await anew.end();
  await Promise.all([second.close(), boss.platform.close()]);
});

test("excess messages and states lose nothing", { skip: WITHOUT_NODE }, async () => {
  const boss = await CounterClient.of("boss-four", "kept-four");
  const platform = await begin();
  const troubles: unknown[] = [];
  const wordy = await platform.create("kept-four", (agent) => {
    let state: bigint | string = 0n;
    agent.onError = (error) => void troubles.push(String(error));
    agent.state(
      () => state,
      (value) => (state = value as bigint),
    );
    agent.onMessage({ performative: "request" }, (message) => {
      for (let at = 0n; at < 40n; at++) agent.reply(message, "inform", [at, "x".repeat(200_000)]);
    });
    agent.onMessage({ performative: "inform" }, () => (state = state === 0n ? "x".repeat(2 << 20) : 0n));
  }, {});
  boss.tell(1n);
  const numbers = (await boss.hears(40)).map((content) => (content as readonly unknown[])[0]);
  assert.deepEqual(numbers, Array.from({ length: 40 }, (_, at) => BigInt(at)));
  boss.agent.send({ performative: "inform", receivers: boss.counter });
  while (troubles.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.match(String(troubles[0]), /state too long: 20971\d\d bytes/);
  boss.agent.send({ performative: "inform", receivers: boss.counter });
  boss.tell(2n);
  await boss.hears(80);
  assert.equal(troubles.length, 1);
  await wordy.end();
  await Promise.all([platform.close(), boss.platform.close()]);
});

test("failed set-up waits for another program", { skip: WITHOUT_NODE }, async () => {
  const boss = await CounterClient.of("boss-five", "kept-five");
  const keep: Keep = { code: "ts:counter" };
  const first = await begin();
  await first.create("kept-five", counter, keep);
  boss.tell(1n);
  await boss.hears(1);
  await first.close();
  boss.tell(2n);
  const second = await begin();
  const wrong = async (agent: Agent): Promise<void> => {
    // It gets its messages, and its requests leave.
    await agent.df.search({});
    throw new Error("that is not mine");
  };
  for (let attempt = 0; attempt < 2; attempt++) await assert.rejects(second.create("kept-five", wrong, keep), /that is not mine/);
  assert.deepEqual(second.agents, []);
  boss.tell(3n);
  const agent = await second.create("kept-five", counter, keep);
  boss.tell(4n);
  assert.deepEqual((await boss.hears(4)).slice(1), [[2n, 3n], [3n, 6n], [4n, 10n]]);
  await agent.save();
  await second.close();
  const third = await begin();
  const again = await third.create("kept-five", counter, keep);
  boss.tell(5n);
  assert.deepEqual((await boss.hears(5)).slice(4), [[5n, 15n]]);
  await again.end();
  await Promise.all([third.close(), boss.platform.close()]);
});
