/** Test of real nodes at one port: clients follow their sessions and agents. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import WebSocket from "ws";
import { compact } from "../src/compact.js";
import { Device } from "../src/device.js";
import { connect, FailureError, term, type Agent, type Platform, type Value } from "../src/node.js";
import { Browser, bundle, Pages, withoutBrowser } from "./chromium.js";
import { counter, KEPT } from "./counter.js";
import { KEPT as KEPT_AGENT, Thread } from "./device-thread.js";
import { Proxy } from "./proxy.js";
import { NodeGroup } from "./node-group.js";
import { TOKEN, WITHOUT_NODE } from "./society.js";

/** Sends messages 1 to N on request, and echoes requests. */
const STREAM = `+!stream(N)[source(S)] <- for ( .range(I, 1, N) ) { .send(S, tell, item(I)) }.
+!kqml_received(S, request, C, Id) <- .send(S, inform, C, Id).`;

const LEASE_MS = 10_000;

/** WebSockets that record their ports, and can be broken. */
class Sockets {
  readonly ports: string[] = [];
  #last: WebSocket | undefined;
  readonly WebSocket: typeof WebSocket;

  constructor() {
    const sockets = this;
    this.WebSocket = class extends WebSocket {
      constructor(url: string | URL, protocols?: string | string[]) {
        super(url, protocols);
        sockets.ports.push(new URL(url).port);
        sockets.#last = this;
      }
    } as typeof WebSocket;
  }

  cut(): void {
    this.#last?.terminate();
  }
}


describe("nodes at one port", { skip: WITHOUT_NODE, concurrency: false, timeout: 300_000 }, () => {
  let group: NodeGroup;
  /** One agent on each node. */
  let scouts: readonly Agent[] = [];
  let platforms: readonly Platform[] = [];
  before(async () => {
    group = await NodeGroup.of(3, { stream: STREAM });
    platforms = await Promise.all(group.nodes.map((_, at) => tcp(at)));
    scouts = await Promise.all(platforms.map((platform, at) => platform.create(`scout-${at}`)));
  });
  after(async () => {
    await Promise.all(platforms.map((platform) => platform.close()));
    group?.stop();
  });

  /**
   * Asks an agent from each node once that node knows it, and returns the last answer. Otherwise that node would create
   * another one of its name.
   */
  const ask = async (name: string, content: bigint): Promise<Value> => {
    let answer: Value = null;
    for (const scout of scouts) {
      for (let isKnown = false; !isKnown; isKnown || (await pause(5))) {
        try {
          answer = (await scout.ask({ performative: "request", receivers: name, content }, { timeoutMs: 20_000 })).content;
          isKnown = true;
        } catch (error) {
          if (!(error instanceof FailureError)) throw error;
        }
      }
    }
    return answer;
  };

  const web = (sockets: Sockets): Promise<Platform> => connect(`ws://${group.http}/session`, { token: TOKEN, leaseMs: LEASE_MS, WebSocket: sockets.WebSocket, form: compact });
  const tcp = (at: number | string): Promise<Platform> => connect(`tcp://${typeof at === "string" ? at : group.nodes[at]?.agents}`, { token: TOKEN, leaseMs: LEASE_MS });

  test("session follows to its node by WebSocket", async () => {
    const shared = group.http.split(":")[1];
    const sockets = new Sockets();
    const platform = await web(sockets);
    const bob = await platform.create("bob-web");
    const told: number[] = [];
    bob.onMessage({ performative: "tell" }, ({ content }) => void told.push(Number((content as { args: readonly unknown[] }).args[0])));
    let sum = 0;
    // The system chooses the node behind the shared port.
    for (let round = 0; round < 3 || sockets.ports.every((port) => port === shared); round++) {
      bob.send({ performative: "achieve", receivers: "stream", content: term("stream", 200) });
      sockets.cut();
      assert.equal((await bob.ask({ performative: "request", receivers: "stream", content: round })).content, round);
      sum += 200;
      while (told.length < sum) await pause(5);
    }
    assert.deepEqual(told, Array.from({ length: sum }, (_, at) => (at % 200) + 1), "each once and in order");
    assert.deepEqual(platform.agents, [bob]);
    const own = sockets.ports.find((port) => port !== shared);
    sockets.cut();
    await bob.ask({ performative: "request", receivers: "stream", content: "again" });
    assert.equal(sockets.ports.at(-1), own, "directly at the node's own port");
    await platform.close();
    assert.equal((await platform.closed).code, "bye");
  });

  test("durable agent is found from any node by WebSocket", async () => {
    const shared = group.http.split(":")[1];
    for (let times = 0, sent = 0; times < 3 || sent === 0; times++) {
      const sockets = new Sockets();
      const platform = await web(sockets);
      const agent = await platform.create("kept-web", counter, KEPT);
      assert.equal(agent.restored?.code, times === 0 ? undefined : "ts:counter");
      assert.equal(await ask("kept-web", 1n), BigInt(3 * (times + 1)));
      await platform.close();
      if (sockets.ports.some((port) => port !== shared)) sent++;
    }
  });

  test("durable agent is found from any node by TCP", async () => {
    const proxy = await Proxy.to(group.nodes[0]?.agents ?? "");
    try {
      const first = await tcp(proxy.address);
      const agent = await first.create("kept-tcp", counter, KEPT);
      assert.equal(await ask("kept-tcp", 1n), 3n);
      // Another node takes the first one's place.
      proxy.target = group.nodes[1]?.agents ?? "";
      proxy.cut();
      assert.equal(await ask("kept-tcp", 1n), 6n);
      assert.deepEqual(first.agents, [agent]);
      await first.close();
      const second = await tcp(1);
      const again = await second.create("kept-tcp", counter, KEPT);
      assert.equal(again.restored?.code, "ts:counter");
      assert.equal(await ask("kept-tcp", 1n), 9n);
      const settled = await tcp(2);
      await settled.create("settled");
      await assert.rejects(settled.create("kept-tcp", counter, KEPT), { name: "RefusedError", code: "elsewhere" }, "a session with an agent stays");
      await Promise.all([second.close(), settled.close()]);
    } finally {
      await proxy.close();
    }
  });

  test("agent of another client is refused everywhere", async () => {
    const [one, other] = [await tcp(0), await tcp(1)];
    await one.create("taken", (agent) => agent.onMessage((message) => agent.reply(message, "inform", "mine")));
    assert.equal(await ask("taken", 0n), "mine");
    await assert.rejects(other.create("taken"), { name: "RefusedError", code: "name-taken" });
    const free = await other.create("free");
    assert.equal((await free.ask({ performative: "request", receivers: "stream", content: "hello" })).content, "hello");
    await Promise.all([one.close(), other.close()]);
  });

  test("device continues at any node", async () => {
    for (let visit = 1n; visit <= 4n; visit++) {
      const device = await Device.join(`ws://${group.http}/session`, { token: TOKEN, name: "wanderer", workers: 1, compact: true, leaseMs: LEASE_MS, createWorker: () => new Thread(), onTrouble: ({ error }) => console.error(error) });
      try {
        await device.spawn("kept-device", KEPT_AGENT, "kept", KEPT);
        assert.equal(await ask("kept-device", 0n), 3n * visit);
      } finally {
        await device.leave();
      }
    }
  });

  test("page continues at any node", { skip: withoutBrowser(), timeout: 240_000 }, async () => {
    const pages = await Pages.of({ "tab-device.js": await bundle("tab-device.js"), "worker.js": await bundle("../src/device/worker.js"), "kept-agent.js": await bundle("kept-agent.js") });
    const boss = await tcp(0);
    const asker = await boss.create("boss-page");
    try {
      for (let visit = 1n; visit <= 3n; visit++) {
        const name = `visitor-${visit}`;
        const query = new URLSearchParams({ script: "tab-device.js", gateway: `http://${group.http}`, token: TOKEN, name, workers: "1", leaseMs: "2000" });
        const browser = new Browser(`${pages.url}?${query}`);
        try {
          while (!pages.posted.some((text) => text.includes('"joined"') && text.includes(name))) {
            assert.equal(pages.posted.find((text) => text.includes('"broken"')), undefined);
            await pages.heard(pages.posted.length + 1);
          }
          await asker.ask({ performative: "request", receivers: `${name}-control`, content: term("spawn", "kept-page", "kept-agent.js", "kept") }, { timeoutMs: 60_000 });
          assert.equal(await ask("kept-page", 0n), 3n * visit);
        } finally {
          await browser.close();
        }
      }
    } finally {
      await boss.close();
      pages.close();
    }
  });
});
