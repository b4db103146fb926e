/**
 * Test of a society on several real nodes, over TLS: agents of clients live at the node that serves them, and follow
 * when it hands them over.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import WebSocket from "ws";
import { compact } from "../src/compact.js";
import { connect, FailureError, type Agent, type Platform } from "../src/node.js";
import { Cluster, WITHOUT_CLUSTER } from "./cluster.js";
import { counter, KEPT } from "./counter.js";
import { TOKEN } from "./society.js";

const LEASE_MS = 10_000;

describe("encrypted society of several nodes", { skip: WITHOUT_CLUSTER, concurrency: false, timeout: 300_000 }, () => {
  let cluster: Cluster;
  let asking: Platform;
  let asker: Agent;
  before(async () => {
    cluster = await Cluster.of(2, { idle: "!s. +!s <- .wait(600000)." });
    asking = await tls(0, []);
    asker = await asking.create("asker");
  });
  after(async () => {
    await asking?.close();
    cluster?.stop();
  });

  const tls = (at: number, _ports: string[]): Promise<Platform> => connect(`tls://${cluster.nodes[at]?.agents}`, { token: TOKEN, leaseMs: LEASE_MS, authority: cluster.authority });

  const wss = (at: number, ports: string[]): Promise<Platform> => {
    const { authority } = cluster;
    const Trusting = class extends WebSocket {
      constructor(url: string | URL, protocols?: string | string[]) {
        super(url, protocols, { ca: authority, servername: "node.whimbrel" } as WebSocket.ClientOptions);
        ports.push(new URL(url).port);
      }
    } as typeof WebSocket;
    return connect(`wss://${cluster.nodes[at]?.http}/session`, { token: TOKEN, leaseMs: LEASE_MS, WebSocket: Trusting, form: compact });
  };

  /** Sends a number to an agent, and returns the sum. Asks again while the agent moves or is unknown. */
  const add = async (name: string, content: bigint): Promise<bigint> => {
    for (;;) {
      try {
        return (await asker.ask({ performative: "request", receivers: name, content }, { timeoutMs: 60_000 })).content as bigint;
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        await pause(20);
      }
    }
  };

  for (const [what, open] of [["WebSocket", wss], ["TCP", tls]] as const) {
    test(`client reaches its agent's node by ${what}`, async () => {
      const seen = new Set<string>();
      // The other node owns half of the names.
      for (let at = 0; seen.size < 2; at++) {
        const [name, ports] = [`kept-${what}-${at}`, [] as string[]];
        const first = await open(0, ports);
        await first.create(name, counter, KEPT);
        assert.equal(await add(name, 1n), 1n);
        await first.close();
        const second = await open(1, ports);
        const again = await second.create(name, counter, KEPT);
        assert.equal(again.restored?.code, "ts:counter");
        assert.equal(await add(name, 1n), 2n);
        await second.close();
        // One of the two was redirected to the last one's node. Over TCP that is invisible.
        if (what === "WebSocket") assert.equal(ports.length, 3, ports.join(" "));
        seen.add(ports.at(-1) ?? String(at));
      }
    });

    test(`agents follow a hand-over by ${what}`, async () => {
      const platforms = await Promise.all(["a", "b", "c", "d"].map(() => open(0, [])));
      const names = platforms.map((_, at) => `passed-${what}-${at}`);
      let agents = await Promise.all(platforms.map((platform, at) => platform.create(names[at] ?? "", counter, KEPT)));
      for (const name of names) assert.equal(await add(name, 1n), 1n);
      let passed = 0;
      // Drain each node in turn.
      for (const [round, node] of ["n1", "n2"].entries()) {
        cluster.drain(node, true);
        for (const name of names) assert.equal(await add(name, 1n), BigInt(round) + 2n, `${name}, without ${node}`);
        const now = await Promise.all(agents.map(async (agent) => (agent.signal.aborted ? ((await agent.successor) ?? assert.fail(await agent.ended)) : agent)));
        passed += now.filter((agent, at) => agent !== agents[at]).length;
        agents = now;
        cluster.drain(node, false);
      }
      assert.ok(passed >= names.length, `each was with one of them: ${passed}`);
      assert.deepEqual(platforms.map(({ agents: [agent] }) => agent), agents);
      await Promise.all(platforms.map((platform) => platform.close()));
    });
  }
});
